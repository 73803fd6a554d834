// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// liteLLM reads LiteLLM's own spans, as library and as proxy. They hold model calls only: a proxy never sees a tool run. Where a span
// of the caller is active, the attributes are written onto it.
var liteLLM = &Dialect{
	ID:       "litellm",
	Name:     "LiteLLM",
	Scopes:   []string{"litellm"},
	Marks:    []string{"metadata.user_api_key", "hidden_params.", "gen_ai.cost."},
	Switch:   "on by default; `turn_off_message_logging: true` turns it off",
	classify: classifyLiteLLM,
	read:     readLiteLLM,
}

func classifyLiteLLM(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch op := strings.TrimPrefix(a.str("gen_ai.operation.name"), "a"); {
	case liteLLMAsides[op]:
		return Noise, false
	case name == "raw_gen_ai_request":
		return Structure, false // the provider's side of the call around it
	case name == "litellm_request", a.has("gen_ai.request.model") && a.str("gen_ai.operation.name") == "":
		return Model, false
	case s.ScopeName != "litellm" || a.str("gen_ai.operation.name") != "":
		return Unclassified, false
	case strings.HasPrefix(name, "Received Proxy Server Request"):
		return Entry, false
	}
	return Noise, false // the proxy's work on databases, keys and guardrails
}

// liteLLMAsides are operations that are no model calls of an agent, by LiteLLM's call types without the a of asynchronous ones.
var liteLLMAsides = map[string]bool{
	"embedding": true, "embeddings": true, "image_generation": true, "transcription": true, "speech": true, "moderation": true, "rerank": true,
}

func readLiteLLM(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.UserID = a.str("llm.user", "metadata.user_api_key_end_user_id")
	switch o.Class {
	case Model:
		o.Operation = a.str("gen_ai.operation.name")
		if o.Operation == "completion" || o.Operation == "acompletion" {
			o.Operation = "chat"
		}
		o.Request, o.RequestLabel = labelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
		o.Response, o.ResponseLabel = labelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
		o.Response = oneTurn(o.Response)
		o.Streaming = strings.EqualFold(a.str("llm.is_streaming"), "true")
	case Noise:
		o.NoiseReason = strings.TrimPrefix(a.str("gen_ai.operation.name"), "a")
		str(&o.NoiseReason, "service")
	}
}
