// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// readAnthropicRequest reads the body of a request to the Messages API.
func readAnthropicRequest(body exactjson.Value, o *Observation) {
	str(&o.Model, body.Get("model").Str())
	if len(o.System) == 0 {
		o.System = systemOf(body.Get("system"))
	}
	if messages, ok := messagesOf(body.Get("messages"), tape.RoleUser); ok && len(o.Request) == 0 {
		o.Request = messages
	}
	list(&o.Tools, toolDefinitions(body.Get("tools")))
	for _, name := range []string{"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "thinking"} {
		o.param(name, body.Get(name))
	}
	o.Streaming = o.Streaming || body.Get("stream").True()
}

// readAnthropicResponse reads the body of a response of the Messages API. Its input tokens exclude what came from the cache.
func readAnthropicResponse(body exactjson.Value, o *Observation) {
	if inner := body.Get("message"); inner.Kind() == exactjson.Object {
		body = inner
	}
	str(&o.ResponseID, body.Get("id").Str())
	str(&o.ResponseModel, body.Get("model").Str())
	if stop := body.Get("stop_reason").Str(); stop != "" && len(o.FinishReasons) == 0 {
		o.FinishReasons = []string{stop}
	}
	if parts := partsOf(body.Get("content")); len(parts) > 0 && len(o.Response) == 0 {
		o.Response = []Message{{Role: tape.RoleAssistant, Parts: parts}}
	}
	if usage := body.Get("usage"); usage.Kind() == exactjson.Object {
		exclusive := false
		fillUsage(&o.Usage, tape.Usage{
			InputTokens:        wholeOf(usage.Get("input_tokens")),
			OutputTokens:       wholeOf(usage.Get("output_tokens")),
			CacheReadTokens:    wholeOf(usage.Get("cache_read_input_tokens")),
			CacheWriteTokens:   wholeOf(usage.Get("cache_creation_input_tokens")),
			InputIncludesCache: &exclusive,
		})
	}
}

// wholeOf is a count that a JSON value holds.
func wholeOf(v exactjson.Value) *int64 {
	if n, ok := countOf(v); ok {
		return &n
	}
	return nil
}
