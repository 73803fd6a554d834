// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// A rule that a run does not need changes nothing: what it needs saves time and decides nothing.
func TestRulesThatARunDoesNotNeedChangeNothing(t *testing.T) {
	all, mutated := runs(t), sample.Whole()
	digests := func() []string {
		found := make([]string, len(all))
		each(len(all), func(i int) {
			var err error
			if found[i], err = digestsOf(all[i], mutated); err != nil {
				t.Error(err)
			}
		})
		return found
	}
	var got []string
	reconstruct.WithRules(func(r rule.Rule[*ledger.Ledger]) rule.Rule[*ledger.Ledger] {
		r.Needs = nil
		return r
	}, func() { got = digests() })
	for i, want := range digests() {
		if got[i] != want {
			t.Errorf("%s/%s: a rule that it does not need changes its tapes", all[i].Group, all[i].Scenario)
		}
	}
}

// A run whose spans tell all of it is read straight.
func TestRunThatClosesNeedsNoRepair(t *testing.T) {
	const id = "call_0123456789abcdef"
	ask := asks(call(id, "find", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask), "gen_ai.response.id", "r1")
	tr.tool("find", 3, 1, 11, 20, id, `{"x":1}`, "v")
	tr.chat(4, 1, 21, 30, list(user("q"), ask, shows(id, "v")), list(says("end")), "gen_ai.response.id", "r2")
	reconstruct.WithRules(func(r rule.Rule[*ledger.Ledger]) rule.Rule[*ledger.Ledger] {
		apply := r.Apply
		if stage, _, _ := strings.Cut(string(r.ID), "/"); stage == "settle" || stage == "recover" {
			r.Apply = func(c *ledger.Ledger) {
				t.Errorf("%s is run", r.ID)
				apply(c)
			}
		}
		return r
	}, func() { the(t, tr.runs(t)) })
}
