// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence holds the spans and log records that a run is rebuilt from. They are a set of distinct items. Its canonical form is the
// same whatever the order, the batches and the repetitions in which the items came.
//
// An item is one span with its resource and scope. A log record becomes a span of scope "tapedeck.log" (see logs.go). Attributes tapedeck.*
// belong to the hand-over between components and are no evidence. The marker of a redaction is the one exception: it says which redaction a
// resource has seen. A caller that adds telemetry answers for its marker, or removes it before.
package evidence

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
	"github.com/tapedeck/tapedeck/internal/reading/textsum"
)

// Digest identifies an item by its content.
type Digest = spandigest.Digest

// Item is one distinct span with what surrounds it. It shares memory with the traces that were added.
type Item struct {
	Resource ptrace.ResourceSpans
	Scope    ptrace.ScopeSpans
	Span     ptrace.Span

	key      itemKey
	resource Digest // of the resource alone, for grouping
	scope    Digest // of resource and scope
	size     int    // bytes of the content of the span
	around   int    // bytes of resource and scope
}

// itemKey tells an item from every other in this process. Of a log record it is its digest, which costs more: two that differ in nothing but when they were
// observed are one.
type itemKey struct {
	span   textsum.Sum // zero of a log record
	digest Digest      // of resource and scope; of a log record of all of it
}

// Digest identifies the item by its content, in every process. It is made when it is asked for: nearly always the ids and times of items tell enough.
func (i Item) Digest() Digest {
	if i.key.span == (textsum.Sum{}) {
		return i.key.digest
	}
	h := spandigest.NewHasher()
	defer h.Release()
	return h.Span(i.scope, i.Span)
}

// Sum is spandigest.Sum of the span, as it was when it came into the set: nobody may change it afterwards.
func (i Item) Sum() textsum.Sum {
	if i.key.span != (textsum.Sum{}) {
		return i.key.span
	}
	h := spandigest.NewHasher()
	defer h.Release()
	return h.Sum(i.Span, textsum.Of)
}

// compareDigests orders items that all the rest of an order does not tell apart.
func compareDigests(a, b Item) int {
	if a.key == b.key {
		return 0
	}
	x, y := a.Digest(), b.Digest()
	return bytes.Compare(x[:], y[:])
}

// Set is a set of items. The zero value is not usable; see NewSet.
type Set struct {
	items   map[itemKey]Item
	sorted  []Item // the items in canonical order; nil: not known
	verdict known  // the last one that was asked for
}

// known is a verdict that holds as long as no item comes.
type known struct {
	rules   *segregation.Rules // nil: none is known
	verdict segregation.Verdict
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{items: map[itemKey]Item{}} }

// Len returns the number of distinct items.
func (s *Set) Len() int { return len(s.items) }

// AddTraces adds the spans that belong to an agent run (genai.IsEvidence) and have a trace id. The set refers to td afterwards. It takes
// off the hand-over attributes, except the marker of a redaction. From other spans it adds what they say of a replay, by the default rules.
func (s *Set) AddTraces(td ptrace.Traces) { s.add(td, false) }

// AddTags adds tags that are known of a trace beside its spans, as notes. A tag that its spans show to everybody needs no note. The notes
// take the marker of a redaction from the resource.
func (s *Set) AddTags(trace pcommon.TraceID, tags segregation.Tags, resource pcommon.Map, rules *segregation.Rules) {
	if tags.IsEmpty() {
		return
	}
	hidden := tags.Without(s.Tags(segregation.Default))
	if rules.Custom() {
		hidden.Merge(tags.Without(s.Tags(rules)))
	}
	var notes segregation.Notes
	notes.Add(trace, hidden, resource)
	s.addNotes(&notes)
}

func (s *Set) addNotes(notes *segregation.Notes) {
	td := ptrace.NewTraces()
	if notes.Append(td); td.SpanCount() > 0 {
		s.add(td, true)
	}
}

// add puts the spans of td into the set, all of them or only the members of runs.
func (s *Set) add(td ptrace.Traces, all bool) {
	h := spandigest.NewHasher()
	defer h.Release()
	if len(s.items) == 0 {
		s.items = make(map[itemKey]Item, td.SpanCount())
	}
	scan := segregation.Scan{Rules: segregation.Default}
	var notes segregation.Notes
	defer s.addNotes(&notes)
	for _, rs := range td.ResourceSpans().All() {
		stripResource(rs.Resource().Attributes())
		resource := h.Resource(rs)
		size := h.Len()
		for _, ss := range rs.ScopeSpans().All() {
			handover.Strip(ss.Scope().Attributes())
			scope := h.Scope(resource, ss)
			around := size + h.Len()
			for _, span := range ss.Spans().All() {
				if !all && span.TraceID().IsEmpty() {
					continue
				}
				if !all && !genai.IsEvidence(ss.Scope().Name(), span) {
					scan.Reset()
					scan.Around(rs, ss)
					scan.Span(ss.Scope().Name(), span)
					notes.Add(span.TraceID(), scan.Tags(), rs.Resource().Attributes())
					continue
				}
				handover.Strip(span.Attributes())
				var key itemKey
				if ss.Scope().Name() == genai.LogScope {
					key.digest = h.Without(scope, span, observed)
				} else {
					key = itemKey{h.Sum(span, textsum.Of), scope}
				}
				s.put(Item{key: key, Resource: rs, Scope: ss, Span: span, resource: resource, scope: scope, size: h.Len(), around: around})
			}
		}
	}
}

// observed is what has no part in the digest of a log record: a record that was read twice is one, observed when it was first.
var observed = []string{genai.LogObservedTime}

// put adds an item. If a log record was observed more than once, the first time stays.
func (s *Set) put(item Item) {
	if there, ok := s.items[item.key]; !ok || item.observed() < there.observed() {
		s.items[item.key], s.sorted, s.verdict = item, nil, known{}
	}
}

// observed is when a log record was observed, if that is known beside its own time.
func (i Item) observed() uint64 {
	if i.Scope.Scope().Name() == genai.LogScope {
		if v, ok := i.Span.Attributes().Get(genai.LogObservedTime); ok && v.Type() == pcommon.ValueTypeInt {
			return uint64(v.Int())
		}
	}
	return math.MaxUint64
}

// stripResource takes off what is no evidence of a resource.
func stripResource(m pcommon.Map) {
	marker, marked := handover.MarkerOf(m)
	if handover.Strip(m); marked {
		marker.Write(m)
	}
}

// Clone returns a set of the same items.
func (s *Set) Clone() *Set { return &Set{items: maps.Clone(s.items)} }

// Merge adds the items of another set.
func (s *Set) Merge(other *Set) {
	for _, item := range other.items {
		s.put(item)
	}
}

// Items returns the items in canonical order: resource, scope, start, span id, digest. Notes about replays
// are not among them, see Verdict, and neither is a kept workspace, see Workspace.
func (s *Set) Items() []Item { return slices.Clone(s.View()) }

// View is Items for callers that change neither the list nor an item of it.
func (s *Set) View() []Item {
	aside := func(i Item) bool { return i.isNote() || i.isWorkspace() }
	items := s.all()
	if slices.ContainsFunc(items, aside) {
		items = slices.DeleteFunc(slices.Clone(items), aside)
	}
	return items
}

// Workspace returns the spans of what a folder held before the run; see package workspace.
func (s *Set) Workspace() (spans []ptrace.Span) {
	for _, item := range s.all() {
		if item.isWorkspace() {
			spans = append(spans, item.Span)
		}
	}
	return spans
}

func (i Item) isWorkspace() bool { return i.Scope.Scope().Name() == dialect.WorkspaceScope }

// OnlyNotes tells whether the set says something of replays and holds nothing else.
func (s *Set) OnlyNotes() bool {
	for _, item := range s.items {
		if !item.isNote() {
			return false
		}
	}
	return len(s.items) > 0
}

func (i Item) isNote() bool { return i.Scope.Scope().Name() == segregation.NoteScope }

// AddDropped notes that earlier evidence of a trace was dropped: it lies nowhere, and only a writer that
// dropped it knows. The note takes the marker of a redaction from an item of the set.
func (s *Set) AddDropped(trace pcommon.TraceID) {
	resource := pcommon.NewMap()
	for _, item := range s.all() {
		resource = item.Resource.Resource().Attributes()
		break
	}
	td := ptrace.NewTraces()
	segregation.AppendDropped(td, trace, resource)
	s.add(td, true)
}

// Dropped tells whether the set notes that other evidence of the trace was dropped.
func (s *Set) Dropped() bool {
	for _, item := range s.items {
		if item.isNote() && segregation.IsDropped(item.Span) {
			return true
		}
	}
	return false
}

// Notes returns what the set says of replays beside its spans.
func (s *Set) Notes() *Set {
	notes := NewSet()
	for d, item := range s.items {
		if item.isNote() {
			notes.items[d] = item
		}
	}
	return notes
}

// all returns all items in canonical order, for looking.
func (s *Set) all() []Item {
	if s.sorted == nil {
		items := make([]Item, 0, len(s.items))
		for _, item := range s.items {
			items = append(items, item)
		}
		slices.SortFunc(items, compareItems)
		s.sorted = items
	}
	return s.sorted
}

func compareItems(a, b Item) int {
	if c := bytes.Compare(a.resource[:], b.resource[:]); c != 0 {
		return c
	}
	if c := bytes.Compare(a.scope[:], b.scope[:]); c != 0 {
		return c
	}
	if x, y := a.Span.StartTimestamp(), b.Span.StartTimestamp(); x != y {
		if x < y {
			return -1
		}
		return 1
	}
	x, y := a.Span.SpanID(), b.Span.SpanID()
	if c := bytes.Compare(x[:], y[:]); c != 0 {
		return c
	}
	return compareDigests(a, b)
}

// Trace is the part of a set that has one trace id.
type Trace struct {
	TraceID string // 32 hex
	Set     *Set
	// Cut says, if it is not empty, why the set is not all of the trace.
	Cut string
}

// HoldsContent reports whether an item holds text that went in or came out.
func (s *Set) HoldsContent() bool {
	return slices.ContainsFunc(s.Items(), func(i Item) bool {
		in, out := genai.HoldsContent(i.Span)
		return in || out
	})
}

// Split divides a set by trace id, in order of the ids. A set of one trace is not copied.
func (s *Set) Split() []Trace {
	if id, ok := s.oneTrace(); ok {
		return []Trace{{TraceID: hex.EncodeToString(id[:]), Set: s}}
	}
	byTrace := map[pcommon.TraceID]*Set{}
	for d, item := range s.items {
		id := item.Span.TraceID()
		set := byTrace[id]
		if set == nil {
			set = NewSet()
			byTrace[id] = set
		}
		set.items[d] = item
	}
	traces := make([]Trace, 0, len(byTrace))
	for id, set := range byTrace {
		traces = append(traces, Trace{TraceID: hex.EncodeToString(id[:]), Set: set})
	}
	slices.SortFunc(traces, func(a, b Trace) int { return strings.Compare(a.TraceID, b.TraceID) })
	return traces
}

func (s *Set) oneTrace() (id pcommon.TraceID, ok bool) {
	for _, item := range s.items {
		if ok && item.Span.TraceID() != id {
			return id, false
		}
		id, ok = item.Span.TraceID(), true
	}
	return id, ok
}

// Canonical returns the canonical form of the set, an OTLP ExportTraceServiceRequest (protobuf). The items stand in canonical order, with
// one ResourceSpans per resource and one ScopeSpans per scope. It is what a part of the deck holds.
func (s *Set) Canonical() ([]byte, error) { return s.CanonicalIn(new([]byte)) }

// CanonicalIn is Canonical with memory that the caller lends: what it returns lies in buf, which is replaced if it is too small.
func (s *Set) CanonicalIn(buf *[]byte) ([]byte, error) {
	if part, complete, err := marshal(buf, s.all()); complete || err != nil {
		return part, err
	}
	var m ptrace.ProtoMarshaler
	return m.MarshalTraces(s.Traces())
}

// Traces returns a copy of the items in their canonical form.
func (s *Set) Traces() ptrace.Traces { return s.Excerpt(func(Item) bool { return true }) }

// Excerpt is Traces with all resources and scopes, but only those spans that are wanted.
func (s *Set) Excerpt(wanted func(Item) bool) ptrace.Traces {
	td := ptrace.NewTraces()
	var rs ptrace.ResourceSpans
	var ss ptrace.ScopeSpans
	var resource, scope Digest
	first := true
	for _, item := range s.all() {
		if first || item.resource != resource {
			rs = td.ResourceSpans().AppendEmpty()
			item.Resource.Resource().CopyTo(rs.Resource())
			rs.SetSchemaUrl(item.Resource.SchemaUrl())
			resource, scope = item.resource, Digest{}
		}
		if first || item.scope != scope {
			ss = rs.ScopeSpans().AppendEmpty()
			item.Scope.Scope().CopyTo(ss.Scope())
			ss.SetSchemaUrl(item.Scope.SchemaUrl())
			scope = item.scope
		}
		first = false
		if wanted(item) {
			item.Span.CopyTo(ss.Spans().AppendEmpty())
		}
	}
	sortAttributes(td)
	return td
}

// Rewrite returns the canonical form of a part whose content was changed. Every span of it is kept; log records get the ids that their
// content has now.
func Rewrite(td ptrace.Traces) ([]byte, error) {
	identify(td)
	s := NewSet()
	s.add(td, true)
	return s.Canonical()
}

// FromPart reads what Canonical wrote.
func FromPart(part []byte) (*Set, error) {
	td, err := nesting.UnmarshalTraces(part)
	if err != nil {
		return nil, fmt.Errorf("decode part: %w", err)
	}
	s := NewSet()
	s.add(td, true)
	return s, nil
}

// Verdict decides to which side the evidence belongs, by every tag on its resources, scopes and spans, and by its notes.
func (s *Set) Verdict(rules *segregation.Rules) segregation.Verdict {
	if rules == nil || s.verdict.rules != rules {
		s.verdict = known{rules, s.Tags(rules).Verdict()}
	}
	return s.verdict.verdict
}

// Tags returns the tags of everything in the set.
func (s *Set) Tags(rules *segregation.Rules) segregation.Tags {
	scan := segregation.Scan{Rules: rules}
	seen := map[Digest]bool{}
	for _, item := range s.items {
		if !seen[item.scope] {
			seen[item.scope] = true
			scan.Around(item.Resource, item.Scope)
		}
		scan.Span(item.Scope.Scope().Name(), item.Span)
	}
	return scan.Tags()
}
