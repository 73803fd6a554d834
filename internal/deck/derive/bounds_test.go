// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

const longTrace = "0102030405060708090a0b0c0d0e0f10"

// call is the i-th of many calls that a sender puts under one trace id, each a run of its own.
func oneCall(i int) *evidence.Set {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.openai_v2")
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	s.SetSpanID(pcommon.SpanID{1, 0, 0, 0, 0, 0, byte(i >> 8), byte(i)})
	s.SetName("chat gpt-5")
	s.SetStartTimestamp(pcommon.Timestamp(1_767_225_600_000_000_000 + i*1_000_000_000))
	s.SetEndTimestamp(s.StartTimestamp() + 1_000_000)
	s.Attributes().PutStr("gen_ai.operation.name", "chat")
	s.Attributes().PutStr("gen_ai.request.model", "gpt-5")
	s.Attributes().PutStr("gen_ai.input.messages", fmt.Sprintf(`[{"role":"user","parts":[{"type":"text","content":"question %d"}]}]`, i))
	s.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"answer"}],"finish_reason":"stop"}]`)
	set := evidence.NewSet()
	set.AddTraces(td)
	return set
}

func merged(from, to int) *evidence.Set {
	set := evidence.NewSet()
	for i := from; i < to; i++ {
		set.Merge(oneCall(i))
	}
	return set
}

func longRequest(set *evidence.Set) Request {
	return Request{Tenant: "default", TraceID: longTrace, Set: set, Complete: true}
}

var longPlace = deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: longTrace}

// currentFiles returns the tapes of the current generation by their run, and the generation.
func currentFiles(t *testing.T, d *deck.Deck) (map[string][]byte, deck.GenerationState) {
	t.Helper()
	current, ok, err := d.Current(t.Context(), longPlace)
	if err != nil || !ok {
		t.Fatalf("no current generation: %v", err)
	}
	files := map[string][]byte{}
	for _, run := range current.Runs {
		body, err := d.ReadFile(t.Context(), longPlace, current.Generation, run.Root, tape.TapeFile)
		if err != nil {
			t.Fatal(err)
		}
		files[run.Root] = body
	}
	return files, current
}

func cutFinding(t *testing.T, body []byte) bool {
	t.Helper()
	tp, err := tape.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	cut := slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeEvidenceCut })
	if cut && (tp.Fidelity.Grade != tape.GradePartial || tp.Fidelity.Replayable.Model) {
		t.Errorf("a tape of cut evidence has the grade %s", tp.Fidelity.Grade)
	}
	return cut
}

func TestTapesOfABoundedTraceAreTheSameInAnySplit(t *testing.T) {
	const n, fit = 60, 20
	options := Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}, Bounds: generation.Bounds{Items: fit}}}
	whole := decks(t)
	if _, err := NewWriter(whole, options).Write(t.Context(), longRequest(merged(0, n))); err != nil {
		t.Fatal(err)
	}
	want, _ := currentFiles(t, whole)
	if len(want) != fit {
		t.Fatalf("%d tapes, want %d: one for each call that fits", len(want), fit)
	}
	for root, body := range want {
		if !cutFinding(t, body) {
			t.Errorf("the tape of %s says nothing of what was cut", root)
		}
	}
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := decks(t)
		w := NewWriter(d, options)
		pieces := make([]*evidence.Set, 1+r.IntN(12))
		for i := range pieces {
			pieces[i] = evidence.NewSet()
		}
		for i := range n {
			pieces[r.IntN(len(pieces))].Merge(oneCall(i))
		}
		for _, i := range r.Perm(len(pieces)) {
			if pieces[i].Len() == 0 {
				continue
			}
			if _, err := w.Write(t.Context(), longRequest(pieces[i])); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := currentFiles(t, d)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d tapes, want %d", seed, len(got), len(want))
		}
		for root := range want {
			if !bytes.Equal(want[root], got[root]) {
				t.Errorf("seed %d: another tape of %s", seed, root)
			}
		}
		state, err := d.State(t.Context(), longPlace)
		if err != nil {
			t.Fatal(err)
		}
		items := evidence.NewSet()
		for _, digest := range state.Parts {
			body, err := d.ReadPart(t.Context(), longPlace, digest)
			if err != nil {
				t.Fatal(err)
			}
			part, err := evidence.FromPart(body)
			if err != nil {
				t.Fatal(err)
			}
			items.Merge(part)
		}
		if items.Len() != n {
			t.Errorf("seed %d: %d items lie in the parts, want all %d", seed, items.Len(), n)
		}
	}
}

func TestEvidenceWithinTheBoundsHasNoFindingAboutThem(t *testing.T) {
	d := decks(t)
	w := NewWriter(d, Options{Options: generation.Options{Bounds: generation.Bounds{Items: 3}}})
	if _, err := w.Write(t.Context(), longRequest(merged(0, 3))); err != nil {
		t.Fatal(err)
	}
	files, current := currentFiles(t, d)
	for _, body := range files {
		if cutFinding(t, body) {
			t.Error("nothing was cut")
		}
	}
	if current.Items != 3 {
		t.Errorf("%d items", current.Items)
	}
}

// A sender that uses one trace id for ever costs a bounded derivation for each of its pieces, however many parts there are.
func TestConstantTraceIDReadsABoundedNumberOfParts(t *testing.T) {
	const most = 8
	store, err := deck.OpenStore(t.Context(), "file://"+t.TempDir()+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	faults := decktest.Wrap(store)
	d, err := deck.New(t.Context(), faults, "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(d, Options{Options: generation.Options{Bounds: generation.Bounds{Parts: most}}})
	for i := range 40 {
		faults.Reset()
		if _, err := w.Write(t.Context(), longRequest(oneCall(i))); err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, op := range faults.Ops() {
			if op.Name == "get" && bytes.HasSuffix([]byte(op.Key), []byte(deck.PartSuffix)) {
				read++
			}
		}
		if read > most {
			t.Fatalf("piece %d: %d parts were read", i, read)
		}
	}
	files, _ := currentFiles(t, d)
	if len(files) != most {
		t.Errorf("%d tapes of %d parts", len(files), most)
	}
	for _, body := range files {
		if !cutFinding(t, body) {
			t.Error("a tape says nothing of the parts that were not read")
		}
	}
	state, err := d.State(t.Context(), longPlace)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Parts) != 40 || len(state.Generations) != 1 {
		t.Errorf("%d parts, %d generations", len(state.Parts), len(state.Generations))
	}
}

// eachWay runs a test in a bubble for deliveries that look before they write, and for those that do not, whose part a deck of files is not given before it has to have it.
func eachWay(t *testing.T, test func(t *testing.T, request func(*evidence.Set) Request)) {
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprint("first ", first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, func(set *evidence.Set) Request {
					r := longRequest(set)
					r.First = first
					return r
				})
			})
		})
	}
}

func TestLatePiecesInFlightAreDerivedTogether(t *testing.T) {
	eachWay(t, func(t *testing.T, request func(*evidence.Set) Request) {
		const pieces = 30
		d := decks(t)
		w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
		first, release := true, make(chan struct{})
		var mu sync.Mutex
		derived := 0
		w.deriver.Enter = func(stage string) {
			if stage != generation.StageReconstruct {
				return
			}
			mu.Lock()
			derived++
			hold := first
			first = false
			mu.Unlock()
			if hold {
				<-release
			}
		}
		errs := make(chan error, pieces)
		deliver := func(i int) {
			written, err := w.Write(t.Context(), request(oneCall(i)))
			if err == nil && !slices.ContainsFunc(written, func(x Written) bool { return x.RunID == fmt.Sprintf("%s-01000000000000%02x", longTrace, i) }) {
				err = fmt.Errorf("piece %d is not among %d tapes", i, len(written))
			}
			errs <- err
		}
		go deliver(0)
		synctest.Wait()
		for i := 1; i < pieces; i++ {
			go deliver(i)
		}
		synctest.Wait() // all of them have stored their part and wait
		close(release)
		for range pieces {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if derived != 2 {
			t.Errorf("%d pieces took %d derivations, want 2", pieces, derived)
		}
		got, _ := currentFiles(t, d)
		alone := decks(t)
		if _, err := NewWriter(alone, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}}).Write(t.Context(), longRequest(merged(0, pieces))); err != nil {
			t.Fatal(err)
		}
		want, _ := currentFiles(t, alone)
		for root := range want {
			if !bytes.Equal(want[root], got[root]) {
				t.Errorf("another tape of %s than from one piece", root)
			}
		}
		if len(w.turns.open) != 0 {
			t.Error("a turn outlives its deliveries")
		}
	})
}

func TestWhoWaitsForItsTurnDoesNotOutstayItsTime(t *testing.T) {
	eachWay(t, func(t *testing.T, request func(*evidence.Set) Request) {
		d := decks(t)
		w := NewWriter(d, Options{})
		release := make(chan struct{})
		w.deriver.Enter = func(stage string) {
			if stage == generation.StageReconstruct {
				<-release
			}
		}
		held := make(chan error, 1)
		go func() {
			_, err := w.Write(t.Context(), request(oneCall(0)))
			held <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		late := make(chan error, 1)
		go func() {
			_, err := w.Write(ctx, request(oneCall(1)))
			late <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-late; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(release)
		if err := <-held; err != nil {
			t.Error(err)
		}
		if state, err := d.State(t.Context(), longPlace); err != nil || len(state.Parts) != 2 {
			t.Errorf("%d parts, %v: what waited was durable", len(state.Parts), err)
		}
	})
}

// Two writers of one deck, as two collectors are, each with late pieces, and readers all the while: a reader always finds whole tapes, and in the end
// one generation is left.
func TestReadersFindWholeTapesWhileWritersReplaceThem(t *testing.T) {
	d := decks(t)
	if _, err := NewWriter(d, Options{}).Write(t.Context(), longRequest(oneCall(0))); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for n := range 2 {
		w := NewWriter(d, Options{})
		writing.Go(func() {
			for i := 1 + n; i < 40; i += 2 {
				if _, err := w.Write(t.Context(), longRequest(oneCall(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reads := 0
	reading.Go(func() {
		w := NewWriter(d, Options{})
		for {
			tapes, err := w.readTapes(t.Context(), longPlace)
			if err != nil || len(tapes) == 0 {
				t.Errorf("%d tapes, %v", len(tapes), err)
				return
			}
			reads++
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	writing.Wait()
	close(stop)
	reading.Wait()
	if _, err := NewWriter(d, Options{}).Write(t.Context(), longRequest(oneCall(0))); err != nil { // takes away what one of the two brought back
		t.Fatal(err)
	}
	state, err := d.State(t.Context(), longPlace)
	if err != nil {
		t.Fatal(err)
	}
	if current, ok := state.Current(); !ok || current.Items != 40 || len(state.Generations) != 1 || reads == 0 {
		t.Errorf("%d generations, the current one of %d items, %d reads", len(state.Generations), current.Items, reads)
	}
}

func TestWriterThatDiesWhileItTakesAGenerationAwayHarmsNothing(t *testing.T) {
	store, err := deck.OpenStore(t.Context(), "file://"+t.TempDir()+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	faults := decktest.Wrap(store)
	d, err := deck.New(t.Context(), faults, "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var warned []error
	w := NewWriter(d, Options{Warn: func(err error) { warned = append(warned, err) }})
	if _, err := w.Write(t.Context(), longRequest(merged(0, 2))); err != nil {
		t.Fatal(err)
	}
	away := errors.New("no such right")
	deletes := 0
	faults.Hook(func(_ context.Context, op decktest.Op) error {
		if op.Name == "delete" {
			if deletes++; deletes > 1 {
				return &deck.StoreError{Op: "delete", Scheme: "file", Permanent: true, Err: away}
			}
		}
		return nil
	})
	written, err := w.Write(t.Context(), longRequest(merged(2, 3)))
	if err != nil || len(written) != 3 {
		t.Fatalf("%d tapes, %v: what cannot be taken away must not fail the write", len(written), err)
	}
	if len(warned) != 1 || !errors.Is(warned[0], away) {
		t.Errorf("%v", warned)
	}
	if files, current := currentFiles(t, d); len(files) != 3 || current.Items != 3 {
		t.Errorf("%d tapes of %d items", len(files), current.Items)
	}
	faults.Reset()
	if _, err := w.Write(t.Context(), longRequest(merged(2, 3))); err != nil {
		t.Fatal(err)
	}
	if state, err := d.State(t.Context(), longPlace); err != nil || len(state.Generations) != 1 {
		t.Errorf("%d generations after a repetition, %v", len(state.Generations), err)
	}
}
