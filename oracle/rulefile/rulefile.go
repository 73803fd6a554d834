// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package rulefile reads and writes the rules of an oracle as YAML, and reads what tools are declared to be: MCP annotations and agent
// configurations of Forge.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxBytes bounds a file. Rules are written by people.
const maxBytes = 1 << 20

// Version is the version of the form that Read accepts and Append writes.
const Version = 1

type document struct {
	Version int             `yaml:"version"`
	Callers string          `yaml:"callers"`
	Default rule            `yaml:"default"`
	Tools   map[string]rule `yaml:"tools"`
}

type rule struct {
	Mode       string      `yaml:"mode"`
	Idempotent *bool       `yaml:"idempotent"`
	Policy     string      `yaml:"policy"`
	Ignore     []string    `yaml:"ignore"`
	Normalise  []normalise `yaml:"normalise"`
	Calls      []callRule  `yaml:"calls"`
}

type normalise struct {
	Path string `yaml:"path"`
	As   string `yaml:"as"`
}

type callRule struct {
	ArgsHash string `yaml:"args_hash"`
	Policy   string `yaml:"policy"`
}

// Read reads a rules file. Unknown members are errors: a rule that is misspelled must not be passed over.
func Read(data []byte) (*oracle.Rules, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("rules: larger than %d bytes", maxBytes)
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
	if d.Version != Version {
		return nil, fmt.Errorf("rules: version is %d, this program knows %d", d.Version, Version)
	}
	rules := &oracle.Rules{Tools: map[string]oracle.ToolRule{}}
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
	for name, r := range d.Tools {
		if rules.Tools[name], err = r.rule(); err != nil {
			return nil, fmt.Errorf("rules: tool %q: %w", name, err)
		}
	}
	if err := rules.Check(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return rules, nil
}

func (r rule) rule() (oracle.ToolRule, error) {
	to := oracle.ToolRule{Mode: oracle.Mode(r.Mode), Policy: oracle.Policy(r.Policy)}
	if r.Idempotent != nil && *r.Idempotent {
		if r.Mode != "" && to.Mode != oracle.ModeLive {
			return to, fmt.Errorf("idempotent: true means mode live, and mode is %q", r.Mode)
		}
		to.Mode = oracle.ModeLive
	}
	to.Ignore = r.Ignore // rules.Check reads the paths
	for _, n := range r.Normalise {
		to.Normalise = append(to.Normalise, oracle.NormalisePath{Path: n.Path, As: n.As})
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
	for from := 0; from < len(learned); {
		to := from
		for to < len(learned) && learned[to].ToolName == learned[from].ToolName {
			to++
		}
		of := learned[from:to]
		from = to
		if !slices.ContainsFunc(of, func(p oracle.Proposal) bool { return p.Sure }) {
			for _, p := range of {
				fmt.Fprintf(&b, "# not proposed: %s %s: %s\n", quote(p.ToolName), quote(p.Path), p.Why)
			}
			continue
		}
		if !header {
			b.WriteString("tools:\n")
			header = true
		}
		fmt.Fprintf(&b, "  %s:\n", quote(of[0].ToolName))
		list(&b, "ignore", of, func(p oracle.Proposal) string {
			if p.As != "" {
				return ""
			}
			return quote(p.Path)
		})
		list(&b, "normalise", of, func(p oracle.Proposal) string {
			if p.As == "" {
				return ""
			}
			return fmt.Sprintf("{path: %s, as: %s}", quote(p.Path), p.As)
		})
		for _, p := range of {
			if !p.Sure {
				fmt.Fprintf(&b, "    # not proposed: %s: %s\n", quote(p.Path), p.Why)
			}
		}
	}
	return b.Bytes()
}

func list(b *bytes.Buffer, name string, of []oracle.Proposal, item func(oracle.Proposal) string) {
	first := true
	for _, p := range of {
		text := item(p)
		if !p.Sure || text == "" {
			continue
		}
		if first {
			fmt.Fprintf(b, "    %s:\n", name)
			first = false
		}
		fmt.Fprintf(b, "      - %s # %s\n", text, p.Why)
	}
}

// quote writes a text as a YAML scalar in double quotes, which is JSON.
func quote(s string) string { return string(exactjson.AppendString(nil, s)) }
