// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ReadRequest reads the body of a request to the Messages API.
func ReadRequest(body exactjson.Value, o *dialect.Draft) {
	decode.FillString(&o.Model, body.Get("model").Str())
	if len(o.System) == 0 {
		o.System = decode.System(body.Get("system"))
	}
	if messages, ok := decode.Messages(body.Get("messages"), tape.RoleUser); ok && len(o.Request) == 0 {
		o.Request = messages
		if len(o.System) > 0 && decode.HasRole(messages, tape.RoleSystem) {
			// one within the conversation is not in place of the instructions
			o.Request = append([]decode.Message{{Role: tape.RoleSystem, Parts: o.System}}, messages...)
		}
	}
	decode.FillList(&o.Tools, decode.ToolDefinitions(body.Get("tools")))
	for _, name := range []string{"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "thinking"} {
		o.AddParam(name, body.Get(name))
	}
	o.Streaming = o.Streaming || body.Get("stream").True()
}

// ReadResponse reads the body of a response of the Messages API. Its input tokens exclude what came from the
// cache.
func ReadResponse(body exactjson.Value, o *dialect.Draft) {
	if inner := body.Get("message"); inner.Kind() == exactjson.Object {
		body = inner
	}
	decode.FillString(&o.ResponseID, body.Get("id").Str())
	decode.FillString(&o.ResponseModel, body.Get("model").Str())
	if stop := body.Get("stop_reason").Str(); stop != "" && len(o.FinishReasons) == 0 {
		o.FinishReasons = []string{stop}
	}
	if parts := decode.Parts(body.Get("content")); len(parts) > 0 && len(o.Response) == 0 {
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: parts}}
	}
	if usage := body.Get("usage"); usage.Kind() == exactjson.Object {
		exclusive := false
		decode.FillUsage(&o.Usage, tape.Usage{
			InputTokens:        decode.OptionalCount(usage.Get("input_tokens")),
			OutputTokens:       decode.OptionalCount(usage.Get("output_tokens")),
			CacheReadTokens:    decode.OptionalCount(usage.Get("cache_read_input_tokens")),
			CacheWriteTokens:   decode.OptionalCount(usage.Get("cache_creation_input_tokens")),
			InputIncludesCache: &exclusive,
		})
	}
}
