// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Logfire closes the span of a call when a stream is handed out, and writes a record of the answer when it has been read. Where no span stands above them each is a trace of its own.
func TestRecordOfAStreamedAnswerBelongsToTheCallBeforeIt(t *testing.T) {
	ask := asks(call("call_a1b2c3", "f", `{"x":1}`))
	next := list(user("what is x?"), ask, shows("call_a1b2c3", "v"))
	build := func(scope string, took int) []*tape.Tape {
		model := func(n, start, end int, request, response string) *trace {
			tr := newTrace()
			tr.in(scope, "chat m", 1, 0, start, end, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", request, "gen_ai.output.messages", response)
			return tr.numbered(byte(n))
		}
		call := func(n, start, end int, request string) *trace { return model(n, start, end, request, "") }
		return all(t, call(1, 10, 20, list(user("what is x?"))), model(2, 25, 25+took, list(user("what is x?")), list(ask)),
			call(3, 30, 40, next), model(4, 45, 45+took, next, list(says("x is v, as the tool says"))))
	}
	wantEvents(t, the(t, build("streams", 0)), "model_call @1+1", "tool_call f by 1 = v (recovered)", "model_call @1+1")
	if tapes := build("streams", 3); len(tapes) == 1 && tapes[0].Usage.ModelCalls == 2 {
		t.Error("a call that took time is no record of another one")
	}
}

// Two programs that ask the same at the same time: whose answer a record holds is not known.
func TestRecordThatMayBeOfTwoCallsIsOfNone(t *testing.T) {
	model := func(n, start, end int, response string) *trace {
		tr := newTrace()
		tr.in("streams", "chat m", 1, 0, start, end, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", list(user("what is x?")), "gen_ai.output.messages", response)
		return tr.numbered(byte(n))
	}
	if tapes := all(t, model(1, 10, 20, ""), model(2, 11, 21, ""), model(3, 25, 25, list(says("x is one")))); len(tapes) != 3 {
		t.Errorf("%d tapes, want 3", len(tapes))
	}
}
