// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestLogfireSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"logfire/anthropic", "logfire/openaistream", "logfire/agents", "logfire/mcp"} {
		saysAsRecorded(t, Read, name)
	}
}

func TestLogfireStreamIsTheAnswerOfTheRequestBesideIt(t *testing.T) {
	spans := sourcesOf(t, "testdata/logfire/openaistream")
	Arrange(spans, nil)
	request, stream := Read(spans[0]), Read(spans[1])
	if request.Class != Model || len(request.Response) != 1 || request.Usage.OutputTokens == nil {
		t.Errorf("the request says\n%s", said(request))
	}
	if stream.Class != Structure {
		t.Errorf("the stream is a call of its own:\n%s", said(stream))
	}
}

func TestLogfirePendingSpansAreNoCalls(t *testing.T) {
	s := spanSource("logfire.openai", "Chat Completion with {request_data[model]!r}", "logfire.span_type", "pending_span", "request_data", `{"model":"m"}`)
	if o := Read(s); o.Class != Noise {
		t.Errorf("a pending span is read as\n%s", said(o))
	}
}
