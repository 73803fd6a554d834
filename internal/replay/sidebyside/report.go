// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package sidebyside shows the comparison of two tapes to a person: as text for a terminal and as a page for a browser. Nothing that a
// tape holds reaches either of them as anything but text.
package sidebyside

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Tape is one of the tapes that were compared.
type Tape struct {
	Ref    string `json:"ref"` // its address, without options
	RunID  string `json:"run_id"`
	TapeID string `json:"tape_id"`
	Events int    `json:"events"`
}

// Of names a tape.
func Of(ref string, t *tape.Tape) Tape { return Tape{ref, t.Run.RunID, t.TapeID, len(t.Events)} }

// signs stand between the numbers of the two events of a step.
var signs = map[compare.Kind]string{
	compare.Equal: "=", compare.Changed: "~", compare.Inserted: "+", compare.Dropped: "-", compare.Moved: ">",
}

var typeNames = map[tape.EventType]string{
	tape.EventModelCall: "model", tape.EventToolCall: "tool", tape.EventAgentCall: "agent", tape.EventRetrieval: "fetch",
}

func typeName(t tape.EventType) string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return string(t)
}

func seq(e *compare.EventRef) string {
	if e == nil {
		return ""
	}
	return strconv.Itoa(e.Seq)
}

// either is the event of a step, that of the first tape if there is one.
func either(s *compare.Step) *compare.EventRef {
	if s.A != nil {
		return s.A
	}
	return s.B
}

// title is what was called; both names where they differ.
func title(s *compare.Step) string {
	e := either(s)
	if s.A != nil && s.B != nil && s.A.Name != s.B.Name {
		return s.A.Name + " → " + s.B.Name
	}
	return e.Name
}

// where says which event of which tape a step is.
func where(s *compare.Step) string {
	at := func(tape string, e *compare.EventRef) string {
		return fmt.Sprintf("event %d of %s (turn %d)", e.Seq, tape, e.Turn)
	}
	switch {
	case s.B == nil:
		return at("A", s.A)
	case s.A == nil:
		return at("B", s.B)
	}
	return at("A", s.A) + ", " + at("B", s.B)
}

// sentence says what happened at a step that has these differences.
func sentence(s *compare.Step, differences []compare.Difference) string {
	what := typeName(either(s).Type) + " " + title(s)
	switch s.Kind {
	case compare.Inserted:
		return what + " is in B only"
	case compare.Dropped:
		return what + " is in A only"
	case compare.Moved:
		return what + " stands at another place"
	}
	var fields []string
	for _, d := range differences {
		if name := string(d.Field); !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	return what + " differs in " + strings.Join(fields, ", ")
}

// value is a compared value as text; nothing where it is absent.
func value(v *exactjson.Value) string {
	if v == nil {
		return "(nothing)"
	}
	return v.JSON()
}

func labelled(v *exactjson.Value, label tape.Label) string {
	if label == "" {
		return value(v)
	}
	return value(v) + " (" + string(label) + ")"
}

func counts(c compare.Counts) string {
	return fmt.Sprintf("%d equal, %d changed, %d inserted, %d dropped, %d moved", c.Equal, c.Changed, c.Inserted, c.Dropped, c.Moved)
}

// notes are what a reader should know about an outcome: what was not recorded, what does not count, how the events were aligned.
func notes(r *compare.Result) []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(r.Unrecorded)) {
		out = append(out, fmt.Sprintf("%s of %d events is recorded in neither tape; whether it is equal is not known", f, r.Unrecorded[f]))
	}
	if i := slices.IndexFunc(r.Script, func(s compare.Step) bool { return s.Kind == compare.Equal && len(s.Noted) > 0 }); i >= 0 {
		s := &r.Script[i]
		out = append(out, fmt.Sprintf("%d equal events differ in what --compare %s does not count, first %s: %s", r.Counts.Noted, r.Compare, where(s), sentence(s, s.Noted)))
	}
	switch r.Alignment {
	case compare.Anchored:
		out = append(out, "the runs are long: aligned between events that are unique in both")
	case compare.Positional:
		out = append(out, "the runs are long and repetitive: a stretch of them was paired by position")
	}
	return out
}

// short is text on one line.
func short(text string, width int) string { return timeline.Short(text, max(width, 20)) }
