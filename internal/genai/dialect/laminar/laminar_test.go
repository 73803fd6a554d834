// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package laminar_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestLaminarSinglePositionalArgumentStandsAlone(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "f", "lmnr.span.type", "TOOL", "lmnr.span.input", `["x"]`, "lmnr.span.output", `"y"`)),
		"class: tool\ndialect: laminar\nname: f\nkind: function\nargs: \"x\"\nresult: \"y\"\n")
}

func TestLaminarIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "laminar/openai")
}

func TestLaminarCachedModelCallIsAModelCall(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "openai.chat", "lmnr.span.type", "CACHED", "lmnr.span.original_type", "LLM", "lmnr.span.input", `[{"role":"user","content":"q"}]`,
		"lmnr.span.output", `[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]`)),
		"class: model\ndialect: laminar\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\nfinish: stop\n")
}

// The AI SDK writes its spans with the tracer of Laminar, which it was given.
func TestSpansOfOthersUnderLaminarsScopeSayWhatTheyAre(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "ai.toolCall", "ai.operationId", "ai.toolCall", "ai.toolCall.name", "crawl", "ai.toolCall.id", "c1", "ai.toolCall.args", `{"page":1}`,
		"ai.toolCall.result", `{"next":2}`, "lmnr.span.path", "x")), "class: tool\ndialect: vercel-ai\nname: crawl\ncall: c1\nkind: function\nargs: {\"page\":1}\nresult: {\"next\":2}\n")
	if o := genai.Read(genaitest.Span("lmnr.tracer", "f", "lmnr.span.input", `{"a":1}`, "lmnr.span.path", "x")); o.Class == genai.Tool {
		t.Errorf("a function of the program is a %v", o.Class)
	}
}

func TestLaminarToolThatThrewFailed(t *testing.T) {
	for _, c := range []struct {
		attrs []string
		want  bool
	}{
		{[]string{"lmnr.span.input", `{"id":1}`}, true},
		{[]string{"lmnr.span.input", `{"id":1}`, "lmnr.span.output", `"tried again"`}, false}, // it went on
		{nil, false}, // nothing was recorded
	} {
		s := genaitest.Span("lmnr.tracer", "look", append([]string{"lmnr.span.type", "TOOL"}, c.attrs...)...)
		s.Span.Events().AppendEmpty().SetName("exception")
		if o := genai.Read(s); o.StatusError != c.want {
			t.Errorf("%v: failed %v", c.attrs, o.StatusError)
		}
	}
}
