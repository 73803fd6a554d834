// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Tools are the tool calls that a run has to make.
type Tools struct {
	Mode  Mode   `yaml:"mode"`
	Calls []Call `yaml:"calls"`
}

// Mode says how calls are compared with those that are expected.
type Mode string

// The modes.
const (
	Exact    Mode = "exact"     // these, in this order; the default
	InOrder  Mode = "in_order"  // these in this order, and others between them
	AnyOrder Mode = "any_order" // these, in any order
	Superset Mode = "superset"  // these in any order, and others
	Subset   Mode = "subset"    // no others than these, in any order
)

// Call is a tool call that is expected. Without arguments, those of the call do not matter.
type Call struct {
	Name      string    `yaml:"name"`
	Args      yaml.Node `yaml:"args"` // exactly these
	ArgsMatch Values    `yaml:"args_match"`
	ArgsHash  string    `yaml:"args_hash"`

	value exactjson.Value
}

// maxCalls bounds the calls that are expected.
const maxCalls = 1000

// Check reads what the file of a case holds.
func (t *Tools) Check() error {
	if t == nil {
		return nil
	}
	switch t.Mode {
	case "":
		t.Mode = Exact
	case Exact, InOrder, AnyOrder, Superset, Subset:
	default:
		return fmt.Errorf("tools: mode is %.40q: want exact, in_order, any_order, superset or subset", string(t.Mode))
	}
	if len(t.Calls) > maxCalls {
		return fmt.Errorf("tools: %d calls, at most %d", len(t.Calls), maxCalls)
	}
	for i := range t.Calls {
		if err := t.Calls[i].check(); err != nil {
			return fmt.Errorf("tools: call %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Call) check() (err error) {
	forms := 0
	for _, given := range []bool{!c.Args.IsZero(), c.ArgsMatch != nil, c.ArgsHash != ""} {
		if given {
			forms++
		}
	}
	switch {
	case c.Name == "":
		return errors.New("names no tool")
	case forms > 1:
		return errors.New("args, args_match and args_hash exclude each other")
	case !c.Args.IsZero():
		if c.value, err = ValueOf(&c.Args); err != nil {
			return fmt.Errorf("args: %w", err)
		}
	}
	if err := c.ArgsMatch.check(); err != nil {
		return fmt.Errorf("args_match: %w", err)
	}
	return nil
}

// Judge lists how the tool calls of a run are others than those that are expected: the first that is.
func (t *Tools) Judge(of *tape.Tape, rules *normalise.Rules) []Failure {
	if t == nil {
		return nil
	}
	calls := trajectory{want: t.Calls, rules: rules}
	for i := range of.Events {
		if e := &of.Events[i]; e.Type == tape.EventToolCall {
			calls.got = append(calls.got, e)
		}
	}
	expected, found := "", ""
	switch t.Mode {
	case InOrder:
		expected, found = calls.inOrder()
	case AnyOrder:
		if expected, found = calls.holdsAll(); found == "" {
			expected, found = calls.holdsNoOther()
		}
	case Superset:
		expected, found = calls.holdsAll()
	case Subset:
		expected, found = calls.holdsNoOther()
	default:
		expected, found = calls.exactly()
	}
	if found == "" {
		return nil
	}
	return []Failure{{"tools", expected, found}}
}

// trajectory is the calls of a run beside those that are expected. Its methods say what is expected and what
// was found in its place; nothing was found wrong where the latter is "".
type trajectory struct {
	want  []Call
	got   []*tape.Event
	rules *normalise.Rules
}

// fits tells whether a call is one that is expected, as the rules leave both.
func (t *trajectory) fits(want *Call, e *tape.Event) bool {
	switch {
	case want.Name != e.Name:
		return false
	case want.ArgsHash != "":
		return want.ArgsHash == e.ArgsHash
	case want.ArgsMatch != nil:
		return want.ArgsMatch.judge(t.rules.Apply(e.Name, "args", e.Args)) == ""
	case want.value.IsAbsent():
		return true
	}
	return t.rules.Apply(e.Name, "args", want.value).Equal(t.rules.Apply(e.Name, "args", e.Args))
}

func (t *trajectory) exactly() (expected, found string) {
	for i := range max(len(t.want), len(t.got)) {
		switch {
		case i >= len(t.got):
			return t.expected(i), none
		case i >= len(t.want):
			return fmt.Sprintf("%d calls", len(t.want)), fmt.Sprintf("call %d: %s", i+1, callText(t.got[i]))
		case !t.fits(&t.want[i], t.got[i]):
			return t.expected(i), t.other(&t.want[i], t.got[i])
		}
	}
	return "", ""
}

func (t *trajectory) inOrder() (expected, found string) {
	at := 0
	for i := range t.want {
		next := slices.IndexFunc(t.got[at:], func(e *tape.Event) bool { return t.fits(&t.want[i], e) })
		if next < 0 {
			behind := ""
			if i > 0 {
				behind = " behind the ones before it"
			}
			return t.expected(i) + behind, t.nearest(i, t.got[at:])
		}
		at += next + 1
	}
	return "", ""
}

// holdsAll gives each call that is expected one that was made.
func (t *trajectory) holdsAll() (expected, found string) {
	i := unmatched(len(t.want), len(t.got), func(i, j int) bool { return t.fits(&t.want[i], t.got[j]) })
	if i < 0 {
		return "", ""
	}
	return t.expected(i), t.nearest(i, t.got)
}

// holdsNoOther gives each call that was made one that is expected.
func (t *trajectory) holdsNoOther() (expected, found string) {
	fits := func(j, i int) bool { return t.fits(&t.want[i], t.got[j]) }
	j := -1
	if len(t.got) <= len(t.want) {
		j = unmatched(len(t.got), len(t.want), fits)
	} else { // some call has none: the first that nobody expects, else the first that is too many
		j = min(len(t.want), len(t.got)-1)
		for at := range t.got {
			if !slices.ContainsFunc(t.want, func(w Call) bool { return t.fits(&w, t.got[at]) }) {
				j = at
				break
			}
		}
	}
	if j < 0 {
		return "", ""
	}
	return fmt.Sprintf("no other than %d calls", len(t.want)), fmt.Sprintf("call %d: %s", j+1, callText(t.got[j]))
}

// unmatched pairs each of n things with one of m of its own that fits it, and returns the first for which
// none is left; -1 if all have one. A thing that n of the others fit always gets one, so no more of them are
// looked at.
func unmatched(n, m int, fits func(i, j int) bool) int {
	of := make([]int, m) // the thing that has it, from 1
	candidates := make([][]int, n)
	var place func(i int, tried map[int]bool) bool
	place = func(i int, tried map[int]bool) bool {
		for _, j := range candidates[i] {
			if tried[j] {
				continue
			}
			tried[j] = true
			if of[j] == 0 || place(of[j]-1, tried) {
				of[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range n {
		for j := 0; j < m && len(candidates[i]) < n; j++ {
			if fits(i, j) {
				candidates[i] = append(candidates[i], j)
			}
		}
		if !place(i, map[int]bool{}) {
			return i
		}
	}
	return -1
}

// none stands for a call that was not made.
const none = "no such call"

func (t *trajectory) expected(i int) string {
	return fmt.Sprintf("call %d: %s", i+1, t.want[i].String())
}

// nearest is what was made instead of an expected call: the first call of that tool with other arguments.
func (t *trajectory) nearest(i int, among []*tape.Event) string {
	for _, e := range among {
		if e.Name == t.want[i].Name && !t.fits(&t.want[i], e) {
			return t.other(&t.want[i], e)
		}
	}
	return none
}

// other shows a call that does not fit, and which rule it does not hold.
func (t *trajectory) other(want *Call, e *tape.Event) string {
	text := callText(e)
	if want.ArgsMatch != nil && want.Name == e.Name {
		text += " (" + want.ArgsMatch.judge(t.rules.Apply(e.Name, "args", e.Args)) + ")"
	}
	return text
}

// String is the call for people.
func (c *Call) String() string {
	switch {
	case c.ArgsHash != "":
		return c.Name + " " + c.ArgsHash
	case c.ArgsMatch != nil:
		return strings.TrimSpace(c.Name + " with " + c.ArgsMatch.String())
	case c.value.IsAbsent():
		return c.Name
	}
	return c.Name + " " + cut(c.value.JSON())
}

func callText(e *tape.Event) string {
	if e.Args.IsAbsent() {
		return cut(e.Name)
	}
	return cut(e.Name) + " " + cut(e.Args.JSON())
}
