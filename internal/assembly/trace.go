// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"unique"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// openTrace is the evidence of one trace that waits for its end. It belongs to the goroutine of its shard. Hundreds of thousands may
// wait, so what is needed only while evidence is in memory stands apart.
type openTrace struct {
	key         runKey
	first, last int64 // as monotonicClock.now
	// notBefore is when a trace that was found in the spool may end by its age at the earliest, as monotonicClock.now.
	notBefore int64
	bytes     int64 // accounted size of all that is held
	// records are its records in the spool, in order of arrival; none without a spool. The first cold ones are in the spool only.
	records []spool.ID
	cold    int32
	items   int32 // that are held, duplicates not yet known as such included

	late   bool  // the trace had been emitted before
	whole  bool  // every parent that is named had come when its span ids left memory, and no evidence came since
	probed bool  // whether it is whole has been read back, and no evidence came since
	probes uint8 // how often it has been read back
	past         // what is known about the trace beyond what is held now
	*warm        // nil when nothing of it is in memory

	wheelTick int64 // 0: not in the wheel
	places    [orders]place
}

// warm is what of a trace is in memory.
type warm struct {
	traces   ptrace.Traces
	inMemory int64   // accounted size
	digests  digests // filled when a span id comes a second time
}

// runKey is a Key as it is kept.
type runKey struct {
	trace  pcommon.TraceID
	tenant unique.Handle[string]
}

func (k Key) kept() runKey { return runKey{k.TraceID, unique.Make(k.Tenant)} }

func (k runKey) key() Key { return Key{Tenant: k.tenant.Value(), TraceID: k.trace} }

// past is what stays known of a trace after its evidence has been emitted, as long as it is remembered.
type past struct {
	// nodes holds the span ids that are known. It is nil for a trace that left memory.
	nodes map[pcommon.SpanID]presence
	// wanted and elsewhere count the nodes that are just that, distinct the distinct spans so far.
	wanted, elsewhere, distinct int32
	// rootCame: a span without a parent came, evidence or not. runCame: the span of an agent run came.
	rootCame, runCame bool
}

// presence says what is known of a span id.
type presence byte

const (
	here      presence = iota // the span came
	wanted                    // it is named as a parent and has not come
	elsewhere                 // the same, and who names it says that it is a span of another process
)

// weight is what remembering costs.
func (p *past) weight() int { return len(p.nodes) + rememberedTrace }

// ended tells whether nothing more is expected.
//
// The span of an agent run ends after what it encloses. It may itself lie below spans that are never seen here (a web request, the
// agent of another process). If it says that its parent is in another process, its own process has said all there is to say; else
// the parent stays wanted and the idle timeout decides.
func (t *openTrace) ended() bool {
	return t.rootCame || t.runCame && (t.whole || t.nodes != nil && t.wanted == 0)
}

// complete is what the emission says about itself.
func (p *past) complete() bool {
	return p.rootCame || p.wanted == 0 && (p.elsewhere == 0 || p.runCame)
}

// note adds what the header of a record says.
func (p *past) note(flags byte) {
	p.runCame = p.runCame || flags&flagRunSpan != 0
	p.rootCame = p.rootCame || flags&flagRoot != 0
}

// came notes a span of the evidence. It reports whether its id was there before.
//
// Hostile ids need no special care. A span that is its own parent is there when its parent is looked up. A cycle has no wanted span. Spans
// without an id are all the same node.
func (p *past) came(id, parent pcommon.SpanID, remote bool) (known bool) {
	before, mentioned := p.nodes[id]
	p.set(id, here)
	p.names(parent, remote)
	return mentioned && before == here
}

// set is the only function that writes nodes.
func (p *past) set(id pcommon.SpanID, to presence) {
	count := func(state presence, by int32) {
		switch state {
		case wanted:
			p.wanted += by
		case elsewhere:
			p.elsewhere += by
		}
	}
	if before, mentioned := p.nodes[id]; mentioned {
		count(before, -1)
	}
	p.nodes[id] = to
	count(to, 1)
}

// names notes that a span names its parent. A span that says that the parent is in the same process overrules others.
func (p *past) names(parent pcommon.SpanID, remote bool) {
	if parent.IsEmpty() {
		p.rootCame = true
		return
	}
	state, mentioned := p.nodes[parent]
	switch {
	case !remote && (!mentioned || state == elsewhere):
		p.set(parent, wanted)
	case !mentioned:
		p.set(parent, elsewhere)
	}
}

// allCame notes all spans and reports how many ids were not there before.
func (p *past) allCame(td ptrace.Traces) (fresh int32) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if !p.came(span.SpanID(), span.ParentSpanID(), HasRemoteParent(span)) {
					fresh++
				}
			}
		}
	}
	return fresh
}

// link notes a span that is no evidence and reports whether it was needed. It keeps only the wanted ones, because the rest of somebody's
// telemetry must not cost memory here. That is enough: a parent ends after its children, so it mostly comes after them or with them. The
// parent of a span that is kept is wanted in turn, because what tells a replay may stand on any span above the calls.
func (p *past) link(l edge) (needed bool) {
	needed = p.found(l.id)
	if needed || l.parent.IsEmpty() && !p.rootCame {
		p.names(l.parent, l.remote)
		needed = true
	}
	return needed
}

// found notes that a span exists and reports whether it was named and had not come.
func (p *past) found(id pcommon.SpanID) bool {
	state, mentioned := p.nodes[id]
	if !mentioned || state == here {
		return false
	}
	p.set(id, here)
	return true
}

// allLinked notes spans that are no evidence and reports whether any was needed. One may be the parent of another, in any order.
func (p *past) allLinked(links []edge) (needed bool) {
	var byID map[pcommon.SpanID]edge // once it is needed
	for _, l := range links {
		if !p.link(l) {
			continue
		}
		needed = true
		if byID == nil {
			byID = make(map[pcommon.SpanID]edge, len(links))
			for _, l := range links {
				byID[l.id] = l
			}
		}
		for above, ok := byID[l.parent]; ok && p.link(above); above, ok = byID[above.parent] {
		}
	}
	return needed
}

// after makes p what is known after earlier evidence, of which it did not know, and after its own, which is td.
func (p *past) after(earlier past, td ptrace.Traces) {
	own := *p
	*p = earlier
	p.distinct += p.allCame(td)
	// What is known from non-agent spans.
	for id, state := range own.nodes {
		switch state {
		case here:
			p.found(id)
		default:
			p.names(id, state == elsewhere)
		}
	}
	p.noteAll(own)
}

// noteAll adds the flags of other.
func (p *past) noteAll(other past) {
	p.rootCame = p.rootCame || other.rootCame
	p.runCame = p.runCame || other.runCame
}

// maxProbes bounds how often one trace is read back only to find out whether it is whole.
const maxProbes = 8

// undecidable tells that only the evidence in the spool knows whether the trace has ended.
func (t *openTrace) undecidable() bool {
	return t.nodes == nil && t.runCame && !t.rootCame && !t.whole && !t.probed && t.probes < maxProbes
}

// due is when the trace is looked at if nothing more comes, and why it is emitted then.
func (s *shard) due(t *openTrace) (due int64, reason Reason) {
	due, reason = t.last+int64(s.o.IdleTimeout), Idle
	if t.ended() || t.undecidable() {
		due, reason = t.last+int64(s.o.QuietPeriod), RootEnded
	}
	// The age of a trace that was found in the spool does not end it before senders had time to continue.
	if age := max(t.first+int64(s.o.MaxAge), t.notBefore); age < due {
		due, reason = age, MaxAge
	}
	return due, reason
}
