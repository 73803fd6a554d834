// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
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
