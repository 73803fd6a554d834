// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// claudeAgent reads OpenInference's package for the Claude Agent SDK. There are no spans of model calls: the model, its usage and, in
// Python, its turns stand on the span of the run; tools are spans below it.
var claudeAgent = &Dialect{
	ID:       "claude-agent-sdk",
	Name:     "Claude Agent SDK (OpenInference)",
	Scopes:   []string{"@arizeai/openinference-instrumentation-claude-agent-sdk", "openinference.instrumentation.claude_agent_sdk"},
	Root:     "the outermost `AGENT` (`ClaudeAgent.query`, `ClaudeAgentSDK.query`)",
	Rooted:   true,
	Switch:   "on by default; unset `OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS` and the other `OPENINFERENCE_HIDE_*`",
	classify: classifyOpenInference,
	read:     readClaudeAgent,
}

func readClaudeAgent(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Agent:
		o.Model, o.Provider = a.str("llm.model_name"), "anthropic"
		o.ConversationID = a.str("session.id")
		o.FinishReasons = a.strings("llm.finish_reason")
		inclusive := true
		o.Usage = tape.Usage{
			InputTokens: a.count("llm.token_count.prompt"), OutputTokens: a.count("llm.token_count.completion"),
			CacheReadTokens:  a.count("llm.token_count.prompt_details.cache_read"),
			CacheWriteTokens: a.count("llm.token_count.prompt_details.cache_write"),
		}
		if o.Usage.InputTokens != nil {
			o.Usage.InputIncludesCache = &inclusive
		}
		turns, _ := openInferenceMessages(a.unflatten("llm.output_messages."))
		if final := a.str("output.value"); len(turns) > 0 && final != "" && !looksJSON(final) {
			if last := turns[len(turns)-1]; len(last.Parts) == 0 || last.Parts[len(last.Parts)-1].Text != final {
				turns = append(slices.Clone(turns), Message{Role: tape.RoleAssistant, Parts: []Part{textPart(final)}})
			}
		}
		o.Output = turns
	case Tool:
		o.Name, o.CallID = a.str("tool.name"), usableID(a.str("tool.id", "tool_call.id"))
		o.ToolKind = tape.ToolBuiltin
		if server, tool, ok := strings.Cut(strings.TrimPrefix(o.Name, "mcp__"), "__"); ok && strings.HasPrefix(o.Name, "mcp__") {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: tool}
		}
		if o.Name == "Task" || o.Name == "Agent" {
			o.ToolKind = tape.ToolAgent
		}
	}
}
