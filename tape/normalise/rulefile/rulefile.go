// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package rulefile reads the rules of a comparison as YAML.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/tape/normalise"
)

// MaxBytes bounds a rules file.
const MaxBytes = 1 << 20

// Read reads a rules file: a YAML document with the member rules, a list of normalise.Rule. The rules of an oracle (version, default, tools) are
// read too, so that one reviewed file can serve both: what they ignore and normalise holds for arguments; how an oracle serves says
// nothing here. Members that it does not know are an error.
func Read(data []byte) (*normalise.Rules, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("read rules: %d bytes, at most %d", len(data), MaxBytes)
	}
	var f file
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("read rules: more than one document")
	}
	if f.Version > 1 || f.Version < 0 {
		return nil, fmt.Errorf("read rules: version is %d, this program knows 1", f.Version)
	}
	var rules []normalise.Rule
	for _, r := range f.Rules {
		rules = append(rules, normalise.Rule(r))
	}
	rules = append(rules, f.Default.rules("*")...)
	for _, name := range slices.Sorted(maps.Keys(f.Tools)) {
		rules = append(rules, f.Tools[name].rules(name)...)
	}
	return normalise.New(rules)
}

// rule is a normalise.Rule as YAML.
type rule struct {
	Tool    string           `yaml:"tool"`
	Path    string           `yaml:"path"`
	Action  normalise.Action `yaml:"action"`
	As      string           `yaml:"as"`
	Pattern string           `yaml:"pattern"`
	In      []string         `yaml:"in"`
}

type file struct {
	Rules   []rule                `yaml:"rules"`
	Version int                   `yaml:"version"`
	Default oracleRule            `yaml:"default"`
	Tools   map[string]oracleRule `yaml:"tools"`
	Callers any                   `yaml:"callers"`
}

// oracleRule is how an oracle matches the calls of one tool.
type oracleRule struct {
	Ignore    []string `yaml:"ignore"`
	Normalise []struct {
		Path string `yaml:"path"`
		As   string `yaml:"as"`
	} `yaml:"normalise"`
	Mode       any `yaml:"mode"`
	Idempotent any `yaml:"idempotent"`
	Policy     any `yaml:"policy"`
	Calls      any `yaml:"calls"`
}

func (r oracleRule) rules(tool string) (out []normalise.Rule) {
	args := []string{"args", "executed_args"}
	for _, path := range r.Ignore {
		out = append(out, normalise.Rule{Tool: tool, Path: path, Action: normalise.Ignore, In: args})
	}
	for _, n := range r.Normalise {
		out = append(out, normalise.Rule{Tool: tool, Path: n.Path, Action: normalise.Normalise, As: n.As, In: args})
	}
	return out
}
