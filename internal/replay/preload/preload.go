// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package preload makes the in-process tools of unmodified agents ask an oracle. It carries hooks that a language's runtime loads before the
// agent: for Python a sitecustomize module found through PYTHONPATH, for Node a module that NODE_OPTIONS names.
package preload

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed python node
var hooks embed.FS

// Write writes the hooks into a folder that exists.
func Write(dir string) error { return os.CopyFS(dir, hooks) }

// Config is what the hooks are told through the environment.
type Config struct {
	Dir         string   // where Write has written the hooks
	OracleURL   string   // of the oracle's HTTP server, without /v1
	Token       string   // bearer token of the oracle; empty: none
	Run         string   // the run to ask for, if the oracle serves a deck
	ReplayRunID string   // the session
	AllowLive   []string // tools that run; "*" is every tool
	Allow       []string // distributions whose tools run if their version is not known, "langchain-core"
	Report      string   // file for Read; empty: none
	Freeze      *Freeze  // nil: the clock and the numbers of the system
}

// Every as the one framework of Config.Allow stands for all of them.
const Every = "*"

// Freeze is the clock of a recorded run, and what random numbers and UUIDs are made of.
type Freeze struct {
	Offset time.Duration // to add to the clock of the system
	Seed   string
}

// Environ returns environ with what loads the hooks. What PYTHONPATH and NODE_OPTIONS hold already stays beside them. Programs that are
// started with their environment cleared, Python with -I or -E, and runtimes other than CPython and Node do not load them.
func (c Config) Environ(environ []string) []string {
	register := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(c.Dir, "node", "register.mjs"))}
	type variable struct{ name, value, join string }
	set := []variable{
		{"PYTHONPATH", filepath.Join(c.Dir, "python"), string(os.PathListSeparator)},
		{"NODE_OPTIONS", "--import=" + register.String(), " "},
		{"TAPEDECK_ORACLE_URL", c.OracleURL, ""},
		{"TAPEDECK_ORACLE_TOKEN", c.Token, ""},
		{"TAPEDECK_ORACLE_RUN", c.Run, ""},
		{"TAPEDECK_REPLAY_RUN_ID", c.ReplayRunID, ""},
		{"TAPEDECK_ALLOW_LIVE", strings.Join(c.AllowLive, ","), ""},
		{"TAPEDECK_PRELOAD_ALLOW", strings.Join(c.Allow, ","), ""},
		{"TAPEDECK_PRELOAD_REPORT", c.Report, ""},
	}
	if c.Freeze != nil {
		set = append(set, variable{"TAPEDECK_FREEZE_OFFSET", strconv.FormatInt(int64(c.Freeze.Offset), 10), ""}, variable{"TAPEDECK_FREEZE_SEED", c.Freeze.Seed, ""})
		if !slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "PYTHONHASHSEED=") }) {
			set = append(set, variable{"PYTHONHASHSEED", "0", ""})
		}
	}
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		ours := false
		for i := range set {
			if set[i].name != name {
				continue
			}
			ours = true
			if set[i].join != "" && value != "" {
				set[i].value += set[i].join + value
			}
		}
		if !ours {
			out = append(out, kv)
		}
	}
	for _, s := range set {
		if s.value != "" {
			out = append(out, s.name+"="+s.value)
		}
	}
	return out
}

// Report is what the hooks of all processes of an agent noted.
type Report struct {
	Frameworks []Framework    `json:"frameworks,omitempty"`
	Live       map[string]int `json:"live,omitempty"`   // calls of tools that ran, by name
	Frozen     map[string]int `json:"frozen,omitempty"` // processes that took the recorded clock, by runtime
}

// Framework is one that an agent loaded.
type Framework struct {
	Name    string `json:"name"` // of the distribution
	Version string `json:"version"`
	Hooked  bool   `json:"hooked"`
	Problem string `json:"problem,omitempty"` // why its tools are not answered from the tape
}

// maxReport bounds what is read of a report: an agent can write to the file.
const maxReport = 16 << 20

// Read reads the file that Config.Report names. A file that does not exist is an empty report: the agent loaded no framework that is known.
func Read(path string) (Report, error) {
	r := Report{Live: map[string]int{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	seen := map[Framework]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	read := 0
	for lines.Scan() {
		if read += len(lines.Bytes()); read > maxReport {
			return r, fmt.Errorf("%s: longer than %d bytes", path, maxReport)
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line struct {
			Framework, Version, Problem, Live, Frozen string
			Hooked                                    bool
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return r, fmt.Errorf("%s: %w", path, err)
		}
		if line.Live != "" {
			r.Live[line.Live]++
		}
		if line.Frozen != "" {
			if r.Frozen == nil {
				r.Frozen = map[string]int{}
			}
			r.Frozen[line.Frozen]++
		}
		fw := Framework{line.Framework, line.Version, line.Hooked, line.Problem}
		if line.Framework != "" && !seen[fw] {
			seen[fw] = true
			r.Frameworks = append(r.Frameworks, fw)
		}
	}
	return r, lines.Err()
}
