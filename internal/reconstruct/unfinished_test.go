// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// Who records nothing of a model call but that it ended well does not show its answer.
func TestLastCallOfWhichNothingIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		code ptrace.StatusCode
		tool bool // a tool ran after it
		want tape.RunStatus
	}{
		"it ended well":         {ptrace.StatusCodeOk, false, tape.StatusOK},
		"it tells no status":    {ptrace.StatusCodeUnset, false, tape.StatusIncomplete},
		"a tool ran afterwards": {ptrace.StatusCodeOk, true, tape.StatusIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, "", "").Status().SetCode(ptrace.StatusCodeOk)
			tr.tool("f", 3, 1, 20, 30, "", `{"n":1}`, "v")
			tr.chat(4, 1, 40, 50, "", "").Status().SetCode(c.code)
			if c.tool {
				tr.tool("f", 5, 1, 60, 70, "", `{"n":2}`, "w")
			}
			if tp := the(t, tr.runs(t)); tp.Run.Status != c.want {
				t.Errorf("%s", tp.Run.Status)
			}
		})
	}
}

// Where no answer of any call is on record, that the last one shows none either does not mean that the run
// did not end.
func TestWhoRecordsNoAnswersShowsNoneOfTheLastCall(t *testing.T) {
	for name, c := range map[string]struct {
		first string // the answer of the first call
		ok    bool   // the last call says that it ended well
		want  tape.RunStatus
	}{
		"none is on record":     {ok: true, want: tape.StatusOK},
		"the first one is":      {first: list(says("a moment")), ok: true, want: tape.StatusIncomplete},
		"it does not say so":    {want: tape.StatusIncomplete},
		"neither of the latter": {first: list(says("a moment")), want: tape.StatusIncomplete},
	} {
		tr := newTrace()
		tr.in("app", "handle", 9, 0, 0, 100)
		tr.chat(1, 9, 1, 10, list(user("q")), c.first)
		tr.tool("look", 2, 9, 20, 30, "call_0001", `{"x":1}`, "r")
		if last := tr.chat(3, 9, 40, 50, list(user("q"), shows("call_0001", "r")), ""); c.ok {
			last.Status().SetCode(ptrace.StatusCodeOk)
		}
		if tp := the(t, tr.runs(t)); tp.Run.Status != c.want {
			t.Errorf("%s: %s", name, tp.Run.Status)
		}
	}
}
