// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestGoogleGenAIEventsAreReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "googlegenai/logfire")
}

func TestGoogleGenAIWithoutContentSaysNothingOfIt(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "googlegenai/nocontent")
}

func TestGoogleGenAIGivesFlattenedArgumentsTheirTypesBack(t *testing.T) {
	s := genaitest.Span("opentelemetry.instrumentation.google_genai", "execute_tool f", "gen_ai.tool.name", "f",
		"code.function.parameters.city.value", "5", "code.function.parameters.city.type", "str",
		"code.function.parameters.days.value", "5", "code.function.parameters.days.type", "int",
		"code.function.parameters.tags.value", "['a', 'b']", "code.function.parameters.tags.type", "list",
		"code.function.return.value", "<Weather object>", "code.function.return.type", "Weather")
	want := "class: tool\ndialect: google-genai\nname: f\nkind: function\nargs: {\"city\":\"5\",\"days\":5,\"tags\":[\"a\",\"b\"]}\nresult: \"<Weather object>\" [lossy]\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
