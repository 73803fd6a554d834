// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langwatch_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestLangWatchIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langwatch/openai")
}

func TestLangWatchTextStaysText(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{}}`, "langwatch.output", `{"type":"text","value":"12"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {}\nresult: \"12\"\n")
}

func TestLangWatchValuesAreDecodedOnce(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{"a":1}}`, "langwatch.output", `{"type":"json","value":"{\"b\":2}"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"{\\\"b\\\":2}\"\n")
}
