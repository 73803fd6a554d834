// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// plainRun is a run with a model call, a tool call and an answer.
func plainRun() *trace {
	ask := asks(call("call_AAAAAAAAAAAAAAAA", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 20, "call_AAAAAAAAAAAAAAAA", `{"x":1}`, "v")
	tr.chat(4, 1, 21, 30, list(user("q"), ask, shows("call_AAAAAAAAAAAAAAAA", "v")), list(says("end")))
	return tr
}

// keptOn is what the tape of a trace keeps as it was recorded.
func keptOn(t *testing.T, tapes []*tape.Tape) exactjson.Value {
	t.Helper()
	return the(t, tapes).Extensions.Get("conventions")
}

func TestAttributesThatNoDialectReadsAreKept(t *testing.T) {
	tr := plainRun()
	tr.chat(5, 1, 31, 40, list(user("q2")), list(says("a2")), "gen_ai.brand.new", "x", "aws.bedrock.guardrail.id", "g", "gen_ai.usage.total_tokens", 7, "gen_ai.event.start_time", "now", "acme.new", "y", "gen_ai.empty", "")
	tr.chat(6, 1, 41, 50, "", "", "gen_ai.usage.total_tokens", 9, "gen_ai.usage.input_tokens", 4)
	want := `{"aws.bedrock.guardrail.id":[{"seq":4,"value":"g"}],"gen_ai.brand.new":[{"seq":4,"value":"x"}],"gen_ai.usage.total_tokens":[{"seq":4,"value":7}]}`
	if kept := keptOn(t, tr.runs(t)); kept.JSON() != want {
		t.Errorf("kept %s, want %s", kept.JSON(), want)
	}
}

func TestAttributesOfEventsAreKeptOnce(t *testing.T) {
	tr := plainRun()
	s := tr.chat(5, 1, 31, 40, list(user("q2")), list(says("a2")), "gen_ai.brand.new", "x")
	for _, v := range []string{"x", "z"} {
		e := s.Events().AppendEmpty()
		e.SetName("gen_ai.client.inference.operation.details")
		e.Attributes().PutStr("gen_ai.brand.new", v)
	}
	want := `{"gen_ai.brand.new":[{"seq":4,"value":"x"},{"seq":4,"value":"z"}]}`
	if kept := keptOn(t, tr.runs(t)); kept.JSON() != want {
		t.Errorf("kept %s, want %s", kept.JSON(), want)
	}
}

func TestRecordsThatNoDialectKnowsAreKeptOrCounted(t *testing.T) {
	tr := plainRun()
	tapes := tr.with(t,
		[]any{"gen_ai.brand.new", 5, 2, "a", "x"},
		[]any{"gen_ai.brand.new", 50, 1, "a", "y"},
		[]any{"gen_ai.brand.other", 6, 77, "a", "of a span that never came"},
		[]any{"gen_ai.brand.other", 7, 0, "a", "of no span"},
	)
	want := `{"gen_ai.brand.new":[{"value":{"a":"y"}},{"seq":1,"value":{"a":"x"}}]}`
	if kept := keptOn(t, tapes); kept.JSON() != want {
		t.Errorf("kept %s, want %s", kept.JSON(), want)
	}
	findings := ""
	for _, f := range tapes[0].Fidelity.Findings {
		findings += fmt.Sprintln(f.Code, f.Detail)
	}
	if !strings.Contains(findings, "2 log records of the trace name no span that came") {
		t.Errorf("findings %s", findings)
	}
}

func TestAttributesOfAResourceAreKeptOnce(t *testing.T) {
	tr := plainRun()
	tr.td.ResourceSpans().At(0).Resource().Attributes().PutStr("gen_ai.brand.new", "x")
	if kept, want := keptOn(t, tr.runs(t)).JSON(), `{"gen_ai.brand.new":[{"value":"x"}]}`; kept != want {
		t.Errorf("kept %s, want %s", kept, want)
	}
}

func TestWhatIsBeyondTheBoundsIsCounted(t *testing.T) {
	tr := plainRun()
	many := tr.chat(5, 1, 31, 40, "", "")
	for i := range 300 {
		many.Attributes().PutStr(fmt.Sprintf("gen_ai.brand.n%03d", i), "x")
	}
	many.Attributes().PutStr("gen_ai.brand."+strings.Repeat("x", 200), "x")
	large := tr.chat(6, 1, 41, 50, "", "")
	large.Attributes().PutStr("gen_ai.brand.n000", strings.Repeat("x", 1<<18))
	kept := keptOn(t, tr.runs(t))
	left := kept.Get("left_out")
	if kept.Len() != 129 || left.Len() != 129 || left.Get("gen_ai.brand.n128").JSON() != "1" || left.Get("…").JSON() != "46" {
		t.Errorf("%d names, left out %s", kept.Len(), left.JSON())
	}
}
