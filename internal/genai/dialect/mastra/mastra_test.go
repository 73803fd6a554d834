// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package mastra_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestMastraExporterIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "mastra/exporter")
}

func TestEarlyMastraIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "mastra/early")
}

func TestMastraLabelsWhatItsOwnFilterOrJavaScriptChanged(t *testing.T) {
	for result, want := range map[string]string{
		`{"jwt":"[REDACTED]"}`:    "result: {\"jwt\":\"[REDACTED]\"} [lossy]\n",
		`{"id":9007199254740992}`: "result: {\"id\":9007199254740992} [lossy]\n",
		`{"id":900719925474099}`:  "result: {\"id\":900719925474099}\n",
		`26.5`:                    "result: \"26.5\"\n",
		"plain text, never JSON":  "result: \"plain text, never JSON\"\n",
	} {
		s := genaitest.Span("@mastra/otel-exporter", "execute_tool f", "mastra.span.type", "tool_call", "gen_ai.tool.name", "f", "gen_ai.tool.call.result", result)
		if got := genaitest.Said(genai.Read(s)); got != "class: tool\ndialect: mastra\nname: f\nkind: function\n"+want {
			t.Errorf("%s: got\n%s", result, got)
		}
	}
}
