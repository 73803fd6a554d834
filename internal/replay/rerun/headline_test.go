// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// A miss belongs to the recorded event that it names, and the headline says what differs there.
func TestTheHeadlineSaysWhatAMissIsAbout(t *testing.T) {
	missed := func(place, recorded, live string) *modelstub.Call {
		return &modelstub.Call{Outcome: modelstub.NoTurn, Nearest: &modelstub.Difference{Seq: 3, Place: place, Recorded: recorded, Live: live}}
	}
	at := func(kind compare.Kind, seq int) *compare.Result {
		return &compare.Result{First: &compare.Step{Kind: kind, A: &compare.EventRef{Seq: seq, Type: tape.EventToolCall}}}
	}
	for name, of := range map[string]struct {
		call *modelstub.Call
		of   string
		c    *compare.Result
		want string
	}{
		"system":         {missed("system_prompt", "Be brief.", "Be long."), "", nil, "The replay parts at event 3 of A: the system prompt differs: “Be brief.” → “Be long.”."},
		"nothing":        {missed("system_prompt", "Be brief.", ""), "", nil, "The replay parts at event 3 of A: the system prompt differs: “Be brief.” → nothing."},
		"question":       {missed("1.user", "a", "b"), "", nil, "The replay parts at event 3 of A: what the user asked differs: “a” → “b”."},
		"result":         {missed("2.assistant.calls.1.result", "a\nb", "c"), "", nil, "The replay parts at event 3 of A: what came of call 1 in message 2 of the request differs: “a⏎b” → “c”."},
		"arguments":      {missed("2.assistant.calls.2.args", "1", "2"), "", nil, "The replay parts at event 3 of A: what call 2 in message 2 of the request asks for differs: “1” → “2”."},
		"of another":     {missed("7.surprise", "", ""), "", nil, "The replay parts at event 3 of A: 7.surprise differs."},
		"once more":      {&modelstub.Call{Outcome: modelstub.Exhausted, Seq: 5}, "", nil, "The replay parts at event 5 of A: the model was asked once more than recorded."},
		"no answer":      {&modelstub.Call{Outcome: modelstub.Unservable, Seq: 5, Reason: "missing"}, "", nil, "The replay parts at event 5 of A: the recorded answer of the model is missing."},
		"served":         {&modelstub.Call{Outcome: modelstub.Hit, Seq: 5}, "", nil, ""},
		"nowhere":        {&modelstub.Call{Outcome: modelstub.NoTurn}, "", nil, ""},
		"another run":    {missed("1.user", "a", "b"), "r", nil, ""},
		"they parted":    {missed("1.user", "a", "b"), "", at(compare.Changed, 2), ""},
		"part here":      {missed("1.user", "a", "b"), "", at(compare.Changed, 3), "The replay parts at event 3 of A: what the user asked differs: “a” → “b”."},
		"only A asks it": {missed("1.user", "a", "b"), "", at(compare.Dropped, 2), "The replay parts at event 3 of A: what the user asked differs: “a” → “b”."},
	} {
		if got := headline([]*modelstub.Call{of.call}, of.of, of.c); got != of.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMissesThatAreTheSameAreToldOnce(t *testing.T) {
	r := &Report{}
	for i, outcome := range []modelstub.Outcome{modelstub.Hit, modelstub.NoTurn, modelstub.NoTurn, modelstub.NoTurn, modelstub.Exhausted, modelstub.StoodIn} {
		c := &modelstub.Call{Call: i + 1, Outcome: outcome, Seq: 7}
		if outcome == modelstub.NoTurn {
			c.Nearest = &modelstub.Difference{Seq: 3, Place: "1.user"}
		}
		r.Model.Calls = append(r.Model.Calls, c)
	}
	if got := r.missed(); got != "; calls 2 to 4: no_turn, differs from event 3 at 1.user; call 5: exhausted; call 6: the answer of event 7 is not recorded, a text stood in" {
		t.Error(got)
	}
}
