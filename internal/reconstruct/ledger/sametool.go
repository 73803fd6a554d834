// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// SameTool reports that a tool span inside another one tells of the same call: the spans of a framework, of
// an MCP client and of an MCP server.
//
// Needs: the same id or the same name, and arguments that are equal, or that a leg of MCP or nobody recorded.
// Refuses: two ids, if the inner span tells more than its id.
// Seen in: a framework above the client of an MCP server.
func SameTool(outer, inner *genai.Report) bool {
	switch {
	case outer.CallID == "" || inner.CallID == "":
		if outer.Name != inner.Name && !(inner.MCPLeg && strings.HasSuffix(outer.Name, inner.Name)) {
			return false
		}
	case outer.CallID != inner.CallID:
		if inner.Name != "" || inner.Args.Present() {
			return false
		}
	case outer.Name == inner.Name && len(outer.CallID) >= decode.MinDrawnID && !strings.Contains(outer.CallID, outer.Name):
		return true // an id that comes once decides, whatever became of the arguments on their way in
	}
	if !outer.Args.Present() || !inner.Args.Present() || inner.MCPLeg || outer.MCPLeg {
		return true
	}
	return chat.SameValue(outer.Args.Value, inner.Args.Value) || inner.CallID == "" && leftOf(outer.Args.Value, inner.Args.Value)
}

// leftOf reports a value that is what attributes written key by key leave of another one. There is no key for
// null, an empty list or an empty object; Python's word for null may stand there.
func leftOf(whole, part exactjson.Value) bool {
	if isNothingInKeys(whole) {
		return part.IsAbsent() || part.Str() == "None"
	}
	switch whole.Kind() {
	case exactjson.Object:
		return part.Kind() == exactjson.Object && part.Len() > 0 &&
			!slices.ContainsFunc(part.Members(), func(m exactjson.Member) bool { return whole.Get(m.Name).IsAbsent() }) &&
			!slices.ContainsFunc(whole.Members(), func(m exactjson.Member) bool { return !leftOf(m.Value, part.Get(m.Name)) })
	case exactjson.Array:
		kept := whole.Members()
		if part.Len() != len(kept) {
			kept = slices.DeleteFunc(slices.Clone(kept), func(m exactjson.Member) bool { return isNothingInKeys(m.Value) })
		}
		return part.Kind() == exactjson.Array && slices.EqualFunc(kept, part.Members(), func(a, b exactjson.Member) bool { return leftOf(a.Value, b.Value) })
	default:
		return chat.SameValue(whole, part)
	}
}

// isNothingInKeys reports a value of which nothing is written key by key.
func isNothingInKeys(v exactjson.Value) bool {
	return v.Kind() == exactjson.Null || v.Kind() >= exactjson.Array && !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return !isNothingInKeys(m.Value) })
}
