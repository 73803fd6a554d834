// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// Twins are spans that say the same to the nanosecond and differ in nothing but their ids. A program that
// starts its instrumentation twice, or a bridge between two libraries, reports each span once more, in a tree
// of its own.

// twinning is what the search for twins knows of a trace.
type twinning struct {
	byID       map[pcommon.SpanID]*Node
	moments    map[moment]int // how many spans have it
	standsFor  map[pcommon.SpanID]pcommon.SpanID
	everywhere func() int // how often everything of the trace came that may have a twin, see copiesOf
}

// moment is when a span took place, and its name: what tells most spans apart.
type moment struct {
	start, end uint64
	name       string
}

// twinKey is what twins have in common: the parent, or the one that stands for it, and all that they say.
type twinKey struct {
	parent  pcommon.SpanID
	content evidence.Digest
}

func momentOf(n *Node) moment { return moment{n.Start, n.End, n.Source.Span.Name()} }

func parentOf(n *Node) pcommon.SpanID { return n.Source.Span.ParentSpanID() }

// dropTwins leaves one span of each set of twins, the one with the lowest id.
//
// Needs: spans with one content that name the same parent, or parents that are twins themselves.
// Refuses: equal tool calls below one parent, unless everything else below it came as many times. Where
// nothing else is known of the parent, all of the trace has to have done so. A clock that counts milliseconds
// writes such calls too.
// Seen in: programs that start their instrumentation twice.
func dropTwins(nodes []*Node, standsFor map[pcommon.SpanID]pcommon.SpanID) []*Node {
	if !anyAtOnce(nodes) {
		return nodes
	}
	moments := map[moment]int{}
	for _, n := range nodes {
		moments[momentOf(n)]++
	}
	if len(moments) == len(nodes) {
		return nodes
	}
	t := &twinning{ByID(nodes), moments, standsFor, sync.OnceValue(func() int {
		return copiesOf(nodes, func(*Node) (all struct{}, counts bool) { return all, true })[struct{}{}]
	})}
	t.twinParents(nodes)
	for _, level := range t.levels(nodes) {
		copies := copiesOf(level, func(n *Node) (pcommon.SpanID, bool) { return parentOf(n), !parentOf(n).IsEmpty() })
		for _, group := range t.alike(level) {
			t.dropAlike(group, copies)
		}
	}
	return Filter(nodes, func(n *Node) bool {
		twin := t.byID[standsFor[n.ID]]
		if twin != nil {
			twin.Spans += n.Spans
			twin.twins++
		}
		return twin == nil
	})
}

// anyAtOnce reports two spans of one time. The spans are in order.
func anyAtOnce(nodes []*Node) bool {
	for i, n := range nodes[min(1, len(nodes)):] {
		if before := nodes[i]; before.Start == n.Start && before.End == n.End {
			return true
		}
	}
	return false
}

// alike groups the spans of one content below one parent, or below parents that are twins.
func (t *twinning) alike(level []*Node) map[twinKey][]*Node {
	groups := map[twinKey][]*Node{}
	for _, n := range level {
		if t.moments[momentOf(n)] > 1 {
			k := twinKey{cmp.Or(t.standsFor[parentOf(n)], parentOf(n)), n.content()}
			groups[k] = append(groups[k], n)
		}
	}
	return groups
}

// dropAlike finds the twins in a group. Below twins, as many spans stay as the parent with the most of them
// has.
func (t *twinning) dropAlike(group []*Node, copies map[pcommon.SpanID]int) {
	slices.SortFunc(group, compareIDs)
	byParent := map[pcommon.SpanID][]*Node{}
	for _, n := range group {
		byParent[parentOf(n)] = append(byParent[parentOf(n)], n)
	}
	lists := slices.Collect(maps.Values(byParent))
	stay := slices.MaxFunc(lists, func(a, b []*Node) int { return cmp.Or(cmp.Compare(len(a), len(b)), compareIDs(b[0], a[0])) })
	if len(lists) == 1 {
		stay = stay[:t.staying(group, copies)]
	}
	for _, list := range lists {
		for i, n := range list {
			if by := stay[i%len(stay)]; by != n {
				t.standsFor[n.ID] = by.ID
			}
		}
	}
}

// staying is how many of the equal spans below one parent are no twins.
func (t *twinning) staying(group []*Node, copies map[pcommon.SpanID]int) int {
	if mayHaveTwin(group[0]) {
		return 1
	}
	parent := parentOf(group[0])
	times, told := copies[parent]
	if !told && t.byID[parent] == nil {
		times = t.everywhere()
	}
	if times > 1 && group[0].End > group[0].Start && len(group)%times == 0 {
		return len(group) / times
	}
	return len(group)
}

func compareIDs(a, b *Node) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// twinParents finds twins among the parents that never came: those below which the same spans lie.
func (t *twinning) twinParents(nodes []*Node) {
	below := map[pcommon.SpanID][]*Node{}
	for _, n := range nodes {
		if parent := parentOf(n); !parent.IsEmpty() && t.byID[parent] == nil {
			below[parent] = append(below[parent], n)
		}
	}
	if len(below) < 2 {
		return
	}
	parents := map[string][]pcommon.SpanID{} // by the contents of all spans below
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
				t.standsFor[twin] = twins[0]
			}
		}
	}
}

// copiesOf tells how often all spans of each group came that may have a twin; 0 where some came more often
// than others.
func copiesOf[K comparable](nodes []*Node, groupOf func(*Node) (group K, counts bool)) map[K]int {
	type key struct {
		group   K
		content evidence.Digest
	}
	times := map[key]int{}
	for _, n := range nodes {
		if group, counts := groupOf(n); counts && mayHaveTwin(n) {
			times[key{group, n.content()}]++
		}
	}
	copies := map[K]int{}
	for k, n := range times {
		if before, known := copies[k.group]; known && before != n {
			n = 0
		}
		copies[k.group] = n
	}
	return copies
}

// mayHaveTwin reports a span that no other one equals by chance: it took time, and is no call of a tool.
func mayHaveTwin(n *Node) bool { return n.End > n.Start && genai.Read(n.Source).Class != genai.Tool }

// levels sorts the nodes by how many spans stand above them. Parents that form a circle count none.
func (t *twinning) levels(nodes []*Node) (levels [][]*Node) {
	depths := make(map[*Node]int, len(nodes))
	var depthOf func(n *Node) int
	depthOf = func(n *Node) int {
		if _, known := depths[n]; n != nil && !known {
			depths[n] = 0
			depths[n] = depthOf(t.byID[parentOf(n)]) + 1
		}
		return depths[n]
	}
	for _, n := range nodes {
		depth := depthOf(n)
		for len(levels) < depth {
			levels = append(levels, nil)
		}
		levels[depth-1] = append(levels[depth-1], n)
	}
	return levels
}
