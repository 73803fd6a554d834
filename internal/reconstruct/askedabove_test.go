// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// OpenLIT's spans of LangGraph stand around those of LangChain, which know the question. Of a model call that failed no request is recorded.
func TestQuestionStandsBetweenTheRunAndItsFirstModelCall(t *testing.T) {
	build := func(request string) *tape.Tape {
		tr := newTrace()
		tr.agent("shop", 1, 0, 0, 100).Status().SetCode(ptrace.StatusCodeError)
		tr.agent("inner", 2, 1, 1, 90, "gen_ai.input.messages", list(user("where is my order?"))).Status().SetCode(ptrace.StatusCodeError)
		tr.agent("node", 3, 2, 2, 80, "gen_ai.input.messages", list(user("a prompt"))).Status().SetCode(ptrace.StatusCodeError)
		tr.chat(4, 3, 3, 70, request, "").Status().SetCode(ptrace.StatusCodeError)
		return the(t, tr.runs(t))
	}
	if in := build("").Input; in.UserMessage == nil || *in.UserMessage != "where is my order?" || in.Provenance["user_message"] != tape.Recovered {
		t.Errorf("asked %v, %v", in.UserMessage, in.Provenance)
	}
	if in := build(list(user("hello"))).Input; in.UserMessage == nil || *in.UserMessage != "hello" { // what was sent says it
		t.Errorf("asked %v", in.UserMessage)
	}
}

// What a user sends may be JSON that looks like a message.
func TestObjectThatTheModelWasSentWholeIsTheQuestion(t *testing.T) {
	const object = `{"content":"late again","total":{"items":157}}`
	for sent, want := range map[string]string{object: object, "late again": "late again"} {
		tr := newTrace()
		tr.in("app", "assistant", 1, 0, 0, 100, "openinference.span.kind", "AGENT", "input.value", object, "output.value", "done")
		tr.chat(2, 1, 1, 90, list(user(sent)), list(says("done")))
		if in := the(t, tr.runs(t)).Input; in.UserMessage == nil || *in.UserMessage != want {
			t.Errorf("sent %s: asked %v", sent, in.UserMessage)
		}
	}
}
