// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// Twins are spans that say the same to the nanosecond and differ in nothing but their ids. A program that starts its instrumentation
// twice, or a bridge between two libraries, reports each span once more, in a tree of its own beside the first.

// dropTwins leaves one span of each set of twins, the one with the lowest id, and returns by whom the others are represented. Spans are
// twins when they name the same parent, or parents that are twins themselves. Equal tool calls below one parent are not: a clock that
// counts milliseconds, and a tool that answers the same twice, write them too. They
// are twins where everything else below that parent came as many times, or where nothing else is known of the parent and all of the trace did.
func dropTwins(nodes []*node) (kept []*node, twinOf map[pcommon.SpanID]pcommon.SpanID) {
	type moment struct {
		start, end uint64
		name       string
	}
	moments := map[moment]int{}
	alike := false
	momentOf := func(n *node) moment { return moment{n.start, n.end, n.source.Span.Name()} }
	for _, n := range nodes {
		m := momentOf(n)
		moments[m]++
		alike = alike || moments[m] > 1
	}
	if !alike {
		return nodes, nil
	}
	type key struct {
		parent  pcommon.SpanID
		content evidence.Digest
	}
	twinOf = map[pcommon.SpanID]pcommon.SpanID{}
	first := func(id pcommon.SpanID) pcommon.SpanID {
		if twin, ok := twinOf[id]; ok {
			return twin
		}
		return id
	}
	byID := make(map[pcommon.SpanID]*node, len(nodes))
	for _, n := range nodes {
		byID[n.id] = n
	}
	twinParents(nodes, byID, twinOf)
	everywhere := sync.OnceValue(func() int { return copiesOf(nodes) })
	for _, level := range levels(nodes, byID) {
		groups := map[key][]*node{}
		for _, n := range level {
			if moments[momentOf(n)] > 1 {
				k := key{first(n.source.Span.ParentSpanID()), n.content()}
				groups[k] = append(groups[k], n)
			}
		}
		copies := copiesBelow(level)
		for _, group := range groups {
			if len(group) < 2 {
				continue
			}
			slices.SortFunc(group, func(a, b *node) int { return bytes.Compare(a.id[:], b.id[:]) })
			byParent := map[pcommon.SpanID][]*node{}
			for _, n := range group {
				parent := n.source.Span.ParentSpanID()
				byParent[parent] = append(byParent[parent], n)
			}
			if len(byParent) == 1 {
				n, stay := group[0], len(group)
				times, told := copies[n.source.Span.ParentSpanID()]
				if !told && byID[n.source.Span.ParentSpanID()] == nil {
					times = everywhere()
				}
				if mayHaveTwin(n) {
					stay = 1
				} else if times > 1 && n.end > n.start && len(group)%times == 0 {
					stay = len(group) / times
				}
				for i, twin := range group[stay:] {
					twinOf[twin.id] = group[i%stay].id
				}
				continue
			}
			// below twins, as many stay as the parent with the most of them has
			var most []*node
			for _, list := range byParent {
				if len(list) > len(most) || len(list) == len(most) && bytes.Compare(list[0].id[:], most[0].id[:]) < 0 {
					most = list
				}
			}
			for _, list := range byParent {
				for i, n := range list {
					if n != most[i] {
						twinOf[n.id] = most[i].id
					}
				}
			}
		}
	}
	for _, n := range nodes {
		if twin, ok := twinOf[n.id]; ok && byID[twin] != nil {
			byID[twin].spans += n.spans
			byID[twin].twins++
		} else {
			kept = append(kept, n)
		}
	}
	return kept, twinOf
}

// twinParents finds twins among the parents that never came: those below which the same spans lie.
func twinParents(nodes []*node, byID map[pcommon.SpanID]*node, twinOf map[pcommon.SpanID]pcommon.SpanID) {
	below := map[pcommon.SpanID][]*node{}
	for _, n := range nodes {
		if parent := n.source.Span.ParentSpanID(); !parent.IsEmpty() && byID[parent] == nil {
			below[parent] = append(below[parent], n)
		}
	}
	if len(below) < 2 {
		return
	}
	parents := map[string][]pcommon.SpanID{}
	for parent, kids := range below {
		var contents []string
		for _, n := range kids {
			d := n.content()
			contents = append(contents, string(d[:]))
		}
		slices.Sort(contents)
		all := strings.Join(contents, "")
		parents[all] = append(parents[all], parent)
	}
	for _, twins := range parents {
		slices.SortFunc(twins, func(a, b pcommon.SpanID) int { return bytes.Compare(a[:], b[:]) })
		if kids := below[twins[0]]; len(kids) > 1 || mayHaveTwin(kids[0]) {
			for _, twin := range twins[1:] {
				twinOf[twin] = twins[0]
			}
		}
	}
}

// copiesBelow tells how often all that may have a twin came below each parent; 0 where some came more often than others.
func copiesBelow(level []*node) map[pcommon.SpanID]int {
	type key struct {
		parent  pcommon.SpanID
		content evidence.Digest
	}
	times := map[key]int{}
	for _, n := range level {
		if parent := n.source.Span.ParentSpanID(); !parent.IsEmpty() && mayHaveTwin(n) {
			times[key{parent, n.content()}]++
		}
	}
	copies := map[pcommon.SpanID]int{}
	for k, n := range times {
		if before, known := copies[k.parent]; known && before != n {
			n = 0
		}
		copies[k.parent] = n
	}
	return copies
}

// copiesOf tells how often everything came that may have a twin; 0 where some came more often than others.
func copiesOf(nodes []*node) (copies int) {
	times := map[evidence.Digest]int{}
	for _, n := range nodes {
		if mayHaveTwin(n) {
			times[n.content()]++
		}
	}
	for _, n := range times {
		if copies > 0 && n != copies {
			return 0
		}
		copies = n
	}
	return copies
}

// mayHaveTwin reports a span that no other one equals by chance: it took time, and is no call of a tool.
func mayHaveTwin(n *node) bool { return n.end > n.start && genai.Read(n.source).Class != genai.Tool }

// levels sorts the nodes by how many spans stand above them.
func levels(nodes []*node, byID map[pcommon.SpanID]*node) [][]*node {
	depths := make(map[*node]int, len(nodes))
	var out [][]*node
	for _, n := range nodes {
		var path []*node
		depth := 0
		for up := n; up != nil; up = byID[up.source.Span.ParentSpanID()] {
			if d, known := depths[up]; known {
				depth = d
				break
			}
			depths[up] = 0 // parents that form a circle end here
			path = append(path, up)
		}
		for _, up := range slices.Backward(path) {
			depth++
			depths[up] = depth
		}
	}
	for _, n := range nodes {
		for len(out) < depths[n] {
			out = append(out, nil)
		}
		out[depths[n]-1] = append(out[depths[n]-1], n)
	}
	return out
}

// redirect makes the log records of twins speak of the span that stays.
func redirect(logs []*genai.Source, twinOf map[pcommon.SpanID]pcommon.SpanID) {
	for _, l := range logs {
		if twin, ok := twinOf[l.Span.ParentSpanID()]; ok {
			record := ptrace.NewSpan()
			l.Span.CopyTo(record)
			record.SetParentSpanID(twin)
			l.Span = record
		}
	}
}
