// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Indexed reads messages that were flattened under a prefix (gen_ai.prompt.0.role): {role, content,
// tool_calls, tool_call_id, finish_reason, function_call}. A list of parts is JSON in the content. Some
// producers leave out messages without content, and their calls with them. A gap in the numbers shows such a
// message, the result of a tool after it tells its kind.
func Indexed(a decode.Attributes, prefix string, role tape.Role) []decode.Message {
	list, omitted := a.UnflattenList(prefix)
	if list.Kind() != exactjson.Array {
		return nil
	}
	var out []decode.Message
	for i, m := range list.Members() {
		e := m.Value
		if role == tape.RoleUser && slices.Contains(omitted, i) && decode.RoleOf(e.Get("role").Str()) == tape.RoleTool {
			out = append(out, decode.Message{Role: tape.RoleAssistant, Omitted: true})
		}
		if e.Kind() != exactjson.Object {
			continue
		}
		members := make([]exactjson.Member, 0, e.Len())
		for _, f := range e.Members() {
			switch {
			case f.Name == "content" && f.Value.Str() == `""`: // an empty content, encoded
				f.Value = exactjson.StringValue("")
			case f.Name == "role" && (f.Value.Str() == "unknown" || f.Value.Str() == ""):
				continue
			}
			members = append(members, f)
		}
		if inner, ok := decode.Structure(e.Get("content")); ok && e.Get("tool_calls").IsAbsent() && holdsTurns(inner) {
			if turns, ok := decode.Messages(inner, role); ok { // messages without a text, as a whole
				out = append(out, turns...)
				continue
			}
		}
		out = append(out, decode.RoleMessage(exactjson.ObjectValue(members...), role))
	}
	return out
}

// IndexedAnswer reads what a model said from flattened messages, and why it ended. Further messages that
// ended too are other choices, unless the producer writes several turns there.
func IndexedAnswer(a decode.Attributes, prefix string, turns bool) (answer []decode.Message, reasons []string) {
	answers := Indexed(a, prefix, tape.RoleAssistant)
	for i := range answers {
		answers[i].Role = tape.RoleAssistant
		if reason := answers[i].FinishReason; reason != "" && len(reasons) == 0 {
			reasons = []string{reason}
		}
	}
	if len(answers) > 1 && !decode.HasCalls(answers[1]) && !turns && answers[0].FinishReason != "" && answers[1].FinishReason != "" {
		answers = answers[:1]
	}
	return decode.OneTurn(answers), reasons
}

// holdsResponses reports parts of a message to Gemini that hold what a function returned (Coralogix's
// package).
func holdsResponses(parts exactjson.Value) bool {
	return parts.Kind() == exactjson.Array && slices.ContainsFunc(parts.Members(), func(m exactjson.Member) bool {
		response := m.Value.First("function_response", "functionResponse")
		return response.Get("name").Str() != "" && !response.Get("response").IsAbsent()
	})
}

// holdsTurns reports a message, or a list with one, that asks for a tool or holds what one returned.
func holdsTurns(v exactjson.Value) bool {
	if v.Kind() == exactjson.Object {
		_, known := decode.KnownRole(v.Get("role").Str())
		return known && (v.First("tool_calls", "toolCalls").Len() > 0 || holdsResponses(v.Get("parts")))
	}
	return v.Kind() == exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return m.Value.Kind() == exactjson.Object && holdsTurns(m.Value) })
}
