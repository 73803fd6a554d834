// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package verdictrecord

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape"
)

// recorded is a deck that holds the run of a file.
func recorded(t *testing.T, layout deck.Layout) (*deck.Deck, *ingest.Writer) {
	t.Helper()
	d, err := deck.OpenLayout(t.Context(), "file://"+t.TempDir()+"?sync=false", layout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	w := &ingest.Writer{Tenant: "default", NoJoin: true, Say: t.Logf}
	in := ingest.NewBatch(nil, nil)
	w.Read(t.Context(), in, otlpfile.ReadFile("../../../testdata/conventions/t0.jsonl", nil, otlpfile.Options{}))
	if err := w.Write(t.Context(), d, in); err != nil || w.Refused > 0 {
		t.Fatal(err)
	}
	return d, w
}

// run is the one run of a deck.
func run(t *testing.T, d *deck.Deck) *tape.Tape {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := deck.Open(t.Context(), d.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var found []*tape.Tape
	for l, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		current, _, err := d.Current(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		tapes, err := runs.Tapes(t.Context(), d, l, current)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, tapes...)
	}
	if len(found) != 1 {
		t.Fatalf("%d runs", len(found))
	}
	return found[0]
}

func TestAVerdictIsEvidenceOfItsRun(t *testing.T) {
	for _, layout := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
		t.Run(string(layout), func(t *testing.T) {
			d, w := recorded(t, layout)
			before := run(t, d)
			low, at := 0.2, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			for _, v := range []Verdict{
				{Name: "correctness", Value: &low, Label: "fail", Explanation: "wrong", Judge: "HUMAN", Event: 3, At: at},
				{Name: "correctness", Value: &low, Label: "fail", Explanation: "wrong", Judge: "HUMAN", Event: 3, At: at}, // again
				{Name: "thumbs", Label: "down", ID: "user-7", At: at},
				{Name: "thumbs", Label: "up", ID: "user-7", At: at.Add(time.Hour)},
				{Name: "patience", Label: "lost", Session: true, Metadata: `{"rubric":2}`, At: at.Add(2 * time.Hour)},
			} {
				d := reopened(t, d)
				if err := Give(t.Context(), d, w, nil, before, v); err != nil {
					t.Fatal(err)
				}
			}
			check := func() {
				t.Helper()
				after := run(t, d)
				var said []string
				for _, v := range after.Verdicts {
					said = append(said, strings.Join([]string{v.Name, v.ValueText(), v.Label, v.Explanation, v.Judge, v.ID, string(v.Of), v.SpanID, v.At.Format(time.TimeOnly), v.Metadata.JSON()}, " "))
				}
				want := "correctness 0.2 fail wrong HUMAN  event 0000000000000004 12:00:00 null\nthumbs  up   user-7 run  13:00:00 null\npatience  lost    session  14:00:00 {\"rubric\":2}"
				if got := strings.Join(said, "\n"); got != want {
					t.Errorf("verdicts\n%s\nwant\n%s", got, want)
				}
				after.Verdicts, after.TapeID = nil, before.TapeID
				if a, b := string(before.AppendJSON(nil)), string(after.AppendJSON(nil)); a != b {
					t.Errorf("a verdict changes the run:\n%s\n%s", a, b)
				}
			}
			check()
			if layout != deck.LayoutReels {
				return
			}
			sums, err := compaction.Run(t.Context(), reopened(t, d), compaction.Options{Grace: time.Nanosecond})
			if err != nil || sums.Derived != 1 {
				t.Fatalf("%+v, %v", sums, err)
			}
			check()
			var lists [][]string
			for r, err := range view.Select(t.Context(), reopened(t, d), view.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				lists = append(lists, r.Verdicts)
			}
			if len(lists) != 1 || strings.Join(lists[0], " ") != "correctness=0.2 correctness=fail thumbs=up patience=lost" {
				t.Errorf("column %v", lists)
			}
		})
	}
}

func reopened(t *testing.T, d *deck.Deck) *deck.Deck {
	t.Helper()
	d, err := deck.Open(t.Context(), d.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestAVerdictThatSaysNothingIsRefused(t *testing.T) {
	one, none := 1.0, math.NaN()
	for want, v := range map[string]Verdict{
		"needs a name":            {Value: &one},
		"needs a value":           {Name: "n"},
		"must be a number":        {Name: "n", Value: &none},
		"an event or about":       {Name: "n", Value: &one, Event: 1, Session: true},
		"at most 256 bytes":       {Name: strings.Repeat("n", 300), Value: &one},
		"at most 65536 bytes":     {Name: "n", Explanation: strings.Repeat("e", 1<<17)},
		"no span tells event 9 ":  {Name: "n", Value: &one, Event: 9},
		"no span tells event -1 ": {Name: "n", Value: &one, Event: -1},
	} {
		if _, err := v.record(&tape.Tape{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
