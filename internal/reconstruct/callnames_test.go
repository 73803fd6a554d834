// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A turn that began after a tool call asked for other ones, also where it was over within the millisecond by
// which clocks may be rounded. Of the calls only the names were recorded.
func TestATurnThatBeganAfterACallDidNotAskForIt(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	one, two := asks(call("call_X4ULTEFGUM44M4GLT6TT7S", "look", `{"id":1}`)), asks(call("call_5OLZBA7XMEUNXTPBBW5UVO", "look", `{"id":2}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(one))
	first := tr.tool("look", 3, 1, 11, 11, "", "", "")
	first.SetStartTimestamp(first.StartTimestamp() + 100_000)
	first.SetEndTimestamp(first.StartTimestamp() + 100_000)
	turn := tr.chat(4, 1, 11, 11, list(user("q"), one, shows("call_X4ULTEFGUM44M4GLT6TT7S", "a book")), list(two))
	turn.SetStartTimestamp(turn.StartTimestamp() + 400_000)
	turn.SetEndTimestamp(turn.StartTimestamp() + 300_000)
	second := tr.tool("look", 5, 1, 12, 20, "", "", "")
	second.Status().SetCode(ptrace.StatusCodeError)
	second.Status().SetMessage("no such book")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call look @3 by 1 = a book (recovered)", "model_call @4", "tool_call look @5 by 3 failed")
}
