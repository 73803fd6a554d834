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

// FunctionAround is the innermost function of the program that holds this run and no other: everything of an
// agent below it belongs to the run. It is nil where none was recorded.
//
// Needs: a span of the program's own function, as a decorator writes it.
// Refuses: a function with a call or an agent below it that is no part of the run.
// Seen in: applications that instrument their own functions around an agent of which no content was recorded.
func (f *Fragment) FunctionAround() *spantree.Node {
	if len(f.Heads) == 0 {
		return nil
	}
	steps := 0
	for n := range spantree.Upward(f.Heads[0], nil) {
		if steps++; steps > spantree.MaxAbove {
			return nil
		}
		if n.Obs.Called != nil && n.Obs.Class == genai.Structure && f.isAllOf(n) {
			return n
		}
	}
	return nil
}

// isAllOf reports a span below which, or as which, every part of a run lies, and no call or agent that is no
// part of it. What lost the context of its trace lies in its time.
func (f *Fragment) isAllOf(n *spantree.Node) bool {
	found, only := make(map[*spantree.Node]bool, len(f.Heads)), true
	for _, h := range f.Heads {
		found[h] = false
	}
	spantree.Walk(n, func(m *spantree.Node) bool {
		if _, part := found[m]; part {
			found[m] = true
			return false
		}
		only = only && !spantree.IsCall(m) && !spantree.IsAgent(m)
		return only
	})
	return only && !slices.ContainsFunc(f.Heads, func(h *spantree.Node) bool {
		return !found[h] && !spantree.Below(h, n) && (h.Span.TraceID() == n.Span.TraceID() || !h.Within(n))
	})
}

// TextOfFunction is a text that a function took or returned as a whole. A structure, as JSON too, may be what
// the program makes of a question or an answer.
func TextOfFunction(v exactjson.Value) string {
	text := v.Str()
	if inner, ok := chat.Decoded(v); ok && inner.Kind() >= exactjson.Array || strings.TrimSpace(text) == "" || text == "None" {
		return ""
	}
	return text
}

// QuestionTo is the text that a function was called with, by itself or as its only argument under a name that
// tells a question.
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
