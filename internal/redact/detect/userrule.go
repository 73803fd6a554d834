// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"

	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// UserRule is a rule from configuration. With a pattern it replaces what the pattern matches (its first group, if it has one). Without
// a pattern it replaces whole values. Keys and paths restrict it to values under these names or places. A value must meet one key or path.
type UserRule struct {
	Name    string   `yaml:"name" mapstructure:"name"`
	Pattern string   `yaml:"pattern" mapstructure:"pattern"` // RE2
	Keys    []string `yaml:"keys" mapstructure:"keys"`       // names, without regard to case; * stands for any characters
	Paths   []string `yaml:"paths" mapstructure:"paths"`     // JSON paths: $.a.b[*], $..name; the first name is that of the attribute
	Allow   []string `yaml:"allow" mapstructure:"allow"`     // values that this rule leaves alone
}

type userRule struct {
	Name    string
	id      ruleID
	re      *regexp.Regexp
	literal string // lower case; stands in every match
	keys    []*regexp.Regexp
	paths   []jsonpath.Path
	allow   map[string]bool
}

// maxUserPattern bounds patterns; RE2 bounds their time.
const maxUserPattern = 4096

// Validate says what is wrong with a rule.
func (u *UserRule) Validate() error {
	_, err := compileUserRule(u)
	return err
}

// RuleName turns github_pat and GitHubPAT into github-pat.
func RuleName(name string) string { return strings.Join(splitWords(name), "-") }

func compileUserRule(u *UserRule) (*userRule, error) {
	c := &userRule{Name: u.Name, allow: map[string]bool{}}
	if !token.ValidRuleName(u.Name) {
		return nil, errors.New("a name is words of at most 16 lower-case letters and digits (3 digits at most), joined by hyphens, 48 characters in all")
	}
	if u.Pattern == "" && len(u.Keys) == 0 && len(u.Paths) == 0 {
		return nil, errors.New("needs a pattern, keys or paths")
	}
	if u.Pattern != "" {
		if len(u.Pattern) > maxUserPattern {
			return nil, fmt.Errorf("the pattern has %d characters, at most %d are allowed", len(u.Pattern), maxUserPattern)
		}
		re, err := regexp.Compile(u.Pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern: %w%s", err, re2Hint(u.Pattern))
		}
		if re.MatchString("") {
			return nil, errors.New("the pattern matches the empty text, and so everything")
		}
		c.re = re
		if parsed, err := syntax.Parse(u.Pattern, syntax.Perl); err == nil {
			c.literal = strings.ToLower(longestLiteral(parsed))
		}
	}
	for _, k := range u.Keys {
		re, err := regexp.Compile(`(?i)\A` + strings.ReplaceAll(regexp.QuoteMeta(k), `\*`, `.*`) + `\z`)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", k, err)
		}
		c.keys = append(c.keys, re)
	}
	for _, text := range u.Paths {
		at, err := parsePath(text)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		c.paths = append(c.paths, at)
	}
	for _, v := range u.Allow {
		c.allow[v] = true
	}
	return c, nil
}

// re2Hint explains what people miss most.
func re2Hint(pattern string) string {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(pattern, look) {
			return "; patterns are RE2, which has no look-around"
		}
	}
	return ""
}

// longestLiteral returns a text that stands in every match, "" if there is none.
func longestLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r >= 0x80 { // lower case of other alphabets can have another length
				return ""
			}
		}
		return string(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return longestLiteral(re.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if l := longestLiteral(sub); len(l) > len(best) {
				best = l
			}
		}
		return best
	}
	return ""
}

// applies says whether the rule looks at values at this place.
func (u *userRule) applies(at path) bool {
	if len(u.keys) == 0 && len(u.paths) == 0 {
		return true
	}
	name := at.lastName()
	for _, re := range u.keys {
		if re.MatchString(name) {
			return true
		}
	}
	for _, p := range u.paths {
		if matches(p, at) {
			return true
		}
	}
	return false
}

// userRules runs the rules of users that apply here.
func (f *finder) userRules() {
	for _, u := range f.user {
		if u.re == nil || u.literal != "" && !containsLowered(f.s, u.literal) {
			continue
		}
		for _, m := range u.re.FindAllStringSubmatchIndex(f.s, -1) {
			start, end := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				start, end = m[2], m[3]
			}
			if start < end && !u.allow[f.s[start:end]] {
				f.add(start, end, u.id)
			}
		}
	}
}

func containsLowered(s, lower string) bool {
	if strings.Contains(s, lower) {
		return true
	}
	for i := 0; i+len(lower) <= len(s); i++ {
		if lowered[s[i]] == lower[0] && equalLowered(s[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}

// userFor returns the rules with a pattern that apply at a place.
func (r *Detector) userFor(at path) (rules []*userRule) {
	for _, u := range r.user {
		if u.re != nil && u.applies(at) {
			rules = append(rules, u)
		}
	}
	return rules
}

// wholeRule returns the rule that replaces whole values at this place, none if there is none.
func (r *Detector) wholeRule(at path) ruleID {
	for _, u := range r.user {
		if u.re == nil && u.applies(at) {
			return u.id
		}
	}
	return none
}
