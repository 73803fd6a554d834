// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pydantic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestLogfireSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"logfire/anthropic", "logfire/openaistream", "logfire/agents", "logfire/mcp"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}

func TestLogfireStreamIsTheAnswerOfTheRequestBesideIt(t *testing.T) {
	spans := genaitest.Sources(t, "testdata/logfire/openaistream")
	genai.Arrange(spans, nil)
	request, stream := genai.Read(spans[0]), genai.Read(spans[1])
	if request.Class != dialect.Model || len(request.Response) != 1 || request.Usage.OutputTokens == nil {
		t.Errorf("the request says\n%s", genaitest.Said(request))
	}
	if stream.Class != dialect.Structure {
		t.Errorf("the stream is a call of its own:\n%s", genaitest.Said(stream))
	}
}

func TestLogfirePendingSpansAreNoCalls(t *testing.T) {
	s := genaitest.Span("logfire.openai", "Chat Completion with {request_data[model]!r}", "logfire.span_type", "pending_span", "request_data", `{"model":"m"}`)
	if o := genai.Read(s); o.Class != dialect.Noise {
		t.Errorf("a pending span is read as\n%s", genaitest.Said(o))
	}
}
