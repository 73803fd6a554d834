// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// A provider's own client reports the call once more, beside the span that lies around it in time.
func TestClientsSpanBesideTheCallIsTheSameCall(t *testing.T) {
	client := func(tr *trace, id, start, end int, in, out int64) {
		tr.in("client", "post", id, 1, start, end, "gen_ai.provider.name", "p", "gen_ai.request.model", "m1", "gen_ai.response.id", "msg_1", "gen_ai.usage.input_tokens", in, "gen_ai.usage.output_tokens", out)
	}
	for name, c := range map[string]struct {
		start, end int
		in, out    int64
		calls      int
	}{"inside": {2, 9, 7, 2, 1}, "begun before": {0, 9, 7, 2, 1}, "later": {11, 15, 7, 2, 2}, "other tokens": {2, 9, 8, 2, 2}, "a stream's 0": {2, 9, 0, 2, 1}, "0, and other tokens": {2, 9, 0, 3, 2}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("app", "handle", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("hi")), list(says("ho")), "gen_ai.usage.input_tokens", int64(7), "gen_ai.usage.output_tokens", int64(2))
			client(tr, 3, c.start, c.end, c.in, c.out)
			calls := 0
			for _, e := range tr.runs(t)[0].Events {
				if e.Type == tape.EventModelCall {
					calls++
				}
			}
			if calls != c.calls {
				t.Errorf("%d model calls, want %d", calls, c.calls)
			}
		})
	}
}

// An SDK keeps 128 attributes of a span: of a long conversation the tokens are not among them.
func TestClientsSpanBesideACallThatLostItsTokensIsTheSameCall(t *testing.T) {
	for name, c := range map[string]struct{ dropped, clients, calls int }{"lost": {3, 1, 1}, "nothing was lost": {0, 1, 2}, "two of it": {3, 2, 3}} {
		tr := newTrace()
		tr.in("app", "handle", 1, 0, 0, 100)
		tr.chat(2, 1, 2, 10, list(user("hi")), list(says("ho"))).SetDroppedAttributesCount(uint32(c.dropped))
		for i := range c.clients {
			tr.in("client", "post", 3+i, 1, 1, 11, "gen_ai.request.model", "m1", "gen_ai.response.id", "msg_"+string(rune('1'+i)), "gen_ai.usage.input_tokens", int64(7), "gen_ai.usage.output_tokens", int64(2))
		}
		if n := the(t, tr.runs(t)).Usage.ModelCalls; n != c.calls {
			t.Errorf("%s: %d model calls, want %d", name, n, c.calls)
		}
	}
}

func TestClientsSpansOfWhichTwoBeganBeforeTheCallAreCalls(t *testing.T) {
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 100)
	usage := []any{"gen_ai.request.model", "m1", "gen_ai.usage.input_tokens", int64(7), "gen_ai.usage.output_tokens", int64(2)}
	tr.chat(2, 1, 2, 10, list(user("hi")), list(says("ho")), usage...)
	tr.in("client", "post", 3, 1, 0, 9, usage...)
	tr.in("client", "post", 4, 1, 1, 9, usage...)
	if n := the(t, tr.runs(t)).Usage.ModelCalls; n != 3 {
		t.Errorf("%d model calls, want 3", n)
	}
}
