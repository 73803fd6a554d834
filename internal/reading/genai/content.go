// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"encoding/json"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// Words of attribute keys. One of the first two lists says that a key holds what went in, or what came out.
// One of measureWords says that it holds a digest, a count or a type instead.
var (
	inputWords   = map[string]bool{"input": true, "inputs": true, "arguments": true, "args": true, "prompt": true, "prompts": true, "parameters": true, "request": true}
	outputWords  = map[string]bool{"output": true, "outputs": true, "result": true, "results": true, "completion": true, "completions": true, "response": true, "choice": true}
	measureWords = map[string]bool{
		"sha256": true, "hash": true, "length": true, "tokens": true, "token": true, "count": true, "usage": true, "type": true, "mime": true, "model": true, "id": true, "name": true,
		"role": true, "reason": true, "reasons": true, "version": true, "schema": true, "definitions": true, "format": true, "size": true, "ref": true, "temperature": true, "max": true, "top": true, "seed": true,
	}
)

// HoldsContent reports whether attributes or events of a span hold text that went in or came out. The text
// counts whoever wrote it, and whether or not any dialect reads it.
func HoldsContent(span ptrace.Span) (in, out bool) {
	look := func(m pcommon.Map) {
		for key, v := range m.All() {
			i, o := contentKey(key)
			if (i || o) && isContent(v) {
				in, out = in || i, out || o
			}
		}
	}
	look(span.Attributes())
	for _, e := range span.Events().All() {
		look(e.Attributes())
	}
	return in, out
}

func contentKey(key string) (in, out bool) {
	both := false
	for word := range strings.FieldsFuncSeq(strings.ToLower(key), func(r rune) bool { return r == '.' || r == '_' || r == ':' || r == '-' }) {
		if measureWords[word] {
			return false, false
		}
		in, out, both = in || inputWords[word], out || outputWords[word], both || word == "messages" || word == "content"
	}
	if !in && !out {
		return both, both
	}
	return in, out
}

// isContent reports a value that says something: numbers, flags and empty structures do not.
func isContent(v pcommon.Value) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		text := decode.TextOf(v)
		switch strings.TrimSpace(text) {
		case "", "{}", "[]", "null", `""`, "true", "false":
			return false
		}
		return !saysNothing(text)
	case pcommon.ValueTypeMap:
		return v.Map().Len() > 0
	case pcommon.ValueTypeSlice:
		return v.Slice().Len() > 0
	}
	return false
}

// saysNothing reports messages whose content a switch has left out. They say who spoke, and the types of the
// parts.
func saysNothing(text string) bool {
	var messages []map[string]any
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &messages) != nil {
		return false
	}
	for _, m := range messages {
		if _, spoken := m["role"]; !spoken || !onlyForm("", m) {
			return false
		}
	}
	return true
}

// onlyForm reports a value of a message that holds nothing but its form.
func onlyForm(key string, v any) bool {
	switch v := v.(type) {
	case string:
		switch key {
		case "role", "type", "id", "name", "finish_reason", "tool_call_id":
			return true
		}
		return v == ""
	case []any:
		for _, e := range v {
			if !onlyForm(key, e) {
				return false
			}
		}
	case map[string]any:
		switch key {
		case "", "parts", "content", "tool_calls", "function":
		default:
			return len(v) == 0
		}
		for k, e := range v {
			if !onlyForm(k, e) {
				return false
			}
		}
	}
	return true
}
