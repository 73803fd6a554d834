// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// Some packages drop the span of a call that threw: a run of which nothing else was recorded failed with what the client of a model's API threw.
func TestRunThatFailedInAClientOfAModelAskedOne(t *testing.T) {
	const (
		inJavaScript = "Error: 400 refused\n    at APIError.generate (/app/node_modules/openai/core/error.js:45:20)\n    at main (/app/agent.mjs:9:1)"
		inATool      = "Error: 400 refused\n    at fetchOrder (/app/tools/orders.mjs:4:9)\n    at run (/app/node_modules/openai/lib/runner.js:30:20)"
		inPython     = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 9, in main\n    run()\n  File \"/venv/lib/python3.11/site-packages/anthropic/_base_client.py\", line 30, in request\n    raise err\nanthropic.BadRequestError: refused"
	)
	for name, c := range map[string]struct {
		kind, stack string
		called      bool
		models      int
	}{
		"JavaScript":       {"400", inJavaScript, false, 1},
		"Python":           {"BadRequestError", inPython, false, 1},
		"by its module":    {"openai.BadRequestError", "", false, 1},
		"by its name":      {"framework.exceptions.ModelHTTPError", "", false, 1},
		"in a tool":        {"400", inATool, false, 0},
		"of the program":   {"app.OrderError", "", false, 0},
		"a view of models": {"app.ModelError", "", false, 0},
		"calls are known":  {"400", inJavaScript, true, 1},
	} {
		tr := newTrace()
		span := tr.agent("a", 1, 0, 0, 100, "input.value", "How many?")
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("400 refused")
		exception := span.Events().AppendEmpty()
		exception.SetName("exception")
		exception.Attributes().PutStr("exception.type", c.kind)
		exception.Attributes().PutStr("exception.message", "400 refused")
		exception.Attributes().PutStr("exception.stacktrace", c.stack)
		if c.called {
			tr.chat(2, 1, 1, 10, list(user("How many?")), list(says("42")))
		}
		tp := the(t, tr.runs(t))
		if tp.Usage.ModelCalls != c.models || (tp.Run.Status == tape.StatusError) == c.called {
			t.Errorf("%s: %d model calls, %s", name, tp.Usage.ModelCalls, tp.Run.Status)
		}
		if c.models == 1 && !c.called {
			wantCodes(t, tp, "model_call_hidden@1")
			if e := tp.Events[0]; e.Error == nil || e.Error.Message != "400 refused" || tp.Fidelity.Replayable.Tools {
				t.Errorf("%s: %v, claims %v", name, e.Error, tp.Fidelity.Replayable.Tools)
			}
		}
	}
}
