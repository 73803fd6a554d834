// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langtrace reads what Langtrace's SDK for Python records of LangChain and LangGraph.
package langtrace

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Langtrace's spans of LangChain and LangGraph. Each method of a model that calls another one
// has a span with the same messages; the outermost one tells the whole answer. A graph has no span of its
// own: those of its package tell how it was built.
var Dialect = &dialect.Dialect{
	ID:            "langtrace",
	Name:          "Langtrace (LangChain, LangGraph)",
	ScopePrefixes: []string{"langtrace_python_sdk.instrumentation.langchain", "langtrace_python_sdk.instrumentation.langgraph"},
	Switch:        "on by default; `TRACE_PROMPT_COMPLETION_DATA=false` turns it off",
	Settings:      []dialect.Setting{{Name: "TRACE_PROMPT_COMPLETION_DATA", Unset: true}},
	Classify:      classify,
	Read:          read,
}

func classify(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if a.Has("langgraph.task.name") {
		return dialect.Noise, false
	}
	if a.Text("langchain.task.name") == "chatmodel" {
		switch name := s.Span.Name(); name[strings.LastIndex(name, ".")+1:] {
		case "invoke", "ainvoke", "stream", "astream":
			return dialect.Model, false
		}
	}
	return dialect.Structure, false
}

func read(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	if o.Class == dialect.Noise {
		o.NoiseReason = "construction of a graph"
		return
	}
	if o.Class != dialect.Model {
		return
	}
	o.Operation = "chat"
	if in, ok := decode.Structure(a.JSON("langchain.inputs")); ok {
		o.Request = request(in.At(0))
	}
	out, ok := decode.Structure(a.JSON("langchain.outputs"))
	if answer, known := message(out); ok && known && answer.Role == tape.RoleAssistant {
		o.Response = []decode.Message{answer}
		if answer.FinishReason != "" {
			o.FinishReasons = []string{answer.FinishReason}
		}
		told := out.Get("response_metadata")
		o.ResponseModel, o.ResponseID = told.First("model_name", "model").Str(), told.Get("id").Str()
	}
	if told, ok := decode.Structure(a.JSON("langchain.metadata")); ok {
		o.Tools = decode.ToolDefinitions(told.Get("tools"))
	}
}

// request reads what a model was given: messages, what holds them, or one text.
func request(in exactjson.Value) (messages []decode.Message) {
	if text := in.Str(); text != "" {
		return []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(text)}}}
	}
	if list := in.Get("messages"); list.Kind() == exactjson.Array {
		in = list
	}
	for _, item := range in.Members() {
		m, ok := message(item.Value)
		if !ok {
			return nil
		}
		messages = append(messages, m)
	}
	return messages
}

// message reads a message of LangChain without its empty members. Arguments of a call lack numbers and truth
// values too: without the provider's own text of them they are not whole.
func message(v exactjson.Value) (decode.Message, bool) {
	if v.Kind() != exactjson.Object {
		return decode.Message{}, false
	}
	if v.Get("content").IsAbsent() {
		v = exactjson.ObjectValue(append(slices.Clip(v.Members()), exactjson.Member{Name: "content", Value: exactjson.StringValue("")})...)
	}
	m, ok := decode.LangChainMessage(v)
	if v.Get("additional_kwargs").Get("tool_calls").IsAbsent() {
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartToolCall {
				m.Parts[i].Label = tape.Lossy
			}
		}
	}
	return m, ok
}
