// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// OpenInference for Strands writes the results of one turn as one text, under the id of the last call.
func TestResultsThatWereWrittenAsOneTextAreTakenApart(t *testing.T) {
	const first, second = "the weather is fine", "the price is five"
	for _, c := range []struct {
		shown, recorded string // what the last tool's span holds
		tools           bool
		result          string
	}{
		{first + " " + second, second, true, second},
		{first + "\n" + second, "", true, second}, // recorded nowhere else
		{first + " ", "", true, ""},
		{first + " and " + second, second, false, second}, // other words between them
		{second, second, false, second},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(call("call_0000001", "f", `{"x":1}`), call("call_0000002", "g", `{"x":2}`))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_0000001", `{"x":1}`, first)
		tr.tool("g", 4, 1, 13, 14, "call_0000002", `{"x":2}`, c.recorded)
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("call_0000002", c.shown)), list(says("end")))
		tp := the(t, tr.runs(t))
		if e := tp.Events[2]; e.Result.Str() != c.result && c.tools || tp.Fidelity.Replayable.Tools != c.tools && c.tools {
			t.Errorf("%q: result %s, tools %t, findings %+v", c.shown, e.Result.JSON(), tp.Fidelity.Replayable.Tools, tp.Fidelity.Findings)
		}
		if verified := tp.Fidelity.Proof.Verified; c.tools != (verified == 2) {
			t.Errorf("%q: %d verified", c.shown, verified)
		}
	}

	// short texts tell nothing each; all that is recorded, one behind the other, is all there is
	for shown, apart := range map[string]bool{"7 7": true, "7 7 7": false, "7": false, "7 8": false} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(call("call_0000001", "f", `{"x":1}`), call("call_0000002", "g", `{"x":2}`))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_0000001", `{"x":1}`, "7")
		tr.tool("g", 4, 1, 13, 14, "call_0000002", `{"x":2}`, "7")
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("call_0000002", shown)), list(says("end")))
		if tp := the(t, tr.runs(t)); apart != (tp.Fidelity.Proof.Verified == 2) {
			t.Errorf("%q: %d verified, findings %+v", shown, tp.Fidelity.Proof.Verified, tp.Fidelity.Findings)
		}
	}

	// the result of the first call alone is no text of several
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	ask := asks(call("call_0000001", "f", `{"x":1}`), call("call_0000002", "g", `{"x":2}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 12, "call_0000001", `{"x":1}`, first)
	tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("call_0000001", first)), list(says("end")))
	for _, e := range the(t, tr.runs(t)).Events {
		if e.Name == "g" && e.Provenance["result"] != tape.Missing {
			t.Errorf("result %s, labelled %q", e.Result.JSON(), e.Provenance["result"])
		}
	}
}
