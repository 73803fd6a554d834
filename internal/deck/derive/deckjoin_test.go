// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// torn are the recorded runs that come in several traces.
func torn(t *testing.T) []groundtruth.Run {
	t.Helper()
	var runs []groundtruth.Run
	for _, run := range corpusRuns(t) {
		if run.Group == "gemini-cli" || run.Group == "openai-traceloop-norootspan" {
			runs = append(runs, run)
		}
	}
	if len(runs) < 10 {
		t.Fatalf("only %d runs", len(runs))
	}
	return runs
}

func evidenceOf(t *testing.T, runs ...groundtruth.Run) *evidence.Set {
	t.Helper()
	all := evidence.NewSet()
	for _, run := range runs {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		all.Merge(set)
	}
	return all
}

func openDeck(t *testing.T, kind string) (*deck.Deck, *Writer) {
	t.Helper()
	url := "file://" + t.TempDir()
	if kind == "mem" {
		name := strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprintf("-%p", t)
		t.Cleanup(func() { mem.Drop(name) })
		url = "mem://" + strings.ToLower(strings.Map(func(r rune) rune {
			if r == '_' || r == '#' {
				return '-'
			}
			return r
		}, name))
	}
	d, err := deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
}

// below returns all objects whose key begins with a prefix.
func below(t *testing.T, d *deck.Deck, prefix string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for o, err := range d.Store().List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Store().Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		files[o.Key] = string(body)
	}
	return files
}

// deriveOnce writes the evidence as one call of derive does: joined.
func deriveOnce(t *testing.T, w *Writer, tenant string, set *evidence.Set) {
	t.Helper()
	var stored []*Stored
	for _, tr := range set.Split() {
		s, err := w.Store(t.Context(), Request{Tenant: tenant, TraceID: tr.TraceID, Set: tr.Set, Complete: true})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, s)
	}
	_, parts, err := w.Join(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		if _, err := w.Tapes(t.Context(), s, parts[s.TraceID]); err != nil && !isNoRun(err) {
			t.Fatal(err)
		}
	}
}

// deriveEach writes the evidence trace by trace, as the collector does.
func deriveEach(t *testing.T, w *Writer, tenant string, set *evidence.Set) {
	t.Helper()
	for _, tr := range set.Split() {
		if _, err := w.Write(t.Context(), Request{Tenant: tenant, TraceID: tr.TraceID, Set: tr.Set, Complete: true}); err != nil && !isNoRun(err) {
			t.Fatal(err)
		}
	}
}

func joinDeck(t *testing.T, w *Writer, o DeckJoin) []Written {
	t.Helper()
	var written []Written
	for tape, err := range w.JoinDeck(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, tape)
	}
	return written
}

func TestJoiningADeckGivesWhatOneCallWithAllFilesGives(t *testing.T) {
	for _, kind := range []string{"mem", "file"} {
		t.Run(kind, func(t *testing.T) {
			set := evidenceOf(t, torn(t)...)
			one, w := openDeck(t, kind)
			deriveOnce(t, w, "default", set)
			want := below(t, one, "joined/")
			if len(want) < 20 {
				t.Fatalf("only %d files were joined", len(want))
			}
			d, w := openDeck(t, kind)
			deriveEach(t, w, "default", set)
			before := below(t, d, "runs/")
			written := joinDeck(t, w, DeckJoin{})
			if diff := cmp.Diff(want, below(t, d, "joined/")); diff != "" {
				t.Errorf("%.3000s", diff)
			}
			if diff := cmp.Diff(before, below(t, d, "runs/")); diff != "" {
				t.Errorf("the fragments changed:\n%.1000s", diff)
			}
			tapes := 0
			for key := range want {
				if strings.HasSuffix(key, "/tape.json") {
					tapes++
				}
			}
			if len(written) != tapes {
				t.Errorf("%d lines for %d joined tapes", len(written), tapes)
			}
		})
	}
}

func TestRunThatWaitedJoinsInADeckWithWhatResumedIt(t *testing.T) {
	const ask = `{"role":"user","parts":[{"type":"text","content":"refund 7"}]}`
	const call = `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"refund","arguments":{"id":7}}]}`
	const done = `{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"done"}]}`
	const bye = `{"role":"assistant","parts":[{"type":"text","content":"refunded"}]}`
	set := evidence.NewSet()
	for i, said := range [][2]string{{"[" + ask + "]", "[" + call + "]"}, {"[" + ask + "," + call + "," + done + "]", "[" + bye + "]"}} {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "shop")
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for id, operation := range []string{"invoke_agent", "chat"} {
			s := spans.AppendEmpty()
			s.SetTraceID(pcommon.TraceID{byte(i + 1)})
			s.SetSpanID(pcommon.SpanID{byte(id + 1)})
			s.SetName(operation)
			s.SetStartTimestamp(pcommon.Timestamp(1_767_225_600_000_000_000 + i*1_000_000_000 + id*1_000_000))
			s.SetEndTimestamp(s.StartTimestamp() + 9_000_000 - pcommon.Timestamp(id*2_000_000))
			s.Attributes().PutStr("gen_ai.operation.name", operation)
			if operation == "chat" {
				s.SetParentSpanID(pcommon.SpanID{1})
				s.Attributes().PutStr("gen_ai.request.model", "m")
				s.Attributes().PutStr("gen_ai.input.messages", said[0])
				s.Attributes().PutStr("gen_ai.output.messages", said[1])
			}
		}
		set.AddTraces(td)
	}
	one, w := openDeck(t, "mem")
	deriveOnce(t, w, "default", set)
	d, w := openDeck(t, "file")
	deriveEach(t, w, "default", set)
	if written := joinDeck(t, w, DeckJoin{}); len(written) != 1 {
		t.Errorf("%d tapes were joined", len(written))
	}
	if diff := cmp.Diff(below(t, one, "joined/"), below(t, d, "joined/")); diff != "" {
		t.Errorf("%.3000s", diff)
	}
}

func TestToolCallInAnEnvelopeJoinsInADeckTheRunThatAskedForIt(t *testing.T) {
	set := evidence.NewSet()
	for i, attributes := range []map[string]any{
		{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": `[{"role":"user","content":"q"}]`,
			"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"tool_call","name":"find","arguments":{"n":1}}]}]`},
		{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": `{"call":{"kwargs":{"n":1}}}`, "gen_ai.tool.call.result": "r"},
	} {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{byte(i + 1)})
		s.SetSpanID(pcommon.SpanID{byte(i + 1)})
		s.SetStartTimestamp(pcommon.Timestamp(1_767_225_600_000_000_000 + i*1_000_000_000))
		s.SetEndTimestamp(s.StartTimestamp() + 9_000_000)
		if err := s.Attributes().FromRaw(attributes); err != nil {
			t.Fatal(err)
		}
		set.AddTraces(td)
	}
	_, w := openDeck(t, "mem")
	deriveEach(t, w, "default", set)
	if written := joinDeck(t, w, DeckJoin{}); len(written) != 1 {
		t.Errorf("%d tapes were joined", len(written))
	}
}

func TestEveryRunAloneJoinsInADeckAsInOneCall(t *testing.T) {
	for _, run := range torn(t) {
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			set := evidenceOf(t, run)
			one, w := openDeck(t, "mem")
			deriveOnce(t, w, "Ann's team", set)
			d, w := openDeck(t, "file")
			deriveEach(t, w, "Ann's team", set)
			joinDeck(t, w, DeckJoin{Tenant: "Ann's team"})
			if diff := cmp.Diff(below(t, one, "joined/"), below(t, d, "joined/")); diff != "" {
				t.Errorf("%.2000s", diff)
			}
		})
	}
}

// The second half of each run lies in a trace of its own here.
func TestRunsThatLostTheirTraceContextJoinInADeckAsInOneCall(t *testing.T) {
	split := groundtruth.Mutations[slices.IndexFunc(groundtruth.Mutations, func(m groundtruth.Mutation) bool { return m.Name == "two traces" })]
	joined := 0
	for i, run := range corpusRuns(t) {
		if i%3 != 0 {
			continue
		}
		mutated, ok, err := split.Apply(run)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			set := evidenceOf(t, mutated)
			one, w := openDeck(t, "mem")
			deriveOnce(t, w, "default", set)
			d, w := openDeck(t, "mem")
			deriveEach(t, w, "default", set)
			joined += len(joinDeck(t, w, DeckJoin{}))
			if diff := cmp.Diff(below(t, one, "joined/"), below(t, d, "joined/")); diff != "" {
				t.Errorf("%.2000s", diff)
			}
		})
	}
	if joined < 80 {
		t.Errorf("only %d runs were joined", joined)
	}
}

func TestJoiningADeckAgainChangesNothing(t *testing.T) {
	set := evidenceOf(t, torn(t)...)
	d, w := openDeck(t, "mem")
	deriveEach(t, w, "default", set)
	rehearsed := joinDeck(t, w, DeckJoin{Rehearse: true})
	if files := below(t, d, "joined/"); len(files) > 0 {
		t.Fatalf("a rehearsal wrote %d files", len(files))
	}
	first := joinDeck(t, w, DeckJoin{})
	want := below(t, d, "")
	again := joinDeck(t, w, DeckJoin{})
	if diff := cmp.Diff(want, below(t, d, "")); diff != "" {
		t.Errorf("%.1000s", diff)
	}
	if diff := cmp.Diff(first, again) + cmp.Diff(first, rehearsed); diff != "" {
		t.Error(diff)
	}
}

func TestJoiningADeckThatDeriveHasJoinedFindsTheSameRuns(t *testing.T) {
	set := evidenceOf(t, torn(t)...)
	d, w := openDeck(t, "mem")
	deriveOnce(t, w, "default", set)
	want := below(t, d, "")
	if written := joinDeck(t, w, DeckJoin{}); len(written) == 0 {
		t.Error("nothing was found")
	}
	if diff := cmp.Diff(want, below(t, d, "")); diff != "" {
		t.Errorf("%.1000s", diff)
	}
}

func TestATraceThatComesLaterJoinsWhatWasJoinedBefore(t *testing.T) {
	run := torn(t)[slices.IndexFunc(torn(t), func(r groundtruth.Run) bool { return r.Group == "gemini-cli" && r.Scenario == "research_chain" })]
	set := evidenceOf(t, run)
	traces := set.Split()
	one, w := openDeck(t, "mem")
	deriveOnce(t, w, "default", set)
	want := joinDeck(t, w, DeckJoin{})
	last := traces[len(traces)-1]
	d, w := openDeck(t, "file")
	early := evidence.NewSet()
	for _, tr := range traces[:len(traces)-1] {
		early.Merge(tr.Set)
	}
	deriveOnce(t, w, "default", early) // its fragments lie in no tape of their own
	deriveEach(t, w, "default", last.Set)
	got := joinDeck(t, w, DeckJoin{})
	if diff := cmp.Diff(runIDs(want), runIDs(got)); diff != "" {
		t.Error(diff)
	}
	wanted, have := below(t, one, "joined/"), below(t, d, "joined/")
	for key, body := range wanted {
		if have[key] != body {
			t.Errorf("%s is missing or differs", key)
		}
	}
}

func runIDs(written []Written) map[string]int {
	ids := map[string]int{}
	for _, w := range written {
		ids[w.RunID] = w.Events
	}
	return ids
}

func TestTenantsAreNeverJoined(t *testing.T) {
	set := evidenceOf(t, torn(t)[0])
	d, w := openDeck(t, "mem")
	for i, tr := range set.Split() {
		deriveEach(t, w, fmt.Sprintf("tenant-%d", i), tr.Set)
	}
	if written := joinDeck(t, w, DeckJoin{}); len(written) > 0 {
		t.Errorf("%v", written)
	}
	if files := slices.Collect(maps.Keys(below(t, d, "joined/"))); len(files) > 0 {
		t.Error(files)
	}
}

func TestTooManyTracesAreLeftAsTheyAreAndSaid(t *testing.T) {
	set := evidenceOf(t, torn(t)...)
	_, w := openDeck(t, "mem")
	deriveEach(t, w, "default", set)
	refused := 0
	for written, err := range w.JoinDeck(t.Context(), DeckJoin{MaxTraces: 1}) {
		if !errors.Is(err, ErrTooMany) {
			t.Fatalf("%v %v", written, err)
		}
		refused++
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

func TestADamagedTapeDoesNotStopTheOthers(t *testing.T) {
	set := evidenceOf(t, torn(t)...)
	d, w := openDeck(t, "mem")
	deriveEach(t, w, "default", set)
	all := len(joinDeck(t, w, DeckJoin{Rehearse: true}))
	lone := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: strings.Repeat("f", 32)}
	_, err := d.PutGeneration(t.Context(), lone, deck.NewGeneration(1, nil, nil), []deck.RunFiles{{
		Root: strings.Repeat("1", 16), Files: []deck.File{{Name: tape.TapeFile, Body: []byte("{")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	written, failed := 0, 0
	for _, err := range w.JoinDeck(t.Context(), DeckJoin{}) {
		if err != nil {
			failed++
		} else {
			written++
		}
	}
	if failed != 1 || written != all {
		t.Errorf("%d failures, %d of %d tapes", failed, written, all)
	}
}
