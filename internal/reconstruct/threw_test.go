// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

func TestSpanOfAToolThatThrewHoldsNoResult(t *testing.T) {
	const message = "Error: tool failed: no answer within 2 s"
	for name, c := range map[string]struct{ result, shown string }{
		"an empty object":    {`{}`, ""},
		"the words of error": {message, message},
	} {
		t.Run(name, func(t *testing.T) {
			ask := asks(call("c1", "f", `{"n":1}`))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			status := tr.tool("f", 3, 1, 20, 30, "c1", `{"n":1}`, c.result).Status()
			status.SetCode(ptrace.StatusCodeError)
			status.SetMessage(message)
			if c.shown != "" {
				tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", c.shown)), list(says("end")))
			}
			if e := the(t, tr.runs(t)).Events[1]; !e.IsError || e.Error == nil || e.Error.Message != message {
				t.Errorf("failed %v, %v", e.IsError, e.Error)
			}
		})
	}
}

func TestExceptionOfASpanWithoutAnAnswerIsAnError(t *testing.T) {
	tr := newTrace()
	root := tr.agent("a", 1, 0, 0, 100)
	m := tr.chat(2, 1, 1, 10, list(user("q")), "")
	for _, s := range []ptrace.Span{root, m} {
		e := s.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.message", "too long")
	}
	if tp := the(t, tr.runs(t)); tp.Run.Status != tape.StatusError {
		t.Errorf("%s", tp.Run.Status)
	}
}
