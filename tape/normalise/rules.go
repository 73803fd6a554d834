// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package normalise takes out of recorded values what differs from run to run although nothing differs: times, ids, counters. Rules that a
// person reviews say what is volatile. Nothing is guessed.
package normalise

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Action says what happens to a value that a rule finds.
type Action string

// The actions of rules.
const (
	Ignore    Action = "ignore"    // the member is taken out; an element of an array and a whole value become "<ignored>"
	Normalise Action = "normalise" // what has the form becomes a placeholder that names the form; anything else stays
)

// Rule is one line of a rules file.
type Rule struct {
	// Tool is the name of a tool, * for every tool, or empty: every value that is compared, those of models, agents and the input too.
	Tool string
	// Path leads to the value: $, $.a.b, $.list[3], $.list[*].id, $.*.id, $..id, $['a name'].
	Path   string
	Action Action
	// As is the form that Normalise looks for, see Forms.
	As string
	// Pattern is a form of one's own, a regular expression of RE2, instead of As.
	Pattern string
	// In limits the rule to fields of an event (args, result, text, …); empty means all.
	In []string
}

// Arguments are the fields of an event that hold the arguments of a call.
var Arguments = []string{"args", "executed_args"}

// Holds reports whether the rule is for a field of what belongs to a tool, "" for what belongs to none.
func (r *Rule) Holds(tool, field string) bool {
	return (len(r.In) == 0 || slices.Contains(r.In, field)) && (r.Tool == "" || r.Tool == tool || r.Tool == "*" && tool != "")
}

// Rules are the rules of a file, ready to be applied. A nil *Rules changes nothing.
type Rules struct {
	list []compiled
}

type compiled struct {
	Rule
	path jsonpath.Path
	form form
}

// MaxRules bounds rules.
const MaxRules = 1000

// New compiles rules.
func New(rules []Rule) (*Rules, error) {
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("%d rules, at most %d", len(rules), MaxRules)
	}
	r := &Rules{list: make([]compiled, 0, len(rules))}
	for i, rule := range rules {
		c, err := compile(rule)
		if err != nil {
			return nil, fmt.Errorf("rule %d, path %.80q: %w", i+1, rule.Path, err)
		}
		r.list = append(r.list, c)
	}
	return r, nil
}

// And returns the rules with others behind them.
func (r *Rules) And(more []Rule) (*Rules, error) {
	added, err := New(more)
	if err != nil {
		return nil, err
	}
	if r != nil {
		added.list = append(slices.Clone(r.list), added.list...)
	}
	return added, nil
}

func compile(rule Rule) (compiled, error) {
	c := compiled{Rule: rule}
	var err error
	if c.path, err = jsonpath.Parse(rule.Path); err != nil {
		return c, err
	}
	switch rule.Action {
	case Ignore:
		if rule.As != "" || rule.Pattern != "" {
			return c, errors.New("ignore takes neither as nor pattern")
		}
		return c, nil
	case Normalise:
	default:
		return c, fmt.Errorf("action %.40q is neither %s nor %s", rule.Action, Ignore, Normalise)
	}
	switch {
	case (rule.As == "") == (rule.Pattern == ""):
		return c, errors.New("normalise takes one of as and pattern")
	case rule.Pattern != "":
		re, err := regexp.Compile(rule.Pattern)
		if err != nil {
			return c, fmt.Errorf("pattern: %w", err)
		}
		c.form = form{name: "pattern", text: re}
	default:
		at := slices.IndexFunc(forms, func(f form) bool { return f.name == rule.As })
		if at < 0 {
			return c, fmt.Errorf("as %.40q is none of %s", rule.As, strings.Join(Forms(), ", "))
		}
		c.form = forms[at]
	}
	return c, nil
}

// Apply returns the value as the rules leave it. tool is the name of the tool that was called, or "" if the value belongs to no tool. field
// is the field of the event.
//
// Text that holds a JSON object or array is decoded where a path leads into it, so that a rule reaches a result that a tool wrote as text.
func (r *Rules) Apply(tool, field string, v exactjson.Value) exactjson.Value {
	if r == nil {
		return v
	}
	for i := range r.list {
		if c := &r.list[i]; !v.IsAbsent() && c.Holds(tool, field) {
			v = c.apply(v)
		}
	}
	return v
}

// ignored stands where a value was taken out that cannot be left out.
var ignored = exactjson.StringValue("<ignored>")

func (c *compiled) apply(v exactjson.Value) exactjson.Value {
	if c.Action == Normalise {
		return c.path.Rewrite(v, ignored, c.form.replace)
	}
	if v = c.path.Rewrite(v, ignored, func(exactjson.Value) exactjson.Value { return exactjson.Value{} }); v.IsAbsent() {
		return ignored
	}
	return v
}
