// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconstruct rebuilds agent runs from evidence. It is pure: the same set of items gives the same tapes, whatever the order,
// the batches and the repetitions in which they came.
//
// The way through, a file each: node (items become observations), tree (parents, orphans), runs (which spans are one run), calls
// (one call per real call), conversation (messages, who asked for which tool, what later requests show), order, build (the tape)
// and grade (what the tape is good for).
package reconstruct

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// node is one span of a trace with what it says and where it hangs.
type node struct {
	id, parent pcommon.SpanID
	start, end uint64 // ns
	digest     evidence.Digest
	span       ptrace.Span
	resource   pcommon.Map
	scope      scopeKey
	obs        *genai.Observation
	rooted     bool // its dialect puts every call below a run span
	items      int  // evidence items that it stands for, log records included
	logs       int
	conflicts  int // other payloads that came under the same id

	up       *node
	kids     []*node
	adopted  bool       // hangs where its times say, its parent never came
	missing  bool       // a parent is named and never came
	messages []*message // see request
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
		if len(o.System) > 0 && !slices.ContainsFunc(o.Request, func(m genai.Message) bool { return m.Role == tape.RoleSystem }) {
			n.messages = append(n.messages, newMessage(genai.Message{Role: tape.RoleSystem, Parts: o.System}))
		}
		for _, m := range o.Request {
			n.messages = append(n.messages, newMessage(m))
		}
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
	return bytes.Compare(a.digest[:], b.digest[:])
}

// load reads the items of one trace. Items under one span id become one node; log records join the span they name. What belongs to
// no span is returned as unassigned.
func load(set *evidence.Set) (nodes []*node, unassigned int) {
	groups := map[pcommon.SpanID][]evidence.Item{}
	logs := map[pcommon.SpanID][]evidence.Item{}
	for _, item := range set.Items() {
		if item.Scope.Scope().Name() == genai.LogScope {
			parent := item.Span.ParentSpanID()
			logs[parent] = append(logs[parent], item)
			continue
		}
		id := item.Span.SpanID()
		if id.IsEmpty() {
			copy(id[:], item.Digest[:]) // malformed, but still a call that took place
		}
		groups[id] = append(groups[id], item)
	}
	for id, items := range groups {
		slices.SortFunc(items, comparePayloads)
		n := newNode(id, items, logs[id])
		delete(logs, id)
		nodes = append(nodes, n)
	}
	for _, items := range logs {
		unassigned += len(items)
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes, unassigned
}

// comparePayloads puts the most telling of several payloads under one id first: an ended one before an open one, then the one
// with more attributes, then by digest.
func comparePayloads(a, b evidence.Item) int {
	if c := -cmp.Compare(min(a.Span.EndTimestamp(), 1), min(b.Span.EndTimestamp(), 1)); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Span.Attributes().Len(), a.Span.Attributes().Len()); c != 0 {
		return c
	}
	return bytes.Compare(a.Digest[:], b.Digest[:])
}

func newNode(id pcommon.SpanID, items []evidence.Item, logs []evidence.Item) *node {
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
		}
	}
	n := &node{
		id:        id,
		parent:    span.ParentSpanID(),
		start:     uint64(span.StartTimestamp()),
		end:       uint64(span.EndTimestamp()),
		digest:    first.Digest,
		span:      span,
		resource:  first.Resource.Resource().Attributes(),
		scope:     scopeKey{first.Scope.Scope().Name(), first.Scope.Scope().Version()},
		items:     len(items) + len(logs),
		logs:      len(logs),
		conflicts: len(items) - 1,
	}
	source := &genai.Source{Resource: n.resource, ScopeName: n.scope.name, ScopeVersion: n.scope.version, Span: span}
	slices.SortFunc(logs, func(a, b evidence.Item) int {
		if c := cmp.Compare(a.Span.StartTimestamp(), b.Span.StartTimestamp()); c != 0 {
			return c
		}
		return bytes.Compare(a.Digest[:], b.Digest[:])
	})
	for _, l := range logs {
		source.Logs = append(source.Logs, l.Span)
	}
	n.obs = genai.Read(source)
	n.rooted = genai.IsRooted(n.scope.name, span)
	if n.conflicts > 0 {
		n.obs.Notes = append(n.obs.Notes, genai.Note{Code: tape.CodeConflictingSpan, Detail: fmt.Sprintf("span %s came with %d different payloads", n.spanID(), len(items))})
	}
	if span.SpanID().IsEmpty() {
		n.obs.Notes = append(n.obs.Notes, genai.Note{Code: tape.CodeInvalidItem, Detail: "a span has no id"})
	}
	if n.end < n.start {
		if n.end != 0 {
			n.obs.Notes = append(n.obs.Notes, genai.Note{Code: tape.CodeInvalidItem, Detail: fmt.Sprintf("span %s ends before it starts", n.spanID())})
		}
		n.end = n.start
	}
	return n
}
