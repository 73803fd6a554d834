// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Usage reads the token counts of a usage object, in the spelling of any provider.
func Usage(v exactjson.Value) tape.Usage {
	if inner, ok := Structure(v); ok {
		v = inner
	}
	count := func(v exactjson.Value, names ...string) *int64 {
		for _, name := range names {
			if n, ok := CountOf(v.Get(name)); ok {
				return &n
			}
		}
		return nil
	}
	first := func(a, b *int64) *int64 {
		if a != nil {
			return a
		}
		return b
	}
	inDetails := v.First("prompt_tokens_details", "input_tokens_details", "input_token_details")
	outDetails := v.First("completion_tokens_details", "output_tokens_details", "output_token_details")
	return tape.Usage{
		InputTokens:      count(v, "input_tokens", "prompt_tokens", "promptTokens", "inputTokens", "input", "promptTokenCount", "prompt_token_count"),
		OutputTokens:     count(v, "output_tokens", "completion_tokens", "completionTokens", "outputTokens", "output", "candidatesTokenCount", "candidates_token_count"),
		CacheReadTokens:  first(count(v, "cache_read_input_tokens", "input_cached_tokens", "cachedContentTokenCount", "cached_content_token_count", "input_cache_read", "cache_read_input_tokens"), count(inDetails, "cached_tokens", "cache_read")),
		CacheWriteTokens: first(count(v, "cache_creation_input_tokens", "input_cache_creation", "cache_write_input_tokens"), count(inDetails, "cache_creation", "cache_write")),
		ReasoningTokens:  first(count(v, "output_reasoning_tokens", "thoughtsTokenCount", "thoughts_token_count", "reasoning_tokens"), count(outDetails, "reasoning_tokens", "reasoning")),
	}
}
