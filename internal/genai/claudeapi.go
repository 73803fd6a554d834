// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// claudeAPI reads the native spans of the Anthropic SDKs and of the Claude API behind them: the conventions, with the result of a tool
// under a name of its own. Both sides of a request stand in one trace.
var claudeAPI = &Dialect{
	ID:            "claude-api",
	Name:          "Claude API and Anthropic SDKs",
	Scopes:        []string{"com.anthropic.claude-platform"},
	ScopePrefixes: []string{"com.anthropic.sdk."},
	Marks:         []string{"anthropic.tool_result."},
	Root:          "the session span of a managed agent; none for bare requests",
	Switch:        "per destination in the platform, or the SDK's telemetry option",
	classify:      classifyClaudeAPI,
	read:          readClaudeAPI,
}

func classifyClaudeAPI(s *Source) (Class, bool) {
	name := strings.TrimPrefix(s.Span.Name(), "anthropic.")
	a := attributes(s.Span.Attributes())
	switch {
	case strings.HasPrefix(name, "tool_use"):
		return Tool, false
	case strings.Contains(name, "count_tokens"), strings.Contains(name, "models."), strings.Contains(name, "files."), strings.Contains(name, "batches"):
		return Noise, false
	case a.str("gen_ai.operation.name") != "":
		return classifySemconv(s)
	case strings.Contains(name, "messages."), strings.Contains(name, "completions."):
		return Model, false
	case strings.HasPrefix(name, "session"), strings.HasPrefix(name, "agent"), strings.HasPrefix(name, "beta.sessions"):
		return Agent, true
	default:
		return classifySemconv(s)
	}
}

func readClaudeAPI(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("gen_ai.conversation.id", "anthropic.session.id")
	switch o.Class {
	case Model:
		o.Provider, o.Operation = "anthropic", "chat"
		if stop := a.str("anthropic.message.stop_reason"); stop != "" {
			o.FinishReasons = []string{stop}
		}
		if a.has("gen_ai.usage.input_tokens") {
			inclusive := true
			o.Usage.InputIncludesCache = &inclusive
		}
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		str(&o.Name, nameAfter(s.Span.Name(), "anthropic.tool_use "))
		o.CallID, o.ToolKind = usableID(a.str("gen_ai.tool.call.id")), tape.ToolFunction
		if strings.HasPrefix(o.CallID, "srvtoolu_") {
			o.ToolKind = tape.ToolServer
		}
		if v := a.json("anthropic.tool_result.content"); !v.IsAbsent() {
			u := unwrapResult(resultContent(v, false))
			o.Result, o.Failed = u.content, u.isError
		}
		if a.str("anthropic.tool_result.is_error") == "true" {
			o.Failed = true
		}
	case Noise:
		o.NoiseReason = s.Span.Name()
	}
}
