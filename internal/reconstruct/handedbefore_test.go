// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Spans of a stream that stand for a whole loop hold all that was said in it, and who reads the stream is
// handed that.
func TestTheReaderOfAStreamIsHandedAllThatWasSaidInIt(t *testing.T) {
	tr := newTrace()
	tr.in("org.springframework.boot", "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "spring.ai.chat.client.stream", "true")
	chat := func(id, parent, start, end int, request, response string) {
		tr.in("org.springframework.boot", "chat m1", id, parent, start, end, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.response.id", "msg_00000001",
			"gen_ai.response.finish_reasons", `["end_turn"]`, "gen_ai.prompt", request, "gen_ai.completion", response)
	}
	chat(2, 1, 1, 90, `["q"]`, `["A moment. It is seven."]`)
	chat(3, 2, 40, 91, `["q", "", ""]`, `["It is seven."]`)
	if tp := the(t, tr.runs(t)); deref(tp.Output.Text) != "A moment. It is seven." || tp.Usage.ModelCalls != 2 {
		t.Errorf("%q after %d calls", deref(tp.Output.Text), tp.Usage.ModelCalls)
	}
}
