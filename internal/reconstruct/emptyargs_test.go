// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// bareCall is a call whose arguments were left out.
func bareCall(id, name string) string {
	return `{"type":"tool_call","id":` + quote(id) + `,"name":` + quote(name) + `}`
}

// OpenInference's package for the Responses API leaves out arguments that are empty. That shows where the tools of other such calls have spans.
func TestArgumentsAreEmptyWhereOnlySuchAreLeftOut(t *testing.T) {
	build := func(received, other string) tape.Event {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(bareCall("call_1", "f"), call("call_2", "g", other))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_1", received, "one")
		tr.tool("g", 4, 1, 13, 14, "call_2", other, "two")
		unknown := asks(bareCall("call_3", "h"))
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("call_1", "one"), shows("call_2", "two")), list(unknown))
		tr.chat(6, 1, 40, 50, list(user("q"), ask, shows("call_1", "one"), shows("call_2", "two"), unknown, shows("call_3", "there is no tool h")), list(says("end")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Name == "h" {
				return e
			}
		}
		t.Fatal("the call without a span is gone")
		return tape.Event{}
	}
	for _, c := range []struct {
		received, other string
		want            tape.Label
	}{
		{`{}`, `{"x":1}`, tape.Recovered},
		{`{"x":null}`, `{"x":1}`, tape.Recovered}, // a default
		{`{"x":1}`, `{"x":1}`, tape.Missing},
		{`{}`, `{}`, tape.Missing}, // nothing says that it writes any
	} {
		if e := build(c.received, c.other); e.Provenance["args"] != c.want || (e.ArgsHash != "") != (c.want == tape.Recovered) {
			t.Errorf("received %s beside %s: labelled %q, want %q", c.received, c.other, e.Provenance["args"], c.want)
		}
	}
}

// Of three calls of one tool in a stream, whose arguments were written as nothing, each is the one that ran: none of these was handed anything. One that was handed something may be another.
func TestNothingThatAStreamWroteIsNoArguments(t *testing.T) {
	for received, want := range map[string]int{"{}": 3, `{"x":1}`: 6} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(call("call_1", "f", `""`), call("call_2", "f", `""`), call("call_3", "f", `""`))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		for i, result := range []string{"one thing", "", "another thing"} {
			tr.tool("f", 3+i, 1, 11+10*i, 19+10*i, "", received, result)
		}
		tr.chat(7, 1, 50, 60, list(user("q"), ask, shows("call_1", "one thing"), shows("call_2", ""), shows("call_3", "another thing")), list(says("end")))
		n := 0
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Name == "f" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d calls, want %d", received, n, want)
		}
	}
}
