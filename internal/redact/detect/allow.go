// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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
	paths    []jsonPath
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
		if p.matches(at) {
			return true
		}
	}
	return false
}

// jsonPath is the part of JSONPath (RFC 9535) that names places: $, names, indices, wildcards and the descendant operator.
type jsonPath []pathStep

type pathStep struct {
	name  string
	index int
	kind  pathKind
	deep  bool // behind "..": any number of steps may stand before
}

type pathKind uint8

const (
	pathName pathKind = iota
	pathIndex
	pathAny
)

// parsePath reads $.name, $['name'], [0], [*], .*, ..name. The first name is that of the attribute.
func parsePath(text string) (jsonPath, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "$")
	if !ok {
		return nil, errors.New("does not begin with $")
	}
	var p jsonPath
	for rest != "" {
		var s pathStep
		switch {
		case strings.HasPrefix(rest, ".."):
			s.deep = true
			rest = rest[2:]
			if strings.HasPrefix(rest, "[") {
				break
			}
			rest = "." + rest
		}
		switch {
		case strings.HasPrefix(rest, "["):
			end := strings.IndexByte(rest, ']')
			if len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
				if q := strings.Index(rest[2:], rest[1:2]+"]"); q >= 0 {
					end = q + 3
				}
			}
			if end < 2 {
				return nil, errors.New("a bracket without an end")
			}
			inner := rest[1:end]
			rest = rest[end+1:]
			switch {
			case inner == "*":
				s.kind = pathAny
			case len(inner) > 1 && (inner[0] == '\'' || inner[0] == '"') && inner[len(inner)-1] == inner[0]:
				s.name = inner[1 : len(inner)-1]
			default:
				n, err := strconv.Atoi(inner)
				if err != nil || n < 0 {
					return nil, fmt.Errorf("%q is neither an index, * nor a quoted name (filters and slices are not supported)", inner)
				}
				s.kind, s.index = pathIndex, n
			}
		case strings.HasPrefix(rest, "."):
			rest = rest[1:]
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, errors.New("a name is missing")
			}
			if s.name = rest[:end]; s.name == "*" {
				s.kind = pathAny
			}
			rest = rest[end:]
		default:
			return nil, fmt.Errorf("cannot read %q", rest)
		}
		p = append(p, s)
	}
	if len(p) == 0 {
		return nil, errors.New("names nothing")
	}
	return p, nil
}

// matches says whether a place is that of the path. Fields of the signal (spans, attributes) are no part of paths.
func (p jsonPath) matches(at path) bool {
	var steps []step
	for _, s := range at {
		if !s.field {
			steps = append(steps, s)
		}
	}
	return p.match(steps)
}

func (p jsonPath) match(at []step) bool {
	if len(p) == 0 {
		return len(at) == 0
	}
	if p[0].deep {
		next := append(jsonPath{p[0]}, p[1:]...)
		next[0].deep = false
		for i := range at {
			if next.match(at[i:]) {
				return true
			}
		}
		return false
	}
	if len(at) == 0 {
		return false
	}
	s := at[0]
	switch p[0].kind {
	case pathName:
		if s.array || s.name != p[0].name {
			return false
		}
	case pathIndex:
		if !s.array || s.index != p[0].index {
			return false
		}
	}
	return p[1:].match(at[1:])
}
