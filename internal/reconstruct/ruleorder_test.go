// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// orders is how many orders of the rules are drawn.
const orders = 10

// TestRulesThatMayChangePlacesMakeTheSameTapes draws orders that the rules permit, and compares the tapes of
// all fixtures and of a sample of the corpus.
func TestRulesThatMayChangePlacesMakeTheSameTapes(t *testing.T) {
	whole := sample.Whole()
	type run struct {
		name string
		set  *evidence.Set
	}
	var all []run
	for _, f := range fixtures(t) {
		all = append(all, run{f.path, f.set(t)})
	}
	for _, r := range runs(t) {
		if name := r.Group + "/" + r.Scenario; whole || drawn(name) {
			set, err := r.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, run{name, set})
		}
	}
	each(len(all), func(i int) {
		want := digestOf(all[i].set)
		for seed := range uint64(orders) {
			if got := digestOfTapes(derived(all[i].set, rule.Choice{Shuffle: seed + 1})); got != want {
				t.Errorf("%s: other tapes in order %d", all[i].name, seed+1)
			}
		}
	})
}

// TestRulesStandAfterThoseThatTheyName holds that the declared order is a permitted one, so that no rules
// wait for each other.
func TestRulesStandAfterThoseThatTheyName(t *testing.T) {
	rows, _ := rulesInSource(t)
	named := 0
	for i, r := range rows {
		for _, id := range r.after {
			named++
			at := slices.IndexFunc(rows, func(r ruleRow) bool { return r.id == id })
			if at < 0 || at >= i || rows[at].file != r.file {
				t.Errorf("%s stands after %s, which does not stand before it in %s", r.id, id, r.file)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d rules are named", named)
	}
}
