// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// truLens reads TruLens: instrumented functions with their arguments and return values. The arguments of a function that calls a
// model are not the request that it sent, unless they are messages.
var truLens = &Dialect{
	ID:       "trulens",
	Name:     "TruLens",
	Scopes:   []string{"trulens"},
	Marks:    []string{"ai.observability."},
	Root:     "`record_root`",
	Switch:   "on by default",
	classify: classifyTruLens,
	read:     readTruLens,
}

var truLensTypes = map[string]Class{
	"record_root": Agent, "agent": Agent, "generation": Model, "retrieval": Retrieval, "tool": Tool, "mcp": Tool,
	"eval": Noise, "eval_root": Noise, "embedding": Noise, "reranking": Noise, "record": Structure,
}

func classifyTruLens(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := a.str("ai.observability.span_type")
	if class, ok := truLensTypes[kind]; ok {
		return class, class == Agent
	}
	if kind != "" {
		return Structure, false
	}
	return Unclassified, false
}

func readTruLens(s *Source, o *Observation) {
	const prefix = "ai.observability."
	a := attributes(s.Span.Attributes())
	kind := a.str(prefix + "span_type")
	o.ConversationID = a.str(prefix + "session_id")
	kwargs, returned := a.unflatten(prefix+"call.kwargs."), a.json(prefix+"call.return")
	if message := a.str(prefix + "call.error"); message != "" {
		o.Failed, o.Error = true, &tape.Error{Message: message}
	}
	switch o.Class {
	case Agent:
		o.Agent.Name = a.str(prefix+"agent.name", prefix+"app_name")
		in, out := a.json(prefix+"record_root.input"), a.json(prefix+"record_root.output")
		if in.IsAbsent() {
			in = kwargs
		}
		if out.IsAbsent() {
			out = returned
		}
		readWholeAgent(o, in, out)
	case Model:
		o.Operation = "chat"
		if messages, ok := structureOf(kwargs.First("messages", "prompt")); ok {
			o.Request, _ = messagesOf(messages, tape.RoleUser)
		}
		o.Response = oneTurn(outputMessages(returned, 0))
		o.ResponseModel = a.str(prefix + "cost.model")
		o.Usage = tape.Usage{InputTokens: a.count(prefix + "cost.num_prompt_tokens"), OutputTokens: a.count(prefix + "cost.num_completion_tokens")}
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: a.json(prefix + "retrieval.query_text")}
		o.Documents = documentsOf(a.json(prefix + "retrieval.retrieved_contexts"))
	case Tool:
		o.Name = a.str(prefix+"mcp.tool_name", prefix+"tool.name")
		if o.Name == "" {
			o.Name = s.Span.Name()[strings.LastIndexByte(s.Span.Name(), '.')+1:]
		}
		in, out := a.json(prefix+"mcp.input_arguments"), a.json(prefix+"mcp.output_content")
		if in.IsAbsent() {
			in = kwargs
		}
		if out.IsAbsent() {
			out = returned
		}
		if kind == "mcp" {
			o.ToolKind, o.MCPLeg = tape.ToolMCP, true
			o.Failed = o.Failed || a.str(prefix+"mcp.output_is_error") == "true"
		}
		readWholeTool(o, in, out, false)
	case Noise:
		o.NoiseReason = strings.ReplaceAll(kind, "eval_root", "eval")
	}
}
