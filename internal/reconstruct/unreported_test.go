// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

func TestAgentWithoutCallsThatNamesItsModelAskedIt(t *testing.T) {
	const scope = "opentelemetry.instrumentation.agno"
	agent := func(attrs ...any) *tape.Tape {
		tr := newTrace()
		tr.in(scope, "assistant.agent", 1, 0, 0, 100, append([]any{"traceloop.span.kind", "agent", "gen_ai.agent.name", "assistant", "traceloop.entity.input", "what now?"}, attrs...)...)
		return the(t, tr.runs(t))
	}
	tp := agent("gen_ai.request.model", "m1", "traceloop.entity.output", "go on", "gen_ai.usage.output_tokens", 12)
	wantEvents(t, tp, "model_call")
	if e := tp.Events[0]; e.Provenance["response.message"] != tape.Recovered || e.Provenance["request.messages"] != tape.Missing || *tp.Output.Text != "go on" || tp.Run.Status != tape.StatusOK {
		t.Errorf("%v, answered %v, %s", e.Provenance, tp.Output.Text, tp.Run.Status)
	}
	if r := tp.Fidelity.Replayable; r.Tools || r.Model {
		t.Errorf("claims %+v: nobody knows how many calls there were", r)
	}
	tp = agent("gen_ai.request.model", "m1") // a stream, whose answer was not recorded
	wantEvents(t, tp, "model_call")
	if e := tp.Events[0]; e.Provenance["response.message"] != tape.Missing || tp.Fidelity.Replayable.Tools {
		t.Errorf("%v, tools %t", e.Provenance, tp.Fidelity.Replayable.Tools)
	}
	if tp = agent("traceloop.entity.output", "go on"); len(tp.Events) > 0 { // a workflow that answers from a table names no model
		t.Errorf("%d events", len(tp.Events))
	}

	tr := newTrace() // its tools are on record
	tr.in(scope, "assistant.agent", 1, 0, 0, 100, "traceloop.span.kind", "agent", "gen_ai.request.model", "m1", "traceloop.entity.input", "what now?", "traceloop.entity.output", "go on")
	tr.tool("f", 2, 1, 10, 20, "", `{"x":1}`, "one")
	wantEvents(t, the(t, tr.runs(t)), "tool_call f @2 = one")
}
