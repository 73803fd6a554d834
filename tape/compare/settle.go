// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// settle reads the edit script as a person would. Calls that one response asked for are a set. An event that was taken out here and put in
// there has moved. settle returns the script in the order of a's tape. An event that b inserted stands behind the one that it follows.
func (l *aligner) settle() []pair {
	l.sets()
	l.exchanged()
	l.moved()
	l.restore()
	return l.pairs
}

// set is the calls that two responses, aligned with one another, asked for.
type set struct {
	group, partner int // the model calls, as events of a's tape and of b's
	a, b           []int
}

// sets takes two responses that were aligned with one another and pairs their calls anew. Equal calls come first, whatever their order.
// Then come calls of the same tool, the most similar first. A set ends where its own agent goes on: a call that stands behind the next
// model call has moved.
func (l *aligner) sets() {
	partner, partnerOf := map[int]int{}, map[int]int{} // events that were aligned
	for _, p := range l.pairs {
		if p.a >= 0 && p.b >= 0 {
			x, y := l.a.items[p.a].event, l.b.items[p.b].event
			partner[x], partnerOf[y] = y, x
		}
	}
	of := func(p pair) (group int, ok bool) {
		if p.a < 0 {
			group, ok = partnerOf[l.b.items[p.b].group]
			return group, ok
		}
		group = l.a.items[p.a].group
		other, ok := partner[group]
		return group, ok && (p.b < 0 || l.b.items[p.b].group == other)
	}
	kept := l.pairs[:0]
	var open, all []*set
	for _, p := range l.pairs {
		group, ok := of(p)
		if !ok {
			kept = append(kept, p)
			open = slices.DeleteFunc(open, func(s *set) bool { return l.ends(s, p) })
			continue
		}
		open = slices.DeleteFunc(open, func(s *set) bool { return s.group != group && l.ends(s, p) })
		at := slices.IndexFunc(open, func(s *set) bool { return s.group == group })
		if at < 0 {
			s := &set{group: group, partner: partner[group]}
			all = append(all, s)
			if open = append(open, s); len(open) > maxNesting {
				open = open[1:]
			}
			at = len(open) - 1
		}
		if p.a >= 0 {
			open[at].a = append(open[at].a, p.a)
		}
		if p.b >= 0 {
			open[at].b = append(open[at].b, p.b)
		}
	}
	l.pairs = kept
	for _, s := range all {
		l.set(s.a, s.b)
	}
}

// ends reports whether a step is something that the agent of a set did after it. A step of another agent beside it is not.
func (l *aligner) ends(s *set, p pair) bool {
	in := func(q *sequence, i, group int) bool {
		if i < 0 {
			return false
		}
		event := q.items[i].event
		return q.under[event] == q.under[group] && q.tape.Events[event].Type != tape.EventAgentCall
	}
	return in(l.a, p.a, s.group) || in(l.b, p.b, s.partner)
}

// set pairs the items of two sets: equal ones at the same place, equal ones anywhere, similar ones. Where one set has more, those that are equal in all go first.
func (l *aligner) set(as, bs []int) {
	byEvent := func(s *sequence) func(i, j int) int {
		return func(i, j int) int { return s.items[i].event - s.items[j].event }
	}
	slices.SortFunc(as, byEvent(l.a))
	slices.SortFunc(bs, byEvent(l.b))
	usedA, usedB := map[int]bool{}, map[int]bool{}
	take := func(i, j int) {
		usedA[i], usedB[j] = true, true
		l.match(i, j)
	}
	// anywhere pairs items that are equal at a level, wherever they stand.
	anywhere := func(level int) {
		byID := map[int32][]int{}
		for _, j := range bs {
			if !usedB[j] {
				id := l.b.items[j].ids[level]
				byID[id] = append(byID[id], j)
			}
		}
		for _, i := range as {
			id := l.a.items[i].ids[level]
			if !usedA[i] && len(byID[id]) > 0 {
				take(i, byID[id][0])
				byID[id] = byID[id][1:]
			}
		}
	}
	if len(as) != len(bs) { // which one is gone is told by what does not count, too
		anywhere(len(Levels) - 1)
	}
	for k := range min(len(as), len(bs)) {
		if !usedA[as[k]] && !usedB[bs[k]] && l.equal(as[k], bs[k]) {
			take(as[k], bs[k])
		}
	}
	anywhere(l.level)
	rest := slices.DeleteFunc(slices.Clone(as), func(i int) bool { return usedA[i] })
	bs = slices.DeleteFunc(slices.Clone(bs), func(j int) bool { return usedB[j] })
	if len(rest)*len(bs) > maxCells { // hostile: nobody asks for a thousand calls at once
		for k := range max(len(rest), len(bs)) {
			switch {
			case k >= len(rest):
				l.insert(bs[k])
			case k >= len(bs):
				l.drop(rest[k])
			default:
				l.match(rest[k], bs[k])
			}
		}
		return
	}
	type candidate struct {
		cost int64
		a, b int
	}
	var all []candidate
	for _, i := range rest {
		for _, j := range bs {
			if c := l.cost(i, j); c <= 2*gap {
				all = append(all, candidate{c, i, j})
			}
		}
	}
	slices.SortFunc(all, func(x, y candidate) int { return cmp.Or(cmp.Compare(x.cost, y.cost), x.a-y.a, x.b-y.b) })
	for _, c := range all {
		if !usedA[c.a] && !usedB[c.b] {
			take(c.a, c.b)
		}
	}
	for _, i := range rest {
		if !usedA[i] {
			l.drop(i)
		}
	}
	for _, j := range bs {
		if !usedB[j] {
			l.insert(j)
		}
	}
}

// exchanged finds changed events that are each other: a call that became another one, which in turn became the first, directly or
// around a ring. They have moved, nothing about them changed.
func (l *aligner) exchanged() {
	byB := map[int32][]int{} // id of b's item → changed steps
	for k, p := range l.pairs {
		if p.kind == Changed {
			id := l.b.items[p.b].ids[l.level]
			byB[id] = append(byB[id], k)
		}
	}
	next := map[int]int{} // step → the step whose b is this step's a
	for k, p := range l.pairs {
		if p.kind != Changed {
			continue
		}
		id := l.a.items[p.a].ids[l.level]
		if steps := byB[id]; len(steps) > 0 {
			next[k], byB[id] = steps[0], steps[1:]
		}
	}
	state := map[int]int{} // step → the walk that passed it
	for k := range l.pairs {
		var walk []int
		at, ok := k, true
		for ok && state[at] == 0 {
			state[at] = k + 1
			walk = append(walk, at)
			at, ok = next[at]
		}
		if !ok || state[at] != k+1 {
			continue
		}
		ring := walk[slices.Index(walk, at):]
		bs := make([]int, len(ring))
		for n, step := range ring {
			bs[n] = l.pairs[next[step]].b
		}
		for n, step := range ring {
			l.pairs[step] = pair{kind: Moved, a: l.pairs[step].a, b: bs[n], exchanged: true}
		}
	}
}

// moved joins an event that was dropped with an equal one that was inserted. The step stands where the earlier of the two stood.
func (l *aligner) moved() {
	waiting := map[int32][]int{} // id → steps, either all dropped or all inserted
	out := l.pairs
	gone := make([]bool, len(out))
	for k, p := range out {
		var id int32
		switch p.kind {
		case Dropped:
			id = l.a.items[p.a].ids[l.level]
		case Inserted:
			id = l.b.items[p.b].ids[l.level]
		default:
			continue
		}
		steps := waiting[id]
		if len(steps) == 0 || out[steps[0]].kind == p.kind {
			waiting[id] = append(steps, k)
			continue
		}
		first := steps[0]
		waiting[id] = steps[1:]
		out[first] = pair{kind: Moved, a: max(out[first].a, p.a), b: max(out[first].b, p.b)}
		gone[k] = true
	}
	l.pairs = l.pairs[:0]
	for k, p := range out {
		if !gone[k] {
			l.pairs = append(l.pairs, p)
		}
	}
}

// restore brings the steps into the order of a's tape. An event that is on b's tape only stands behind the event of a's tape that is
// aligned with what precedes it there. A moved event stands at the earlier of its two places. An exchange has an event at each of its two
// places.
func (l *aligner) restore() {
	partner := make([]int, len(l.b.items)) // event of b's tape → event of a's, -1: none
	for i := range partner {
		partner[i] = -1
	}
	for _, p := range l.pairs {
		if p.a >= 0 && p.b >= 0 && p.kind != Moved {
			partner[l.b.items[p.b].event] = l.a.items[p.a].event
		}
	}
	for i := range partner {
		if partner[i] < 0 && i > 0 {
			partner[i] = partner[i-1]
		}
	}
	type place struct{ a, b int }
	compare := func(x, y place) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) }
	of := func(p pair) place {
		at := place{}
		if p.a >= 0 {
			at = place{2 * l.a.items[p.a].event, -1}
		}
		if p.a < 0 || p.kind == Moved && !p.exchanged {
			b := l.b.items[p.b].event
			if there := (place{2*partner[b] + 1, b}); p.a < 0 || compare(there, at) < 0 {
				at = there
			}
		}
		return at
	}
	slices.SortFunc(l.pairs, func(x, y pair) int { return cmp.Or(compare(of(x), of(y)), x.a-y.a, x.b-y.b) })
}
