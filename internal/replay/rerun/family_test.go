// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// calling is a run that calls tools.
func calling(id string, tools ...string) *tape.Tape {
	t := asked("How many?")
	t.Run.RunID = id
	for i, name := range tools {
		t.Events = append(t.Events, tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: name, ArgsHash: "h"})
	}
	return t
}

func ids(tapes []*tape.Tape) (list []string) {
	for _, t := range tapes {
		if t == nil {
			list = append(list, "-")
		} else {
			list = append(list, t.Run.RunID)
		}
	}
	return list
}

func TestEachRecordedRunGetsTheReplayThatFitsItBest(t *testing.T) {
	joined := calling("j", "a", "b")
	joined.Run.Joined = []string{"p1", "p2"}
	again := calling("J", "a", "b")
	again.Run.Joined = []string{"P1", "P2"}
	for name, of := range map[string]struct {
		recorded, replayed []*tape.Tape
		want, others       []string
	}{
		"in another order":  {[]*tape.Tape{calling("a", "x", "y"), calling("b", "z")}, []*tape.Tape{calling("B", "z"), calling("A", "x", "y")}, []string{"A", "B"}, nil},
		"one more":          {[]*tape.Tape{calling("a", "x")}, []*tape.Tape{calling("T"), calling("A", "x")}, []string{"A"}, []string{"T"}},
		"one less":          {[]*tape.Tape{calling("a", "x"), calling("b", "x", "y")}, []*tape.Tape{calling("B", "x", "y")}, []string{"-", "B"}, nil},
		"alike":             {[]*tape.Tape{calling("a", "x"), calling("b", "x")}, []*tape.Tape{calling("A", "x"), calling("B", "x")}, []string{"A", "B"}, nil},
		"what was joined":   {[]*tape.Tape{joined}, []*tape.Tape{calling("P1", "a"), calling("P2", "b"), again}, []string{"J"}, nil},
		"an empty part":     {[]*tape.Tape{joined}, []*tape.Tape{calling("P1", "a", "b"), calling("P2"), again}, []string{"J"}, nil},
		"nothing came":      {[]*tape.Tape{joined}, nil, []string{"-"}, nil},
		"beside the joined": {[]*tape.Tape{joined}, []*tape.Tape{calling("P1", "a"), calling("P2", "b"), again, calling("Q", "q")}, []string{"J"}, []string{"Q"}},
	} {
		p, err := Pair(of.recorded, of.replayed, compare.Options{}, &Reconciler{})
		if err != nil || !slices.Equal(ids(p.Replayed), of.want) || !slices.Equal(p.Others, of.others) {
			t.Errorf("%s: %v beside %v, %v", name, ids(p.Replayed), p.Others, err)
		}
	}
}

// What is judged of each run of a family is the verdict of all, and one change of what happened makes it
// false.
func TestAFamilyIsAsRecordedWhenEachOfItsRunsIs(t *testing.T) {
	recorded := []*tape.Tape{calling("a", "x"), calling("b", "y")}
	for name, of := range map[string]struct {
		replayed []*tape.Tape
		verdict  Verdict
		runs     []Verdict
		says     string
	}{
		"all":       {[]*tape.Tape{calling("A", "x"), calling("B", "y")}, AsRecorded, []Verdict{AsRecorded, AsRecorded}, "ok    the runs are those of the recording: 2 of 2"},
		"another":   {[]*tape.Tape{calling("A", "x"), calling("B", "z")}, Diverged, []Verdict{AsRecorded, Diverged}, "FAIL  the events are those of the recording: 1 of 2 runs; b: "},
		"missing":   {[]*tape.Tape{calling("A", "x")}, Diverged, []Verdict{AsRecorded, NotDone}, "FAIL  the runs are those of the recording: 1 of 2"},
		"one more":  {[]*tape.Tape{calling("A", "x"), calling("B", "y"), calling("C", "y")}, Diverged, []Verdict{AsRecorded, AsRecorded}, "2 of 2; another run came"},
		"none came": {nil, NotDone, []Verdict{NotDone, NotDone}, "FAIL  telemetry came"},
	} {
		p, err := Pair(recorded, of.replayed, compare.Options{}, &Reconciler{})
		if err != nil {
			t.Fatal(err)
		}
		r := &Report{OtherRuns: p.Others, Model: modelstub.Report{Turns: 1, Calls: []*modelstub.Call{{Call: 1, Outcome: modelstub.Hit, Run: "a", Seq: 1}}}}
		r.JudgeRuns(recorded, p, func(_, of *tape.Tape) []ToolCall {
			return []ToolCall{{Seq: 1, Name: of.Events[0].Name, Layer: LayerOracle}}
		})
		var runs []Verdict
		for _, run := range r.Runs {
			runs = append(runs, run.Verdict)
		}
		if r.Verdict != of.verdict || !slices.Equal(runs, of.runs) || !strings.Contains(r.Text(), of.says) {
			t.Errorf("%s: %s %v\n%s", name, r.Verdict, runs, r.Text())
		}
	}
}
