// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// reference is an attribute of a span whose content lies elsewhere.
type reference struct {
	item    evidence.Item
	name    string // of the attribute that would hold the content
	uri     string
	content string // "" until it is known; JSON is never empty
}

// references lists the references to content that no payload of the span holds, in canonical order. before counts the other
// references: a span that was completed lies beside its original. Log records are left out, because the hook that refers to content
// from a record does so on its span as well. Spans without an id are left out too, because a copy of one would be another span.
func references(set *evidence.Set) (open []reference, before int) {
	type location struct {
		span pcommon.SpanID
		name string
	}
	items := set.Items()
	held := map[location]bool{}
	for _, item := range items {
		for _, name := range dialect.Referable {
			if _, there := item.Span.Attributes().Get(name); there {
				held[location{item.Span.SpanID(), name}] = true
			}
		}
	}
	for _, item := range items {
		if item.Scope.Scope().Name() == genai.LogScope || item.Span.SpanID().IsEmpty() {
			continue
		}
		for _, name := range dialect.Referable {
			uri := dialect.Reference(item.Span.Attributes(), name)
			if _, there := item.Span.Attributes().Get(name); there || uri == "" {
				continue
			}
			if held[location{item.Span.SpanID(), name}] {
				before++
				continue
			}
			open = append(open, reference{item: item, name: name, uri: uri})
		}
	}
	return open, before
}

// completed returns copies of the spans with the contents that are known.
func completed(refs []reference) *evidence.Set {
	set := evidence.NewSet()
	td := ptrace.NewTraces()
	var last evidence.Digest
	var span ptrace.Span
	for _, ref := range refs { // those of one span follow each other
		if ref.content == "" {
			continue
		}
		if d := ref.item.Digest(); td.ResourceSpans().Len() == 0 || d != last {
			span, last = copied(td, ref.item), d
		}
		span.Attributes().PutStr(ref.name, ref.content)
	}
	set.AddTraces(td)
	return set
}

// copied appends a copy of an item with what surrounds it.
func copied(td ptrace.Traces, item evidence.Item) ptrace.Span {
	rs := td.ResourceSpans().AppendEmpty()
	item.Resource.Resource().CopyTo(rs.Resource())
	rs.SetSchemaUrl(item.Resource.SchemaUrl())
	ss := rs.ScopeSpans().AppendEmpty()
	item.Scope.Scope().CopyTo(ss.Scope())
	ss.SetSchemaUrl(item.Scope.SchemaUrl())
	span := ss.Spans().AppendEmpty()
	item.Span.CopyTo(span)
	return span
}
