// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package livekit reads LiveKit Agents.
package livekit

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads LiveKit Agents: a session of turns; an agent's turn holds its model calls and tools, all
// around them is speech.
var Dialect = &dialect.Dialect{
	ID:       "livekit",
	Name:     "LiveKit Agents",
	Scopes:   []string{"livekit-agents"},
	Marks:    []string{"lk."},
	Root:     "`agent_turn`",
	Switch:   "on with a tracer provider (`set_tracer_provider`)",
	Classify: classifyLiveKit,
	Read:     readLiveKit,
}

func classifyLiveKit(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch name := s.Span.Name(); {
	case name == "agent_turn":
		return dialect.Agent, true
	case name == "llm_node", name == "llm_request", name == "llm_request_run", name == "realtime_assistant_turn":
		return dialect.Model, false
	case name == "function_tool", a.Has("lk.function_tool.name"):
		return dialect.Tool, false
	case strings.HasPrefix(name, "tts_"), strings.HasPrefix(name, "stt_"), strings.HasPrefix(name, "vad"), strings.HasPrefix(name, "eou_"):
		return dialect.Noise, false
	default:
		return dialect.Structure, false
	}
}

func readLiveKit(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("lk.session_id", "lk.job_id", "lk.room_name")
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = a.Text("lk.agent_name", "lk.agent_label")
		if text := a.Text("lk.instructions"); text != "" {
			o.System = []decode.Part{decode.TextPart(text)}
		}
		if text := a.Text("lk.user_input", "lk.user_transcript"); text != "" {
			o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(text)}}}
		}
		if text := a.Text("lk.response.text"); text != "" {
			o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
		}
	case dialect.Model:
		o.Operation = "chat"
		context, _ := decode.Structure(a.JSON("lk.chat_ctx"))
		if items := context.Get("items"); items.Kind() == exactjson.Array {
			context = items
		}
		o.Request, _ = decode.Messages(context, tape.RoleUser)
		m := decode.Message{Role: tape.RoleAssistant}
		if text := a.Text("lk.response.text"); text != "" {
			m.Parts = append(m.Parts, decode.TextPart(text))
		}
		if calls, ok := decode.Structure(a.JSON("lk.response.function_calls")); ok {
			m.Parts = append(m.Parts, decode.ChatCalls(calls)...)
		}
		if len(m.Parts) > 0 {
			o.Response = []decode.Message{m}
		}
		if tools, ok := decode.Structure(a.JSON("lk.function_tools")); ok {
			o.Tools = decode.ToolDefinitions(tools)
		}
	case dialect.Tool:
		o.Name = a.Text("lk.function_tool.name")
		o.CallID = decode.UsableID(a.Text("lk.function_tool.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("lk.function_tool.arguments", "lk.function_tool.args"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		o.Failed = a.Text("lk.function_tool.is_error") == "true"
		if v := a.JSON("lk.function_tool.output"); !v.IsAbsent() {
			if o.Failed {
				o.Error = &tape.Error{Message: v.Text()}
			} else {
				o.Result = decode.UnwrapResult(decode.Result(v, false)).Content
			}
		}
	case dialect.Noise:
		o.NoiseReason = "speech"
	}
}
