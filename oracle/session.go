// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Session is one replay against an oracle: what has been served, and how every call ended. Sessions share nothing. A session is safe
// for concurrent use.
type Session struct {
	oracle *Oracle

	mu       sync.Mutex
	state    state
	calls    []made
	byKey    map[callKey]int // → calls
	repeated int
	max      int
}

// made is one call of the session.
type made struct {
	tool, hash, caller string
	turn               int
	answer             Answer
}

// callKey is what makes a query the repetition of an earlier one.
type callKey struct {
	scope, caller, tool, hash, id string
	index                         int64
	indexed, unnamed              bool
	turn                          int
}

// DefaultMaxCalls bounds the calls of a session.
const DefaultMaxCalls = 1 << 16

// ErrSessionFull is returned for a call beyond the maximum.
var ErrSessionFull = errors.New("the session has reached its maximum of calls")

// NewSession returns a session in which nothing has been served. It refuses calls beyond maxCalls, which is DefaultMaxCalls when 0.
func (o *Oracle) NewSession(maxCalls int) *Session {
	if maxCalls <= 0 {
		maxCalls = DefaultMaxCalls
	}
	return &Session{oracle: o, state: newState(o), byKey: map[callKey]int{}, max: maxCalls}
}

// Oracle returns the oracle of the session.
func (s *Session) Oracle() *Oracle { return s.oracle }

// Answer answers a call. A query that was answered before gets the same answer and changes nothing.
func (s *Session) Answer(q Query) (Answer, error) {
	q.complete(s.oracle)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := callKey{scope: q.Scope, caller: q.Caller, tool: q.ToolName, hash: q.ArgsHash, id: q.ToolCallID, turn: q.Turn, unnamed: q.Unnamed}
	if q.CallIndex != nil {
		key.index, key.indexed = *q.CallIndex, true
	}
	idempotent := key.indexed || key.id != ""
	if idempotent {
		if i, known := s.byKey[key]; known && (key.indexed || !s.oracle.sharesID(&q)) {
			s.repeated++
			answer := s.calls[i].answer
			answer.Repeated = true
			return answer, nil
		}
	}
	if len(s.calls) >= s.max {
		return Answer{}, fmt.Errorf("%w (%d)", ErrSessionFull, s.max)
	}
	if s.oracle.options.Prefers != nil {
		q.prefers = s.oracle.options.Prefers(&q)
	}
	answer := s.state.answer(&q)
	if answer.Outcome.Missed() && s.free(&q) {
		answer = Answer{Outcome: Live, Index: -1, Labels: []Label{Missed}}
	}
	answer.Call = len(s.calls) + 1
	if idempotent {
		s.byKey[key] = len(s.calls)
	}
	s.calls = append(s.calls, made{tool: q.ToolName, hash: q.ArgsHash, caller: q.Caller, turn: q.Turn, answer: answer})
	return answer, nil
}

// sharesID reports that several recorded calls with the arguments of the query have its id: some servers of models write one for all. It does not tell a call from its repetition then.
func (o *Oracle) sharesID(q *Query) bool {
	t, first := o.tools[q.ToolName], -1
	if t == nil {
		return false
	}
	for _, i := range t.entries {
		if e := &o.entries[i]; e.ToolCallID != q.ToolCallID || e.ArgsHash != q.ArgsHash || o.slotOf[i] < 0 {
			continue
		}
		if first >= 0 && o.slotOf[i] != first {
			return true
		}
		first = o.slotOf[i]
	}
	return false
}

// free reports whether a call without a recorded answer goes live.
func (s *Session) free(q *Query) bool {
	if s.oracle.options.Rules.of(q.ToolName).Mode == ReadThrough {
		return true
	}
	if s.oracle.options.Free == nil {
		return false
	}
	left := 0
	for _, f := range s.fates() {
		if f == unused {
			left++
		}
	}
	return s.oracle.options.Free(q, left)
}

// Calls returns the number of calls, repetitions not counted.
func (s *Session) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// state is what has been served of an oracle. It is not safe for concurrent use.
type state struct {
	oracle *Oracle
	used   []bool // by slot: a call has taken it
	served []bool // by slot: and was answered with it
	lanes  []laneState
	groups []groupState
	names  *normalise.Renaming
}

type laneState struct {
	next   int    // every slot before it is used
	doubts int    // calls of this caller that may have been of this lane
	guess  Label  // what was taken before rests on an approximate match
	user   string // of a lane without a caller: the live caller that took last, if taken
	taken  bool
	shared bool // several live callers took: their order in the recording is not known
}

type groupState struct {
	spent  int // calls of unknown callers that were of this group
	served int // of these, the answered ones
	doubts int // calls of unknown callers that may have been of this group
}

func newState(o *Oracle) state {
	names := o.options.Names
	if names == nil {
		names = &normalise.Renaming{}
	}
	return state{oracle: o, names: names, used: make([]bool, o.slots), served: make([]bool, o.slots), lanes: make([]laneState, o.lanes), groups: make([]groupState, len(o.groups))}
}

// answer looks a call up and counts it. An entry that is found counts as used, even one that cannot be served.
func (s *state) answer(q *Query) Answer {
	t := s.oracle.tools[q.ToolName]
	var rule ToolRule
	if t != nil {
		rule = t.rule
	} else {
		rule = s.oracle.options.Rules.of(q.ToolName)
	}
	switch {
	case rule.Mode == ModeLive:
		return Answer{Outcome: Live, Index: -1}
	case rule.Mode == ModeError:
		return Answer{Outcome: Refused, Index: -1}
	case t == nil:
		return Answer{Outcome: NoEntry, Index: -1}
	}
	f := s.oracle.find(t, q, s.names)
	g := f.group
	switch f.outcome {
	case NoEntry:
		return s.unknown(t, q)
	case RedactedAmbiguous, Ambiguous:
		for _, g := range f.maybe {
			s.doubt(g, q)
		}
		return Answer{Outcome: f.outcome, Index: -1}
	}
	slot, labels, outcome := s.take(&s.oracle.groups[g], g, q)
	switch {
	case outcome == NoEntry:
		return s.unknown(t, q)
	case outcome != Hit:
		return Answer{Outcome: outcome, Index: -1}
	}
	e := slot[0]
	s.names.Take(f.pairs)
	switch {
	case len(f.labels) > 0:
		for _, l := range labels {
			if l != ByRule { // the labels of the search say whether a rule was needed
				f.labels = join(f.labels, l)
			}
		}
		labels = f.labels
	case e.ArgsHash != q.ArgsHash:
		labels = join(labels, ByRule)
	}
	a := Answer{Outcome: Hit, Entry: e.Entry, Index: e.index}
	switch {
	case !e.Servable():
		a.Outcome = Unservable
	case e.IsError:
		a.Outcome = RecordedError
	}
	if a.Outcome.Served() {
		if at := s.oracle.slotOf[e.index]; s.used[at] {
			s.served[at] = true
		} else {
			s.groups[g].served++
		}
	}
	if first, some := t.unknown[e.Caller]; some && first < e.index {
		labels = append(labels, UnknownBefore)
	}
	a.Labels = append(labels, recordedLabels(e.Entry)...)
	return a
}

var (
	argsLabels     = map[Fidelity]Label{Redacted: ArgsRedacted, Lossy: ArgsLossy, Disputed: ArgsDisputed}
	responseLabels = map[Fidelity]Label{Redacted: ResponseRedacted, Lossy: ResponseLossy, Disputed: ResponseDisputed}
)

func recordedLabels(e *Entry) (labels []Label) {
	for _, label := range []Label{argsLabels[e.ArgsFidelity], responseLabels[e.ResponseFidelity]} {
		if label != "" {
			labels = append(labels, label)
		}
	}
	return labels
}

// unknown answers a call that matches no entry: it may be one whose arguments were not recorded.
func (s *state) unknown(t *tool, q *Query) Answer {
	first, some := -1, false
	if q.Caller == "" && !q.Unnamed {
		for _, i := range t.unknown {
			if first < 0 || i < first {
				first, some = i, true
			}
		}
	} else if first, some = t.unknown[q.Caller]; !some && q.Caller != "" {
		first, some = t.unknown[""]
	}
	if some {
		return Answer{Outcome: Unservable, Entry: &s.oracle.entries[first], Index: first}
	}
	return Answer{Outcome: NoEntry, Index: -1}
}
