// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package trulens reads TruLens.
package trulens

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// Dialect reads TruLens: instrumented functions with their arguments and return values. The arguments of a
// function that calls a model are not the request that it sent, unless they are messages.
var Dialect = &dialect.Dialect{
	ID:       "trulens",
	Name:     "TruLens",
	Scopes:   []string{"trulens"},
	Marks:    []string{"ai.observability."},
	Root:     "`record_root`",
	Switch:   "on by default",
	Classify: classifyTruLens,
	Read:     readTruLens,
}

var truLensTypes = map[string]dialect.Class{
	"record_root": dialect.Agent, "agent": dialect.Agent, "generation": dialect.Model, "retrieval": dialect.Retrieval, "tool": dialect.Tool, "mcp": dialect.Tool,
	"eval": dialect.Noise, "eval_root": dialect.Noise, "embedding": dialect.Noise, "reranking": dialect.Noise, "record": dialect.Structure,
}

func classifyTruLens(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("ai.observability.span_type")
	if class, ok := truLensTypes[kind]; ok {
		return class, class == dialect.Agent
	}
	if kind != "" {
		return dialect.Structure, false
	}
	return dialect.Unclassified, false
}

func readTruLens(s *dialect.Source, o *dialect.Draft) {
	const prefix = "ai.observability."
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text(prefix + "span_type")
	o.ConversationID = a.Text(prefix + "session_id")
	kwargs, returned := a.Unflatten(prefix+"call.kwargs."), a.JSON(prefix+"call.return")
	if message := a.Text(prefix + "call.error"); message != "" {
		o.Failed, o.Error = true, &tape.Error{Message: message}
	}
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = a.Text(prefix+"agent.name", prefix+"app_name")
		in, out := a.JSON(prefix+"record_root.input"), a.JSON(prefix+"record_root.output")
		if in.IsAbsent() {
			in = kwargs
		}
		if out.IsAbsent() {
			out = returned
		}
		dialect.ReadWholeAgent(o, in, out)
	case dialect.Model:
		o.Operation = "chat"
		if messages, ok := decode.Structure(kwargs.First("messages", "prompt")); ok {
			o.Request, _ = decode.Messages(messages, tape.RoleUser)
		}
		o.Response = decode.OneTurn(decode.OutputMessages(returned, 0))
		o.ResponseModel = a.Text(prefix + "cost.model")
		o.Usage = tape.Usage{InputTokens: a.Count(prefix + "cost.num_prompt_tokens"), OutputTokens: a.Count(prefix + "cost.num_completion_tokens")}
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: a.JSON(prefix + "retrieval.query_text")}
		o.Documents = decode.Documents(a.JSON(prefix + "retrieval.retrieved_contexts"))
	case dialect.Tool:
		o.Name = a.Text(prefix+"mcp.tool_name", prefix+"tool.name")
		if o.Name == "" {
			o.Name = s.Span.Name()[strings.LastIndexByte(s.Span.Name(), '.')+1:]
		}
		in, out := a.JSON(prefix+"mcp.input_arguments"), a.JSON(prefix+"mcp.output_content")
		if in.IsAbsent() {
			in = kwargs
		}
		if out.IsAbsent() {
			out = returned
		}
		if kind == "mcp" {
			o.ToolKind, o.MCPLeg = tape.ToolMCP, true
			o.Failed = o.Failed || a.Text(prefix+"mcp.output_is_error") == "true"
		}
		dialect.ReadWholeTool(o, in, out, false)
	case dialect.Noise:
		o.NoiseReason = strings.ReplaceAll(kind, "eval_root", "eval")
	}
}
