// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package litellm reads LiteLLM's own spans.
package litellm

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
)

// Dialect reads LiteLLM's own spans, as library and as proxy. They hold model calls only, because a proxy never sees a tool run.
// LiteLLM writes the attributes onto a span of the caller if one is active.
var Dialect = &dialect.Dialect{
	ID:       "litellm",
	Name:     "LiteLLM",
	Scopes:   []string{"litellm"},
	Marks:    []string{"metadata.user_api_key", "hidden_params.", "gen_ai.cost."},
	Switch:   "on by default; `turn_off_message_logging: true` turns it off",
	Classify: classifyLiteLLM,
	Read:     readLiteLLM,
}

func classifyLiteLLM(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch op := strings.TrimPrefix(a.Text("gen_ai.operation.name"), "a"); {
	case liteLLMAsides[op]:
		return dialect.Noise, false
	case name == "raw_gen_ai_request":
		return dialect.Structure, false // the provider's side of the call around it
	case name == "litellm_request", a.Has("gen_ai.request.model") && a.Text("gen_ai.operation.name") == "":
		return dialect.Model, false
	case s.ScopeName != "litellm" || a.Text("gen_ai.operation.name") != "":
		return dialect.Unclassified, false
	case strings.HasPrefix(name, "Received Proxy Server Request"):
		return dialect.Entry, false
	}
	return dialect.Noise, false // the proxy's work on databases, keys and guardrails
}

// liteLLMAsides are operations that are no model calls of an agent, by LiteLLM's call types without the a of asynchronous ones.
var liteLLMAsides = map[string]bool{
	"embedding": true, "embeddings": true, "image_generation": true, "transcription": true, "speech": true, "moderation": true, "rerank": true,
}

func readLiteLLM(s *dialect.Source, o *dialect.Observation) {
	a := decode.Attributes(s.Span.Attributes())
	o.UserID = a.Text("llm.user", "metadata.user_api_key_end_user_id")
	switch o.Class {
	case dialect.Model:
		o.Operation = a.Text("gen_ai.operation.name")
		if o.Operation == "completion" || o.Operation == "acompletion" {
			o.Operation = "chat"
		}
		o.Request, o.RequestLabel = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
		o.Response, o.ResponseLabel = semconv.LabelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
		o.Response = decode.OneTurn(o.Response)
		o.Streaming = strings.EqualFold(a.Text("llm.is_streaming"), "true")
	case dialect.Noise:
		o.NoiseReason = strings.TrimPrefix(a.Text("gen_ai.operation.name"), "a")
		decode.FillString(&o.NoiseReason, "service")
	}
}
