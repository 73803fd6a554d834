// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// langWatch reads the LangWatch SDKs: input and output each as {type, value}, the model in the names of the GenAI conventions.
var langWatch = &Dialect{
	ID:            "langwatch",
	Name:          "LangWatch",
	ScopePrefixes: []string{"langwatch"},
	Marks:         []string{"langwatch."},
	Root:          "the outermost `agent`, `workflow` or `chain`",
	Encoded:       true,
	Switch:        "on by default; `LANGWATCH_DISABLE_INPUT_CAPTURE` and the `dataCapture` option turn it off",
	classify:      classifyLangWatch,
	read:          readLangWatch,
}

var langWatchTypes = map[string]Class{
	"llm": Model, "agent": Agent, "workflow": Agent, "chain": Agent, "tool": Tool, "rag": Retrieval,
	"guardrail": Noise, "evaluation": Noise, "prompt": Structure, "embedding": Noise,
}

func classifyLangWatch(s *Source) (Class, bool) {
	a := attributes{s.Span.Attributes()}
	kind := a.str("langwatch.span.type")
	if class, ok := langWatchTypes[kind]; ok {
		return class, class == Agent
	}
	if s.Span.ParentSpanID().IsEmpty() && a.has("langwatch.input") {
		return Agent, true // a plain span that holds a whole trace
	}
	return Unclassified, false
}

func readLangWatch(s *Source, o *Observation) {
	a := attributes{s.Span.Attributes()}
	kind := a.str("langwatch.span.type")
	o.ConversationID = a.str("langwatch.thread.id", "langwatch.thread_id", "gen_ai.conversation.id")
	o.UserID = a.str("langwatch.user.id", "langwatch.user_id")
	in, out := langWatchValue(a.json("langwatch.input")), langWatchValue(a.json("langwatch.output"))
	switch o.Class {
	case Agent:
		o.WeakAgent = kind != "agent" && kind != "workflow"
		o.Agent.Name = s.Span.Name()
		readWholeAgent(o, in.value, out.value)
		o.Failed = out.failed
	case Model:
		readWholeModel(o, in.value, out.value)
		if params, ok := structureOf(langWatchValue(a.json("langwatch.params", "langwatch.llm.params")).value); ok {
			readParams(o, params)
			list(&o.Tools, toolDefinitions(params.Get("tools")))
		}
		if metrics, ok := structureOf(langWatchValue(a.json("langwatch.metrics")).value); ok {
			mergeUsage(o, providerUsage(metrics))
		}
		o.Streaming = o.Streaming || a.str("langwatch.gen_ai.streaming") == "true"
		o.Failed = out.failed
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		str(&o.Name, s.Span.Name())
		readWholeTool(o, in.value, out.encoded(), true)
		o.Failed = o.Failed || out.failed
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: in.value}
		o.Documents = documentsOf(langWatchValue(a.json("langwatch.rag.contexts", "langwatch.contexts", "langwatch.rag_contexts")).value)
		list(&o.Documents, documentsOf(out.value))
	case Noise:
		o.NoiseReason = kind
	}
}

// langWatchIO is the value inside {type, value}.
type langWatchIO struct {
	value  exactjson.Value
	text   bool // the producer says that it is text
	failed bool
}

func langWatchValue(v exactjson.Value) langWatchIO {
	outer, ok := structureOf(v)
	if !ok || outer.Get("type").Kind() != exactjson.String || outer.Get("value").IsAbsent() {
		return langWatchIO{value: v}
	}
	inner := langWatchIO{value: outer.Get("value")}
	switch strings.ToLower(outer.Get("type").Str()) {
	case "text", "raw":
		inner.text = true
	case "error":
		inner.failed = true
	case "list":
		var elements []exactjson.Value
		for _, m := range inner.value.Members() {
			elements = append(elements, langWatchValue(m.Value).value)
		}
		inner.value = exactjson.ArrayValue(elements...)
	}
	return inner
}

// encoded returns the value in a form that decodes to itself: a text that is said to be text stays one.
func (io langWatchIO) encoded() exactjson.Value {
	if io.text && io.value.Kind() == exactjson.String {
		return exactjson.StringValue(io.value.JSON())
	}
	return io.value
}

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
	a := attributes{s.Span.Attributes()}
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
	for _, m := range calls.Members() {
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
