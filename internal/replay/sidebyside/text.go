// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TextOptions says how to write text.
type TextOptions struct {
	Width int  // cells of a line; 0 means 100
	Full  bool // every step and whole values
	Color bool // ANSI colours
	// Headline stands in the place of the sentence that says where the runs part; "" for that.
	Headline string
}

// maxSteps is how many divergent steps are written unless Full; maxNote how long a note or the sentence may be.
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
	t.styled(styledText{timeline.Plain, fmt.Sprintf(format, args...)})
}

// styledText is a part of a line.
type styledText struct {
	style timeline.Style
	text  string
}

// styled writes one safe line of parts, cut at the width.
func (t *textWriter) styled(parts ...styledText) {
	var all strings.Builder
	for i := range parts {
		if len(parts[i].text) > 5*t.o.Width { // do not lay out what is not shown
			parts[i].text = strings.ToValidUTF8(parts[i].text[:5*t.o.Width], "")
		}
		parts[i].text = timeline.OneLine(parts[i].text)
		all.WriteString(parts[i].text)
	}
	rest := strings.TrimRight(short(all.String(), t.o.Width), " ")
	for i, p := range parts {
		n := 0
		for n < min(len(p.text), len(rest)) && p.text[n] == rest[n] {
			n++
		}
		if n < len(p.text) || i == len(parts)-1 { // cut within this part
			n = len(rest)
		}
		_, _ = t.w.WriteString(timeline.Paint(t.o.Color, p.style, rest[:n]))
		rest = rest[n:]
	}
	_ = t.w.WriteByte('\n')
}

// Text writes a comparison.
func Text(w io.Writer, a, b Tape, r *compare.Result, o TextOptions) error {
	t := newText(w, o)
	t.head(a, b, r)
	t.result(r)
	return t.w.Flush()
}

// head says how the runs part, what they were asked and how they ended, and which they are.
func (t *textWriter) head(a, b Tape, r *compare.Result) {
	sentence := timeline.Short(cmp.Or(t.o.Headline, Sentence(a, b, r).String()), maxNote)
	_, _ = t.w.WriteString(timeline.Paint(t.o.Color, timeline.Bold, sentence) + "\n\n")
	if a.question() == b.question() {
		t.line("Asked  %s", a.question())
	} else {
		x, y := apart(a.question(), b.question(), t.o.Width-len("A asked  "))
		t.line("A asked  %s", x)
		t.line("B asked  %s", y)
	}
	width := max(len(a.Status), len(b.Status))
	x, y := apart(a.answer(), b.answer(), t.o.Width-width-len("A    "))
	for _, s := range []struct {
		name, status, answer string
		style                timeline.Style
	}{{"A", a.Status, x, sideA}, {"B", b.Status, y, sideB}} {
		t.styled(styledText{s.style, s.name}, styledText{timeline.Plain, "  "}, styledText{timeline.StatusStyle(s.status), fmt.Sprintf("%-*s", width, s.status)},
			styledText{timeline.Plain, "  " + s.answer})
	}
	t.line("")
	for _, s := range []struct {
		name, id, ref string
		tape          Tape
		style         timeline.Style
	}{{"A", shortID(a.RunID, b.RunID), a.Ref, a, sideA}, {"B", shortID(b.RunID, a.RunID), b.Ref, b, sideB}} {
		t.styled(styledText{s.style, s.name}, styledText{timeline.Plain, "  " + s.id + "  " + s.tape.facts()})
		t.styled(styledText{timeline.Dim, "   " + folded(place(s.ref), t.o.Width-3)})
	}
}

// folded is an address that fits: its end, which tells runs apart.
func folded(ref string, width int) string {
	if len(ref) <= width || width < 20 {
		return ref
	}
	at := len(ref) - width + len("…/")
	if slash := strings.IndexByte(ref[at:], '/'); slash >= 0 {
		at += slash + 1
	}
	return "…/" + ref[at:]
}

// The colours of the sides and of the signs.
const (
	sideA = timeline.Red
	sideB = timeline.Green
)

var signStyles = map[compare.Kind]timeline.Style{
	compare.Equal: timeline.Dim, compare.Changed: timeline.Yellow, compare.Inserted: sideB, compare.Dropped: sideA, compare.Moved: timeline.Cyan,
}

func (t *textWriter) result(r *compare.Result) {
	t.line("")
	t.line("%s", counts(r))
	t.differences("Asked", r.Input)
	t.steps(r)
	t.differences("Ended", r.Output)
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
		t.difference("  ", heading(&d), d, "")
	}
}

func (t *textWriter) difference(indent, name string, d compare.Difference, note string) {
	t.styled(styledText{timeline.Plain, indent + name}, styledText{timeline.Dim, note})
	a, b := labelled(d.A, d.ALabel), labelled(d.B, d.BLabel)
	lead := indent + "  "
	a, b = apart(a, b, t.o.Width-len(lead)-max(len(t.a), len(t.b))-1)
	t.styled(styledText{timeline.Plain, lead}, styledText{sideA, t.a}, styledText{timeline.Plain, " " + a})
	t.styled(styledText{timeline.Plain, lead}, styledText{sideB, t.b}, styledText{timeline.Plain, " " + b})
}

// steps writes where the runs differ, what leads there, and what is alike in what counts and yet not the same.
func (t *textWriter) steps(r *compare.Result) {
	first := slices.IndexFunc(r.Script, func(s compare.Step) bool { return s.Kind != compare.Equal })
	n := 0
	begun := false
	for i := range r.Script {
		s := &r.Script[i]
		if s.Kind == compare.Equal && !differs(s) && (i >= first || i < first-len(r.Before)) {
			continue
		}
		if !begun {
			begun = true
			t.line("")
		}
		if s.Kind != compare.Equal || i > first {
			if n++; n > maxSteps && !t.o.Full {
				t.line("  … and more: the runs differ in %d places; --full or --json shows all", len(r.Steps))
				return
			}
		}
		t.step(s)
	}
}

func (t *textWriter) step(s *compare.Step) {
	t.styled(styledText{signStyles[s.Kind], fmt.Sprintf("  %4s %s %-4s ", seq(s.A), signs[s.Kind], seq(s.B))},
		styledText{timeline.Plain, fmt.Sprintf("%-5s %s%s", typeName(either(s).Type), title(s), moved(s))}, styledText{timeline.Yellow, remarked(s)})
	const indent = "              "
	for _, d := range s.Differences {
		t.difference(indent, heading(&d), d, "")
	}
	for _, d := range s.Noted {
		if d.JSONText != "" {
			if s.Kind != compare.Equal {
				t.styled(styledText{timeline.Dim, indent + heading(&d) + "  (" + spelled[d.JSONText] + ")"})
			}
			continue
		}
		t.difference(indent, heading(&d), d, "  (does not count)")
	}
}

func remarked(s *compare.Step) string {
	if x := remark(s); x != "" && s.Kind == compare.Equal {
		return "  (" + x + ")"
	}
	return ""
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
	t.head(a, b, d.Events)
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
		if c.Path != "$" && c.Path != "" {
			name += " " + c.Path
		}
		t.difference("  ", name, compare.Difference{A: c.A, B: c.B}, "")
	}
	if area == "" {
		t.line("")
		t.line("Model, prompt, tools and settings are the same.")
	}
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
	_, _ = t.w.WriteString(timeline.Paint(t.o.Color, timeline.Bold, timeline.Short(separationSentence(s), maxNote)) + "\n\n")
	t.line("%d good, %d bad runs. What counts: %s (--compare %s).", s.Good, s.Bad, meaning[s.Compare], s.Compare)
	if s.Best == nil {
		return t.w.Flush()
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

// separationSentence says in one sentence where good runs part from bad ones.
func separationSentence(s *compare.Separation) string {
	if s.Best == nil {
		return "Every event is as frequent in the good runs as in the bad ones."
	}
	x := s.Best
	what := map[tape.EventType]string{tape.EventModelCall: "the call of model ", tape.EventToolCall: "the call of ", tape.EventAgentCall: "the call of agent ", tape.EventRetrieval: "the search in "}[x.Event.Type] +
		"`" + cmp.Or(x.Event.Name, "(no name)") + "`"
	counts := fmt.Sprintf("in %d of %d good runs and %d of %d bad ones", x.Good, s.Good, x.Bad, s.Bad)
	if s.Separates {
		return fmt.Sprintf("The good runs part from the bad ones at event %d: %s is %s.", x.Event.Seq, what, counts)
	}
	return fmt.Sprintf("No event tells the good runs from the bad ones. %s at event %d comes closest: it is %s.", strings.ToUpper(what[:1])+what[1:], x.Event.Seq, counts)
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
	t.line("  %s %s, event %d (turn %d) of %s", typeName(x.Event.Type), x.Event.Name, x.Event.Seq, x.Event.Turn, deck.ShortID(own[x.Run].RunID))
	t.line("    in %d of %d good, %d of %d bad runs", x.Good, len(good), x.Bad, len(bad))
	if !full {
		return
	}
	for _, v := range x.Instead {
		switch v.Kind {
		case compare.Equal:
			t.line("    %d× the same, such as event %d of %s", v.Count, v.Event.Seq, deck.ShortID(others[v.Run].RunID))
		case compare.Dropped:
			t.line("    %d× nothing, such as in %s", v.Count, deck.ShortID(others[v.Run].RunID))
		default:
			t.line("    %d× %s, such as event %d of %s", v.Count, v.Kind, v.Event.Seq, deck.ShortID(others[v.Run].RunID))
		}
		for _, d := range v.Differences {
			t.difference("      ", heading(&d), d, "")
		}
	}
}
