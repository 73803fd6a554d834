// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Two calls of one answer have one id. The proof goes by what the tools were handed and what requests show, so that it finds results that were given to the wrong call.
func TestProofOfCallsOfOneIDContradictsSwappedResults(t *testing.T) {
	build := func(swapped, permuted bool) *tape.Tape {
		s := newScript(t)
		a, b := s.call("call_0", "read", `{"path":"a"}`), s.call("call_0", "read", `{"path":"b"}`)
		by := s.model(a, b)
		s.tool(by, a, `"the content of a"`, "")
		s.tool(by, b, `"what stands in b"`, "")
		shown := []string{`"the content of a"`, `"what stands in b"`}
		if permuted {
			shown[0], shown[1] = shown[1], shown[0]
		}
		for _, result := range shown {
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "call_0", Result: parse(t, result)})
		}
		s.model(says("both were read"))
		tp := s.ended("both were read")
		if swapped {
			first, second := &tp.Events[1], &tp.Events[2]
			first.Result, second.Result = second.Result, first.Result
			first.ExecutedArgs, second.ExecutedArgs = second.Args, first.Args
		}
		return tp
	}
	for _, permuted := range []bool{false, true} {
		if p := Prove(build(false, permuted)); p.OK == nil || !*p.OK || p.Verified != 2 {
			t.Errorf("in order %v: %+v", !permuted, p)
		}
	}
	if p := Prove(build(true, false)); p.OK == nil || *p.OK || p.Mismatched != 2 {
		t.Errorf("swapped: %+v", p)
	}
}

// An id that several recorded calls have does not make a query the repetition of an earlier one: whoever polls gets each answer.
func TestIDOfSeveralCallsRepeatsNothing(t *testing.T) {
	s := newScript(t)
	a := s.call("call_0", "poll", `{}`)
	for _, state := range []string{`"waiting"`, `"running"`, `"done"`} {
		s.tool(s.model(a), a, state, state)
	}
	o, err := New(FromTape(s.tape), Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := o.NewSession(0)
	for _, want := range []string{"waiting", "running", "done"} {
		got, err := session.Answer(Query{ToolName: "poll", Args: parse(t, `{}`), ToolCallID: "call_0"})
		if err != nil || !got.Outcome.Served() || got.Entry.Response != want || got.Repeated {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
}
