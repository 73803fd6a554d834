// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// liveKit reads LiveKit Agents: a session of turns; an agent's turn holds its model calls and tools, all around them is speech.
var liveKit = &Dialect{
	ID:       "livekit",
	Name:     "LiveKit Agents",
	Scopes:   []string{"livekit-agents"},
	Marks:    []string{"lk."},
	Root:     "`agent_turn`",
	Switch:   "on with a tracer provider (`set_tracer_provider`)",
	classify: classifyLiveKit,
	read:     readLiveKit,
}

func classifyLiveKit(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	switch name := s.Span.Name(); {
	case name == "agent_turn":
		return Agent, true
	case name == "llm_node", name == "llm_request", name == "llm_request_run", name == "realtime_assistant_turn":
		return Model, false
	case name == "function_tool", a.has("lk.function_tool.name"):
		return Tool, false
	case strings.HasPrefix(name, "tts_"), strings.HasPrefix(name, "stt_"), strings.HasPrefix(name, "vad"), strings.HasPrefix(name, "eou_"):
		return Noise, false
	default:
		return Structure, false
	}
}

func readLiveKit(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("lk.session_id", "lk.job_id", "lk.room_name")
	switch o.Class {
	case Agent:
		o.Agent.Name = a.str("lk.agent_name", "lk.agent_label")
		if text := a.str("lk.instructions"); text != "" {
			o.System = []Part{textPart(text)}
		}
		if text := a.str("lk.user_input", "lk.user_transcript"); text != "" {
			o.Input = []Message{{Role: tape.RoleUser, Parts: []Part{textPart(text)}}}
		}
		if text := a.str("lk.response.text"); text != "" {
			o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(text)}}}
		}
	case Model:
		o.Operation = "chat"
		context, _ := structureOf(a.json("lk.chat_ctx"))
		if items := context.Get("items"); items.Kind() == exactjson.Array {
			context = items
		}
		o.Request, _ = messagesOf(context, tape.RoleUser)
		m := Message{Role: tape.RoleAssistant}
		if text := a.str("lk.response.text"); text != "" {
			m.Parts = append(m.Parts, textPart(text))
		}
		if calls, ok := structureOf(a.json("lk.response.function_calls")); ok {
			m.Parts = append(m.Parts, chatCalls(calls)...)
		}
		if len(m.Parts) > 0 {
			o.Response = []Message{m}
		}
		if tools, ok := structureOf(a.json("lk.function_tools")); ok {
			o.Tools = toolDefinitions(tools)
		}
	case Tool:
		o.Name = a.str("lk.function_tool.name")
		o.CallID = usableID(a.str("lk.function_tool.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.json("lk.function_tool.arguments", "lk.function_tool.args"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		o.Failed = a.str("lk.function_tool.is_error") == "true"
		if v := a.json("lk.function_tool.output"); !v.IsAbsent() {
			if o.Failed {
				o.Error = &tape.Error{Message: v.Text()}
			} else {
				o.Result = unwrapResult(resultContent(v, false)).content
			}
		}
	case Noise:
		o.NoiseReason = "speech"
	}
}
