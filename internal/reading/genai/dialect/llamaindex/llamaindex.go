// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package llamaindex reads LlamaIndex's own OpenTelemetry integration.
package llamaindex

import (
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads llama-index-observability-otel. Each method is a span; what it handles stands in events,
// whose model calls are JSON. What goes in and out of a step is text that str() wrote, cut at 200 characters:
// only what is whole there is taken.
var Dialect = &dialect.Dialect{
	ID:       "llamaindex",
	Name:     "LlamaIndex (llama-index-observability-otel)",
	Scopes:   []string{"llamaindex.opentelemetry.tracer"},
	Root:     "the outermost `….run` of an agent or workflow",
	Switch:   "on by default",
	Classify: classify,
	Read:     read,
}

var toolCalled = regexp.MustCompile(`Tool\.a?call$`)

func classify(s *dialect.Source) (dialect.Class, bool) {
	switch a := decode.Attributes(s.Span.Attributes()); {
	case strings.HasSuffix(s.Span.Name(), ".run"):
		return dialect.Agent, true
	case toolCalled.MatchString(s.Span.Name()) && a.Text("llamaindex.step.input_event") == "ToolCall":
		return dialect.Tool, false
	}
	if _, ok := event(s, "LLMChatStartEvent"); ok {
		return dialect.Model, false
	}
	return dialect.Structure, false
}

// event returns the attributes of the first event of a name.
func event(s *dialect.Source, name string) (a decode.Attributes, ok bool) {
	for _, e := range s.Span.Events().All() {
		if e.Name() == name {
			return decode.Attributes(e.Attributes()), true
		}
	}
	return decode.Attributes(pcommon.NewMap()), false
}

func read(s *dialect.Source, o *dialect.Draft) {
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = strings.TrimSuffix(s.Span.Name(), ".run")
		if e, ok := event(s, "workflow.output"); ok {
			if text, whole := answer(e.Text("output")); whole {
				o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
			} else if strings.HasPrefix(e.Text("output"), "StopEvent(result=AgentOutput(") {
				o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{{Part: tape.Part{Type: tape.PartText}, Label: tape.Truncated}}}}
			}
		}
	case dialect.Tool:
		called, _ := decode.Representation(decode.Attributes(s.Span.Attributes()).Text("llamaindex.step.input_summary"))
		o.Name, o.CallID, o.ToolKind = called.Get("tool_name").Str(), decode.UsableID(called.Get("tool_id").Str()), tape.ToolFunction
		if args := called.Get("tool_kwargs"); args.Kind() == exactjson.Object {
			o.Args = decode.Content{Value: args}
		}
		if o.Name == "" { // what was cut begins with the name
			if m := toolName.FindStringSubmatch(decode.Attributes(s.Span.Attributes()).Text("llamaindex.step.input_summary")); m != nil {
				o.Name = m[1]
			}
		}
	case dialect.Model:
		o.Operation = "chat"
		start, _ := event(s, "LLMChatStartEvent")
		o.Request, _ = decode.Messages(start.JSON("messages"), tape.RoleUser)
		o.Model = start.Text("model_dict.model_name", "model_dict.model")
		o.Tools = decode.ToolDefinitions(start.JSON("additional_kwargs.tools"))
		if end, ok := event(s, "LLMChatEndEvent"); ok {
			readAnswer(end, o)
		}
	}
}

var toolName = regexp.MustCompile(`^ToolCall\(tool_name='([^'\\]+)', `)

// readAnswer reads the answer, whose members are attributes of their own.
func readAnswer(end decode.Attributes, o *dialect.Draft) {
	members := []exactjson.Member{{Name: "role", Value: end.JSON("response.message.role")}}
	if blocks, ok := decode.Structure(end.JSON("response.message.blocks")); ok {
		members = append(members, exactjson.Member{Name: "blocks", Value: blocks})
	}
	if calls, ok := decode.Structure(end.JSON("response.message.additional_kwargs.tool_calls")); ok {
		members = append(members, exactjson.Member{Name: "tool_calls", Value: calls})
	}
	o.Response = []decode.Message{decode.RoleMessage(exactjson.ObjectValue(members...), tape.RoleAssistant)}
	o.ResponseID, o.ResponseModel = end.Text("response.raw.id"), end.Text("response.raw.model")
	o.Usage = tape.Usage{InputTokens: end.Count("response.raw.usage.prompt_tokens", "response.raw.usage.input_tokens"), OutputTokens: end.Count("response.raw.usage.completion_tokens", "response.raw.usage.output_tokens")}
	if choices, ok := decode.Structure(end.JSON("response.raw.choices")); ok {
		if reason := choices.At(0).Get("finish_reason").Str(); reason != "" {
			o.FinishReasons = []string{reason}
		}
	}
}

// answer returns the text of the answer from what str() wrote of the outcome, if that was not cut before.
func answer(outcome string) (text string, whole bool) {
	const begin = "blocks=[TextBlock(block_type='text', text="
	head, rest, ok := strings.Cut(outcome, begin)
	if !ok || strings.Contains(head, "blocks=") {
		return "", false
	}
	v, ok := decode.RepresentationOf("{'text': "+closed(rest), "text")
	return v.Str(), ok && v.Kind() == exactjson.String
}

// closed puts the end of a dict for the end of the only block. What was cut before that has no end.
func closed(rest string) string {
	for _, quote := range []string{"'", `"`} {
		if !strings.HasPrefix(rest, quote) {
			continue
		}
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\':
				i++
			case strings.HasPrefix(rest[i:], quote):
				if behind := rest[i+1:]; strings.HasPrefix(behind, ")]") || behind == ")..." || behind == "..." {
					return rest[:i+1] + "}"
				}
				return ""
			}
		}
	}
	return ""
}
