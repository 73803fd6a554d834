// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestGenkitForJavaScriptIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "genkit/javascript")
}

func TestGenkitForGoIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "genkit/go")
}

func TestGenkitReadsCandidatesAndMarksWhatWasCut(t *testing.T) {
	const scope = "genkit-tracer"
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"the first candidate", genaitest.Span(scope, "m", "genkit:type", "action", "genkit:metadata:subtype", "model", "genkit:name", "googleai/gemini-pro",
			"genkit:input", `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"config":{"maxOutputTokens":9}}`,
			"genkit:output", `{"candidates":[{"index":0,"finishReason":"stop","message":{"role":"model","content":[{"text":"ho"}]}}],"usage":{"inputTokens":1}}`),
			"class: model\ndialect: genkit\nmodel: gemini-pro\nprovider: googleai\nparam max_tokens: 9\nrequest: user | text \"hi\"\nresponse: assistant | text \"ho\" [stop]\nfinish: stop\ninput tokens: 1\n"},
		{"a cut result", genaitest.Span(scope, "t", "genkit:type", "action", "genkit:metadata:subtype", "tool", "genkit:name", "ns/t", "genkit:input", "{}", "genkit:output", `{"a":"b`),
			"class: tool\ndialect: genkit\nname: t\nkind: function\nargs: {}\nresult: \"{\\\"a\\\":\\\"b\" [truncated]\n"},
		{"an interrupt", genaitest.Span(scope, "generate", "genkit:type", "util", "genkit:name", "generate", "genkit:output", `{"finishReason":"interrupted","message":{"role":"model","content":[{"text":"?"}]}}`),
			"class: agent\ndialect: genkit\nweak: yes\nwaiting: resume\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Go leaves an output of nil out of what a multipart tool returns; an object without members is one.
func TestAGenkitToolThatReturnedNilIsReadAsNull(t *testing.T) {
	for output, want := range map[string]string{`{}`: "null", `{"output":{}}`: "{}"} {
		s := genaitest.Span("genkit-tracer", "f", "genkit:metadata:subtype", "tool.v2", "genkit:name", "f", "genkit:input", "{}", "genkit:output", output)
		if got := genai.Read(s).Result.Value.JSON(); got != want {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}
