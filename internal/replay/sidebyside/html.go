// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// How many bytes of a value a page shows, of events that are equal and of those that differ.
const (
	equalBytes     = 800
	divergentBytes = 16_000
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

// The page loads and runs nothing; its one style sheet is allowed by its digest, so that content cannot bring another.
var (
	styleDigest = sha256.Sum256([]byte(style))
	policy      = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(styleDigest[:]) + "'; base-uri 'none'; form-action 'none'"
	page        = template.Must(template.New("page").Parse(pageText))
)

type view struct {
	Policy  string
	Style   template.CSS
	A, B    Tape
	Verdict string
	Counts  string
	Equal   bool
	Notes   []string
	Input   []viewDifference
	Output  []viewDifference
	Rows    []row
}

type row struct {
	Kind        string
	Sign        string
	First       bool
	Title       string
	A, B        *cell
	Differences []viewDifference
	Noted       []viewDifference
}

type cell struct {
	Seq    int
	Turn   int
	Type   string
	Name   string
	Caller string
	Fields []viewField
}

type viewField struct{ Name, Text string }

type viewDifference struct {
	Field, Path string
	A, B        marked
}

// marked is a text in which what differs is marked.
type marked struct{ Before, Mark, After, Label string }

// HTML writes a page with the two runs side by side. It is one file that needs nothing else.
func HTML(w io.Writer, a, b Tape, ta, tb *tape.Tape, r *compare.Result) error {
	v := view{
		Policy: policy, Style: template.CSS(style), A: cleanTape(a), B: cleanTape(b), Equal: r.Equal, Counts: counts(r.Counts), Notes: notes(r),
		Verdict: "divergent in " + string(r.Compare), Input: viewDifferences(r.Input), Output: viewDifferences(r.Output),
	}
	if r.Equal {
		v.Verdict = "equal in " + string(r.Compare)
	}
	for i := range v.Notes {
		v.Notes[i] = timeline.Clean(v.Notes[i])
	}
	eventsA, eventsB := bySeq(ta), bySeq(tb)
	first := true
	for i := range r.Script {
		s := &r.Script[i]
		x := row{Kind: string(s.Kind), Sign: signs[s.Kind], Title: timeline.Clean(sentence(s, s.Differences)), Differences: viewDifferences(s.Differences), Noted: viewDifferences(s.Noted)}
		limit := divergentBytes
		if s.Kind == compare.Equal {
			x.Title, limit = timeline.Clean(typeName(either(s).Type)+" "+title(s)), equalBytes
		} else {
			x.First, first = first, false
		}
		x.A, x.B = newCell(s.A, ta, eventsA, limit), newCell(s.B, tb, eventsB, limit)
		v.Rows = append(v.Rows, x)
	}
	return page.Execute(w, v)
}

func cleanTape(t Tape) Tape {
	t.Ref, t.RunID, t.TapeID = timeline.Clean(t.Ref), timeline.Clean(t.RunID), timeline.Clean(t.TapeID)
	return t
}

func bySeq(t *tape.Tape) map[int]*tape.Event {
	out := make(map[int]*tape.Event, len(t.Events))
	for i := range t.Events {
		out[t.Events[i].Seq] = &t.Events[i]
	}
	return out
}

func newCell(ref *compare.EventRef, t *tape.Tape, events map[int]*tape.Event, limit int) *cell {
	if ref == nil {
		return nil
	}
	c := &cell{Seq: ref.Seq, Turn: ref.Turn, Type: timeline.Clean(typeName(ref.Type)), Name: timeline.Clean(ref.Name), Caller: timeline.Clean(ref.Caller)}
	e := events[ref.Seq]
	text := func(name, s string) {
		if s != "" {
			c.Fields = append(c.Fields, viewField{name, shortened(s, limit)})
		}
	}
	field := func(name string, v exactjson.Value) {
		switch v.Kind() {
		case exactjson.Absent:
		case exactjson.String:
			text(name, v.Str())
		default:
			text(name, v.JSON())
		}
	}
	if e.Response != nil {
		for _, p := range t.Messages[e.Response.Message].Parts {
			switch p.Type {
			case tape.PartText:
				text("says", p.Text)
			case tape.PartReasoning:
				text("thinks", p.Text)
			case tape.PartToolCall:
				text("asks", p.Name+" "+p.Args.JSON())
			default:
				text("says", string(p.Type)+" "+p.MIMEType+" "+p.URI)
			}
		}
	}
	field("args", e.Args)
	field("executed", e.ExecutedArgs)
	field("query", e.Query)
	field("input", e.Input)
	field("result", e.Result)
	field("documents", e.Documents)
	field("output", e.Output)
	if e.Error != nil {
		text("error", strings.TrimSpace(e.Error.Type+" "+e.Error.Message))
	}
	return c
}

// shortened is clean text of at most limit bytes that says how long it was.
func shortened(s string, limit int) string {
	if len(s) <= limit {
		return timeline.Clean(s)
	}
	return timeline.Clean(strings.ToValidUTF8(s[:limit], "")) + fmt.Sprintf(" … (%d bytes)", len(s))
}

func viewDifferences(all []compare.Difference) []viewDifference {
	out := make([]viewDifference, len(all))
	for i, d := range all {
		out[i] = viewDifference{Field: string(d.Field), Path: timeline.Clean(d.Path)}
		out[i].A, out[i].B = mark(value(d.A), value(d.B))
		out[i].A.Label, out[i].B.Label = timeline.Clean(string(d.ALabel)), timeline.Clean(string(d.BLabel))
	}
	return out
}

// mark marks what lies between the common beginning and the common end.
func mark(a, b string) (marked, marked) {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	if head > divergentBytes/2 { // show the place where they part
		for head -= divergentBytes / 4; a[head]&0xc0 == 0x80; head-- {
		}
		a, b = "…"+a[head:], "…"+b[head:]
	}
	ra, rb := []rune(shortened(a, divergentBytes)), []rune(shortened(b, divergentBytes))
	head = 0
	for head < min(len(ra), len(rb)) && ra[head] == rb[head] {
		head++
	}
	tail := 0
	for tail < min(len(ra), len(rb))-head && ra[len(ra)-1-tail] == rb[len(rb)-1-tail] {
		tail++
	}
	of := func(r []rune) marked {
		return marked{Before: string(r[:head]), Mark: string(r[head : len(r)-tail]), After: string(r[len(r)-tail:])}
	}
	return of(ra), of(rb)
}
