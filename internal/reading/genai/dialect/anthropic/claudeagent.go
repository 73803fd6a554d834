// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/tape"
)

// ClaudeAgent reads OpenInference's package for the Claude Agent SDK. The package writes no spans of model
// calls. The span of the run holds the model, its usage and, in Python, its turns. Tools are spans below it.
var ClaudeAgent = &dialect.Dialect{
	ID:       "claude-agent-sdk",
	Name:     "Claude Agent SDK (OpenInference)",
	Scopes:   []string{"@arizeai/openinference-instrumentation-claude-agent-sdk", "openinference.instrumentation.claude_agent_sdk"},
	Root:     "the outermost `AGENT` (`ClaudeAgent.query`, `ClaudeAgentSDK.query`)",
	Rooted:   true,
	Switch:   "on by default; unset `OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS` and the other `OPENINFERENCE_HIDE_*`",
	Settings: []dialect.Setting{{Name: "OPENINFERENCE_HIDE_*", Unset: true}},
	Classify: openinference.Classify,
	Read:     readClaudeAgent,
}

func readClaudeAgent(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Agent:
		o.Model, o.Provider = a.Text("llm.model_name"), "anthropic"
		o.ConversationID = a.Text("session.id")
		o.FinishReasons = a.Texts("llm.finish_reason")
		inclusive := true
		o.Usage = tape.Usage{
			InputTokens: a.Count("llm.token_count.prompt"), OutputTokens: a.Count("llm.token_count.completion"),
			CacheReadTokens:  a.Count("llm.token_count.prompt_details.cache_read"),
			CacheWriteTokens: a.Count("llm.token_count.prompt_details.cache_write"),
		}
		if o.Usage.InputTokens != nil {
			o.Usage.InputIncludesCache = &inclusive
		}
		turns, _ := openinference.Messages(a.Unflatten("llm.output_messages."))
		if final := a.Text("output.value"); len(turns) > 0 && final != "" && !decode.LooksJSON(final) {
			if last := turns[len(turns)-1]; len(last.Parts) == 0 || last.Parts[len(last.Parts)-1].Text != final {
				turns = append(slices.Clone(turns), decode.Message{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(final)}})
			}
		}
		o.Output = turns
	case dialect.Tool:
		o.Name, o.CallID = a.Text("tool.name"), decode.UsableID(a.Text("tool.id", "tool_call.id"))
		o.ToolKind = tape.ToolBuiltin
		if server, tool, ok := strings.Cut(strings.TrimPrefix(o.Name, "mcp__"), "__"); ok && strings.HasPrefix(o.Name, "mcp__") {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: tool}
		}
		if o.Name == "Task" || o.Name == "Agent" {
			o.ToolKind = tape.ToolAgent
		}
	}
}
