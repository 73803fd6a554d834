// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TextOptions says how to write text.
type TextOptions struct {
	Width int  // cells of a line; 0 means 100
	Full  bool // every step and whole values
}

// maxSteps is how many divergent steps are written unless Full; maxNote how long a note may be.
const (
	maxSteps = 20
	maxNote  = 500
)

type textWriter struct {
	w    *bufio.Writer
	o    TextOptions
	a, b string // what the two sides of a difference are called
}

func newText(w io.Writer, o TextOptions) *textWriter {
	if o.Width == 0 {
		o.Width = 100
	}
	if o.Full {
		o.Width = 1 << 28
	}
	return &textWriter{bufio.NewWriter(w), o, "A", "B"}
}

// line writes one safe line; what a tape holds comes as an argument.
func (t *textWriter) line(format string, args ...any) {
	_, _ = t.w.WriteString(strings.TrimRight(short(fmt.Sprintf(format, args...), t.o.Width), " ") + "\n")
}

// Text writes a comparison.
func Text(w io.Writer, a, b Tape, r *compare.Result, o TextOptions) error {
	t := newText(w, o)
	t.head(a, b)
	t.result(r)
	return t.w.Flush()
}

func (t *textWriter) head(a, b Tape) {
	for _, x := range []struct {
		name string
		tape Tape
	}{{"A", a}, {"B", b}} {
		t.line("%s  %s  %d events", x.name, x.tape.RunID, x.tape.Events)
		_, _ = t.w.WriteString("   " + short(x.tape.Ref, 4*len(x.tape.Ref)) + "\n")
	}
}

func (t *textWriter) result(r *compare.Result) {
	if r.Equal {
		t.line("equal in %s: %d events", r.Compare, r.Counts.Equal)
	} else {
		t.line("divergent in %s: %s", r.Compare, counts(r.Counts))
	}
	t.differences("Input", r.Input)
	if r.First != nil {
		t.line("")
		t.line("First: %s", where(r.First))
		t.line("  %s", sentence(r.First, r.First.Differences))
		t.steps(r)
	}
	t.differences("Output", r.Output)
	if n := notes(r); len(n) > 0 {
		t.line("")
		for _, note := range n {
			_, _ = t.w.WriteString("note: " + short(note, maxNote) + "\n")
		}
	}
}

func (t *textWriter) differences(name string, all []compare.Difference) {
	if len(all) == 0 {
		return
	}
	t.line("")
	t.line("%s", name)
	for _, d := range all {
		t.difference("  ", d, "")
	}
}

func (t *textWriter) difference(indent string, d compare.Difference, note string) {
	t.line("%s%s %s%s", indent, d.Field, d.Path, note)
	a, b := labelled(d.A, d.ALabel), labelled(d.B, d.BLabel)
	lead := indent + "  "
	a, b = t.apart(a, b, len(lead)+max(len(t.a), len(t.b))+1)
	t.line("%s%s %s", lead, t.a, a)
	t.line("%s%s %s", lead, t.b, b)
}

// apart cuts two long texts so that the place where they part can be seen.
func (t *textWriter) apart(a, b string, indent int) (string, string) {
	room := t.o.Width - indent
	if len(a) <= room && len(b) <= room {
		return a, b
	}
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	lead := room / 3
	if common <= lead {
		return a, b
	}
	at := common - lead
	for at < common && at < len(a) && a[at]&0xc0 == 0x80 { // not within a character
		at++
	}
	return "…" + a[at:], "…" + b[at:]
}

func (t *textWriter) steps(r *compare.Result) {
	t.line("")
	for i := range r.Before {
		t.step(&r.Before[i])
	}
	for i := range r.Steps {
		if i == maxSteps && !t.o.Full {
			t.line("  … %d more divergent steps; --full or --json shows them", len(r.Steps)-i)
			break
		}
		t.step(&r.Steps[i])
	}
}

func (t *textWriter) step(s *compare.Step) {
	t.line("  %4s %s %-4s %-5s %s%s", seq(s.A), signs[s.Kind], seq(s.B), typeName(either(s).Type), title(s), moved(s))
	const indent = "              "
	for _, d := range s.Differences {
		t.difference(indent, d, "")
	}
	for _, d := range s.Noted {
		t.difference(indent, d, "  (does not count)")
	}
}

func moved(s *compare.Step) string {
	if s.Kind == compare.Moved {
		return fmt.Sprintf("  (moved: %d of A is %d of B)", s.A.Seq, s.B.Seq)
	}
	return ""
}

// DriftText writes everything in which two runs differ.
func DriftText(w io.Writer, a, b Tape, d *compare.Drift, o TextOptions) error {
	t := newText(w, o)
	t.head(a, b)
	area := compare.Area("")
	for _, c := range d.Changes {
		if c.Area == compare.AreaInput || c.Area == compare.AreaOutput {
			continue // stand with the events
		}
		if c.Area != area {
			area = c.Area
			t.line("")
			t.line("%s", strings.ToUpper(string(area[:1]))+string(area[1:]))
		}
		name := c.Field
		if name == "" {
			name = "of the run's agent"
		}
		t.difference("  ", compare.Difference{Field: compare.Field(name), Path: c.Path, A: c.A, B: c.B}, "")
	}
	if area == "" {
		t.line("equal in model, prompt, tools and settings")
	}
	t.line("")
	t.line("Events")
	t.result(d.Events)
	t.line("")
	t.line("Totals (never a difference)")
	for _, x := range d.Totals {
		t.line("  %-16s %s → %s", x.Name, plainValue(x.A), plainValue(x.B))
	}
	return t.w.Flush()
}

func plainValue(v *exactjson.Value) string {
	if v == nil {
		return "–"
	}
	return v.Text()
}

// SeparationText writes which event tells good runs from bad ones.
func SeparationText(w io.Writer, good, bad []Tape, s *compare.Separation, o TextOptions) error {
	t := newText(w, o)
	t.line("%d good, %d bad runs; compared in %s", s.Good, s.Bad, s.Compare)
	if s.Best == nil {
		t.line("every event is as frequent in the good runs as in the bad ones")
		return t.w.Flush()
	}
	if s.Separates {
		t.line("the earliest event that separates them:")
	} else {
		t.line("no event separates them; the one that comes closest:")
	}
	t.line("")
	t.witness(good, bad, s.Best, true)
	if len(s.Next) > 0 {
		t.line("")
		t.line("Next")
		for i := range s.Next {
			t.witness(good, bad, &s.Next[i], t.o.Full)
		}
	}
	return t.w.Flush()
}

func (t *textWriter) witness(good, bad []Tape, x *compare.Witness, full bool) {
	own, others := good, bad
	if x.Side == compare.Bad {
		own, others = bad, good
	}
	t.a, t.b = "good", "bad "
	if x.Side == compare.Bad {
		t.a, t.b = t.b, t.a
	}
	t.line("  %s %s, event %d (turn %d) of %s", typeName(x.Event.Type), x.Event.Name, x.Event.Seq, x.Event.Turn, own[x.Run].RunID)
	t.line("    in %d of %d good, %d of %d bad runs", x.Good, len(good), x.Bad, len(bad))
	if !full {
		return
	}
	for _, v := range x.Instead {
		switch v.Kind {
		case compare.Equal:
			t.line("    %d× the same, such as event %d of %s", v.Count, v.Event.Seq, others[v.Run].RunID)
		case compare.Dropped:
			t.line("    %d× nothing, such as in %s", v.Count, others[v.Run].RunID)
		default:
			t.line("    %d× %s, such as event %d of %s", v.Count, v.Kind, v.Event.Seq, others[v.Run].RunID)
		}
		for _, d := range v.Differences {
			t.difference("      ", d, "")
		}
	}
}
