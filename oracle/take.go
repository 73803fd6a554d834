// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import "slices"

// take chooses the slot that a call of the group gets and marks it used. The outcome is Hit when there is such a slot, whatever it holds.
//
// The k-th call of a caller gets the k-th answer of that caller. When the caller of a call is not known, or when it is not known whether an
// earlier call was one of this group, k is only known to be in a range. Then all answers in the range must be the same, or the turn or call
// id must single one out. Otherwise the call is ambiguous. An ambiguous call counts as one more call of the group all the same.
func (s *state) take(gr *group, g int, q *Query) ([]*ref, []Label, Outcome) {
	lanes := gr.lanesOf(q)
	if len(lanes) == 0 {
		return nil, nil, NoEntry
	}
	if gr.policy == Any {
		return s.takeAny(lanes)
	}
	if slot := s.takePreferred(gr, lanes, q); slot != nil {
		preferred, outcome := unanimous(slot)
		return preferred, nil, outcome
	}
	var labels []Label
	reach := s.groups[g].spent + s.groups[g].doubts
	if len(lanes) == 1 {
		l := lanes[0]
		st := &s.lanes[l.number]
		reach += st.doubts
		if l.caller == "" {
			if st.taken && st.user != q.Caller {
				st.shared = true
			}
			st.taken, st.user = true, q.Caller
			if q.Caller != "" && !l.alike {
				labels = append(labels, CallerNotRecorded)
			}
		}
		if !l.alike && st.guess != "" {
			labels = append(labels, st.guess)
		}
		if reach == 0 && !st.shared {
			slot, how, outcome := s.takeNext(gr, l, q)
			return slot, join(labels, how), outcome
		}
	}
	slot, how, outcome := s.takeWithin(gr, g, lanes, q)
	if outcome == Ambiguous {
		s.pass(g, lanes)
	}
	return slot, join(labels, how), outcome
}

// takePreferred takes the first slot that is left of those that the call prefers; nil where there is none.
func (s *state) takePreferred(gr *group, lanes []*lane, q *Query) []*ref {
	if q.prefers == nil || gr.policy == Once {
		return nil
	}
	for _, l := range lanes {
		for i := s.next(l); i < len(l.slots); i++ {
			if head := l.slots[i][0]; !s.used[l.first+i] && q.prefers(head.Entry) && (!gr.byRule || head.ArgsHash == q.ArgsHash) {
				s.used[l.first+i] = true
				return l.slots[i]
			}
		}
	}
	return nil
}

func join(labels []Label, l Label) []Label {
	if l == "" || slices.Contains(labels, l) {
		return labels
	}
	return append(labels, l)
}

// lanesOf returns the lanes that the caller may mean: its own, else the one without a caller; for an unknown caller all.
func (gr *group) lanesOf(q *Query) []*lane {
	var all []*lane
	var unnamed *lane
	for i := range gr.lanes {
		l := &gr.lanes[i]
		switch {
		case l.caller == q.Caller && (q.Caller != "" || q.Unnamed):
			return []*lane{l}
		case l.caller == "":
			unnamed = l
		}
		all = append(all, l)
	}
	switch {
	case q.Caller == "" && !q.Unnamed:
		return all
	case q.Caller != "" && unnamed != nil:
		return []*lane{unnamed}
	default:
		return nil
	}
}

// takeNext serves a caller of which every call so far is known.
func (s *state) takeNext(gr *group, l *lane, q *Query) ([]*ref, Label, Outcome) {
	next := s.next(l)
	switch {
	case gr.policy == Once && s.anyUsed(l), next == len(l.slots) && gr.policy != Sticky:
		return nil, "", Exhausted
	case next == len(l.slots):
		slot, outcome := unanimous(l.slots[next-1])
		return slot, BySticky, outcome
	}
	at := s.pick(gr, l, next, q)
	s.used[l.first+at] = true
	slot, outcome := unanimous(l.slots[at])
	if gr.byRule && l.slots[at][0].ArgsHash != q.ArgsHash {
		s.lanes[l.number].guess = ByRule
		return slot, ByRule, outcome
	}
	return slot, "", outcome
}

// next returns the first unused slot of a lane, or their number.
func (s *state) next(l *lane) int {
	st := &s.lanes[l.number]
	for st.next < len(l.slots) && s.used[l.first+st.next] {
		st.next++
	}
	return st.next
}

func (s *state) anyUsed(l *lane) bool {
	return slices.Contains(s.used[l.first:l.first+len(l.slots)], true)
}

// unanimous returns a slot if its alternatives agree: runs that were merged may not.
func unanimous(slot []*ref) ([]*ref, Outcome) {
	for _, e := range slot[1:] {
		if !sameAnswer(slot[0].Entry, e.Entry) {
			return nil, Ambiguous
		}
	}
	return slot, Hit
}

// pick chooses among the unused slots from next on. Within a group of different arguments it takes the one with equal arguments. Among
// equal calls that one response asked for, it takes the one with the call id. Else it takes the next.
func (s *state) pick(gr *group, l *lane, next int, q *Query) int {
	fits := func(e *ref) bool { return e.ArgsHash == q.ArgsHash }
	end := len(l.slots)
	if !gr.byRule {
		head := l.slots[next][0]
		if q.ToolCallID == "" || head.Turn == 0 {
			return next
		}
		fits = func(e *ref) bool { return e.ToolCallID == q.ToolCallID }
		for end = next; end < len(l.slots) && l.slots[end][0].Turn == head.Turn; {
			end++
		}
	}
	for i := next; i < end; i++ {
		if !s.used[l.first+i] && fits(l.slots[i][0]) {
			return i
		}
	}
	return next
}

// candidate is a slot that may be the right one.
type candidate struct {
	lane *lane
	at   int
}

// takeWithin serves a call of which a range is known only. The lane of one caller may have been used by earlier calls of unknown
// callers (spent), and perhaps by calls whose arguments could not be told (doubts).
func (s *state) takeWithin(gr *group, g int, lanes []*lane, q *Query) ([]*ref, Label, Outcome) {
	known := s.groups[g]
	var candidates []candidate
	left, doubts, spentLane := 0, known.doubts, false
	for _, l := range lanes {
		st := &s.lanes[l.number]
		reach := known.spent + known.doubts + st.doubts
		doubts += st.doubts
		if gr.policy == Once && s.anyUsed(l) {
			continue
		}
		unused := 0
		for i := s.next(l); i < len(l.slots); i++ {
			if s.used[l.first+i] {
				continue
			}
			if unused <= reach || st.shared {
				candidates = append(candidates, candidate{l, i})
			}
			unused++
		}
		left += unused
		spentLane = spentLane || unused <= reach
		if gr.policy == Sticky && (unused <= reach || st.shared) {
			candidates = append(candidates, candidate{l, len(l.slots) - 1})
		}
	}
	var mayEnd bool // in some case all answers have been served
	switch {
	case gr.policy == Sticky:
	case left == 0, len(lanes) > 1 && left <= known.spent:
		return nil, "", Exhausted
	case gr.policy == Once:
		mayEnd = known.spent+doubts > 0
	default:
		// An unknown caller may be one that has had all its answers. That makes no difference if all the answers are the same.
		mayEnd = left <= known.spent+doubts || len(lanes) > 1 && spentLane && !sameThroughout(lanes)
	}
	chosen, agreed := candidates[0], !mayEnd
	for _, c := range candidates {
		for _, e := range c.lane.slots[c.at] {
			agreed = agreed && sameAnswer(chosen.lane.slots[chosen.at][0].Entry, e.Entry)
		}
	}
	if agreed {
		how := Label("")
		if s.used[chosen.lane.first+chosen.at] {
			how = BySticky
		}
		s.pass(g, lanes)
		return chosen.lane.slots[chosen.at], how, Hit
	}
	if c, ok := s.byPosition(candidates, q); ok {
		if slot, outcome := unanimous(c.lane.slots[c.at]); outcome == Hit {
			s.used[c.lane.first+c.at] = true
			for i := range gr.lanes {
				s.lanes[gr.lanes[i].number].guess = ByPosition
			}
			return slot, ByPosition, Hit
		}
	}
	return nil, "", Ambiguous
}

func sameThroughout(lanes []*lane) bool {
	for _, l := range lanes {
		if !l.alike || !sameAnswer(l.slots[0][0].Entry, lanes[0].slots[0][0].Entry) {
			return false
		}
	}
	return true
}

// pass counts a call of the group that is of one of the lanes. A call of a known caller counts as the next one of that caller, any other as
// one of an unknown caller.
func (s *state) pass(g int, lanes []*lane) {
	if len(lanes) > 1 {
		s.groups[g].spent++
		return
	}
	if next := s.next(lanes[0]); next < len(lanes[0].slots) {
		s.used[lanes[0].first+next] = true
	}
}

// doubt counts a call that may have been of the group and got no answer.
func (s *state) doubt(g int, q *Query) {
	if lanes := s.oracle.groups[g].lanesOf(q); len(lanes) == 1 {
		s.lanes[lanes[0].number].doubts++
	} else if len(lanes) > 1 {
		s.groups[g].doubts++
	}
}

// byPosition returns the only candidate with the call id of the query, else the only one of its turn.
func (s *state) byPosition(candidates []candidate, q *Query) (candidate, bool) {
	only := func(fits func(*ref) bool) (found candidate, ok bool) {
		n := 0
		for _, c := range candidates {
			if !s.used[c.lane.first+c.at] && fits(c.lane.slots[c.at][0]) {
				found = c
				n++
			}
		}
		return found, n == 1
	}
	if q.ToolCallID != "" {
		if c, ok := only(func(e *ref) bool { return e.ToolCallID == q.ToolCallID }); ok {
			return c, true
		}
	}
	if q.Turn > 0 {
		return only(func(e *ref) bool { return e.Turn == q.Turn })
	}
	return candidate{}, false
}

// takeAny serves a key of which all recorded answers are the same.
func (s *state) takeAny(lanes []*lane) ([]*ref, []Label, Outcome) {
	first := lanes[0].slots[0]
	for _, l := range lanes {
		if l.alike && sameAnswer(first[0].Entry, l.slots[0][0].Entry) {
			continue
		}
		if len(lanes) == 1 && len(l.slots) == 1 && !first[0].Servable() {
			s.used[l.first] = true
			return first, nil, Hit // unservable
		}
		return nil, nil, Ambiguous
	}
	for _, l := range lanes {
		if next := s.next(l); next < len(l.slots) {
			s.used[l.first+next] = true
			return l.slots[next], nil, Hit
		}
	}
	return first, []Label{ByAny}, Hit
}
