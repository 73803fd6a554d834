// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// mergeRule makes one of several spans that report the same. The spans are in order. It notes in standsFor
// which span speaks for one that is gone, or for a parent that never came.
type mergeRule struct {
	id    rule.ID
	merge func(nodes []*Node, standsFor map[pcommon.SpanID]pcommon.SpanID) []*Node
}

var mergeRules = []mergeRule{
	{"read/twins", dropTwins},
	{"read/event-spans", joinEvents},
}

// Load reads the items of one trace. Items under one span id become one node. Log records join the span they
// speak of; calls and runs that exist in log records only become nodes of their own. unassigned counts the
// records that speak of nothing.
func Load(run *rule.Run, set *evidence.Set) (nodes []*Node, unassigned int) {
	nodes, logs := nodesOf(set)
	slices.SortFunc(nodes, CompareNodes)
	standsFor := map[pcommon.SpanID]pcommon.SpanID{}
	for _, r := range mergeRules {
		if run.Leaves(r.id) {
			continue
		}
		before := len(nodes)
		if nodes = r.merge(nodes, standsFor); len(nodes) < before {
			run.Mark(r.id, set)
		}
	}
	redirect(logs, standsFor)
	slices.SortFunc(nodes, CompareNodes)
	sources := make([]*genai.Source, len(nodes))
	for i, n := range nodes {
		sources[i] = n.Source
	}
	markCuts(nodes, logs)
	alone, rest := genai.Arrange(sources, logs)
	for _, s := range alone {
		nodes = append(nodes, &Node{ID: s.Span.SpanID(), Records: Records{Source: s}})
	}
	made, lists := chat.NewMessages(len(nodes)/2), &decode.Lists{}
	for _, n := range nodes {
		n.Made = made
		n.Source.Lists = lists
		n.read()
		n.Parent = cmp.Or(standsFor[n.Parent], n.Parent)
	}
	slices.SortFunc(nodes, CompareNodes)
	return nodes, len(rest)
}

// nodesOf makes a node of the items of each span. A span without an id is malformed, but still a call that
// took place. Records of verdicts tell nothing of what took place.
func nodesOf(set *evidence.Set) (nodes []*Node, logs []*genai.Source) {
	items := set.View()
	at := make(map[pcommon.SpanID]int, len(items)) // place of the group of an id
	groups := make([]payloads, 0, len(items))
	for i, item := range items {
		if genai.IsVerdict(item.Scope.Scope().Name(), item.Span) {
			continue
		}
		if item.Scope.Scope().Name() == genai.LogScope {
			logs = append(logs, newSource(item))
			continue
		}
		id := item.Span.SpanID()
		if id.IsEmpty() {
			d := item.Digest()
			copy(id[:], d[:])
		}
		if k, known := at[id]; known {
			groups[k].items = append(groups[k].items, item)
		} else {
			at[id] = len(groups)
			groups = append(groups, payloads{id, items[i : i+1 : i+1]})
		}
	}
	made := make([]struct {
		Node
		source genai.Source
	}, len(groups))
	nodes = make([]*Node, len(groups))
	for i, g := range groups {
		if len(g.items) > 1 {
			slices.SortFunc(g.items, comparePayloads)
		}
		nodes[i] = &made[i].Node
		nodes[i].load(g, &made[i].source)
	}
	return nodes, logs
}

// payloads are what came under one id.
type payloads struct {
	id    pcommon.SpanID
	items []evidence.Item
}

// redirect makes the log records of spans that are gone speak of those that speak for them.
func redirect(logs []*genai.Source, standsFor map[pcommon.SpanID]pcommon.SpanID) {
	for _, l := range logs {
		if id, gone := standsFor[l.Span.ParentSpanID()]; gone {
			record := ptrace.NewSpan()
			l.Span.CopyTo(record)
			record.SetParentSpanID(id)
			l.Span = record
		}
	}
}

// markCuts marks the texts that a limit of a program cut.
func markCuts(nodes []*Node, logs []*genai.Source) {
	all := make([]*genai.Source, 0, len(nodes)+len(logs))
	for _, n := range nodes {
		all = append(append(all, n.Source), n.sources...)
	}
	all = append(all, logs...)
	var limits genai.Limits
	for _, s := range all {
		limits.Add(s)
	}
	for _, s := range all {
		limits.Mark(s)
	}
}

func newSource(item evidence.Item) *genai.Source {
	s := sourceOf(item, item.Span)
	return &s
}

func sourceOf(item evidence.Item, span ptrace.Span) genai.Source {
	scope := item.Scope.Scope()
	return genai.Source{Resource: item.Resource.Resource().Attributes(), ScopeName: scope.Name(), ScopeVersion: scope.Version(), Span: span}
}

// comparePayloads puts the most telling of several payloads under one id first: the one that ended later,
// then the one with more attributes, then by digest. SettlePayloads decides later on the arguments and
// results of a tool call.
func comparePayloads(a, b evidence.Item) int {
	if c := cmp.Or(cmp.Compare(b.Span.EndTimestamp(), a.Span.EndTimestamp()), cmp.Compare(b.Span.Attributes().Len(), a.Span.Attributes().Len())); c != 0 {
		return c
	}
	x, y := a.Digest(), b.Digest()
	return bytes.Compare(x[:], y[:])
}

// load makes a node, and its source, of the payloads that came under one id. The first speaks, the others add
// what it lacks.
func (n *Node) load(p payloads, source *genai.Source) {
	items, first := p.items, &p.items[0]
	span := first.Span
	if len(items) > 1 {
		span = ptrace.NewSpan()
		first.Span.CopyTo(span)
		for _, other := range items[1:] {
			addAttributes(span, other.Span)
			spandigest.AddMissing(span, other.Span)
		}
	}
	*source = sourceOf(*first, span)
	*n = Node{
		ID:      p.id,
		Start:   uint64(span.StartTimestamp()),
		End:     uint64(span.EndTimestamp()),
		Records: Records{item: first, Source: source, Spans: len(items), conflicts: conflictsOf(items)},
	}
	if n.conflicts > 0 {
		for _, item := range items {
			n.sources = append(n.sources, newSource(item))
		}
	}
}

// addAttributes gives a span the attributes of another one that it lacks.
func addAttributes(span, other ptrace.Span) {
	for k, v := range other.Attributes().All() {
		if _, there := span.Attributes().Get(k); !there {
			v.CopyTo(span.Attributes().PutEmpty(k))
		}
	}
}

// conflictsOf counts the payloads under one id that disagree with those before them. Payloads that differ
// only in that one holds the content to which another refers do not: that is how content that was fetched
// later comes in.
func conflictsOf(items []evidence.Item) int {
	if len(items) == 1 {
		return 0
	}
	type contents map[string]pcommon.Value
	payloads := map[evidence.Digest]contents{}
	conflicts := -1 // the first is none
	for _, item := range items {
		attributes, fetched := item.Span.Attributes(), contents{}
		for _, name := range dialect.Referable {
			if v, there := attributes.Get(name); there && dialect.Reference(attributes, name) != "" {
				fetched[name] = v
			}
		}
		digest := item.DigestWithout(slices.Collect(maps.Keys(fetched)))
		known, disagrees := payloads[digest], payloads[digest] == nil
		if disagrees {
			payloads[digest] = fetched
		}
		for name, v := range fetched {
			if other, there := known[name]; there {
				disagrees = disagrees || !v.Equal(other)
			} else if known != nil {
				known[name] = v
			}
		}
		if disagrees {
			conflicts++
		}
	}
	return conflicts
}

// read takes what the span and its log records say.
func (n *Node) read() {
	s := n.Source
	span := s.Span
	n.Span, n.Resource, n.Scope = span, s.Resource, ScopeKey{s.ScopeName, s.ScopeVersion}
	n.Parent = span.ParentSpanID()
	n.Start, n.End = uint64(span.StartTimestamp()), uint64(span.EndTimestamp())
	n.Logs = len(s.Logs)
	o := genai.Read(s)
	n.Rooted = genai.Rooted(s) // of the source as Read leaves it
	if o.Class == genai.Tool {
		for _, source := range n.sources {
			n.Payloads = append(n.Payloads, Payload{genai.Read(source), uint64(source.Span.EndTimestamp())})
		}
	}
	var notes []genai.Note
	note := func(code tape.Code, detail string) { notes = append(notes, genai.Note{Code: code, Detail: detail}) }
	if n.conflicts > 0 {
		note(tape.CodeConflictingSpan, fmt.Sprintf("span %s came with %d different payloads", n.SpanID(), n.conflicts+1))
	}
	if n.twins > 0 {
		note(tape.CodeDuplicateReport, "several spans report this call")
	}
	if span.SpanID().IsEmpty() {
		note(tape.CodeInvalidItem, "a span has no id")
	}
	if n.End < n.Start && n.End != 0 {
		note(tape.CodeInvalidItem, fmt.Sprintf("span %s ends before it starts", n.SpanID()))
	}
	n.End = max(n.End, n.Start)
	if len(notes) > 0 {
		o = o.With(func(d *genai.Draft) { d.Notes = append(slices.Clip(d.Notes), notes...) })
	}
	n.Obs = o
}
