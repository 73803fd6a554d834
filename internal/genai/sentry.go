// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sentryAI reads what the Sentry SDKs write in names of their own beside the GenAI conventions. Their spans lie among those of the
// HTTP server, so that only the names in question make one a part of the dialect. Long message lists lose their oldest messages.
var sentryAI = &Dialect{
	ID:       "sentry",
	Name:     "Sentry AI monitoring",
	Marks:    []string{"gen_ai.response.text", "gen_ai.response.tool_calls", "gen_ai.response.object", "gen_ai.request.messages", "gen_ai.request.available_tools", "sentry.sdk_meta.gen_ai."},
	Root:     "the outermost `invoke_agent`",
	Switch:   "`sendDefaultPii: true`, or `recordInputs` and `recordOutputs` of the integration",
	classify: classifySemconv,
	read:     readSentry,
}

const sentryOriginalLength = "sentry.sdk_meta.gen_ai.input.messages.original_length"

func readSentry(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	if o.Class != Model && o.Class != Agent {
		return
	}
	request := a.json("gen_ai.request.messages", "gen_ai.input.messages")
	messages, _ := messagesOf(request, tape.RoleUser)
	label := tape.Label("")
	if length := a.count(sentryOriginalLength); length != nil {
		if list, ok := structureOf(request); ok && list.Kind() == exactjson.Array && int64(list.Len()) < *length {
			label = tape.Truncated
			o.note(tape.CodeTruncated, "request.messages", "the producer kept the newest messages only")
		}
	}
	for i := range messages {
		if cut := sentryCut(messages[i].Parts); cut {
			label = tape.Truncated
		}
	}
	answer := Message{Role: tape.RoleAssistant}
	if text := a.str("gen_ai.response.text", "gen_ai.response.object"); text != "" {
		answer.Parts = sentryText(text)
	}
	if calls, ok := structureOf(a.json("gen_ai.response.tool_calls")); ok {
		answer.Parts = append(answer.Parts, sentryCalls(calls)...)
	}
	var response []Message
	if len(answer.Parts) > 0 {
		response = []Message{answer}
	}
	if o.Class == Agent {
		o.Input, o.Output = messages, response
		return
	}
	o.Request, o.RequestLabel, o.Response = messages, label, response
	o.Tools = toolDefinitions(a.json("gen_ai.request.available_tools"))
	o.Streaming = a.str("gen_ai.response.streaming") == "true"
	if reason := a.str("gen_ai.response.stop_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
}

// sentryText reads the texts of an answer: a text, or a JSON list of the texts of its choices.
func sentryText(text string) []Part {
	if v, ok := parseStructure(text); ok && v.Kind() == exactjson.Array {
		var parts []Part
		if messages, ok := messagesOf(v, tape.RoleAssistant); ok && isMessageList(v) { // LangGraph: the whole transcript
			if answers := lastAnswers(messages); len(answers) > 0 {
				return oneTurn(answers)[0].Parts
			}
			return nil
		}
		for _, m := range v.Members() {
			if m.Value.Kind() != exactjson.String {
				return partsOf(exactjson.StringValue(text))
			}
			if m.Value.Str() != "" {
				parts = append(parts, textPart(m.Value.Str()))
			}
		}
		return parts
	}
	return []Part{textPart(text)}
}

// sentryCalls reads the calls of an answer; a list may hold other items of the Responses API beside them.
func sentryCalls(calls exactjson.Value) []Part {
	var parts []Part
	seen := map[string]bool{}
	for _, m := range calls.Members() {
		if id := textOfID(m.Value.First("id", "call_id")); id != "" {
			if seen[id] {
				continue // one chunk of a stream in two shapes
			}
			seen[id] = true
		}
		switch p, ok := partOf(m.Value); {
		case ok && p.Type == tape.PartToolCall:
			parts = append(parts, p)
		case m.Value.Get("functionCall").Kind() == exactjson.Object:
			parts = append(parts, toolCallPart(m.Value.Get("functionCall")))
		case !m.Value.First("function", "name", "toolName").IsAbsent():
			parts = append(parts, chatCalls(exactjson.ArrayValue(m.Value))...)
		}
	}
	return parts
}

// sentryCut labels the texts that the SDK cut.
func sentryCut(parts []Part) bool {
	cut := false
	for i := range parts {
		if p := &parts[i]; p.Type == tape.PartText && (strings.HasSuffix(p.Text, "...[truncated]") || p.Text == "[Blob substitute]") {
			p.Label, cut = tape.Truncated, true
		}
	}
	return cut
}
