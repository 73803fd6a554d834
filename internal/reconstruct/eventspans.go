// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// Some packages write a span for each event of a call, one behind the other below the same parent (OpenInference for BeeAI in JavaScript): tool.search.start-1 holds what went in,
// tool.search.success-1 what came out. They are one call.

// joinEvents leaves the first of the spans that report the events of one call, which then says what the others do. The others are represented by it in
// twinOf. Each call begins once and succeeds or fails once: the calls of one thing below one parent are told by their order, as long as the numbers agree.
func joinEvents(nodes []*node, twinOf map[pcommon.SpanID]pcommon.SpanID) ([]*node, map[pcommon.SpanID]pcommon.SpanID) {
	type thing struct {
		parent pcommon.SpanID
		scope  string
		name   string
	}
	type told struct{ begun, ended, finished []*node }
	things := map[thing]*told{}
	for _, n := range nodes {
		name, event := dialect.EventSpan(n.source.Span)
		if event == "" {
			continue
		}
		k := thing{n.source.Span.ParentSpanID(), n.source.ScopeName, name}
		t := things[k]
		if t == nil {
			t = &told{}
			things[k] = t
		}
		switch event {
		case "start":
			t.begun = append(t.begun, n)
		case "success", "error":
			t.ended = append(t.ended, n)
		case "finish":
			t.finished = append(t.finished, n)
		}
	}
	if len(things) == 0 {
		return nodes, twinOf
	}
	if twinOf == nil {
		twinOf = map[pcommon.SpanID]pcommon.SpanID{}
	}
	gone := map[*node]bool{}
	for k, t := range things {
		for _, list := range []*[]*node{&t.begun, &t.ended, &t.finished} {
			slices.SortFunc(*list, func(a, b *node) int {
				return cmp.Or(cmp.Compare(a.start, b.start), compareNumbers(a.source.Span.Name(), b.source.Span.Name()), compareNodes(a, b))
			})
		}
		for i, n := range t.begun {
			var more []*node
			if len(t.ended) == len(t.begun) {
				more = append(more, t.ended[i])
			}
			if len(t.finished) == len(t.begun) {
				more = append(more, t.finished[i])
			}
			n.take(k.name, more)
			for _, m := range more {
				gone[m] = true
				twinOf[m.id] = n.id
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return gone[n] }), twinOf
}

// take makes a node say what further spans of the same call say.
func (n *node) take(name string, more []*node) {
	span := ptrace.NewSpan()
	n.source.Span.CopyTo(span)
	span.SetName(name)
	for _, m := range more {
		other := m.source.Span
		for k, v := range other.Attributes().All() {
			if _, there := span.Attributes().Get(k); !there {
				v.CopyTo(span.Attributes().PutEmpty(k))
			}
		}
		if other.Status().Code() == ptrace.StatusCodeError {
			other.Status().CopyTo(span.Status())
		}
		span.SetEndTimestamp(max(span.EndTimestamp(), other.StartTimestamp()))
		n.spans += m.spans
	}
	source := *n.source
	source.Span = span
	n.source = &source
	n.end = uint64(span.EndTimestamp())
}

// compareNumbers orders names that end in numbers of one row.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
