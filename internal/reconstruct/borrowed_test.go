// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A tool fails, and every span that ends later says so too. A model call that was answered proves that this is no word of theirs.
func TestStatusOfAnotherSpan(t *testing.T) {
	const message = "no invoice INV-2"
	for name, c := range map[string]struct {
		own    bool // the model call recorded an exception of its own
		reason string
		want   tape.RunStatus
		events string
	}{
		"answered":                {reason: "stop", want: tape.StatusOK},
		"not answered":            {want: tape.StatusError},
		"an exception of its own": {own: true, reason: "stop", want: tape.StatusError},
	} {
		t.Run(name, func(t *testing.T) {
			fails := func(s ptrace.Span, throws bool) {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage(message)
				if throws {
					e := s.Events().AppendEmpty()
					e.SetName("exception")
					e.Attributes().PutStr("exception.message", message)
				}
			}
			ask := asks(call("c1", "f", `{"n":1}`))
			tr := newTrace()
			fails(tr.agent("a", 1, 0, 0, 100), false)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			fails(tr.tool("f", 3, 1, 20, 30, "c1", `{"n":1}`, ""), true)
			attrs := []any{}
			if c.reason != "" {
				attrs = append(attrs, "gen_ai.response.finish_reasons", []any{c.reason})
			}
			fails(tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", message)), "", attrs...), c.own)
			tp := the(t, tr.runs(t))
			if tp.Run.Status != c.want || !tp.Events[1].IsError {
				t.Errorf("%s, the tool failed: %v", tp.Run.Status, tp.Events[1].IsError)
			}
		})
	}
}
