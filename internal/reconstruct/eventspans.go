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

// joinEvents makes one call of the spans that report its events: tool.search.start-1 holds what went in,
// tool.search.success-1 what came out. The first of them stays.
//
// Needs: spans of one thing below one parent, as many of the end of a call as of its beginning, told by their order.
// Refuses: the ends of calls, where there are more or fewer of them.
// Seen in: OpenInference for BeeAI in JavaScript.
func joinEvents(nodes []*node, standsFor map[pcommon.SpanID]pcommon.SpanID) []*node {
	type thing struct {
		parent      pcommon.SpanID
		scope, name string
	}
	things := map[thing]*[3][]*node{} // the spans of the beginnings, of the ends, and of what comes after either
	for _, n := range nodes {
		name, event := dialect.EventSpan(n.source.Span)
		kind, known := eventKinds[event]
		if !known {
			continue
		}
		k := thing{parentOf(n), n.source.ScopeName, name}
		if things[k] == nil {
			things[k] = &[3][]*node{}
		}
		things[k][kind] = append(things[k][kind], n)
	}
	if len(things) == 0 {
		return nodes
	}
	gone := map[*node]bool{}
	for k, told := range things {
		for _, list := range told {
			slices.SortFunc(list, compareEvents)
		}
		for i, n := range told[0] {
			var more []*node
			for _, list := range told[1:] {
				if len(list) == len(told[0]) {
					more = append(more, list[i])
				}
			}
			n.take(k.name, more)
			for _, m := range more {
				gone[m] = true
				standsFor[m.id] = n.id
			}
		}
	}
	return filter(nodes, func(n *node) bool { return !gone[n] })
}

// eventKinds are the events of a call: each begins once, and succeeds or fails once.
var eventKinds = map[string]int{"start": 0, "success": 1, "error": 1, "finish": 2}

// compareEvents orders the spans of events by time, then by the numbers at the end of their names.
func compareEvents(a, b *node) int {
	x, y := a.source.Span.Name(), b.source.Span.Name()
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(len(x), len(y)), strings.Compare(x, y), compareNodes(a, b))
}

// take makes a node say what further spans of the same call say.
func (n *node) take(name string, more []*node) {
	span := ptrace.NewSpan()
	n.source.Span.CopyTo(span)
	span.SetName(name)
	for _, m := range more {
		other := m.source.Span
		addAttributes(span, other)
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
