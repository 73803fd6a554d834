// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// toldOnly is the message of a tool as packages write it that leave out ids and the calls before it.
func toldOnly(result string) string {
	return `{"role":"tool","parts":[{"type":"text","content":` + quote(result) + `}]}`
}

func TestResultsAreFoundWhereTheResentAnswerLacksItsCalls(t *testing.T) {
	for name, resent := range map[string]string{"left out": "", "empty": `{"role":"assistant","parts":[]},`, "its text alone": says("Both.") + ","} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("app", "handle", 1, 0, 0, 100)
			first := list(user("compare"))
			answer := `{"role":"assistant","parts":[{"type":"text","content":"Both."},` + call("c1", "f", `{"x":1}`) + `,` + call("c2", "f", `{"x":2}`) + `]}`
			second := `[` + user("compare") + `,` + resent + toldOnly("one") + `,` + toldOnly("two")
			tr.chat(2, 1, 1, 10, first, list(answer))
			tr.chat(3, 1, 20, 30, second+`]`, list(asks(call("c3", "f", `{"x":3}`))))
			tr.chat(4, 1, 40, 50, second+`,`+toldOnly("three")+`]`, list(says("done")))
			tapes := tr.runs(t)
			if len(tapes) != 1 {
				t.Fatalf("%d runs", len(tapes))
			}
			want := []string{"one", "two", "three"}
			for _, e := range tapes[0].Events {
				if e.Type != tape.EventToolCall {
					continue
				}
				if len(want) == 0 || e.Result.Str() != want[0] {
					t.Fatalf("event %d answers %s, want %v", e.Seq, e.Result.JSON(), want)
				}
				want = want[1:]
			}
			if len(want) > 0 {
				t.Errorf("no event answers %v", want)
			}
			if tapes[0].Run.Status != tape.StatusOK {
				t.Errorf("status %s", tapes[0].Run.Status)
			}
		})
	}
}

func TestResultsOfAnotherNumberAreNotTakenForTheAnswers(t *testing.T) {
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("compare")), list(asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`))))
	tr.chat(3, 1, 20, 30, list(user("compare"), toldOnly("one")), list(says("done")))
	for _, e := range tr.runs(t)[0].Events {
		if e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
			t.Errorf("event %d answers %s, and nothing says that it is its answer", e.Seq, e.Result.JSON())
		}
	}
}

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

// Gemini's API reads a member "output" of a response as what the function returned.
func TestResultThatOnlyGeminiWasToldIsTheOutput(t *testing.T) {
	for provider, want := range map[string]string{"gcp.gen_ai": `{"a":1}`, "openai": `"{\"output\":{\"a\":1}}"`} {
		tr := newTrace()
		ask := asks(call("", "f", `{}`))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask), "gen_ai.provider.name", provider)
		tr.chat(3, 1, 20, 30, list(user("q"), ask, shows("", `{"output":{"a":1}}`)), list(says("end")), "gen_ai.provider.name", provider)
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && e.Result.JSON() != want {
				t.Errorf("%s: the result is %s, want %s", provider, e.Result.JSON(), want)
			}
		}
	}
}

func TestRunOfAToolAloneSaysWhichModelAndThatItFailed(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user(`[{"role":"user","content":"first"},{"role":"assistant","content":"yes?"},{"role":"user","content":"quote"}]`)),
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"too long"}],"finish_reason":"error"}]`)
	tr.tool("f", 2, 1, 10, 20, "c1", `{}`, `1`)
	tp := tr.runs(t)[0]
	if tp.Config.Model != "m1" {
		t.Errorf("model %q", tp.Config.Model)
	}
	if tp.Run.Status != tape.StatusError {
		t.Errorf("status %s: the answer is marked as an error", tp.Run.Status)
	}
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "quote" {
		t.Errorf("user message %v", tp.Input.UserMessage)
	}
}

// Where no call was recorded, the instructions stand on the agents below the span of the run alone.
func TestInstructionsOfARunWithoutCallsAreThoseOfItsAgents(t *testing.T) {
	const instructions = `[{"type":"text","content":"Be brief."}]`
	for name, c := range map[string]struct{ second, want string }{"one agent": {"", "Be brief."}, "two that were told the same": {instructions, "Be brief."}, "two": {`[{"type":"text","content":"Be long."}]`, ""}} {
		tr := newTrace()
		tr.agent("run", 1, 0, 0, 100, "gen_ai.input.messages", list(user("hi")), "gen_ai.output.messages", list(says("ho")))
		tr.agent("clerk", 2, 1, 1, 50, "gen_ai.system_instructions", instructions)
		if c.second != "" {
			tr.agent("other", 3, 1, 50, 90, "gen_ai.system_instructions", c.second)
		}
		got := ""
		if p := the(t, tr.runs(t)).Input.SystemPrompt; p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: instructions %q, want %q", name, got, c.want)
		}
	}
}
