// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestLangWatchIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, Read, "langwatch/openai") }

func TestLangWatchTextStaysText(t *testing.T) {
	says(t, Read(spanSource("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{}}`, "langwatch.output", `{"type":"text","value":"12"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {}\nresult: \"12\"\n")
}

func TestLangWatchValuesAreDecodedOnce(t *testing.T) {
	says(t, Read(spanSource("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{"a":1}}`, "langwatch.output", `{"type":"json","value":"{\"b\":2}"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"{\\\"b\\\":2}\"\n")
}

func TestLaminarSinglePositionalArgumentStandsAlone(t *testing.T) {
	says(t, Read(spanSource("lmnr.tracer", "f", "lmnr.span.type", "TOOL", "lmnr.span.input", `["x"]`, "lmnr.span.output", `"y"`)),
		"class: tool\ndialect: laminar\nname: f\nkind: function\nargs: \"x\"\nresult: \"y\"\n")
}

func TestLaminarIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, Read, "laminar/openai") }

func TestLaminarCachedModelCallIsAModelCall(t *testing.T) {
	says(t, Read(spanSource("lmnr.tracer", "openai.chat", "lmnr.span.type", "CACHED", "lmnr.span.original_type", "LLM", "lmnr.span.input", `[{"role":"user","content":"q"}]`,
		"lmnr.span.output", `[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]`)),
		"class: model\ndialect: laminar\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\nfinish: stop\n")
}

func TestSentryIsReadAsRecorded(t *testing.T) {
	saysAsRecorded(t, Read, "sentry/langgraph")
	saysAsRecorded(t, Read, "sentry/truncated")
}
