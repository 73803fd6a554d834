// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file reads what an application wrote of its own functions around a run, and inside its tools, where the instrumentation of the agent recorded no content.

// FunctionAround is the innermost function of the program that holds this run and no other: everything of an agent below it belongs to the run. It is nil where none was recorded.
func (f *Fragment) FunctionAround() *spantree.Node {
	if len(f.Heads) == 0 {
		return nil
	}
	parts := make(map[*spantree.Node]bool, len(f.Heads))
	for _, h := range f.Heads {
		parts[h] = true
	}
	n := f.Heads[0]
	for steps := 0; n != nil && steps < spantree.MaxAbove; steps++ {
		if n.Obs.Called != nil && n.Obs.Class == genai.Structure && isAll(n, parts) {
			return n
		}
		n = n.Up
	}
	return nil
}

// isAll reports a span below which, or as which, every part of a run lies, and no call or agent that is no part of it. What lost the context of its trace lies in its time.
func isAll(n *spantree.Node, parts map[*spantree.Node]bool) bool {
	found, only := 0, true
	spantree.Walk(n, func(m *spantree.Node) bool {
		if parts[m] {
			found++
			return false
		}
		only = only && !spantree.IsCall(m) && m.Obs.Class != genai.Agent
		return only
	})
	if !only || found == len(parts) {
		return only
	}
	for h := range parts {
		if h != n && !spantree.Below(h, n) && (h.Span.TraceID() == n.Span.TraceID() || !h.Within(n)) {
			return false
		}
	}
	return true
}

// TextOfFunction is a text that a function took or returned as a whole, "" for anything else: a structure, as JSON too, may be what the program makes of a question or an answer.
func TextOfFunction(v exactjson.Value) string {
	text := v.Str()
	if inner, ok := chat.Decoded(v); ok && inner.Kind() >= exactjson.Array || strings.TrimSpace(text) == "" || text == "None" {
		return ""
	}
	return text
}

// QuestionTo is the text that a function was called with, by itself or as its only argument under a name that tells a question.
func QuestionTo(n *spantree.Node) string {
	in := n.Obs.Called.In
	if n.Obs.Called.InCut {
		return ""
	}
	if members := in.Members(); len(members) == 1 && slices.Contains(chat.TaskNames, members[0].Name) {
		in = members[0].Value
	}
	return TextOfFunction(in)
}
