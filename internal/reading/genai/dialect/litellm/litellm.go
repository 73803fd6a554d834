// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package litellm reads LiteLLM's own spans.
package litellm

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads LiteLLM's own spans, as library and as proxy. They hold model calls only, because a proxy
// never sees a tool run. LiteLLM writes the attributes onto a span of the caller if one is active.
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
	case name == rawRequest && !holdsAny(a, conversed):
		return dialect.Structure, false // the provider's side of an embedding, or of a call without content
	case name == "litellm_request", name == rawRequest, a.Has("gen_ai.request.model") && a.Text("gen_ai.operation.name") == "":
		return dialect.Model, false
	case s.ScopeName != "litellm" || a.Text("gen_ai.operation.name") != "":
		return dialect.Unclassified, false
	case strings.HasPrefix(name, "Received Proxy Server Request"):
		return dialect.Entry, false
	}
	return dialect.Noise, false // the proxy's work on databases, keys and guardrails
}

// rawRequest is the span of the provider's side of a call: what was sent and what came back, in the
// provider's words. LiteLLM writes the attributes of each call onto a span of the program around several
// calls, over those of the call before. These spans alone hold them all.
const rawRequest = "raw_gen_ai_request"

// liteLLMAsides are operations that are no model calls of an agent, by LiteLLM's call types without the a of
// asynchronous ones.
var liteLLMAsides = map[string]bool{
	"embedding": true, "embeddings": true, "image_generation": true, "transcription": true, "speech": true, "moderation": true, "rerank": true,
}

func readLiteLLM(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.UserID = a.Text("llm.user", "metadata.user_api_key_end_user_id")
	switch o.Class {
	case dialect.Model:
		if s.Span.Name() == rawRequest {
			readRaw(a, o)
			return
		}
		o.Operation = a.Text("gen_ai.operation.name")
		if o.Operation == "completion" || o.Operation == "acompletion" {
			o.Operation = "chat"
		}
		o.Request, o.RequestLabel = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
		o.Response, o.ResponseLabel = semconv.LabelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
		o.Response = withFlattenedCalls(a, decode.OneTurn(o.Response))
		o.Streaming = strings.EqualFold(a.Text("llm.is_streaming"), "true")
	case dialect.Noise:
		o.NoiseReason = strings.TrimPrefix(a.Text("gen_ai.operation.name"), "a")
		decode.FillString(&o.NoiseReason, "service")
	}
}

// withFlattenedCalls returns an answer with the calls that stand beside it, a number for each
// (gen_ai.completion.0.function_call.name). The message of a stream holds its text alone.
func withFlattenedCalls(a decode.Attributes, answer []decode.Message) []decode.Message {
	if len(answer) != 1 || decode.HasCalls(answer[0]) {
		return answer
	}
	beside, _ := a.UnflattenList("gen_ai.completion.")
	for _, m := range beside.Members() {
		if call := m.Value.Get("function_call"); call.Get("name").Str() != "" {
			answer[0].Parts = append(slices.Clip(answer[0].Parts), decode.CallPart("", call.Get("name").Str(), call.Get("arguments")))
		}
	}
	return answer
}

// sentNames are the members of a raw request; all others came back. A parameter is written before the answer,
// so the answer has the last word on names that both have.
var sentNames = []string{"messages", "input", "contents", "prompt", "system", "instructions", "tools", "functions"}

// conversed are the members of a raw request or response of a model call, in the words of its provider.
var conversed = []string{"messages", "contents", "choices", "candidates", "output"}

func holdsAny(a decode.Attributes, names []string) bool {
	for key := range a.All() {
		if provider, name, ok := strings.Cut(strings.TrimPrefix(key, "llm."), "."); ok && strings.HasPrefix(key, "llm.") && provider != "request" && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// readRaw reads llm.<provider>.<member>, each member of the request and of the response as Python writes it.
func readRaw(a decode.Attributes, o *dialect.Draft) {
	var sent, came []exactjson.Member
	for key := range a.All() {
		provider, name, ok := strings.Cut(strings.TrimPrefix(key, "llm."), ".")
		if !ok || !strings.HasPrefix(key, "llm.") || provider == "request" {
			continue
		}
		v := a.JSON(key)
		if parsed, lossy, ok := decode.Python(v.Str()); ok && !lossy && parsed.Kind() >= exactjson.Array {
			v = parsed
		} else if parsed, err := exactjson.Parse(v.Str()); err == nil && decode.ParamNames[name] != "" {
			v = parsed
		}
		m := exactjson.Member{Name: name, Value: v}
		if slices.Contains(sentNames, name) || decode.ParamNames[name] != "" {
			sent = append(sent, m)
		} else {
			came = append(came, m)
		}
		decode.FillString(&o.Provider, decode.Provider(provider))
	}
	dialect.ReadWholeModel(o, decode.Unordered(sent), decode.Unordered(came))
}
