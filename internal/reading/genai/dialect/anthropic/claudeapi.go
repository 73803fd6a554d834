// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
)

// ClaudeAPI reads the native spans of the Anthropic SDKs and of the Claude API behind them. They follow the
// conventions, but the result of a tool has a name of its own. Both sides of a request stand in one trace.
var ClaudeAPI = &dialect.Dialect{
	ID:            "claude-api",
	Name:          "Claude API and Anthropic SDKs",
	Scopes:        []string{"com.anthropic.claude-platform"},
	ScopePrefixes: []string{"com.anthropic.sdk."},
	Marks:         []string{"anthropic.tool_result."},
	Root:          "the session span of a managed agent; none for bare requests",
	Switch:        "per destination in the platform, or the SDK's telemetry option",
	Classify:      classifyClaudeAPI,
	Read:          readClaudeAPI,
}

func classifyClaudeAPI(s *dialect.Source) (dialect.Class, bool) {
	name := strings.TrimPrefix(s.Span.Name(), "anthropic.")
	a := decode.Attributes(s.Span.Attributes())
	switch {
	case strings.HasPrefix(name, "tool_use"):
		return dialect.Tool, false
	case strings.Contains(name, "count_tokens"), strings.Contains(name, "models."), strings.Contains(name, "files."), strings.Contains(name, "batches"):
		return dialect.Noise, false
	case a.Text("gen_ai.operation.name") != "":
		return semconv.Classify(s)
	case strings.Contains(name, "messages."), strings.Contains(name, "completions."):
		return dialect.Model, false
	case strings.HasPrefix(name, "session"), strings.HasPrefix(name, "agent"), strings.HasPrefix(name, "beta.sessions"):
		return dialect.Agent, true
	default:
		return semconv.Classify(s)
	}
}

func readClaudeAPI(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("gen_ai.conversation.id", "anthropic.session.id")
	switch o.Class {
	case dialect.Model:
		o.Provider, o.Operation = "anthropic", "chat"
		if stop := a.Text("anthropic.message.stop_reason"); stop != "" {
			o.FinishReasons = []string{stop}
		}
		if a.Has("gen_ai.usage.input_tokens") {
			inclusive := true
			o.Usage.InputIncludesCache = &inclusive
		}
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name")
		decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "anthropic.tool_use "))
		o.CallID, o.ToolKind = decode.UsableID(a.Text("gen_ai.tool.call.id")), tape.ToolFunction
		if strings.HasPrefix(o.CallID, "srvtoolu_") {
			o.ToolKind = tape.ToolServer
		}
		if v := a.JSON("anthropic.tool_result.content"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.Result(v, false))
			o.Result, o.Failed = u.Content, u.IsError
		}
		if a.Text("anthropic.tool_result.is_error") == "true" {
			o.Failed = true
		}
	case dialect.Noise:
		o.NoiseReason = s.Span.Name()
	}
}
