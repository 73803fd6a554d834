// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

const corpus = "../../../testdata/corpus"

// readCorpus parses the recorded runs once for all tests. Nothing changes a run: Evidence reads its files anew.
var readCorpus = sync.OnceValues(func() ([]groundtruth.Run, error) { return groundtruth.Corpus(corpus) })

func corpusRuns(t testing.TB) []groundtruth.Run {
	t.Helper()
	runs, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 200 {
		t.Fatalf("only %d recorded runs found", len(runs))
	}
	return slices.Clone(runs)
}

// spans returns every item of a set as traces of one span each.
func spans(set *evidence.Set) []ptrace.Traces {
	var out []ptrace.Traces
	for _, item := range set.Items() {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		item.Resource.Resource().CopyTo(rs.Resource())
		rs.SetSchemaUrl(item.Resource.SchemaUrl())
		ss := rs.ScopeSpans().AppendEmpty()
		item.Scope.Scope().CopyTo(ss.Scope())
		ss.SetSchemaUrl(item.Scope.SchemaUrl())
		item.Span.CopyTo(ss.Spans().AppendEmpty())
		out = append(out, td)
	}
	return out
}

// batches deals the spans into requests at random: any order, any split, some twice.
func batches(r *rand.Rand, all []ptrace.Traces) []ptrace.Traces {
	var dealt []ptrace.Traces
	add := func(td ptrace.Traces) {
		if len(dealt) == 0 || r.IntN(3) == 0 {
			dealt = append(dealt, ptrace.NewTraces())
		}
		td.ResourceSpans().At(0).CopyTo(dealt[r.IntN(len(dealt))].ResourceSpans().AppendEmpty())
	}
	for _, i := range r.Perm(len(all)) {
		add(all[i])
		if r.IntN(4) == 0 {
			add(all[r.IntN(len(all))])
		}
	}
	return dealt
}

// tapes derives the files of one set of evidence: run and file name → content.
func tapes(t *testing.T, set *evidence.Set) map[string]string {
	t.Helper()
	name := fmt.Sprintf("property-%p", set)
	t.Cleanup(func() { mem.Drop(name) })
	return deliver(t, "mem://"+name, []*evidence.Set{set})
}

// deliver writes the sets one after the other and returns the files of the current generations.
func deliver(t *testing.T, url string, sets []*evidence.Set) map[string]string {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
	for _, set := range sets {
		for _, tr := range set.Split() {
			_, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
			if err != nil && !isNoRun(err) {
				t.Fatal(err)
			}
		}
	}
	files := map[string]string{}
	for location, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		state, ok, err := d.Current(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		for _, run := range state.Runs {
			for _, file := range run.Files {
				body, err := d.ReadFile(t.Context(), location, state.Generation, run.Root, file)
				if err != nil {
					t.Fatal(err)
				}
				files[filepath.Join(location.TraceID, run.Root, file)] = string(body)
			}
		}
	}
	return files
}

func isNoRun(err error) bool { return errors.Is(err, generation.ErrNoRun) }

func TestSameSpansInAnyOrderSplitAndRepetitionGiveTheSameBytes(t *testing.T) {
	for i, run := range corpusRuns(t) {
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			set, err := run.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			all := spans(set)
			want := tapes(t, set)
			seed := uint64(i)
			r := rand.New(rand.NewPCG(seed, 1))
			again := evidence.NewSet()
			for _, td := range batches(r, all) {
				again.AddTraces(td)
			}
			if diff := cmp.Diff(want, tapes(t, again)); diff != "" {
				t.Errorf("seed %d: other bytes from the same spans in one set:\n%.2000s", seed, diff)
			}
			var sets []*evidence.Set
			for _, td := range batches(r, all) {
				one := evidence.NewSet()
				one.AddTraces(td)
				sets = append(sets, one)
			}
			name := fmt.Sprintf("deliveries-%d", i)
			t.Cleanup(func() { mem.Drop(name) })
			if diff := cmp.Diff(want, deliver(t, "mem://"+name, sets)); diff != "" {
				t.Errorf("seed %d: other bytes from the same spans in %d deliveries:\n%.2000s", seed, len(sets), diff)
			}
		})
	}
}

// shuffle puts the entries of a map, and of all maps in it, into another order.
func shuffle(r *rand.Rand, m pcommon.Map) {
	keys := make([]string, 0, m.Len())
	for k := range m.All() {
		if slices.Contains(keys, k) {
			return // a repeated key: which one counts is its location
		}
		keys = append(keys, k)
	}
	out := pcommon.NewMap()
	for _, i := range r.Perm(len(keys)) {
		v, _ := m.Get(keys[i])
		shuffleValue(r, v)
		v.MoveTo(out.PutEmpty(keys[i]))
	}
	out.MoveTo(m)
}

func shuffleValue(r *rand.Rand, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		shuffle(r, v.Map())
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			shuffleValue(r, e)
		}
	}
}

func TestNeitherPartNorTapeDependsOnTheOrderOfAttributes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, run := range corpusRuns(t) {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		part, err := set.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again := evidence.NewSet()
		for _, td := range spans(set) {
			rs := td.ResourceSpans().At(0)
			ss := rs.ScopeSpans().At(0)
			span := ss.Spans().At(0)
			shuffle(r, rs.Resource().Attributes())
			shuffle(r, ss.Scope().Attributes())
			shuffle(r, span.Attributes())
			for _, e := range span.Events().All() {
				shuffle(r, e.Attributes())
			}
			again.AddTraces(td)
		}
		shuffled, err := again.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, shuffled) {
			t.Errorf("%s/%s: another part", run.Group, run.Scenario)
		}
		first, second := fmt.Sprintf("recorded-%d", i), fmt.Sprintf("shuffled-%d", i)
		t.Cleanup(func() { mem.Drop(first); mem.Drop(second) })
		want, got := deliver(t, "mem://"+first, []*evidence.Set{set}), deliver(t, "mem://"+second, []*evidence.Set{again})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s/%s: another tape:\n%.2000s", run.Group, run.Scenario, diff)
		}
	}
}

func TestEvidenceSurvivesTheDeckUnchanged(t *testing.T) {
	for _, run := range corpusRuns(t) {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		part, err := set.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		back, err := evidence.FromPart(part)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, again) || set.Len() != back.Len() {
			t.Errorf("%s/%s: the part does not read back to itself", run.Group, run.Scenario)
		}
	}
}

func TestLateSpanAddsOnePartAndReplacesTheGeneration(t *testing.T) {
	run := corpusRuns(t)[0]
	set, err := run.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	all := spans(set)
	early, late := evidence.NewSet(), evidence.NewSet()
	for i, td := range all {
		if i == len(all)-1 {
			late.AddTraces(td)
		} else {
			early.AddTraces(td)
		}
	}
	d, err := deck.Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
	trace := set.Split()[0].TraceID
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
	write := func(s *evidence.Set) deck.LocationState {
		t.Helper()
		if _, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: s, Complete: true}); err != nil && !isNoRun(err) {
			t.Fatal(err)
		}
		state, err := d.State(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	for range 10 {
		if state := write(early); len(state.Parts) != 1 || len(state.Generations) != 1 {
			t.Fatalf("a repeated delivery left %d parts and %d generations", len(state.Parts), len(state.Generations))
		}
	}
	state := write(late)
	current, ok := state.Current()
	if len(state.Parts) != 2 || len(state.Generations) != 1 || !ok || current.Items != set.Len() {
		t.Errorf("a late span left %d parts, %d generations, the current one of %d items; want 2, 1, %d", len(state.Parts), len(state.Generations), current.Items, set.Len())
	}
}

func TestUndecidedEvidenceMovesToTheRunsWhenTheRootComes(t *testing.T) {
	run := corpusRuns(t)[0]
	set, err := run.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	all := spans(set)
	early, late := evidence.NewSet(), evidence.NewSet()
	for i, td := range all {
		if i%2 == 0 {
			early.AddTraces(td)
		} else {
			late.AddTraces(td)
		}
	}
	d, err := deck.Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
	trace := set.Split()[0].TraceID
	for _, step := range []struct {
		set      *evidence.Set
		complete bool
	}{{early, false}, {late, true}, {early, false}} {
		if _, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: step.set, Complete: step.complete}); err != nil && !isNoRun(err) {
			t.Fatal(err)
		}
	}
	state, err := d.State(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace})
	if err != nil {
		t.Fatal(err)
	}
	current, ok := state.Current()
	if !ok || current.Items != set.Len() {
		t.Errorf("the current generation under runs/ holds %d of %d items", current.Items, set.Len())
	}
	undecided, err := d.Remains(t.Context(), deck.Location{Area: deck.AreaUndecided, Tenant: "default", TraceID: trace})
	if err != nil {
		t.Fatal(err)
	}
	if len(undecided.Parts) != 0 || len(undecided.Generations) != 0 {
		t.Errorf("%+v is left under undecided/", undecided)
	}
}

func TestSiblingsAreNamedByTheTape(t *testing.T) {
	set, err := corpusRuns(t)[0].Evidence()
	if err != nil {
		t.Fatal(err)
	}
	files := tapes(t, set)
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if filepath.Base(name) != "tape.json" {
			continue
		}
		read, err := tape.Read([]byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		body := files[filepath.Join(filepath.Dir(name), "oracle.json")]
		if got := read.Extensions.Get("tapedeck").Get("files").Get("oracle.json").Str(); got != tape.FileDigest([]byte(body)) {
			t.Errorf("%s names oracle.json by %q, its digest is %s", name, got, tape.FileDigest([]byte(body)))
		}
	}
}

func TestTraceOfSeveralRunsIsWrittenWithItsOraclesWhateverTheFormats(t *testing.T) {
	first, err := corpusRuns(t)[0].Evidence()
	if err != nil {
		t.Fatal(err)
	}
	// The same run once more, under other span ids of the same trace, an hour later.
	for _, td := range spans(first) {
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		id, parent := span.SpanID(), span.ParentSpanID()
		id[0]++
		span.SetSpanID(id)
		if !parent.IsEmpty() {
			parent[0]++
			span.SetParentSpanID(parent)
		}
		span.SetStartTimestamp(span.StartTimestamp() + 3_600_000_000_000)
		span.SetEndTimestamp(span.EndTimestamp() + 3_600_000_000_000)
		first.AddTraces(td)
	}
	d, err := deck.Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}, Formats: []string{generation.FormatTape}}})
	trace := first.Split()[0]
	written, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: trace.TraceID, Set: trace.Set, Complete: true})
	if err != nil || len(written) != 2 {
		t.Fatalf("%d tapes, %v; want 2", len(written), err)
	}
	state, ok, err := d.Current(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace.TraceID})
	if err != nil || !ok || len(state.Runs) != 2 {
		t.Errorf("the generation is not whole: %+v, %v", state, err)
	}
}
