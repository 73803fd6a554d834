// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// belongs reports whether a span that names no parent can belong to c by what both say. Runs that took place at the same
// time lie in each other's time as well. So a call was given what the agent around it was asked, or what the tool around
// it was called with, and an agent holds none of its own name that was given the same: these are attempts.
func belongs(n, c *node) bool {
	var told []genai.Message
	switch {
	case c.obs.Class == genai.Model:
		return n.obs.Class == genai.Model && (layers(c, n) || sameAnswer(c, n) && loopsOver(c, n))
	case n.obs.Class == genai.Agent:
		told = n.obs.Input
	case n.obs.Class == genai.Model:
		told = n.obs.Request
	}
	text := lastUserText(told)
	if text == "" {
		return true
	}
	if n.obs.Class == genai.Agent && c.obs.Class == genai.Agent && c.span.Name() == n.span.Name() && text == lastUserText(c.obs.Input) {
		return false
	}
	return slices.ContainsFunc(told, func(m genai.Message) bool {
		text := strings.TrimSpace(partsText(m.Parts))
		if m.Role != tape.RoleUser || text == "" {
			return false
		}
		if c.obs.Class == genai.Tool {
			return !c.obs.Args.Present() || mentions(c.obs.Args.Value, text)
		}
		return oneHolds(text, strings.TrimSpace(lastUserText(c.obs.Input)))
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

// layers reports two spans of one model call, of a package and of what it is built on: under different names, and
// nothing in them differs.
func layers(outer, inner *node) bool {
	a, b := outer.obs, inner.obs
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	if outer.scope == inner.scope && outer.span.Name() == inner.span.Name() || differ(a.ResponseID, b.ResponseID) || differ(a.Model, b.Model) {
		return false
	}
	x, y := outer.request(), inner.request()
	if len(x) > 0 && len(y) > 0 && (len(x) != len(y) || commonPrefix(x, y) < len(x)) {
		return false
	}
	if len(a.Response) == 0 || len(b.Response) == 0 {
		return true
	}
	p, q := newMessage(a.Response[0]), newMessage(b.Response[0])
	return !differ(textOf(p), textOf(q)) && (!hasToolCall(p) || !hasToolCall(q) || repeatsCalls(p, []*message{q}))
}
