// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// made adds the description of an agent in a trace of its own.
func (tr *trace) made(name, agentID, instructions string, id, start int) ptrace.Span {
	s := tr.in("test", "create_agent "+name, id, 0, start, start, "gen_ai.operation.name", "create_agent", "gen_ai.agent.name", name, "gen_ai.agent.id", agentID,
		"gen_ai.system_instructions", `[{"type":"text","content":`+quote(instructions)+`}]`, "gen_ai.request.model", "m-told")
	trace := oneTrace
	trace[0] = byte(id)
	s.SetTraceID(trace)
	return s
}

// A run whose calls say neither instructions nor model takes them from the span that described its agent, and from no other.
func TestAnAgentIsDescribedApart(t *testing.T) {
	for name, c := range map[string]struct {
		describe func(tr *trace)
		run      []any
		want     string
		traces   int
	}{
		"by name":                         {func(tr *trace) { tr.made("main", "7", "Be brief.", 9, -20) }, nil, "Be brief. m-told", 2},
		"the same twice":                  {func(tr *trace) { tr.made("main", "7", "Be brief.", 9, -20); tr.made("main", "8", "Be brief.", 8, -10) }, nil, "Be brief. m-told", 2},
		"the last one of that id":         {func(tr *trace) { tr.made("main", "7", "Old.", 9, -20); tr.made("main", "7", "Be brief.", 8, -10) }, []any{"gen_ai.agent.id", "7"}, "Be brief. m-told", 2},
		"two of one name":                 {func(tr *trace) { tr.made("main", "7", "Be brief.", 9, -20); tr.made("main", "8", "Be long.", 8, -10) }, nil, " ", 1},
		"another agent":                   {func(tr *trace) { tr.made("other", "7", "Be brief.", 9, -20) }, nil, " ", 1},
		"the agent of another run":        {func(tr *trace) { tr.made("main", "7", "Be brief.", 9, 300) }, nil, " ", 1},
		"the run tells half of it":        {func(tr *trace) { tr.made("main", "7", "Be brief.", 9, -20) }, []any{"gen_ai.system_instructions", `[{"type":"text","content":"Own."}]`}, "Own. m-told", 2},
		"what the agent below it is told": {func(tr *trace) { tr.made("below", "7", "Be brief.", 9, -20) }, nil, " ", 1},
	} {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 200, append([]any{"gen_ai.output.messages", list(says("end"))}, c.run...)...)
		tr.tool("look", 2, 1, 10, 20, "c1", `{"id":7}`, "found")
		tr.agent("below", 3, 1, 30, 40)
		c.describe(tr)
		set := evidence.NewSet()
		set.AddTraces(copied(tr.td))
		tapes := reconstruct.All(set.Split(), options)
		sound(t, tapes)
		tp := the(t, tapes)
		got := " " + tp.Config.Model
		if tp.Input.SystemPrompt != nil {
			got = *tp.Input.SystemPrompt + got
		}
		if got != c.want || len(tp.Sources.TraceIDs) != c.traces {
			t.Errorf("%s: %q of %d traces, want %q of %d", name, got, len(tp.Sources.TraceIDs), c.want, c.traces)
		}
	}
}

// Telling an agent in the trace of the run, or in a service that has one of the same name, is no different from telling it elsewhere.
func TestDescriptionOfAnotherService(t *testing.T) {
	tr, other := newTrace(), newTrace()
	tr.agent("main", 1, 0, 0, 200, "gen_ai.output.messages", list(says("end")))
	tr.tool("look", 2, 1, 10, 20, "c1", `{"id":7}`, "found")
	other.made("main", "7", "Be brief.", 9, -20).SetTraceID(pcommon.TraceID{9})
	set := evidence.NewSet()
	set.AddTraces(copied(tr.td))
	set.AddTraces(copied(other.service("store").td))
	if tp := the(t, reconstruct.All(set.Split(), options)); tp.Input.SystemPrompt != nil {
		t.Errorf("told %q by another service", *tp.Input.SystemPrompt)
	}
}

// A run without a recorded model call ended well if its span says so in as many words.
func TestRunSpanThatSaysItEndedWell(t *testing.T) {
	for code, want := range map[ptrace.StatusCode]string{ptrace.StatusCodeOk: "ok", ptrace.StatusCodeUnset: "incomplete", ptrace.StatusCodeError: "error"} {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 200).Status().SetCode(code)
		tr.tool("look", 2, 1, 10, 20, "c1", `{"id":7}`, "found")
		if tp := the(t, tr.runs(t)); string(tp.Run.Status) != want {
			t.Errorf("%v: %s, want %s", code, tp.Run.Status, want)
		}
	}
}

// A span with nothing but the tokens of the call before it is a count of it, and a call of its own where it tells others.
func TestTokensToldAgainAreNoCall(t *testing.T) {
	for again, want := range map[int]int{7: 1, 8: 2} {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 200)
		tr.chat(2, 1, 1, 100, list(user("q")), list(says("end")), "gen_ai.response.model", "m1-dated", "gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", 7)
		tr.in("test", "record_usage", 3, 1, 101, 101, "gen_ai.response.model", "m1-dated", "gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", again)
		if tp := the(t, tr.runs(t)); tp.Usage.ModelCalls != want {
			t.Errorf("%d tokens again: %d model calls, want %d", again, tp.Usage.ModelCalls, want)
		}
	}
}

// AG2 records the messages of a request without its instructions.
func TestInstructionsThatAG2LeavesOutAreSaid(t *testing.T) {
	for scope, want := range map[string]bool{"opentelemetry.instrumentation.ag2": true, "test": false} {
		tr := newTrace()
		tr.in(scope, "chat m1", 1, 0, 0, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")))
		if got := slices.ContainsFunc(the(t, tr.runs(t)).Fidelity.Findings, func(f tape.Finding) bool { return f.Field == "input.system_prompt" }); got != want {
			t.Errorf("%s: finding %v, want %v", scope, got, want)
		}
	}
}

// A producer that leaves what a developer says out of the messages says nothing of instructions: that is a finding, and none where they are there.
func TestInstructionsThatAProducerLeavesOutAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		scope, request string
		want           bool
	}{
		"none beside the messages":        {"@opentelemetry/instrumentation-openai", list(user("hi")), true},
		"of the role system":              {"@opentelemetry/instrumentation-openai", list(`{"role":"system","parts":[{"type":"text","content":"Be brief."}]}`, user("hi")), false},
		"a producer of whom that is news": {"acme", list(user("hi")), false},
	} {
		tr := newTrace()
		tr.in(c.scope, "chat m1", 1, 0, 0, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", c.request, "gen_ai.output.messages", list(says("yes")))
		said := slices.ContainsFunc(the(t, tr.runs(t)).Fidelity.Findings, func(f tape.Finding) bool { return f.Field == "input.system_prompt" })
		if said != c.want {
			t.Errorf("%s: said %v", name, said)
		}
	}
}
