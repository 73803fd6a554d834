// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package haystack reads deepset Haystack.
package haystack

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads deepset Haystack: pipelines of components, and agents with a span per step. Older agents run
// all tools of a turn in one ToolInvoker component: those calls are taken from the messages around it.
var Dialect = &dialect.Dialect{
	ID:       "haystack",
	Name:     "Haystack",
	Marks:    []string{"haystack."},
	Root:     "the outermost `haystack.agent.run`, else `haystack.pipeline.run`",
	Rooted:   true,
	Switch:   "`HAYSTACK_CONTENT_TRACING_ENABLED=true`",
	Settings: []dialect.Setting{{Name: "HAYSTACK_CONTENT_TRACING_ENABLED", Value: "true"}},
	Classify: classifyHaystack,
	Read:     readHaystack,
}

func classifyHaystack(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch s.Span.Name() {
	case "haystack.agent.run":
		return dialect.Agent, true
	case "haystack.pipeline.run", "haystack.async_pipeline.run":
		return dialect.Agent, false
	case "haystack.agent.step.llm":
		return dialect.Model, false
	case "haystack.agent.step.tool":
		return dialect.Tool, false
	case "haystack.component.run":
		switch kind := a.Text("haystack.component.type"); {
		case strings.HasSuffix(kind, "Generator"):
			return dialect.Model, false
		case strings.HasSuffix(kind, "Retriever"):
			return dialect.Retrieval, false
		case strings.HasSuffix(kind, "Embedder"), strings.HasSuffix(kind, "Ranker"):
			return dialect.Noise, false
		}
	}
	return dialect.Structure, false
}

func readHaystack(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	input := haystackInput(a.JSON("haystack.agent.step.llm.input", "haystack.agent.input", "haystack.component.input", "haystack.pipeline.input_data"))
	output, _ := decode.Structure(a.JSON("haystack.agent.step.llm.output", "haystack.agent.output", "haystack.component.output", "haystack.pipeline.output_data"))
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = s.Span.Name() != "haystack.agent.run"
		o.Agent.Name = a.Text("haystack.agent.name", "haystack.component.name", "haystack.pipeline.name")
		if o.WeakAgent {
			o.InputData, o.OutputData = decode.Content{Value: input}, decode.Content{Value: output}
			return
		}
		o.Input = haystackMessages(input.Get("messages"), tape.RoleUser)
		if text := input.Get("system_prompt").Str(); text != "" {
			o.System = []decode.Part{decode.TextPart(text)}
		} else if first := haystackMessages(output.Get("messages").At(0), tape.RoleUser); len(first) == 1 && first[0].Role == tape.RoleSystem {
			o.System = first[0].Parts // the prompt of an agent is no part of what it was asked
		}
		last := output.Get("last_message")
		if last.IsAbsent() {
			last = output.Get("messages").At(output.Get("messages").Len() - 1)
		}
		o.Output = haystackMessages(last, tape.RoleAssistant)
	case dialect.Model:
		readHaystackModel(a, input, output, o)
	case dialect.Tool:
		o.Name = a.Text("haystack.tool.name")
		o.CallID = decode.UsableID(a.Text("haystack.tool.call_id", "haystack.tool.call.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("haystack.agent.step.tool.input"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("haystack.agent.step.tool.output"); !v.IsAbsent() {
			c := decode.Args(v) // a structure is JSON, else a Python literal
			if v.Kind() == exactjson.String && c.Value.Kind() != exactjson.Object && c.Value.Kind() != exactjson.Array {
				c = decode.Result(v, false)
			}
			if failure := c.Value.Get("error"); c.Value.Len() == 1 && !failure.IsAbsent() {
				o.Failed, o.Error = true, &tape.Error{Message: failure.Text()}
				return
			}
			if inner := c.Value.Get("result"); c.Value.Len() == 1 && !inner.IsAbsent() {
				c.Value, c.Envelope = inner, append(c.Envelope, "haystack.result")
			}
			o.Result = c
		}
	case dialect.Retrieval:
		o.Name = a.Text("haystack.component.name")
		o.Query = decode.Content{Value: input.First("query", "query_embedding")}
		for _, m := range output.Get("documents").Members() {
			o.Documents = append(o.Documents, m.Value)
		}
	case dialect.Noise:
		o.NoiseReason = "embedding or ranking"
	}
}

// haystackInput reads what went in, as JSON or as str() writes it. Tools are functions of the program without
// a text; before these, the messages are read.
func haystackInput(v exactjson.Value) exactjson.Value {
	if input, ok := decode.Structure(v); ok {
		return input
	}
	messages, ok := decode.RepresentationOf(v.Str(), "messages")
	if !ok {
		return exactjson.Value{}
	}
	return exactjson.ObjectValue(exactjson.Member{Name: "messages", Value: messages})
}

func readHaystackModel(a decode.Attributes, input, output exactjson.Value, o *dialect.Draft) {
	o.Operation = "chat"
	switch body := input.First("messages", "prompt"); body.Kind() {
	case exactjson.String:
		o.Request = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(body.Str())}}}
	default:
		o.Request = haystackMessages(body, tape.RoleUser)
	}
	o.Tools = decode.ToolDefinitions(haystackTools(input.Get("tools")))
	for _, m := range input.Get("generation_kwargs").Members() {
		if canonical, ok := decode.ParamNames[m.Name]; ok {
			o.AddParam(canonical, m.Value)
		}
	}
	replies := output.First("replies", "messages", "last_message")
	o.Response = decode.OneTurn(haystackMessages(replies, tape.RoleAssistant))
	first := replies
	if replies.Kind() == exactjson.Array {
		first = replies.At(0)
	}
	meta := first.First("meta", "_meta")
	if meta.IsAbsent() {
		meta = output.Get("meta").At(0)
	}
	o.ResponseModel = meta.Get("model").Str()
	if reason := meta.Get("finish_reason").Str(); reason != "" {
		o.FinishReasons = []string{reason}
	}
	usage := meta.Get("usage")
	count := func(names ...string) *int64 {
		if n, ok := decode.CountOf(usage.First(names...)); ok {
			return &n
		}
		return nil
	}
	o.Usage = tape.Usage{InputTokens: count("prompt_tokens", "input_tokens"), OutputTokens: count("completion_tokens", "output_tokens")}
}

// haystackMessages reads ChatMessage dumps; releases before 2.10 write the fields with a leading underscore.
func haystackMessages(v exactjson.Value, role tape.Role) []decode.Message {
	switch v.Kind() {
	case exactjson.Array:
		var out []decode.Message
		for _, m := range v.Members() {
			out = append(out, haystackMessages(m.Value, role)...)
		}
		return out
	case exactjson.Object:
		fields := make([]exactjson.Member, 0, v.Len())
		for _, m := range v.Members() {
			fields = append(fields, exactjson.Member{Name: strings.TrimPrefix(m.Name, "_"), Value: m.Value})
		}
		messages, _ := decode.Messages(exactjson.ObjectValue(fields...), role)
		return messages
	case exactjson.String:
		messages, _ := decode.Messages(v, role)
		return messages
	}
	return nil
}

// haystackTools takes the tools out of their {"type": class, "data": fields} dumps.
func haystackTools(v exactjson.Value) exactjson.Value {
	var tools []exactjson.Value
	for _, m := range v.Members() {
		if data := m.Value.Get("data"); data.Kind() == exactjson.Object {
			tools = append(tools, data)
		} else {
			tools = append(tools, m.Value)
		}
	}
	return exactjson.ArrayValue(tools...)
}
