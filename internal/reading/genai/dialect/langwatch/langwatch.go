// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langwatch reads the LangWatch SDKs.
package langwatch

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the LangWatch SDKs: input and output each as {type, value}, the model in the names of the
// GenAI conventions.
var Dialect = &dialect.Dialect{
	ID:            "langwatch",
	Name:          "LangWatch",
	ScopePrefixes: []string{"langwatch"},
	Marks:         []string{"langwatch."},
	Root:          "the outermost `agent`, `workflow` or `chain`",
	Encoded:       true,
	Switch:        "on by default; `LANGWATCH_DISABLE_INPUT_CAPTURE` and the `dataCapture` option turn it off",
	Settings:      []dialect.Setting{{Name: "LANGWATCH_DISABLE_INPUT_CAPTURE", Unset: true}},
	Classify:      classifyLangWatch,
	Read:          readLangWatch,
}

var langWatchTypes = map[string]dialect.Class{
	"llm": dialect.Model, "agent": dialect.Agent, "workflow": dialect.Agent, "chain": dialect.Agent, "tool": dialect.Tool, "rag": dialect.Retrieval,
	"guardrail": dialect.Noise, "evaluation": dialect.Noise, "prompt": dialect.Structure, "embedding": dialect.Noise,
}

func classifyLangWatch(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("langwatch.span.type")
	if class, ok := langWatchTypes[kind]; ok {
		return class, class == dialect.Agent
	}
	if s.Span.ParentSpanID().IsEmpty() && a.Has("langwatch.input") {
		return dialect.Agent, true // a plain span that holds a whole trace
	}
	return dialect.Unclassified, false
}

func readLangWatch(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("langwatch.span.type")
	o.ConversationID = a.Text("langwatch.thread.id", "langwatch.thread_id", "gen_ai.conversation.id")
	o.UserID = a.Text("langwatch.user.id", "langwatch.user_id")
	in, out := langWatchValue(a.JSON("langwatch.input")), langWatchValue(a.JSON("langwatch.output"))
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = kind != "agent" && kind != "workflow"
		o.Agent.Name = s.Span.Name()
		dialect.ReadWholeAgent(o, in.value, out.encoded())
		o.Failed = out.failed
	case dialect.Model:
		if s.Span.Name() == "llm" && s.ScopeName == "langwatch" {
			// its wrappers of OpenAI's clients write the vendor before the model that was asked for
			if vendor, model, ok := strings.Cut(a.Text("gen_ai.request.model"), "/"); ok && (vendor == "openai" || vendor == "azure") {
				o.Model, o.Provider = model, decode.Provider(vendor)
			}
		}
		dialect.ReadWholeModel(o, in.value, out.value)
		if params, ok := decode.Structure(langWatchValue(a.JSON("langwatch.params", "langwatch.llm.params")).value); ok {
			dialect.ReadParams(o, params)
			decode.FillList(&o.Tools, decode.ToolDefinitions(params.Get("tools")))
		}
		if metrics, ok := decode.Structure(langWatchValue(a.JSON("langwatch.metrics")).value); ok {
			decode.FillUsage(&o.Usage, decode.Usage(metrics))
		}
		o.Streaming = o.Streaming || a.Text("langwatch.gen_ai.streaming") == "true"
		o.Failed = out.failed
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name")
		decode.FillString(&o.Name, s.Span.Name())
		if said, ok := toolMessage(out.value); ok && out.decoded {
			out.value = said
		}
		dialect.ReadWholeTool(o, in.value, out.encoded(), true)
		o.Failed = o.Failed || out.failed
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: in.value}
		o.Documents = decode.Documents(langWatchValue(a.JSON("langwatch.rag.contexts", "langwatch.contexts", "langwatch.rag_contexts")).value)
		decode.FillList(&o.Documents, decode.Documents(out.value))
	case dialect.Noise:
		o.NoiseReason = kind
	}
}

// langWatchIO is the value inside {type, value}.
type langWatchIO struct {
	value   exactjson.Value
	decoded bool // what stands here has been decoded already: a text is one
	failed  bool
}

func langWatchValue(v exactjson.Value) langWatchIO {
	outer, ok := decode.Structure(v)
	if !ok || outer.Get("type").Kind() != exactjson.String || outer.Get("value").IsAbsent() {
		return langWatchIO{value: v}
	}
	inner := langWatchIO{value: outer.Get("value"), decoded: true}
	switch strings.ToLower(outer.Get("type").Str()) {
	case "chat_messages":
		inner.value = langChainMessages(inner.value)
	case "json":
		if inner.value.Kind() == exactjson.Object && !inner.value.Get("role").IsAbsent() {
			inner.value = langChainMessage(inner.value)
		}
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

func langChainMessages(list exactjson.Value) exactjson.Value {
	var messages []exactjson.Value
	for _, m := range list.Members() {
		messages = append(messages, langChainMessage(m.Value))
	}
	return exactjson.ArrayValue(messages...)
}

// langChainMessage undoes what the callbacks for LangChain make of a message. Messages of tools have the role
// "unknown". A block of the content that is neither text nor image is a text of JSON. The member
// function_call holds all that LangChain keeps beside the content, calls included.
func langChainMessage(m exactjson.Value) exactjson.Value {
	role, content := m.Get("role"), m.Get("content")
	if role.Str() == "unknown" {
		return exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue("tool")}, exactjson.Member{Name: "content", Value: content})
	}
	if role.Str() != "assistant" {
		return m
	}
	var blocks []exactjson.Value
	written := false // as a text
	if content.Kind() == exactjson.Array {
		for _, block := range content.Members() {
			if text := block.Value.Get("text"); block.Value.Get("type").Str() == "text" && decode.LooksJSON(text.Str()) {
				if inner, ok := decode.Structure(text); ok && inner.Get("type").Str() == "tool_use" && inner.Get("name").Str() != "" && !inner.Get("input").IsAbsent() {
					block.Value, written = inner, true
				}
			}
			blocks = append(blocks, block.Value)
		}
	}
	calls := m.Get("function_call").Get("tool_calls")
	if !written && calls.Kind() != exactjson.Array {
		return m
	}
	members := []exactjson.Member{{Name: "role", Value: role}}
	if written {
		content = exactjson.ArrayValue(blocks...)
	}
	members = append(members, exactjson.Member{Name: "content", Value: content})
	if calls.Kind() == exactjson.Array {
		members = append(members, exactjson.Member{Name: "tool_calls", Value: calls})
	}
	return exactjson.ObjectValue(members...)
}

// toolMessage returns what a tool returned, where it was recorded as the message that tells it.
func toolMessage(v exactjson.Value) (content exactjson.Value, ok bool) {
	only := v.At(0)
	return only.Get("content"), v.Kind() == exactjson.Array && v.Len() == 1 && only.Len() == 2 && only.Get("role").Str() == "tool" && !only.Get("content").IsAbsent()
}

// encoded returns the value in a form that decodes to itself.
func (io langWatchIO) encoded() exactjson.Value {
	if io.decoded && io.value.Kind() == exactjson.String {
		return exactjson.StringValue(io.value.JSON())
	}
	return io.value
}
