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
