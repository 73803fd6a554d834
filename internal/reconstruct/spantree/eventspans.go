// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

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
// Needs: spans of one thing below one parent, as many of the end of a call as of its beginning, told by their
// order.
// Refuses: the ends of calls, where there are more or fewer of them.
// Seen in: OpenInference for BeeAI in JavaScript.
func joinEvents(nodes []*Node, standsFor map[pcommon.SpanID]pcommon.SpanID) []*Node {
	type thing struct {
		parent      pcommon.SpanID
		scope, name string
	}
	things := map[thing]*[3][]*Node{} // the spans of the beginnings, of the ends, and of what comes after either
	for _, n := range nodes {
		name, event := dialect.EventSpan(n.Source.Span)
		kind, known := eventKinds[event]
		if !known {
			continue
		}
		k := thing{parentOf(n), n.Source.ScopeName, name}
		if things[k] == nil {
			things[k] = &[3][]*Node{}
		}
		things[k][kind] = append(things[k][kind], n)
	}
	if len(things) == 0 {
		return nodes
	}
	gone := map[*Node]bool{}
	for k, told := range things {
		for _, list := range told {
			slices.SortFunc(list, compareEvents)
		}
		for i, n := range told[0] {
			var more []*Node
			for _, list := range told[1:] {
				if len(list) == len(told[0]) {
					more = append(more, list[i])
				}
			}
			n.take(k.name, more)
			for _, m := range more {
				gone[m] = true
				standsFor[m.ID] = n.ID
			}
		}
	}
	return Filter(nodes, func(n *Node) bool { return !gone[n] })
}

// eventKinds are the events of a call: each begins once, and succeeds or fails once.
var eventKinds = map[string]int{"start": 0, "success": 1, "error": 1, "finish": 2}

// compareEvents orders the spans of events by time, then by the numbers at the end of their names.
func compareEvents(a, b *Node) int {
	x, y := a.Source.Span.Name(), b.Source.Span.Name()
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(len(x), len(y)), strings.Compare(x, y), CompareNodes(a, b))
}

// take makes a node say what further spans of the same call say.
func (n *Node) take(name string, more []*Node) {
	span := ptrace.NewSpan()
	n.Source.Span.CopyTo(span)
	span.SetName(name)
	for _, m := range more {
		other := m.Source.Span
		addAttributes(span, other)
		if other.Status().Code() == ptrace.StatusCodeError {
			other.Status().CopyTo(span.Status())
		}
		span.SetEndTimestamp(max(span.EndTimestamp(), other.StartTimestamp()))
		n.Spans += m.Spans
	}
	source := *n.Source
	source.Span = span
	n.Source = &source
	n.End = uint64(span.EndTimestamp())
}
