// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// trpcAgent reads tRPC-Agent-Go: the conventions with chat messages, and every tool result inside a response object of its own.
var trpcAgent = &Dialect{
	ID:       "trpc-agent-go",
	Name:     "tRPC-Agent-Go",
	Scopes:   []string{"trpc.agent.go"},
	Root:     "the outermost `invoke_agent`, else `workflow execute_graph`",
	Encoded:  true,
	Switch:   "on by default",
	classify: classifyTRPCAgent,
	read:     readTRPCAgent,
}

func classifyTRPCAgent(s *Source) (Class, bool) {
	switch name := s.Span.Name(); {
	case strings.HasPrefix(name, "workflow execute_graph"):
		return Agent, true
	case strings.HasPrefix(name, "workflow "), name == "run_model":
		return Structure, false
	default:
		return classifySemconv(s)
	}
}

func readTRPCAgent(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.InvocationID = a.str("trpc.go.agent.invocation_id")
	o.UserID = a.str("trpc.go.agent.runner.user_id")
	switch o.Class {
	case Agent:
		o.WeakAgent = strings.HasPrefix(s.Span.Name(), "workflow ")
		o.Input, _ = messagesOf(a.json("gen_ai.input.messages.otel"), tape.RoleUser)
	case Model:
		o.Tools = toolDefinitions(a.json("gen_ai.request.tool.definitions"))
		o.Request, _ = messagesOf(a.json("gen_ai.input.messages.otel"), tape.RoleUser)
		answer, _ := messagesOf(a.json("gen_ai.output.messages.otel"), tape.RoleAssistant)
		o.Response = oneTurn(answer)
		o.Streaming = a.str("gen_ai.request.is_stream") == "true"
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		o.Handoff = o.Name == "transfer_to_agent"
		response, ok := structureOf(a.json("gen_ai.tool.call.result"))
		if !ok || response.Get("object").Str() != "tool.response" {
			return
		}
		message := response.Get("choices").At(0).Get("message")
		o.CallID = usableID(message.Get("tool_id").Str())
		if v := message.Get("content"); v.Kind() == exactjson.String {
			o.Result = resultContent(v, true)
			o.Result.Envelope = []string{"trpc.tool_response"}
		}
		if failure := response.Get("error"); failure.Kind() == exactjson.Object {
			o.Failed = true
			o.Error = &tape.Error{Type: failure.Get("type").Str(), Message: failure.Get("message").Str()}
			if !o.Result.Present() {
				o.Result = Content{Value: failure.Get("message"), Envelope: []string{"trpc.tool_response"}}
			}
		}
	}
}
