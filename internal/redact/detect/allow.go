// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Allow lists what no rule may touch.
type Allow struct {
	Values   []string `yaml:"values" mapstructure:"values"`     // exact values of hits
	Patterns []string `yaml:"patterns" mapstructure:"patterns"` // RE2; must match a hit as a whole
	Paths    []string `yaml:"paths" mapstructure:"paths"`       // JSON paths; the first name is that of the attribute
}

// allowList is what no rule may touch.
type allowList struct {
	values   map[string]bool
	patterns []*regexp.Regexp
	paths    []jsonpath.Path
}

func (l *allowList) compile(a Allow) error {
	if len(a.Values) > 0 {
		l.values = map[string]bool{}
	}
	for _, v := range a.Values {
		l.values[v] = true
	}
	for _, p := range a.Patterns {
		re, err := regexp.Compile(`\A(?:` + p + `)\z`)
		if err != nil {
			return fmt.Errorf("allow: pattern %q: %w%s", p, err, re2Hint(p))
		}
		l.patterns = append(l.patterns, re)
	}
	for _, text := range a.Paths {
		p, err := parsePath(text)
		if err != nil {
			return fmt.Errorf("allow: path %q: %w", text, err)
		}
		l.paths = append(l.paths, p)
	}
	return nil
}

// allowed says whether a hit is to be left alone.
func (r *Detector) allowed(value string) bool {
	if r.allow.values[value] {
		return true
	}
	for _, re := range r.allow.patterns {
		if re.MatchString(value) {
			return true
		}
	}
	return false
}

func (r *Detector) pathAllowed(at path) bool {
	for _, p := range r.allow.paths {
		if matches(p, at) {
			return true
		}
	}
	return false
}

// matches reports whether a path leads to a place. Fields of the signal (spans, attributes) are no part of paths.
func matches(p jsonpath.Path, at path) bool {
	place := make([]jsonpath.Step, 0, len(at))
	for _, s := range at {
		switch {
		case s.field:
		case s.array:
			place = append(place, jsonpath.Step{Kind: jsonpath.Element, Index: s.index})
		default:
			place = append(place, jsonpath.Step{Name: s.name})
		}
	}
	return p.Matches(place)
}

// parsePath reads a path. The first name is that of the attribute.
func parsePath(text string) (jsonpath.Path, error) {
	p, err := jsonpath.Parse(strings.TrimSpace(text))
	if err == nil && len(p) == 0 {
		err = errors.New("names nothing")
	}
	return p, err
}
