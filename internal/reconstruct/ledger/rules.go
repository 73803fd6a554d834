// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// A Rule is one pass over the calls of a run. It reads what the spans tell straight, or repairs or
// infers something. A run without what the rule needs skips the rule, which would change nothing.
type Rule struct {
	ID    string             // the stage, and what is read or repaired
	Needs func(*Ledger) bool // nil: nothing that can be told at less cost than that of the rule
	Apply func(*Ledger)
}

// Apply runs rules in order. What one of them changes, those behind it see.
func (c *Ledger) Apply(rules []Rule) {
	for _, r := range rules {
		if r.Needs == nil || r.Needs(c) {
			r.Apply(c)
		}
	}
}
