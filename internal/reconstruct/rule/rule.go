// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package rule runs the repairs of reconstruction and tells which of them changed something.
//
// A rule belongs to one stage. It declares a condition without which it changes nothing, and the rules that
// have to stand before it. The rules of a stage are applied in the order in which they stand; a test draws
// others that they permit.
package rule

import (
	"maps"
	"slices"
	"strings"
)

// ID names a rule as stage/repair. It is a contract: tapes hold it in fidelity.rules, and queries ask for it.
type ID string

// Rule is one repair of a stage with the state S.
type Rule[S any] struct {
	ID ID
	// Needs is a cheap necessary condition: where it is false, Apply changes nothing. nil says that none is
	// known.
	Needs func(S) bool
	Apply func(S)
	// After lists the rules of the stage that have to stand before it. Other ones may change places with it.
	After []ID
	// Straight marks a step of the straight way, which reads and repairs nothing.
	Straight bool
}

// Stage is an ordered list of rules.
type Stage[S any] struct {
	Rules []Rule[S]
	// Items sums up what the rules decide about, each item by itself.
	Items func(S) []Item
	// Claims lists the values of an item, for explanations.
	Claims func(of any) []Claim
}

// Item is a span, a call or a part of a run, with a sum over all that a rule can change of it.
type Item struct {
	Of  any
	Sum uint64
}

// Claim is one value of an item, in the words of a tape.
type Claim struct{ Field, Value string }

// Decision says what a rule made of one value. An empty value is none.
type Decision struct {
	Rule            ID
	Of              any
	Field, Was, Now string
}

// maxShown is how much of a value a decision shows, in bytes.
const maxShown = 120

// Shortened is a value as decisions show it.
func Shortened(value string) string {
	if len(value) <= maxShown {
		return value
	}
	return strings.ToValidUTF8(value[:maxShown], "") + " …"
}

// Refused is the field of a decision against a candidate: Was names the candidates, Now says why none was
// taken.
const Refused = "refused"

// Choice says which rules a reconstruction applies, for tests, and whether it explains itself. The zero value
// applies all rules and explains nothing.
type Choice struct {
	Without map[ID]bool // rules that are left out
	Shuffle uint64      // draws another permitted order of each stage, 0 for the declared one
	Explain bool
}

// Run is one reconstruction: it remembers which rules changed what.
type Run struct {
	Choice
	changed   map[ID][]any // the items
	Decisions []Decision
}

// Leaves reports a rule that is left out.
func (r *Run) Leaves(id ID) bool { return r.Without[id] }

// Mark remembers that a rule changed an item.
func (r *Run) Mark(id ID, of any) {
	if r.changed == nil {
		r.changed = map[ID][]any{}
	}
	r.changed[id] = append(r.changed[id], of)
}

// Changed lists the rules that changed an item of which is holds, sorted.
func (r *Run) Changed(is func(of any) bool) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(r.changed)) {
		if slices.ContainsFunc(r.changed[id], is) {
			ids = append(ids, string(id))
		}
	}
	return ids
}

// Apply applies the rules of a stage.
func (st Stage[S]) Apply(r *Run, s S) {
	var before []Item
	var was map[any][]Claim
	for _, rule := range Drawn(r.Shuffle, st.Rules, func(r Rule[S]) Place { return Place{r.ID, r.After, r.Straight} }) {
		if r.Leaves(rule.ID) || rule.Needs != nil && !rule.Needs(s) {
			continue
		}
		if rule.Straight {
			rule.Apply(s)
			before = nil
			continue
		}
		if before == nil {
			if before = st.Items(s); r.Explain {
				was = st.claims(before)
			}
		}
		rule.Apply(s)
		after := st.Items(s)
		changed := false
		for _, of := range differing(before, after) {
			r.Mark(rule.ID, of)
			changed = true
		}
		if changed && r.Explain {
			now := st.claims(after)
			r.explain(rule.ID, before, after, was, now)
			was = now
		}
		before = after
	}
}

func (st Stage[S]) claims(items []Item) map[any][]Claim {
	all := make(map[any][]Claim, len(items))
	for _, item := range items {
		all[item.Of] = st.Claims(item.Of)
	}
	return all
}

// differing lists what stands in one of two lists alone, or with another sum.
func differing(before, after []Item) (of []any) {
	if slices.Equal(before, after) {
		return nil
	}
	sums := make(map[any]uint64, len(before))
	for _, item := range before {
		sums[item.Of] = item.Sum
	}
	for _, item := range after {
		if sum, known := sums[item.Of]; !known || sum != item.Sum {
			of = append(of, item.Of)
		}
		delete(sums, item.Of)
	}
	for _, item := range before {
		if _, gone := sums[item.Of]; gone {
			of = append(of, item.Of)
		}
	}
	return of
}

// explain writes down the values that a rule changed, in the order of the items.
func (r *Run) explain(id ID, before, after []Item, was, now map[any][]Claim) {
	told := map[any]bool{}
	for _, item := range slices.Concat(after, before) {
		if told[item.Of] {
			continue
		}
		told[item.Of] = true
		old := map[string]string{}
		for _, c := range was[item.Of] {
			old[c.Field] = c.Value
		}
		for _, c := range now[item.Of] {
			if old[c.Field] != c.Value {
				r.Decisions = append(r.Decisions, Decision{id, item.Of, c.Field, old[c.Field], c.Value})
			}
			delete(old, c.Field)
		}
		for _, c := range was[item.Of] {
			if value, gone := old[c.Field]; gone && value != "" {
				r.Decisions = append(r.Decisions, Decision{id, item.Of, c.Field, value, ""})
			}
		}
	}
}
