// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file reads what an application wrote of its own functions around a run, and inside its tools, where the instrumentation of the agent recorded no content.

// functionAround is the innermost function of the program that holds this run and no other: everything of an agent below it belongs to the run. It is nil where none was recorded.
func (f *fragment) functionAround() *node {
	if len(f.heads) == 0 {
		return nil
	}
	parts := make(map[*node]bool, len(f.heads))
	for _, h := range f.heads {
		parts[h] = true
	}
	n := f.heads[0]
	for steps := 0; n != nil && steps < maxAbove; steps++ {
		if n.obs.Called != nil && n.obs.Class == genai.Structure && isAll(n, parts) {
			return n
		}
		n = n.up
	}
	return nil
}

// isAll reports a span below which, or as which, every part of a run lies, and no call or agent that is no part of it. What lost the context of its trace lies in its time.
func isAll(n *node, parts map[*node]bool) bool {
	found, only := 0, true
	walk(n, func(m *node) bool {
		if parts[m] {
			found++
			return false
		}
		only = only && !isCall(m) && m.obs.Class != genai.Agent
		return only
	})
	if !only || found == len(parts) {
		return only
	}
	for h := range parts {
		if h != n && !below(h, n) && (h.span.TraceID() == n.span.TraceID() || !h.within(n)) {
			return false
		}
	}
	return true
}

// textOfFunction is a text that a function took or returned as a whole, "" for anything else: a structure, as JSON too, may be what the program makes of a question or an answer.
func textOfFunction(v exactjson.Value) string {
	text := v.Str()
	if inner, ok := decoded(v); ok && inner.Kind() >= exactjson.Array || strings.TrimSpace(text) == "" || text == "None" {
		return ""
	}
	return text
}

// questionTo is the text that a function was called with, by itself or as its only argument under a name that tells a question.
func questionTo(n *node) string {
	in := n.obs.Called.In
	if n.obs.Called.InCut {
		return ""
	}
	if members := in.Members(); len(members) == 1 && slices.Contains(taskNames, members[0].Name) {
		in = members[0].Value
	}
	return textOfFunction(in)
}

// askedAround is the text that the function around the run was called with.
func (b *builder) askedAround() string {
	if n := b.fragment.functionAround(); n != nil {
		return questionTo(n)
	}
	return ""
}

// answeredAround is the text that the function around the run returned.
func (b *builder) answeredAround() string {
	if n := b.fragment.functionAround(); n != nil && !n.obs.Failed && !n.obs.StatusError && !n.obs.Called.OutCut {
		return textOfFunction(n.obs.Called.Out)
	}
	return ""
}

// tellsTool gives a tool call of which the instrumentation recorded no content what the program wrote of the function that it runs: a span right inside that of the call, with its name.
func (t *call) tellsTool(n *node) {
	o := t.obs
	if n.obs.Called.Name != o.Name || o.Args.Present() || o.Result.Present() || o.Args.Label != "" || o.Result.Label != "" || !slices.Contains(t.nodes, n.up) {
		return
	}
	inner := n.obs.AsTool()
	if inner.Args.Value.Kind() != exactjson.Object { // of one argument by position: its name is not known
		inner.Args = genai.Content{}
	}
	told := *n
	told.obs = inner
	t.join(&told)
}
