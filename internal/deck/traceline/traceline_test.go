// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package traceline

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

// derived is a deck of files with recorded runs, some of them in two parts, and a line for each trace of it.
func derived(t *testing.T, name string) (*deck.Deck, []string) {
	t.Helper()
	all, err := groundtruth.Corpus("../../../testdata/corpus/agents")
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, name, deck.LayoutFiles)
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}})
	r := rand.New(rand.NewPCG(seed.Of(t), 1))
	for i := 0; i < len(all); i += max(1, len(all)/40) {
		set, err := all[i].Evidence()
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range set.Split() {
			for _, piece := range pieces(r, of.Set) {
				if _, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: of.TraceID, Set: piece, Complete: true}); err != nil {
					t.Log(err) // evidence without a run stays as it is
				}
			}
		}
	}
	var lines []string
	for location, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		request := map[string]any{"trace_id": location.TraceID, "area": location.Area, "replay_run_id": location.ReplayRunID, "date": "2026-11-20"}
		digests, err := d.Parts(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, digest := range digests {
			body, err := d.ReadPart(t.Context(), location, digest)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, base64.StdEncoding.EncodeToString(body))
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		request["parts"], request["digests"] = parts, digests
		line, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if len(lines) < 20 {
		t.Fatalf("%d traces", len(lines))
	}
	return d, lines
}

func open(t *testing.T, name string, l deck.Layout) *deck.Deck {
	t.Helper()
	d, err := deck.OpenLayout(t.Context(), "mem://"+name, l)
	if err == nil {
		err = d.Begin(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop(name) })
	return d
}

// pieces are the set, or two halves of it.
func pieces(r *rand.Rand, set *evidence.Set) []*evidence.Set {
	if r.IntN(2) == 0 || set.Len() < 2 {
		return []*evidence.Set{set}
	}
	a, b, n := evidence.NewSet(), evidence.NewSet(), 0
	a.AddTraces(set.Excerpt(func(evidence.Item) bool { n++; return n%2 == 0 }))
	n = 0
	b.AddTraces(set.Excerpt(func(evidence.Item) bool { n++; return n%2 == 1 }))
	return []*evidence.Set{a, b}
}

// files are all files of the current runs of a deck.
func files(t *testing.T, d *deck.Deck) map[string]string {
	t.Helper()
	all := map[string]string{}
	for location, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		state, err := d.State(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		all[location.String()] = strings.Join(state.Parts, " ")
		current, _ := state.Current()
		for _, run := range current.Runs {
			for _, name := range run.Files {
				body, err := d.ReadFile(t.Context(), location, current.Generation, run.Root, name)
				if err != nil {
					t.Fatal(err)
				}
				all[location.TraceID+"-"+run.Root+"/"+name] = string(body)
			}
		}
	}
	return all
}

// TestALineGivesTheBytesOfDerive: tapes, oracles and columns are those of whoever has the evidence in a deck.
func TestALineGivesTheBytesOfDerive(t *testing.T) {
	d, lines := derived(t, "line-files")
	want := files(t, d)
	deriver := NewDeriver(generation.Options{})
	got := map[string]string{}
	for _, line := range lines {
		r, err := ParseRequest([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := deriver.Derive(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range rows.Runs() {
			id := run.Row.RunID
			got[id+"/"+deck.TapeFile] = run.Tape
			for name, body := range run.Files {
				got[id+"/"+name] = body
			}
			text, err := json.Marshal(&run.Row)
			if err != nil {
				t.Fatal(err)
			}
			var row struct {
				RunID    string `json:"run_id"`
				Revision int    `json:"revision"`
				Grade    string `json:"grade"`
			}
			if err := json.Unmarshal(text, &row); err != nil || row.RunID != id || row.Revision != generation.Revision || row.Grade == "" {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for name := range want {
		if !strings.Contains(name, "/"+deck.TapeFile) && !strings.Contains(name, "/"+deck.OracleFile) {
			delete(want, name) // a location
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 40 {
		t.Errorf("of %d files other ones:\n%.2000s", len(want), diff)
	}
}

// TestReelsOfLinesAreADeck: readers see what they see in the deck that the evidence is from, and the same
// lines give the same objects again.
func TestReelsOfLinesAreADeck(t *testing.T) {
	from, lines := derived(t, "reels-files")
	to := open(t, "reels-reels", deck.LayoutReels)
	for again := range 2 {
		deriver, reels := NewDeriver(generation.Options{}), Reels{Deck: to, Today: "2026-11-21"}
		for _, line := range lines {
			r, err := ParseRequest([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			rows, err := deriver.Derive(r)
			if err != nil {
				t.Fatal(err)
			}
			if reels.Add(rows) {
				t.Error("full")
			}
		}
		put, err := reels.Flush(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range put {
			if p.Created != (again == 0) || !strings.Contains(p.Key, "/tenant=default/date=2026-11-20/0-") {
				t.Errorf("call %d: %+v", again, p)
			}
		}
		if more, err := reels.Flush(t.Context()); err != nil || len(more) > 0 {
			t.Error(more, err)
		}
	}
	view.Catalog(to).Stale()
	if diff := cmp.Diff(files(t, from), files(t, to)); diff != "" {
		t.Errorf("readers see other files:\n%.2000s", diff)
	}
}

func TestALineSaysWhereItsTraceLies(t *testing.T) {
	_, lines := derived(t, "place-files")
	deriver := NewDeriver(generation.Options{})
	for change, want := range map[string]struct {
		set  func(*Request)
		area deck.Area
		keep string
	}{
		"by the evidence":        {func(r *Request) { r.Area = "" }, deck.AreaRuns, ""},
		"incomplete":             {func(r *Request) { r.Area, r.Incomplete = "", true }, deck.AreaUndecided, ""},
		"a replay":               {func(r *Request) { r.Area, r.ReplayRunID = "replays", "again" }, deck.AreaReplays, ""},
		"kept by a policy":       {func(r *Request) { r.Keep = "error" }, deck.AreaRuns, "error"},
		"evidence and no tape":   {func(r *Request) { r.EvidenceAlone = true }, deck.AreaRuns, ""},
		"another tenant's trace": {func(r *Request) { r.Tenant = "acme" }, deck.AreaRuns, ""},
	} {
		r, err := ParseRequest([]byte(lines[0]))
		if err != nil {
			t.Fatal(err)
		}
		want.set(r)
		rows, err := deriver.Derive(r)
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		for _, row := range rows.Rows {
			if l := row.Location(); l.Area != want.area || row.Keep != want.keep || l.Tenant != r.Tenant || row.Complete == r.Incomplete || row.RunID != "" && (len(row.Tape) == 0) != r.EvidenceAlone {
				t.Errorf("%s: %+v", change, row.Meta)
			}
		}
	}
}

func TestWhatIsNoTraceIsRefused(t *testing.T) {
	_, lines := derived(t, "refused-files")
	deriver := NewDeriver(generation.Options{})
	for want, set := range map[string]func(*Request){
		"it has no parts":          func(r *Request) { r.Parts = nil },
		"does not have a digest":   func(r *Request) { r.Digests = []string{"00"} },
		"unknown format":           func(r *Request) { r.Formats = []string{"x"} },
		"its date is not as":       func(r *Request) { r.Date = "today" },
		"is not 32 lower-case":     func(r *Request) { r.TraceID = "x" },
		"unknown area":             func(r *Request) { r.Area = "x" },
		"have a replay_run_id":     func(r *Request) { r.Area = "replays" },
		"no evidence of their own": func(r *Request) { r.Area = "joined" },
		"content was dropped":      func(r *Request) { r.Keep = "dropped" },
		"decode part":              func(r *Request) { r.Parts, r.Digests = [][]byte{[]byte("no OTLP")}, nil },
	} {
		r, err := ParseRequest([]byte(lines[0]))
		if err != nil {
			t.Fatal(err)
		}
		set(r)
		if rows, err := deriver.Derive(r); err == nil || rows != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, line := range []string{``, `[]`, `{"parts":["!"]}`, `{"parts":"x"}`, `{} {}`, `{"tape":1}`} {
		if _, err := ParseRequest([]byte(line)); err == nil {
			t.Errorf("%q is a request", line)
		}
	}
	r, err := ParseRequest([]byte(`{"trace_id":"` + strings.Repeat("ab", 16) + `","parts":[""]}`))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := deriver.Derive(r); err != nil || rows.NoRun == "" || rows.Len() != 0 || len(rows.Rows) != 1 {
		t.Errorf("evidence without a run: %+v %v", rows, err)
	}
}
