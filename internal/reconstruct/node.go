// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconstruct rebuilds agent runs from evidence. It is pure: the same set of items gives the same tapes. The order of the
// items, their batches and their repetitions change nothing.
//
// The steps follow each other, each in a file:
//
//   - node: items become observations
//   - twins: spans that came twice become one
//   - tree: parents, orphans
//   - runs: which spans are one run
//   - stitch: which parts are one run by what they say (spine, asked, steps)
//   - calls: one call for each real call
//   - conversation: messages, which response asked for which tool call, what later requests show (responses of models, shown results)
//   - order, build: the tape
//   - ending: how the run ended
//   - grade: what the tape is good for
package reconstruct

import (
	"bytes"
	"cmp"
	"encoding/hex"
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
	"github.com/tapedeck/tapedeck/tape"
)

// node is one span of a trace with what it says and where it hangs.
type node struct {
	id, parent pcommon.SpanID
	start, end uint64        // ns
	item       evidence.Item // the most telling one; none of what exists in log records only
	span       ptrace.Span
	resource   pcommon.Map
	scope      scopeKey
	obs        *genai.Observation
	rooted     bool // its dialect puts every call below a run span
	source     *genai.Source
	spans      int             // evidence items that are spans, 0 for what exists in log records only
	logs       int             // evidence items that are log records
	sources    []*genai.Source // of each payload, where they disagree
	payloads   []payload       // what each of them says, of a tool call
	conflicts  int             // payloads under the same id that disagree, see conflictsOf
	said       evidence.Digest // see content
	twins      int             // further spans that say the same, see dropTwins
	reports    *node           // the span in another trace that tells the same model call, see byTwin

	up       *node
	kids     []*node
	adopted  bool       // hangs where its times say, its parent never came
	missing  bool       // a parent is named and never came
	heldBy   *node      // the span of an agent on which this model call was written, see giveHeld
	sole     bool       // it names no parent, as no other span of its trace
	messages []*message // see request
	followed []*message // what stands in the recorded request from the answer on, see splitAtAnswer
	made     *messages  // of all nodes of the trace
	omits    bool       // its request holds messages of which the place alone is known
}

type scopeKey struct{ name, version string }

func (n *node) spanID() string { return hex.EncodeToString(n.id[:]) }

// within reports whether n lies in the time of m.
func (n *node) within(m *node) bool { return m.start <= n.start && n.end <= m.end }

// request returns the messages that a model call sent, the system prompt first where it was recorded apart.
func (n *node) request() []*message {
	if n.messages == nil {
		o := n.obs
		n.messages = make([]*message, 0, len(o.Request)+1)
		// Claude Code sends instructions apart, and others between its messages.
		if len(o.System) > 0 && (len(o.Request) == 0 || o.Request[0].Role != tape.RoleSystem) {
			n.messages = append(n.messages, n.made.message(genai.Message{Role: tape.RoleSystem, Parts: o.System}))
		}
		for i := range o.Request {
			n.omits = n.omits || o.Request[i].Omitted
			n.messages = append(n.messages, n.made.message(o.Request[i]))
		}
		n.messages, n.followed = splitAtAnswer(n.messages, o.Response)
	}
	return n.messages
}

func compareNodes(a, b *node) int {
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c
	}
	if c := cmp.Compare(b.end, a.end); c != 0 { // the longer one encloses
		return c
	}
	if c := bytes.Compare(a.id[:], b.id[:]); c != 0 {
		return c
	}
	if a == b {
		return 0
	}
	x, y := a.digest(), b.digest()
	return bytes.Compare(x[:], y[:])
}

// digest is that of the item, zero for what exists in log records only.
func (n *node) digest() (d evidence.Digest) {
	if n.spans > 0 {
		d = n.item.Digest()
	}
	return d
}

// content returns what the item says, whatever it is called and wherever it hangs.
func (n *node) content() evidence.Digest {
	if n.said == (evidence.Digest{}) {
		n.said = n.item.ContentDigest()
	}
	return n.said
}

// load reads the items of one trace. Items under one span id become one node. Log records join the span they speak of; calls and runs
// that exist in log records only become nodes of their own. How many records speak of nothing is returned as unassigned.
func load(set *evidence.Set) (nodes []*node, unassigned int) {
	groups := map[pcommon.SpanID][]evidence.Item{}
	var logs []*genai.Source
	for _, item := range set.Items() {
		if item.Scope.Scope().Name() == genai.LogScope {
			logs = append(logs, sourceOf(item, item.Span))
			continue
		}
		id := item.Span.SpanID()
		if id.IsEmpty() {
			d := item.Digest()
			copy(id[:], d[:]) // malformed, but still a call that took place
		}
		groups[id] = append(groups[id], item)
	}
	for id, items := range groups {
		slices.SortFunc(items, comparePayloads)
		nodes = append(nodes, newNode(id, items))
	}
	nodes, twinOf := dropTwins(nodes)
	nodes, twinOf = joinEvents(nodes, twinOf)
	redirect(logs, twinOf)
	slices.SortFunc(nodes, compareNodes)
	sources := make([]*genai.Source, len(nodes))
	for i, n := range nodes {
		sources[i] = n.source
	}
	markCuts(nodes, logs)
	alone, rest := genai.Arrange(sources, logs)
	for _, s := range alone {
		n := &node{id: s.Span.SpanID(), source: s}
		nodes = append(nodes, n)
	}
	made, lists := newMessages(), &decode.Lists{}
	for _, n := range nodes {
		n.made = made
		n.source.Lists = lists
		n.read()
		if twin, ok := twinOf[n.parent]; ok {
			n.parent = twin
		}
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes, len(rest)
}

// markCuts marks the texts that a limit of a program cut.
func markCuts(nodes []*node, logs []*genai.Source) {
	var limits genai.Limits
	each := func(f func(*genai.Source)) {
		for _, n := range nodes {
			f(n.source)
			for _, s := range n.sources {
				f(s)
			}
		}
		for _, s := range logs {
			f(s)
		}
	}
	each(limits.Add)
	each(limits.Mark)
}

func sourceOf(item evidence.Item, span ptrace.Span) *genai.Source {
	scope := item.Scope.Scope()
	return &genai.Source{Resource: item.Resource.Resource().Attributes(), ScopeName: scope.Name(), ScopeVersion: scope.Version(), Span: span}
}

// comparePayloads puts the most telling of several payloads under one id first: the one that ended later, then the one with more attributes,
// then by digest. settlePayloads decides later on the arguments and results of a tool call.
func comparePayloads(a, b evidence.Item) int {
	if c := cmp.Compare(b.Span.EndTimestamp(), a.Span.EndTimestamp()); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Span.Attributes().Len(), a.Span.Attributes().Len()); c != 0 {
		return c
	}
	x, y := a.Digest(), b.Digest()
	return bytes.Compare(x[:], y[:])
}

func newNode(id pcommon.SpanID, items []evidence.Item) *node {
	first := items[0]
	span := first.Span
	if len(items) > 1 {
		span = ptrace.NewSpan()
		first.Span.CopyTo(span)
		for _, other := range items[1:] {
			for k, v := range other.Span.Attributes().All() {
				if _, there := span.Attributes().Get(k); !there {
					v.CopyTo(span.Attributes().PutEmpty(k))
				}
			}
			spandigest.AddMissing(span, other.Span)
		}
	}
	n := &node{
		id:        id,
		start:     uint64(span.StartTimestamp()),
		end:       uint64(span.EndTimestamp()),
		item:      first,
		source:    sourceOf(first, span),
		spans:     len(items),
		conflicts: conflictsOf(items),
	}
	if n.conflicts > 0 {
		for _, item := range items {
			n.sources = append(n.sources, sourceOf(item, item.Span))
		}
	}
	return n
}

// conflictsOf counts the payloads under one id that disagree with those before them. Payloads that differ only in that one holds the
// content to which another refers do not: that is how content that was fetched later comes in.
func conflictsOf(items []evidence.Item) int {
	if len(items) == 1 {
		return 0
	}
	type contents map[string]pcommon.Value
	payloads := map[evidence.Digest]contents{}
	conflicts := -1 // the first is none
	for _, item := range items {
		fetched := contents{}
		for _, name := range dialect.Referable {
			if v, there := item.Span.Attributes().Get(name); there && dialect.Reference(item.Span.Attributes(), name) != "" {
				fetched[name] = v
			}
		}
		digest := item.DigestWithout(slices.Collect(maps.Keys(fetched)))
		known, there := payloads[digest]
		if !there {
			payloads[digest] = fetched
			conflicts++
			continue
		}
		disagrees := false
		for name, v := range fetched {
			if other, there := known[name]; there {
				disagrees = disagrees || !v.Equal(other)
			} else {
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
func (n *node) read() {
	s := n.source
	span := s.Span
	n.span, n.resource, n.scope = span, s.Resource, scopeKey{s.ScopeName, s.ScopeVersion}
	n.parent = span.ParentSpanID()
	n.start, n.end = uint64(span.StartTimestamp()), uint64(span.EndTimestamp())
	n.logs = len(s.Logs)
	n.obs = genai.Read(s)
	if n.obs.Class == genai.Tool {
		for _, source := range n.sources {
			n.payloads = append(n.payloads, payload{genai.Read(source), uint64(source.Span.EndTimestamp())})
		}
	}
	n.rooted = genai.Rooted(s)
	note := func(code tape.Code, detail string) {
		n.obs.Notes = append(n.obs.Notes, genai.Note{Code: code, Detail: detail})
	}
	if n.conflicts > 0 {
		note(tape.CodeConflictingSpan, fmt.Sprintf("span %s came with %d different payloads", n.spanID(), n.conflicts+1))
	}
	if n.twins > 0 {
		note(tape.CodeDuplicateReport, "several spans report this call")
	}
	if span.SpanID().IsEmpty() {
		note(tape.CodeInvalidItem, "a span has no id")
	}
	if n.end < n.start {
		if n.end != 0 {
			note(tape.CodeInvalidItem, fmt.Sprintf("span %s ends before it starts", n.spanID()))
		}
		n.end = n.start
	}
}
