// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"crypto/sha256"
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

const (
	// NoteScope is the scope of notes. A note is a span that stands for a tag which the evidence of its trace does not show by itself. Such a
	// tag was found on a span that is no evidence, or under a key that not every reader looks for.
	NoteScope = "tapedeck.note"

	noteName = "replay tag"
)

// Notes gathers what is to be noted of traces.
type Notes struct {
	of    []noted
	index map[pcommon.TraceID]int
}

type noted struct {
	trace    pcommon.TraceID
	tags     Tags
	resource pcommon.Map
}

// Add adds tags of a trace that were found on a resource or below it.
func (n *Notes) Add(trace pcommon.TraceID, tags Tags, resource pcommon.Map) {
	if tags.IsEmpty() || trace.IsEmpty() {
		return
	}
	i, known := n.index[trace]
	if !known {
		if n.index == nil {
			n.index = map[pcommon.TraceID]int{}
		}
		i = len(n.of)
		n.index[trace] = i
		n.of = append(n.of, noted{trace: trace, resource: resource})
	}
	n.of[i].tags.Merge(tags)
}

// Len is how many traces have notes.
func (n *Notes) Len() int { return len(n.of) }

// Append writes the notes behind td, one span for each tag of a trace. The same tag of the same trace always gives the same note. A note
// takes only the marker of a redaction from the resource.
func (n *Notes) Append(td ptrace.Traces) {
	for _, known := range n.of {
		rs := td.ResourceSpans().AppendEmpty()
		handover.CopyMarker(known.resource, rs.Resource().Attributes())
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(NoteScope)
		note := func() pcommon.Map {
			span := ss.Spans().AppendEmpty()
			span.SetName(noteName)
			span.SetTraceID(known.trace)
			return span.Attributes()
		}
		for _, id := range known.tags.IDs {
			note().PutStr(Key, id)
		}
		for _, of := range known.tags.Of {
			note().PutStr(OfKey, of)
		}
		if known.tags.Malformed {
			note().PutBool(malformedKey, true)
		}
		if known.tags.Marked {
			note().PutBool(markedKey, true)
		}
		for _, span := range ss.Spans().All() {
			IdentifyNote(span)
		}
	}
}

// droppedKey is the attribute of a note that says that earlier evidence of its trace was dropped.
const droppedKey = "evidence_dropped"

// AppendDropped writes a note behind td: a keep policy dropped earlier evidence of the trace.
func AppendDropped(td ptrace.Traces, trace pcommon.TraceID, resource pcommon.Map) {
	rs := td.ResourceSpans().AppendEmpty()
	handover.CopyMarker(resource, rs.Resource().Attributes())
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(NoteScope)
	span := ss.Spans().AppendEmpty()
	span.SetName("evidence dropped")
	span.SetTraceID(trace)
	span.Attributes().PutBool(droppedKey, true)
	IdentifyNote(span)
}

// IsDropped tells whether a note is of AppendDropped.
func IsDropped(note ptrace.Span) bool {
	_, ok := note.Attributes().Get(droppedKey)
	return ok
}

// CountNotes counts the spans that are notes.
func CountNotes(td ptrace.Traces) (n int) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if ss.Scope().Name() == NoteScope {
				n += ss.Spans().Len()
			}
		}
	}
	return n
}

// CopyWithoutNotes appends the resources of one run to dst, without their notes: what notes say travels in
// handover.RunReplay, so that no backend takes one for a span of somebody's program. Of a run that is nothing
// but notes one resource is left, which has no spans.
func CopyWithoutNotes(run iter.Seq2[int, ptrace.ResourceSpans], dst ptrace.ResourceSpansSlice) {
	kept, scopes := ptrace.NewResourceSpansSlice(), 0
	for _, rs := range run {
		to := kept.AppendEmpty()
		rs.CopyTo(to)
		to.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool { return ss.Scope().Name() == NoteScope })
		scopes += to.ScopeSpans().Len()
	}
	first := true
	kept.RemoveIf(func(rs ptrace.ResourceSpans) bool {
		alone := first && scopes == 0
		first = false
		return rs.ScopeSpans().Len() == 0 && !alone
	})
	kept.MoveAndAppendTo(dst)
}

// IdentifyNote gives a note the id that its content has. It is its own parent: it is neither the root of its trace nor waits for one.
func IdentifyNote(span ptrace.Span) {
	h := sha256.New()
	for key, value := range span.Attributes().All() {
		h.Write([]byte(key + "\x00" + value.AsString() + "\x00"))
	}
	id := pcommon.SpanID(h.Sum(nil)[:8])
	span.SetSpanID(id)
	span.SetParentSpanID(id)
}

// note reads a note. A sender of a note says no more than a sender of a tag.
func (s *Scan) note(m pcommon.Map) {
	for key, value := range m.All() {
		switch key {
		case Key:
			s.tag(value)
		case OfKey:
			if id, ok := idOf(value); ok {
				s.tags.Of = insert(s.tags.Of, id)
			}
		case malformedKey:
			s.tags.Malformed = true
		case markedKey:
			s.tags.Marked = true
		}
	}
}

// Handover scans what a component before has said of a run, on one of its resources. Nobody outside can say it: agentrun takes
// attributes of this namespace off what comes in.
func (s *Scan) Handover(resource pcommon.Map) {
	run := handover.ReadRun(resource)
	s.tags.Malformed = s.tags.Malformed || run.Malformed
	s.tags.Merge(ParseTags(run.Replay))
}
