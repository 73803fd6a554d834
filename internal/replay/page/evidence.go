// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Span is one item of the evidence of a run.
type Span struct {
	ID, Parent  string // hex
	Name, Scope string
	Start       time.Time
	Took        time.Duration
	Failed      bool
	JSON        string // the span with its resource and scope, as OTLP
}

// EvidencePage is how many spans a page of the evidence has.
const EvidencePage = 100

// Evidence writes a page with spans of a run: those from one on, EvidencePage at most, of so many.
func Evidence(w io.Writer, t *tape.Tape, site *Site, spans []Span, from, total int, notes []string) error {
	events := map[string]int{}
	for i := range t.Events {
		for _, id := range t.Events[i].SpanIDs {
			events[id] = t.Events[i].Seq
		}
	}
	type row struct {
		Span
		Event int
		At    string
		Value value
	}
	v := struct {
		look.Head
		Back, Earlier, Later string
		Site                 *Site
		First, Last, Total   int
		Notes                []string
		Spans                []row
	}{Head: look.Head{Title: "Evidence of run " + timeline.OneLine(t.Run.RunID), Linked: true}, Site: site, Back: site.address(""), First: min(from+1, total), Last: from + len(spans), Total: total}
	for _, n := range notes {
		v.Notes = append(v.Notes, timeline.OneLine(n))
	}
	if from > 0 {
		v.Earlier = site.address("/evidence", "from", strconv.Itoa(max(0, from-EvidencePage)))
	}
	if v.Last < total {
		v.Later = site.address("/evidence", "from", strconv.Itoa(v.Last))
	}
	for _, s := range spans {
		x := row{Span: s, Event: events[s.ID]}
		x.Name, x.Scope = cmp.Or(timeline.OneLine(s.Name), "(no name)"), timeline.OneLine(s.Scope)
		if !s.Start.IsZero() {
			x.At = s.Start.UTC().Format("15:04:05.000") + " · " + timeline.Duration(s.Took.Milliseconds())
		}
		r := &renderer{site: site}
		x.Value = r.evidence(s.JSON)
		v.Spans = append(v.Spans, x)
	}
	return pages.ExecuteTemplate(w, "evidence", v)
}

// evidence shows a span as a tree, or as text where it is too large for one.
func (r *renderer) evidence(text string) value {
	if v, err := exactjson.ParseWithin(text, 2*treeDepth, treeValues); err == nil {
		if shown, ok := r.structured(v); ok {
			return shown
		}
	}
	at := boundary(text, siteText)
	v := value{Text: timeline.Clean(text[:at])}
	if at < len(text) {
		v.Left = timeline.Size(len(text)-at) + " more, left out: tapedeck export --format otlp prints it"
	}
	return v
}
