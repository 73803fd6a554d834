// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A run that failed with the error of a client of a model's API, after a tool, asked a model once more; if no
// record tells of that call, the tape does.
func TestCallThatEndedARunAndWasNotRecordedIsPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		exception string
		recorded  bool
		models    int
	}{
		"the client of a model":     {"openai.BadRequestError", false, 2},
		"a limit":                   {"langgraph.errors.GraphRecursionError", false, 1},
		"the call that is recorded": {"openai.BadRequestError", true, 2},
	} {
		ask := asks(call("call_aaaaaaaaaaaaaaaa", "f", `{"x":1}`))
		tr := newTrace()
		failed := []ptrace.Span{tr.agent("a", 1, 0, 0, 100)}
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 20, 30, "call_aaaaaaaaaaaaaaaa", `{"x":1}`, "one")
		if c.recorded {
			failed = append(failed, tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_aaaaaaaaaaaaaaaa", "one")), ""))
		}
		for _, span := range failed {
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Attributes().PutStr("error.type", c.exception)
		}
		tp := the(t, tr.runs(t))
		last := tp.Events[len(tp.Events)-1]
		if tp.Usage.ModelCalls != c.models || c.models == 2 && (last.Type != tape.EventModelCall || last.Status != tape.EventError) {
			t.Errorf("%s: %d model calls, the last event is a %s, %s", name, tp.Usage.ModelCalls, last.Type, last.Status)
		}
		if tp.Run.Status != tape.StatusError {
			t.Errorf("%s: status %s", name, tp.Run.Status)
		}
	}
}
