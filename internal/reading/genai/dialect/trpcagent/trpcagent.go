// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package trpcagent reads tRPC-Agent-Go.
package trpcagent

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads tRPC-Agent-Go: the conventions with chat messages, and every tool result inside a response
// object of its own.
var Dialect = &dialect.Dialect{
	ID:       "trpc-agent-go",
	Name:     "tRPC-Agent-Go",
	Scopes:   []string{"trpc.agent.go"},
	Root:     "the outermost `invoke_agent`, else `workflow execute_graph`",
	Encoded:  true,
	Switch:   "on by default",
	Classify: classifyTRPCAgent,
	Read:     readTRPCAgent,
}

// mergedTools is the name of a tool in the span of an event that repeats the results of all tools of a turn.
// Each of them has a span of its own.
const mergedTools = "(merged tools)"

func classifyTRPCAgent(s *dialect.Source) (dialect.Class, bool) {
	switch name := s.Span.Name(); {
	case strings.HasPrefix(name, "workflow execute_graph"):
		return dialect.Agent, true
	case strings.HasPrefix(name, "workflow "), name == "run_model", name == "execute_tool "+mergedTools:
		return dialect.Structure, false
	default:
		return semconv.Classify(s)
	}
}

func readTRPCAgent(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.InvocationID = a.Text("trpc.go.agent.invocation_id")
	o.UserID = a.Text("trpc.go.agent.runner.user_id")
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = strings.HasPrefix(s.Span.Name(), "workflow ")
		o.Input, _ = decode.Messages(a.JSON("gen_ai.input.messages.otel"), tape.RoleUser)
	case dialect.Model:
		o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.request.tool.definitions"))
		o.Request, _ = decode.Messages(a.JSON("gen_ai.input.messages.otel"), tape.RoleUser)
		answer, _ := decode.Messages(a.JSON("gen_ai.output.messages.otel"), tape.RoleAssistant)
		o.Response = decode.OneTurn(answer)
		o.Streaming = a.Text("gen_ai.request.is_stream") == "true"
	case dialect.Structure:
		if s.Span.Name() == "execute_tool "+mergedTools { // that of a tool that failed may stand here alone
			o.OutputData = decode.Result(a.JSON("gen_ai.tool.call.result"), true)
		}
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name")
		o.Handoff = o.Name == "transfer_to_agent"
		response, ok := decode.Structure(a.JSON("gen_ai.tool.call.result"))
		if !ok || response.Get("object").Str() != "tool.response" {
			return
		}
		message := response.Get("choices").At(0).Get("message")
		o.CallID = decode.UsableID(message.Get("tool_id").Str())
		if v := message.Get("content"); v.Kind() == exactjson.String {
			o.Result = decode.Result(v, true)
			o.Result.Envelope = []string{"trpc.tool_response"}
		}
		if failure := response.Get("error"); failure.Kind() == exactjson.Object {
			o.Failed = true
			o.Error = &tape.Error{Type: failure.Get("type").Str(), Message: failure.Get("message").Str()}
			if !o.Result.Present() {
				o.Result = decode.Content{Value: failure.Get("message"), Envelope: []string{"trpc.tool_response"}}
			}
		}
	}
}
