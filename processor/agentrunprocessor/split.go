// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// splitting is what every splitter needs to know.
type splitting struct {
	// keep says that every span is taken, evidence or not.
	keep   bool
	tenant TenantConfig
	// redacted says that evidence without the marker of a redactor is refused.
	redacted bool
	// rules say which tags of spans that are no evidence become notes of their traces.
	rules *segregation.Rules
}

const (
	// nonAgent stands in splitter.of for a span that is no evidence, in place of the number of a chunk.
	nonAgent = -1
	// mixed stands for spans that do not all belong to one chunk.
	mixed = -2
	// unset is no number of a resource or scope and no size.
	unset = -1
)

// splitter separates evidence from the rest in two passes. inspect changes nothing but reserved attributes, so that the request can still be
// refused. take moves the evidence.
type splitter struct {
	*splitting
	sizer      ptrace.ProtoMarshaler
	recogniser genai.Recogniser

	size        assembly.Size
	tenants     []string // of the chunks, each once
	known       map[string]struct{}
	links       []assembly.Link
	evidence    int // spans that are evidence
	others      int // spans that are no evidence
	untraceable int
	stripped    int
	unredacted  int // spans of evidence that must be redacted and are not
	scan        segregation.Scan

	// of holds for each span, in order, the number of its chunk, or nonAgent.
	of       []int32
	chunks   []chunk
	index    map[assembly.Key]int32
	position int // of the next span, in take
}

// chunk is an assembly.TraceChunk that is being built: the evidence of one trace in this request.
type chunk struct {
	assembly.TraceChunk
	// resource and scope number the last ones that brought spans to this chunk.
	resource, scope int
	// rs and ss are their counterparts in the chunk.
	rs ptrace.ResourceSpans
	ss ptrace.ScopeSpans
	// notes are the replay tags of non-agent spans.
	notes segregation.Notes
}

// pooledSpans is up to which number of spans a splitter is kept for the next request. gRPC receivers take 4 MiB by default, some
// thousand spans.
const pooledSpans = 1 << 16

type splitterPool struct{ *sync.Pool }

func newSplitterPool(s splitting) splitterPool {
	return splitterPool{&sync.Pool{New: func() any {
		return &splitter{splitting: &s, scan: segregation.Scan{Rules: s.rules}, index: map[assembly.Key]int32{}, known: map[string]struct{}{}}
	}}}
}

func (p splitterPool) get() *splitter { return p.Get().(*splitter) }

func (p splitterPool) put(s *splitter) {
	if cap(s.of) > pooledSpans {
		return
	}
	clear(s.index)
	clear(s.chunks)
	clear(s.tenants)
	clear(s.known)
	*s = splitter{splitting: s.splitting, scan: s.scan, of: s.of[:0], chunks: s.chunks[:0], tenants: s.tenants[:0], known: s.known, index: s.index}
	p.Put(s)
}

// inspect decides for every span whether it is evidence and of which chunk, and computes the size of the evidence.
func (s *splitter) inspect(ctx context.Context, td ptrace.Traces, a *assembly.Assembler) {
	requestTenant := s.tenant.ofRequest(ctx)
	scope := 0
	for i, rs := range td.ResourceSpans().All() {
		stripped, redacted := stripResource(rs.Resource().Attributes())
		s.stripped += stripped
		before := s.evidence
		s.inspectResource(rs, i, &scope, s.tenant.ofResource(rs.Resource(), requestTenant))
		if s.redacted && !redacted {
			s.unredacted += s.evidence - before
		}
	}
	for i := range s.chunks {
		f := &s.chunks[i]
		s.makeNotes(f)
		s.size.Items += f.Items
		s.size.Bytes += f.Bytes
		s.addTenant(f.Key.Tenant)
		f.resource, f.scope = unset, unset // for take
	}
	s.size.Tenants, s.size.Traces = s.tenants, len(s.chunks)
	if s.others > 0 {
		s.findLinks(td, requestTenant, a)
	}
}

func (s *splitter) addTenant(tenant string) {
	if n := len(s.tenants); n > 0 && s.tenants[n-1] == tenant {
		return
	}
	if _, known := s.known[tenant]; !known {
		s.known[tenant] = struct{}{}
		s.tenants = append(s.tenants, tenant)
	}
}

func (s *splitter) inspectResource(rs ptrace.ResourceSpans, resource int, scope *int, tenant string) {
	resourceSize, scopeSize := unset, unset // computed when a chunk needs them
	var last pcommon.TraceID                // spans of one trace mostly stand together
	lastChunk := int32(nonAgent)
	for _, ss := range rs.ScopeSpans().All() {
		*scope++
		scopeSize = unset
		s.stripped += handover.Strip(ss.Scope().Attributes())
		scopeName := ss.Scope().Name()
		for _, span := range ss.Spans().All() {
			s.recogniser.Look(scopeName, span)
			if !s.keep && !s.recogniser.IsEvidence() {
				s.others++
				s.of = append(s.of, nonAgent)
				s.inspectNonAgent(rs, ss, span, tenant)
				continue
			}
			id := span.TraceID()
			if id.IsEmpty() {
				s.untraceable++
				s.others++
				s.of = append(s.of, nonAgent)
				continue
			}
			if lastChunk == nonAgent || last != id {
				last, lastChunk = id, s.chunkOf(assembly.Key{Tenant: tenant, TraceID: id})
			}
			s.of = append(s.of, lastChunk)
			f := &s.chunks[lastChunk]
			s.evidence++
			f.Items++
			f.Bytes += int64(s.sizer.SpanSize(span)) + assembly.ItemOverhead
			f.RunSpan = f.RunSpan || s.recogniser.IsRunSpan()
			// Each chunk gets a resource and a scope of its own.
			if f.resource != resource {
				if resourceSize == unset {
					resourceSize = attributesSize(rs.Resource().Attributes())
				}
				f.resource = resource
				f.Bytes += int64(resourceSize)
			}
			if f.scope != *scope {
				if scopeSize == unset {
					scopeSize = attributesSize(ss.Scope().Attributes()) + len(scopeName)
				}
				f.scope = *scope
				f.Bytes += int64(scopeSize)
			}
		}
	}
}

// inspectNonAgent collects the replay tags of a span that is no evidence. A run is a replay if any span of its trace carries a tag.
func (s *splitter) inspectNonAgent(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, tenant string) {
	s.scan.Reset()
	s.scan.Around(rs, ss)
	s.scan.Span(ss.Scope().Name(), span)
	if id := span.TraceID(); s.scan.Found() && !id.IsEmpty() {
		s.evidence++ // the tag is stored
		s.chunks[s.chunkOf(assembly.Key{Tenant: tenant, TraceID: id})].notes.Add(id, s.scan.Tags(), rs.Resource().Attributes())
	}
}

// makeNotes adds the notes of a chunk to it. Its evidence comes behind them, see take.
func (s *splitter) makeNotes(f *chunk) {
	td := ptrace.NewTraces()
	f.notes.Append(td)
	n := td.SpanCount()
	if n == 0 {
		return
	}
	for _, rs := range td.ResourceSpans().All() {
		unseal(rs.Resource().Attributes())
	}
	f.Traces = td
	f.Items += n
	f.Bytes += int64(s.sizer.TracesSize(td)) + int64(n)*assembly.ItemOverhead
}

func (s *splitter) chunkOf(k assembly.Key) int32 {
	if i, ok := s.index[k]; ok {
		return i
	}
	i := int32(len(s.chunks))
	s.index[k] = i
	s.chunks = append(s.chunks, chunk{
		TraceChunk: assembly.TraceChunk{Key: k, Bytes: assembly.ChunkOverhead},
		resource:   unset, scope: unset,
	})
	return i
}

// findLinks collects the non-agent spans of traces that have evidence, in this request or in the assembler. If there are none, it asks the
// assembler once for each run of spans of one trace.
func (s *splitter) findLinks(td ptrace.Traces, requestTenant string, a *assembly.Assembler) {
	n := 0
	for _, rs := range td.ResourceSpans().All() {
		tenant := s.tenant.ofResource(rs.Resource(), requestTenant)
		var last pcommon.TraceID
		wanted := false // an empty trace id has no evidence
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				chunk := s.of[n]
				n++
				if chunk != nonAgent {
					continue
				}
				if id := span.TraceID(); id != last {
					last = id
					_, wanted = s.index[assembly.Key{Tenant: tenant, TraceID: id}]
					wanted = wanted || a.MayHold(id)
				}
				if wanted {
					s.links = append(s.links, assembly.Link{
						Key: assembly.Key{Tenant: tenant, TraceID: last}, ID: span.SpanID(), Parent: span.ParentSpanID(), Remote: assembly.HasRemoteParent(span),
					})
				}
			}
		}
	}
}

// take moves the evidence out of td. The rest keeps its structure; empty resources and scopes are removed.
func (s *splitter) take(td ptrace.Traces) assembly.Request {
	if len(s.chunks) > 0 {
		resource, scope := 0, 0
		td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
			resource++
			return s.takeResource(rs, resource, &scope)
		})
	}
	r := assembly.Request{Links: s.links, Chunks: make([]assembly.TraceChunk, len(s.chunks))}
	for i := range s.chunks {
		r.Chunks[i] = s.chunks[i].TraceChunk
	}
	return r
}

// takeResource reports whether it has taken all there was.
func (s *splitter) takeResource(rs ptrace.ResourceSpans, resource int, scope *int) bool {
	n := 0
	for _, ss := range rs.ScopeSpans().All() {
		n += ss.Spans().Len()
	}
	of := s.of[s.position : s.position+n]
	switch whole := wholeChunk(of); whole {
	case nonAgent:
		s.position += n
		return false
	case mixed:
	default:
		// The common shape is one process with one run. It needs no copy.
		s.position += n
		for _, ss := range rs.ScopeSpans().All() {
			s.stripSpans(ss.Spans())
		}
		taken := s.tracesOf(whole).ResourceSpans().AppendEmpty()
		rs.MoveTo(taken)
		unseal(taken.Resource().Attributes())
		return true
	}
	rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
		*scope++
		return s.takeScope(rs, ss, resource, *scope)
	})
	return rs.ScopeSpans().Len() == 0
}

func (s *splitter) takeScope(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, resource, scope int) bool {
	n := ss.Spans().Len()
	of := s.of[s.position : s.position+n]
	s.position += n
	switch whole := wholeChunk(of); whole {
	case nonAgent:
		return false
	case mixed:
	default:
		s.stripSpans(ss.Spans())
		ss.MoveTo(s.resourceIn(whole, rs, resource).rs.ScopeSpans().AppendEmpty())
		return true
	}
	i := 0
	ss.Spans().RemoveIf(func(span ptrace.Span) bool {
		to := of[i]
		i++
		if to == nonAgent {
			return false
		}
		s.stripped += stripSpan(span)
		f := s.resourceIn(to, rs, resource)
		if f.scope != scope {
			f.scope = scope
			f.ss = f.rs.ScopeSpans().AppendEmpty()
			ss.Scope().CopyTo(f.ss.Scope())
			f.ss.SetSchemaUrl(ss.SchemaUrl())
		}
		span.MoveTo(f.ss.Spans().AppendEmpty())
		return true
	})
	return ss.Spans().Len() == 0
}

// resourceIn makes sure that the chunk has the resource.
func (s *splitter) resourceIn(n int32, rs ptrace.ResourceSpans, resource int) *chunk {
	f := &s.chunks[n]
	if f.resource != resource {
		f.resource = resource
		f.rs = s.tracesOf(n).ResourceSpans().AppendEmpty()
		rs.Resource().CopyTo(f.rs.Resource())
		unseal(f.rs.Resource().Attributes())
		f.rs.SetSchemaUrl(rs.SchemaUrl())
	}
	return f
}

func (s *splitter) tracesOf(n int32) ptrace.Traces {
	f := &s.chunks[n]
	if f.Traces == (ptrace.Traces{}) {
		f.Traces = ptrace.NewTraces()
	}
	return f.Traces
}

func (s *splitter) stripSpans(spans ptrace.SpanSlice) {
	for _, span := range spans.All() {
		s.stripped += stripSpan(span)
	}
}

// wholeChunk is the chunk that all of them belong to, or nonAgent, or mixed.
func wholeChunk(of []int32) int32 {
	if len(of) == 0 {
		return nonAgent
	}
	for _, n := range of[1:] {
		if n != of[0] {
			return mixed
		}
	}
	return of[0]
}

// attributesSize is about what attributes take as protobuf. pdata offers the exact size for whole spans only.
func attributesSize(m pcommon.Map) int {
	size := 0
	for k, v := range m.All() {
		size += len(k) + valueSize(v)
	}
	return size
}

// valueOverhead stands for numbers, tags and lengths.
const valueOverhead = 8

func valueSize(v pcommon.Value) int {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return len(v.Str()) + valueOverhead
	case pcommon.ValueTypeBytes:
		return v.Bytes().Len() + valueOverhead
	case pcommon.ValueTypeMap:
		return attributesSize(v.Map()) + valueOverhead
	case pcommon.ValueTypeSlice:
		size := valueOverhead
		for _, e := range v.Slice().All() {
			size += valueSize(e)
		}
		return size
	default:
		return valueOverhead
	}
}
