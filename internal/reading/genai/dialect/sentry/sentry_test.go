// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sentry_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestSentryIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "sentry/langgraph")
	genaitest.SaysAsRecorded(t, genai.Read, "sentry/truncated")
}

// A call of a streamed answer comes in two shapes, that of the provider and that of the SDK. Two in one shape are two calls.
func TestCallWithoutAnIDInTwoShapesIsOne(t *testing.T) {
	for calls, want := range map[string]int{
		`[{"name":"f","args":{"a":1}},{"type":"function","name":"f","arguments":{"a":1}}]`: 1,
		`[{"name":"f","args":{"a":1}},{"name":"f","args":{"a":1}}]`:                        2,
		`[{"name":"f","args":{"a":1}},{"type":"function","name":"f","arguments":{"a":2}}]`: 2,
		`[{'id': 'c1', 'function': {'arguments': '{"a": 1}', 'name': 'f'}}]`:               1, // as OpenLIT prints it
	} {
		o := genai.Read(genaitest.Span("@sentry/node", "generate_content g", "gen_ai.operation.name", "generate_content", "gen_ai.response.tool_calls", calls))
		if len(o.Response) != 1 || len(o.Response[0].Parts) != want {
			t.Errorf("%s: %+v", calls, o.Response)
		}
	}
}
