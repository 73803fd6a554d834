// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package sentry reads the AI spans of the Sentry SDKs.
package sentry

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads what the Sentry SDKs write in names of their own beside the GenAI conventions. Their spans
// lie among those of the HTTP server, so these names alone make a span one of the dialect. Long message lists
// lose their oldest messages.
var Dialect = &dialect.Dialect{
	ID:       "sentry",
	Name:     "Sentry AI monitoring",
	Marks:    []string{"gen_ai.response.text", "gen_ai.response.tool_calls", "gen_ai.response.object", "gen_ai.request.messages", "gen_ai.request.available_tools", "sentry.sdk_meta.gen_ai."},
	Root:     "the outermost `invoke_agent`",
	Switch:   "`sendDefaultPii: true`, or `recordInputs` and `recordOutputs` of the integration",
	Classify: semconv.Classify,
	Read:     readSentry,
}

const sentryOriginalLength = "sentry.sdk_meta.gen_ai.input.messages.original_length"

func readSentry(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	if o.Class != dialect.Model && o.Class != dialect.Agent {
		return
	}
	request := a.JSON("gen_ai.request.messages", "gen_ai.input.messages")
	messages, _ := decode.Messages(request, tape.RoleUser)
	label := tape.Label("")
	if length := a.Count(sentryOriginalLength); length != nil {
		if list, ok := decode.Structure(request); ok && list.Kind() == exactjson.Array && int64(list.Len()) < *length {
			label = tape.Truncated
			o.AddNote(tape.CodeTruncated, "request.messages", "the producer kept the newest messages only")
		}
	}
	for i := range messages {
		if cut := sentryCut(messages[i].Parts); cut {
			label = tape.Truncated
		}
	}
	answer := decode.Message{Role: tape.RoleAssistant}
	if text := a.Text("gen_ai.response.text", "gen_ai.response.object"); text != "" {
		answer.Parts = sentryText(text)
	}
	calls, ok := decode.Structure(a.JSON("gen_ai.response.tool_calls"))
	if !ok { // OpenLIT before 1.35 writes them with str()
		var lossy bool
		calls, lossy, ok = decode.Python(a.Text("gen_ai.response.tool_calls"))
		ok = ok && !lossy
	}
	if ok {
		if calls := sentryCalls(calls); len(calls) > 0 {
			if text := saidBeside(s); text != "" && len(answer.Parts) == 0 {
				answer.Parts = append(answer.Parts, decode.TextPart(text))
			}
			answer.Parts = append(answer.Parts, calls...)
		}
	}
	var response []decode.Message
	if len(answer.Parts) > 0 {
		response = []decode.Message{answer}
	}
	if o.Class == dialect.Agent {
		o.Input, o.Output = messages, response
		return
	}
	o.Request, o.RequestLabel, o.Response = messages, label, response
	o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.request.available_tools"))
	o.Streaming = a.Text("gen_ai.response.streaming") == "true"
	if reason := a.Text("gen_ai.response.stop_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
}

// saidBeside returns the text that OpenLIT before 1.35 writes in an event beside the calls of an answer.
func saidBeside(s *dialect.Source) string {
	for _, e := range s.Span.Events().All() {
		if e.Name() == "gen_ai.content.completion" {
			text := decode.Attributes(e.Attributes()).Text("gen_ai.completion")
			if text == "None" || decode.LooksJSON(text) {
				return ""
			}
			return text
		}
	}
	return ""
}

// sentryText reads the texts of an answer: a text, or a JSON list of the texts of its choices.
func sentryText(text string) []decode.Part {
	if v, ok := decode.ParseStructure(text); ok && v.Kind() == exactjson.Array {
		var parts []decode.Part
		if messages, ok := decode.Messages(v, tape.RoleAssistant); ok && decode.IsMessageList(v) {
			// LangGraph: the whole transcript
			if answers := decode.LastAnswers(messages); len(answers) > 0 {
				return decode.OneTurn(answers)[0].Parts
			}
			return nil
		}
		for _, m := range v.Members() {
			if m.Value.Kind() != exactjson.String {
				return decode.Parts(exactjson.StringValue(text))
			}
			if m.Value.Str() != "" {
				parts = append(parts, decode.TextPart(m.Value.Str()))
			}
		}
		return parts
	}
	return []decode.Part{decode.TextPart(text)}
}

// sentryCalls reads the calls of an answer; a list may hold other items of the Responses API beside them.
func sentryCalls(calls exactjson.Value) []decode.Part {
	var parts []decode.Part
	seen := map[string]bool{}
	shapes := map[string][]string{} // of the calls without an id, by what they say: the shapes they came in
	for _, m := range calls.Members() {
		if id := decode.TextOfID(m.Value.First("id", "call_id")); id != "" {
			if seen[id] {
				continue // one chunk of a stream in two shapes
			}
			seen[id] = true
		}
		var p decode.Part
		switch part, ok := decode.PartOf(m.Value); {
		case ok && part.Type == tape.PartToolCall:
			p = part
		case m.Value.Get("functionCall").Kind() == exactjson.Object:
			p = decode.ToolCallPart(m.Value.Get("functionCall"))
		case !m.Value.First("function", "name", "toolName").IsAbsent():
			p = decode.ChatCalls(exactjson.ArrayValue(m.Value))[0]
		default:
			continue
		}
		if p.ID == "" {
			says, shape := p.Name+"\x00"+p.Args.JSON(), shapeOf(m.Value)
			if i := slices.IndexFunc(shapes[says], func(other string) bool { return other != shape }); i >= 0 {
				shapes[says] = slices.Delete(shapes[says], i, i+1) // as above
				continue
			}
			shapes[says] = append(shapes[says], shape)
		}
		parts = append(parts, p)
	}
	return parts
}

// shapeOf names the members of an object.
func shapeOf(v exactjson.Value) string {
	var names []string
	for _, m := range v.Members() {
		names = append(names, m.Name)
	}
	return strings.Join(names, "\x00")
}

// sentryCut labels the texts that the SDK cut.
func sentryCut(parts []decode.Part) bool {
	cut := false
	for i := range parts {
		if p := &parts[i]; p.Type == tape.PartText && (strings.HasSuffix(p.Text, "...[truncated]") || p.Text == "[Blob substitute]") {
			p.Label, cut = tape.Truncated, true
		}
	}
	return cut
}
