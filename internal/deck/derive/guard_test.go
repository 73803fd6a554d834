// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/tape"
)

// defective is a Writer that panics at a stage.
func defective(t *testing.T, stage string) (*deck.Deck, *Writer) {
	t.Helper()
	d, err := deck.Open(t.Context(), "file://"+t.TempDir()+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	w := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
	w.deriver.Enter = func(at string) {
		if at == stage {
			panic("a value that nobody thought of")
		}
	}
	return d, w
}

func TestDefectAtAnyStageCostsOneTapeAndNotTheProcess(t *testing.T) {
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprint("first ", first), func(t *testing.T) { defectAtAnyStage(t, first) })
	}
}

func defectAtAnyStage(t *testing.T, first bool) {
	set, err := corpusRuns(t)[0].Evidence()
	if err != nil {
		t.Fatal(err)
	}
	trace := set.Split()[0]
	request := Request{Tenant: "default", TraceID: trace.TraceID, Set: trace.Set, Complete: true, First: first}
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace.TraceID}
	for stage, durable := range map[string]bool{
		stageEncode: false, stageGate: false, generation.StageUnite: true, generation.StageReconstruct: true, generation.StageRender: true, stageGateFiles: true,
	} {
		d, w := defective(t, stage)
		entered, fail := 0, w.deriver.Enter
		w.deriver.Enter = func(at string) {
			if at == stage {
				entered++
			}
			fail(at)
		}
		_, err := w.Write(t.Context(), request)
		if entered != 1 {
			t.Errorf("%s: %d times: what is durable is not worked on again", stage, entered)
		}
		state, stateErr := d.State(t.Context(), location)
		if stateErr != nil {
			t.Fatal(stateErr)
		}
		want := ErrDefect
		if durable {
			want = generation.ErrUnderivable
		}
		if !errors.Is(err, want) || durable != (len(state.Parts) == 1) || len(state.Generations) != 0 {
			t.Errorf("%s: %d parts, %d generations, %v", stage, len(state.Parts), len(state.Generations), err)
		}
		// The turn of the trace is free again, and a version without the defect goes on.
		w.deriver.Enter = nil
		if _, err := w.Write(t.Context(), request); err != nil {
			t.Errorf("%s: afterwards: %v", stage, err)
		}
	}
}

func TestDefectMeetsOnlyItsTraceWhenADeckIsRead(t *testing.T) {
	set, err := corpusRuns(t)[0].Evidence()
	if err != nil {
		t.Fatal(err)
	}
	trace := set.Split()[0]
	_, w := defective(t, "none")
	stored, err := w.Store(t.Context(), Request{Tenant: "default", TraceID: trace.TraceID, Set: trace.Set, Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	w.deriver.Enter = func(string) { panic("defect") }
	if _, err := w.Load(t.Context(), "default", stored.target.Location()); !errors.Is(err, generation.ErrUnderivable) {
		t.Errorf("Load: %v", err)
	}
	if roots := w.Roots(stored); len(roots) != 0 {
		t.Errorf("Roots: %v", roots)
	}
	stored.Set = nil
	if _, _, err := w.Join(t.Context(), []*Stored{stored}); !errors.Is(err, generation.ErrUnderivable) {
		t.Errorf("Join: %v", err)
	}
}
