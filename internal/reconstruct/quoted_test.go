// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Hand-written spans record repr(result). What the model was shown says whether the quotes are the text's own.
func TestAResultInQuotesOfPythonIsWhatTheModelWasShown(t *testing.T) {
	for shown, want := range map[string]string{"it is\nfree": "it is\nfree", `'it is\nfree'`: `'it is\nfree'`} {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, `'it is\nfree'`)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		if got := the(t, tr.runs(t)).Events[1].Result.Str(); got != want {
			t.Errorf("shown %q: %q, want %q", shown, got, want)
		}
	}
}
