// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// ruleFile is a file with rules. The redaction files of waza (extend, rules with name and pattern, envKeyDenyList) have this form too.
type ruleFile struct {
	Extend     *bool      `yaml:"extend"` // false switches the built-in rules off
	Disable    []string   `yaml:"disable"`
	Rules      []UserRule `yaml:"rules"`
	SecretKeys []string   `yaml:"secret_keys"`
	Allow      Allow      `yaml:"allow"`
	Env        []string   `yaml:"env"`

	EnvKeyDenyList []string `yaml:"envKeyDenyList"` // waza: parts of names whose values are secret; here: words of names
}

// maxRuleFile bounds a file with rules.
const maxRuleFile = 4 << 20

// Read adds what a file with rules says to the profile.
func (p Profile) Read(path string) (Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return p, fmt.Errorf("rules: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRuleFile+1))
	if err != nil {
		return p, fmt.Errorf("rules: %w", err)
	}
	if len(text) > maxRuleFile {
		return p, fmt.Errorf("rules: %s exceeds %d bytes", path, maxRuleFile)
	}
	p, err = p.Parse(text)
	if err != nil {
		return p, fmt.Errorf("rules: %s: %w", path, err)
	}
	return p, nil
}

// Parse adds the rules of a YAML text to the profile. Unknown members are errors: a misspelt one would redact less than it seems to.
func (p Profile) Parse(text []byte) (Profile, error) {
	var file ruleFile
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	if file.Extend != nil && !*file.Extend {
		p.Disable = append(p.Disable[:len(p.Disable):len(p.Disable)], sections...)
	}
	p.Disable = append(p.Disable[:len(p.Disable):len(p.Disable)], file.Disable...)
	p.SecretKeys = append(append(p.SecretKeys[:len(p.SecretKeys):len(p.SecretKeys)], file.SecretKeys...), file.EnvKeyDenyList...)
	p.Env = append(p.Env[:len(p.Env):len(p.Env)], file.Env...)
	p.Allow.Values = append(p.Allow.Values[:len(p.Allow.Values):len(p.Allow.Values)], file.Allow.Values...)
	p.Allow.Patterns = append(p.Allow.Patterns[:len(p.Allow.Patterns):len(p.Allow.Patterns)], file.Allow.Patterns...)
	p.Allow.Paths = append(p.Allow.Paths[:len(p.Allow.Paths):len(p.Allow.Paths)], file.Allow.Paths...)
	rules := p.Rules[:len(p.Rules):len(p.Rules)]
	for i, r := range file.Rules {
		if r.Name == "" {
			return p, fmt.Errorf("rule %d has no name", i+1)
		}
		r.Name = detect.RuleName(r.Name)
		if err := r.Validate(); err != nil {
			return p, fmt.Errorf("rule %d (%s): %w", i+1, r.Name, err)
		}
		rules = append(rules, r)
	}
	p.Rules = rules
	return p, nil
}

// sections are those of the built-in rules.
var sections = []string{"gitleaks", "vendor", "credentials", "pii"}
