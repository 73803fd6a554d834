// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Requests that hold what is new alone, without what users said: what an agent answered is what a tool of the other one returned.
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
