// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Requests that hold what is new alone, without what users said: what an agent answered is what a tool of the
// other one returned.
func TestRequestsOfWhatIsNewAloneShowWhoseAnswerAToolReturned(t *testing.T) {
	made := func(shown string) *trace {
		tr := newTrace()
		nothing := list(`{"role":"user","parts":[]}`)
		tr.chat(2, 1, 0, 10, nothing, list(asks(call("c1", "billing", `{"q":"x"}`))))
		tr.chat(3, 9, 20, 30, nothing, list(asks(call("c2", "look", `{"id":"7"}`))))
		tr.chat(4, 9, 40, 50, list(shows("c2", "two lines")), list(says("The plan stands there twice.")))
		tr.chat(5, 1, 60, 70, list(shows("c1", shown)), list(says("You get it back.")))
		return tr
	}
	tp := the(t, made("The plan stands there twice.").runs(t))
	if n := len(tp.Events); n != 6 {
		t.Errorf("%d events", n)
	}
	if n := len(made("Nobody knows of a plan.").runs(t)); n != 2 {
		t.Errorf("%d runs where the tool returned something else", n)
	}
}

// What a tool did is part of the run that was told its answer, as the providers tell it that take objects,
// and programs that write JSON.
func TestAnswerInAnObjectIsTheSubAgents(t *testing.T) {
	for _, told := range []string{`{"output": "it was charged twice"}`, `{'output': 'it was charged twice'}`, `[{"type":"text","text":"it was charged twice"}]`, `"it was charged twice"`} {
		tr := newTrace()
		tr.chat(1, 90, 0, 5, list(user("why?")), list(asks(call("", "billing", `{"question":"why?"}`))))
		tr.chat(2, 91, 10, 15, list(user("why?")), list(says("it was charged twice")), "gen_ai.system_instructions", `[{"type":"text","content":"You bill."}]`)
		tr.chat(3, 90, 20, 25, list(user("why?"), asks(call("", "billing", `{"question":"why?"}`)), shows("", told)), list(says("twice")))
		if tapes := tr.runs(t); len(tapes) != 1 {
			t.Errorf("%s: %d runs", told, len(tapes))
		}
	}
}

// An agent that a tool ran may answer in JSON, and the model is told that as it is.
func TestAnswerInJSONIsTheSubAgents(t *testing.T) {
	const answer = `{"total": {}, "ref": 86.1, "ok": "late"}`
	for told, want := range map[string]int{answer: 1, `{"total": {}, "ref": 86.1, "ok": "early"}`: 2} {
		tr := newTrace()
		tr.chat(1, 90, 0, 5, list(user("why?")), list(asks(call("", "billing", `{"question":"Which day?"}`))))
		tr.chat(2, 91, 10, 15, list(user("Which day?")), list(says(answer)))
		tr.chat(3, 90, 20, 25, list(user("why?"), asks(call("", "billing", `{"question":"Which day?"}`)), shows("", told)), list(says("late")))
		if tapes := tr.runs(t); len(tapes) != want {
			t.Errorf("%s: %d runs, want %d", told, len(tapes), want)
		}
	}
}
