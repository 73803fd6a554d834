// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package rulefile reads and writes rules as YAML. Rules say which values do not count, for comparisons and for oracles, and how an oracle
// serves the calls of a tool. The package also reads what tools are declared to be: MCP annotations and agent configurations of Forge.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// MaxBytes bounds a file. Rules are written by people.
const MaxBytes = 1 << 20

// Version is the version of the form that Read accepts and Proposals writes.
const Version = 1

type document struct {
	Version int                 `yaml:"version"`
	Rules   []valueRule         `yaml:"rules"`
	Callers string              `yaml:"callers"`
	Default toolRule            `yaml:"default"`
	Tools   map[string]toolRule `yaml:"tools"`
}

// valueRule is a normalise.Rule as YAML.
type valueRule struct {
	Tool    string           `yaml:"tool"`
	Path    string           `yaml:"path"`
	Action  normalise.Action `yaml:"action"`
	As      string           `yaml:"as"`
	Pattern string           `yaml:"pattern"`
	In      []string         `yaml:"in"`
}

type toolRule struct {
	Mode       string     `yaml:"mode"`
	Idempotent bool       `yaml:"idempotent"`
	Policy     string     `yaml:"policy"`
	Calls      []callRule `yaml:"calls"`
	// Ignore and Normalise are how files of before had rules for the arguments of a tool.
	Ignore    []string `yaml:"ignore"`
	Normalise []struct {
		Path string `yaml:"path"`
		As   string `yaml:"as"`
	} `yaml:"normalise"`
}

type callRule struct {
	ArgsHash string `yaml:"args_hash"`
	Policy   string `yaml:"policy"`
}

// Read reads a rules file. Unknown members are errors: a rule that is misspelled must not be passed over. Two older forms are read too: a
// file with rules and without a version, and rules for arguments that stand at the tool, as ignore and normalise.
func Read(data []byte) (*oracle.Rules, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("rules: larger than %d bytes", MaxBytes)
	}
	var d document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("rules: the file is empty")
		}
		return nil, fmt.Errorf("rules: %w", err)
	}
	if err := decoder.Decode(&document{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("rules: more than one document")
	}
	if d.Version != Version && !(d.Version == 0 && d.Rules != nil) {
		return nil, fmt.Errorf("rules: version is %d, this program knows %d", d.Version, Version)
	}
	rules := &oracle.Rules{Tools: map[string]oracle.ToolRule{}}
	for _, r := range d.Rules {
		rules.Values = append(rules.Values, normalise.Rule(r))
	}
	names := slices.Sorted(maps.Keys(d.Tools))
	for _, action := range []normalise.Action{normalise.Ignore, normalise.Normalise} {
		rules.Values = append(rules.Values, d.Default.values("*", action)...)
		for _, name := range names {
			rules.Values = append(rules.Values, d.Tools[name].values(name, action)...)
		}
	}
	switch d.Callers {
	case "", "match":
	case "ignore":
		rules.AnyCaller = true
	default:
		return nil, fmt.Errorf("rules: callers is %q, want match or ignore", d.Callers)
	}
	var err error
	if rules.Default, err = d.Default.rule(); err != nil {
		return nil, fmt.Errorf("rules: default: %w", err)
	}
	for _, name := range names {
		if rules.Tools[name], err = d.Tools[name].rule(); err != nil {
			return nil, fmt.Errorf("rules: tool %q: %w", name, err)
		}
	}
	if err := rules.Check(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return rules, nil
}

// values returns the rules for arguments that stand at a tool.
func (r toolRule) values(tool string, action normalise.Action) (list []normalise.Rule) {
	if action == normalise.Ignore {
		for _, path := range r.Ignore {
			list = append(list, normalise.Rule{Tool: tool, Path: path, Action: action, In: normalise.Arguments})
		}
		return list
	}
	for _, n := range r.Normalise {
		list = append(list, normalise.Rule{Tool: tool, Path: n.Path, Action: action, As: n.As, In: normalise.Arguments})
	}
	return list
}

func (r toolRule) rule() (oracle.ToolRule, error) {
	to := oracle.ToolRule{Mode: oracle.Mode(r.Mode), Policy: oracle.Policy(r.Policy)}
	if r.Idempotent {
		if r.Mode != "" && to.Mode != oracle.ModeLive {
			return to, fmt.Errorf("idempotent: true means mode live, and mode is %q", r.Mode)
		}
		to.Mode = oracle.ModeLive
	}
	for _, c := range r.Calls {
		hash, ok := oracle.ReadHash(c.ArgsHash, "")
		if !ok {
			return to, fmt.Errorf("calls: args_hash %q is not 64 hex digits, with or without the prefix sha256: or sha256-raw: before them", c.ArgsHash)
		}
		if to.Calls == nil {
			to.Calls = map[string]oracle.Policy{}
		}
		if _, twice := to.Calls[hash]; twice {
			return to, fmt.Errorf("calls: %s comes twice", c.ArgsHash)
		}
		to.Calls[hash] = oracle.Policy(c.Policy)
	}
	return to, nil
}

// Proposals renders what was learned as a rules file for review: what is certain enough stands as a rule, the rest as comment.
func Proposals(learned []oracle.Proposal, runs int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Proposed from %d runs of one task. Review before use: every rule makes different calls equal.\nversion: %d\n", runs, Version)
	header := false
	for _, p := range learned {
		if !p.Sure {
			fmt.Fprintf(&b, "# not proposed: %s %s: %s\n", quote(p.ToolName), quote(p.Path), p.Why)
			continue
		}
		if !header {
			b.WriteString("rules:\n")
			header = true
		}
		r := p.Rule()
		as := ""
		if r.As != "" {
			as = ", as: " + r.As
		}
		fmt.Fprintf(&b, "  - {tool: %s, path: %s, action: %s%s, in: [%s]} # %s\n", quote(r.Tool), quote(r.Path), r.Action, as, strings.Join(r.In, ", "), p.Why)
	}
	return b.Bytes()
}

// quote writes a text as a YAML scalar in double quotes, which is JSON.
func quote(s string) string { return string(exactjson.AppendString(nil, s)) }
