// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare says where two runs differ. An edit script aligns the events, so a call that was inserted or dropped does not shift
// everything behind it. A call that stands elsewhere is recognised as moved. docs/bisect.md says what is compared, and what never is.
package compare

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Level says which fields count. Each level includes the ones before it.
type Level string

// The levels.
const (
	Actions Level = "actions" // what was asked: the model, the calls a model asked for, tools and their arguments, agents, queries
	Results Level = "results" // also what tools, retrievers and the run returned
	All     Level = "all"     // also what models and agents said
)

// Levels lists the levels, each including the ones before it.
var Levels = []Level{Actions, Results, All}

// Options says what counts as a difference. The zero Options compares Results.
type Options struct {
	Level Level
	// Ignore names fields that do not count, see Fields.
	Ignore []Field
	Rules  *normalise.Rules
	// StrictTypes makes JSON and a text that holds the same JSON different. Without it frameworks that record the same value in another type
	// are alike. A difference that does not count then says so, see Difference.JSONText.
	StrictTypes bool
}

// Check reports a level or a field that does not exist.
func (o Options) Check() error {
	_, err := o.level()
	return err
}

func (o Options) level() (int, error) {
	if o.Level == "" {
		o.Level = Results
	}
	at := slices.Index(Levels, o.Level)
	if at < 0 {
		return 0, fmt.Errorf("nothing to compare is called %.40q; actions, results and all are", o.Level)
	}
	for _, f := range o.Ignore {
		if !slices.ContainsFunc(Fields, func(k FieldKind) bool { return k.Field == f }) {
			return 0, fmt.Errorf("no compared field is called %.40q; see docs/bisect.md", f)
		}
	}
	return at, nil
}

// Result is the comparison of two runs. Its JSON form is part of the contract.
type Result struct {
	Equal   bool  `json:"equal"`
	Compare Level `json:"compare"`
	// Alignment says how the events were aligned, see Alignment.
	Alignment Alignment `json:"alignment"`
	Counts    Counts    `json:"counts"`
	// Input holds what differs before the first event, Output what differs behind the last one.
	Input  []Difference `json:"input"`
	Output []Difference `json:"output"`
	// OutputNoted is what differs there and does not count at the level.
	OutputNoted []Difference `json:"output_noted,omitempty"`
	// First is the first divergent step, nil when the events are equal; Before are the equal steps that lead to it, the nearest last.
	First  *Step  `json:"first"`
	Before []Step `json:"before"`
	// Steps are all divergent steps, First included.
	Steps []Step `json:"steps"`
	// Unrecorded counts, per field, the events of which neither tape holds it: their equality is not known.
	Unrecorded map[Field]int `json:"unrecorded"`
	// Script is the whole alignment, the equal steps included.
	Script []Step `json:"-"`
}

// Counts counts the steps of an alignment. Noted counts equal steps that differ in fields that do not count at the level. JSONText counts
// equal steps of which only one holds a value as text, or in another spelling.
type Counts struct {
	Equal    int `json:"equal"`
	Changed  int `json:"changed"`
	Inserted int `json:"inserted"`
	Dropped  int `json:"dropped"`
	Moved    int `json:"moved"`
	Noted    int `json:"noted"`
	JSONText int `json:"json_text"`
}

// Kind says what became of an event.
type Kind string

// The kinds of steps, seen from the first tape.
const (
	Equal    Kind = "equal"    // the same event; calls that one response asked for may stand in another order
	Changed  Kind = "changed"  // the same event with other fields
	Inserted Kind = "inserted" // only the second tape has it
	Dropped  Kind = "dropped"  // only the first tape has it
	Moved    Kind = "moved"    // both have it, at different places
)

// Step is one step of the edit script: an event of the first tape, of the second, or one of each.
type Step struct {
	Kind Kind      `json:"kind"`
	A    *EventRef `json:"a,omitempty"`
	B    *EventRef `json:"b,omitempty"`
	// Differences are the fields that count, Noted those that do not count at this level.
	Differences []Difference `json:"differences,omitempty"`
	Noted       []Difference `json:"noted,omitempty"`
}

// EventRef names an event of a tape.
type EventRef struct {
	Seq    int            `json:"seq"`
	Turn   int            `json:"turn"` // how many model calls the tape holds up to here
	Type   tape.EventType `json:"type"`
	Name   string         `json:"name,omitempty"`   // tool, retriever or agent; of a model call the model
	Caller string         `json:"caller,omitempty"` // as recorded
}

// Difference is one place at which a field differs. Values stand as they were compared, after the rules; an absent one is nil.
type Difference struct {
	Field Field            `json:"field"`
	Level Level            `json:"level"`
	Path  string           `json:"path"`           // $ is the whole field
	Tool  string           `json:"tool,omitempty"` // of what a model asks for: the tool that both runs ask for there
	A     *exactjson.Value `json:"a,omitempty"`
	B     *exactjson.Value `json:"b,omitempty"`
	// ALabel and BLabel say where a value comes from when it was not simply recorded.
	ALabel tape.Label `json:"a_label,omitempty"`
	BLabel tape.Label `json:"b_label,omitempty"`
	// JSONText says that the values are the same JSON. It names the side that holds the JSON, or a part of it, as text: "a", "b" or "both".
	// Such a difference never counts.
	JSONText string `json:"json_text,omitempty"`
}

// beforeSteps is how many equal steps Result.Before holds.
const beforeSteps = 3

// Tapes compares two runs. It fails for options that are none.
func Tapes(a, b *tape.Tape, o Options) (*Result, error) {
	level, err := o.level()
	if err != nil {
		return nil, err
	}
	in := newInterner()
	return sequences(newSequence(a, o, in), newSequence(b, o, in), level), nil
}

func sequences(a, b *sequence, level int) *Result {
	pairs, how := align(a, b, level)
	r := &Result{
		Compare: Levels[level], Alignment: how, Before: []Step{}, Steps: []Step{}, Unrecorded: unrecorded(a, b, level),
		Input: differences(&a.input, &b.input, level, true), Output: differences(&a.output, &b.output, level, true),
		OutputNoted: differences(&a.output, &b.output, level, false),
	}
	for _, p := range pairs {
		step := newStep(a, b, p, level)
		r.Script = append(r.Script, step)
		r.Counts.add(step)
		if step.Kind == Equal {
			continue
		}
		if len(r.Steps) == 0 {
			done := len(r.Script) - 1
			r.Before = append(r.Before, r.Script[max(0, done-beforeSteps):done]...)
		}
		r.Steps = append(r.Steps, step)
	}
	if len(r.Steps) > 0 {
		r.First = &r.Steps[0]
	}
	r.Equal = len(r.Steps) == 0 && len(r.Input) == 0 && len(r.Output) == 0
	return r
}

func (c *Counts) add(s Step) {
	switch s.Kind {
	case Equal:
		c.Equal++
		text := func(d Difference) bool { return d.JSONText != "" }
		if slices.ContainsFunc(s.Noted, text) {
			c.JSONText++
		}
		if slices.ContainsFunc(s.Noted, func(d Difference) bool { return !text(d) }) {
			c.Noted++
		}
	case Changed:
		c.Changed++
	case Inserted:
		c.Inserted++
	case Dropped:
		c.Dropped++
	case Moved:
		c.Moved++
	}
}

func newStep(a, b *sequence, p pair, level int) Step {
	s := Step{Kind: p.kind}
	if p.a >= 0 {
		s.A = a.ref(p.a)
	}
	if p.b >= 0 {
		s.B = b.ref(p.b)
	}
	if s.A != nil && s.B != nil {
		s.Differences = differences(&a.items[p.a], &b.items[p.b], level, true)
		s.Noted = differences(&a.items[p.a], &b.items[p.b], level, false)
	}
	return s
}

// unrecorded counts what neither tape holds although its kind of event has it.
func unrecorded(a, b *sequence, level int) map[Field]int {
	count := func(s *sequence) map[Field]int {
		n := map[Field]int{}
		for i := range s.items {
			for _, f := range s.items[i].fields {
				if f.level <= level && f.expected && f.value.IsAbsent() {
					n[f.name]++
				}
			}
		}
		return n
	}
	out, other := count(a), count(b)
	for f, n := range out {
		if out[f] = min(n, other[f]); out[f] == 0 {
			delete(out, f)
		}
	}
	return out
}
