// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// openTrace is the evidence of one trace that waits for its end. It belongs to the goroutine of its shard.
type openTrace struct {
	key    Key
	hash   uint64
	seq    uint64 // order of arrival over all shards
	traces ptrace.Traces
	held   int
	bytes  int64
	first  time.Time
	last   time.Time
	past   // what is known about the trace beyond what is held now

	late    bool    // the trace had been emitted before
	digests digests // of what is held; filled when a span id comes a second time

	wheelTick  int64
	closed     bool
	prev, next *openTrace // order of arrival in the shard
}

// past is what stays known of a trace after its evidence has been emitted, as long as it is remembered.
type past struct {
	// items counts the distinct spans so far.
	items int
	// nodes holds the span ids that are known: true came, false is named as a parent and has not come (wanted).
	nodes map[pcommon.SpanID]bool
	// wanted counts the false ones.
	wanted int
	// rootCame: a span without a parent came, evidence or not. runCame: the span of an agent run came. rooted: a span came that
	// always lies below one.
	rootCame, runCame, rooted bool
}

// weight is what remembering costs.
func (p *past) weight() int { return len(p.nodes) + rememberedTrace }

// ended tells whether nothing more is expected.
//
// The span of an agent run ends after what it encloses. It may itself lie below spans that are never seen here (a web request, the
// agent of another process); then its parent stays wanted and the idle timeout decides.
func (p *past) ended() bool {
	return p.rootCame || p.runCame && p.wanted == 0
}

// complete is what the emission says about itself.
func (p *past) complete() bool {
	return p.rootCame || p.wanted == 0 || p.runCame || !p.rooted
}

// came notes a span of the evidence. It reports whether its id was there before.
//
// Hostile ids need no special care: a span that is its own parent is there when its parent is looked up, a cycle has no wanted
// span, and spans without an id are all the same node.
func (p *past) came(id, parent pcommon.SpanID) (known bool) {
	state, mentioned := p.nodes[id]
	if mentioned && !state {
		p.wanted--
	}
	p.nodes[id] = true
	if parent.IsEmpty() {
		p.rootCame = true
	} else if _, mentioned := p.nodes[parent]; !mentioned {
		p.nodes[parent] = false
		p.wanted++
	}
	return mentioned && state
}

// link notes a span that is no evidence. Only the wanted ones are kept: a parent ends after its children and so mostly comes after
// them or with them, and the rest of somebody's telemetry must not cost memory here.
func (p *past) link(id, parent pcommon.SpanID) {
	if state, mentioned := p.nodes[id]; mentioned && !state {
		p.nodes[id] = true
		p.wanted--
	}
	if parent.IsEmpty() {
		p.rootCame = true
	}
}

// due is when the trace is emitted if nothing more comes.
func (t *openTrace) due(o *Options) (time.Time, Reason) {
	due, reason := t.last.Add(o.IdleTimeout), Idle
	if t.ended() {
		due, reason = t.last.Add(o.QuietPeriod), RootEnded
	}
	if age := t.first.Add(o.MaxAge); age.Before(due) {
		due, reason = age, MaxAge
	}
	return due, reason
}

// traceList keeps open traces in order of arrival.
type traceList struct {
	front, back *openTrace
}

func (l *traceList) pushBack(t *openTrace) {
	t.prev, t.next = l.back, nil
	if l.back == nil {
		l.front = t
	} else {
		l.back.next = t
	}
	l.back = t
}

func (l *traceList) remove(t *openTrace) {
	if t.prev == nil {
		l.front = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.back = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}
