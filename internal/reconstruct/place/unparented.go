// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// belongs reports whether a span that names no parent can belong to c by what both say. Runs that took place
// at the same time lie in each other's time as well. So a call was given what the agent around it was asked,
// or what the tool around it was called with, and an agent holds none of its own name that was given the
// same: these are attempts.
func belongs(n, c *spantree.Node) bool {
	var told []genai.Message
	switch {
	case c.Obs.Class == genai.Model:
		return n.Obs.Class == genai.Model && (layers(c, n) || spantree.SameAnswer(c, n) && spantree.LoopsOver(c, n))
	case n.Obs.Class == genai.Agent:
		told = n.Obs.Input
	case n.Obs.Class == genai.Model:
		told = n.Obs.Request
	}
	text := chat.LastUserText(told)
	if text == "" {
		return true
	}
	if n.Obs.Class == genai.Agent && c.Obs.Class == genai.Agent && c.Span.Name() == n.Span.Name() && text == chat.LastUserText(c.Obs.Input) {
		return false
	}
	return slices.ContainsFunc(told, func(m genai.Message) bool {
		text := strings.TrimSpace(chat.PartsText(m.Parts))
		if m.Role != tape.RoleUser || text == "" {
			return false
		}
		if c.Obs.Class == genai.Tool {
			return !c.Obs.Args.Present() || mentions(c.Obs.Args.Value, text)
		}
		return oneHolds(text, strings.TrimSpace(chat.LastUserText(c.Obs.Input)))
	})
}

// oneHolds reports that one of two texts stands in the other.
func oneHolds(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }

// mentions reports a text in a value that stands in the other text, or the other way round.
func mentions(v exactjson.Value, text string) bool {
	said := strings.TrimSpace(v.Str())
	return said != "" && oneHolds(text, said) ||
		slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return mentions(m.Value, text) })
}

// layers reports two spans of one model call, of a package and of what it is built on: under different names,
// and nothing in them differs.
func layers(outer, inner *spantree.Node) bool {
	a, b := outer.Obs, inner.Obs
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	if outer.Scope == inner.Scope && outer.Span.Name() == inner.Span.Name() || differ(a.ResponseID, b.ResponseID) || differ(a.Model, b.Model) {
		return false
	}
	x, y := outer.Request(), inner.Request()
	if len(x) > 0 && len(y) > 0 && (len(x) != len(y) || chat.CommonPrefix(x, y) < len(x)) {
		return false
	}
	if len(a.Response) == 0 || len(b.Response) == 0 {
		return true
	}
	p, q := chat.NewMessage(a.Response[0]), chat.NewMessage(b.Response[0])
	return !differ(chat.TextOf(p), chat.TextOf(q)) && (!chat.HasToolCall(p) || !chat.HasToolCall(q) || chat.RepeatsCalls(p, []*chat.Message{q}))
}
