// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// straightRules are steps of the straight way: they read and repair nothing, and no tape names them.
var straightRules = []string{
	"read/conversations", "read/asked-calls", "read/order-of-calls", "read/order-of-models", "read/order-of-recovered", "read/states", "read/turns", "read/resent-messages",
	"read/server-calls",
	"place/parents", "place/cycles", "place/below-parents", "pair/calls", "pair/by-id", "pair/shown-results",
}

// reachedByOthers are surer rules of pairing: in the corpus a rule behind them finds the same where one is
// left out.
var reachedByOthers = []string{"pair/by-result", "pair/by-own-outcome", "pair/equal-in-order", "pair/by-arguments-alone"}

// rebuiltWithout is the digest of the tapes that a set makes without a rule, and the rules that these name.
func rebuiltWithout(set *evidence.Set, id string) (digest string, named []string) {
	opts := options
	opts.Choice = rule.Choice{Without: map[rule.ID]bool{rule.ID(id): true}}
	tapes := reconstruct.All(set.Split(), opts)
	for _, t := range tapes {
		named = append(named, t.Fidelity.Rules...)
	}
	return digestOfTapes(tapes), named
}

// TestTapesNameTheRulesThatChangedThem leaves out one rule after the other. A tape changes only without a
// rule that it names. Of the rules that tapes name, each changes one of them alone, or is known to be backed
// by another.
func TestTapesNameTheRulesThatChangedThem(t *testing.T) {
	rows, _ := rulesInSource(t)
	var ids []string
	for _, r := range rows {
		if !slices.Contains(straightRules, r.id) && !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	whole := sample.Whole()
	all := runs(t)
	var one sync.Mutex
	fired, matters := map[string]int{}, map[string]int{}
	each(len(all), func(i int) {
		name := all[i].Group + "/" + all[i].Scenario
		set, err := all[i].Evidence()
		if err != nil {
			t.Error(err)
			return
		}
		before, named := rebuiltWithout(set, "")
		for _, id := range ids {
			if !slices.Contains(named, id) && !whole && !drawn(name) {
				continue
			}
			digest, left := rebuiltWithout(set, id)
			if slices.Contains(left, id) {
				t.Errorf("%s: %s is left out, and named", name, id)
			}
			one.Lock()
			if slices.Contains(named, id) {
				fired[id]++
				if digest != before {
					matters[id]++
				}
			} else if digest != before {
				t.Errorf("%s changes without %s, and does not name it", name, id)
			}
			one.Unlock()
		}
	})
	for id, n := range fired {
		if reached := slices.Contains(reachedByOthers, id); reached == (matters[id] > 0) {
			t.Errorf("%s is named by %d runs of the corpus and alone changes %d", id, n, matters[id])
		}
	}
	if len(fired) < 25 {
		t.Errorf("only %d rules are named", len(fired))
	}
}
