// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
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

// Logfire's events of Google's client hold whole messages, all in the role of a user on the outside; those of one part each that a user said at once are one message.
func TestEventsThatHoldWholeMessagesAreAMessageEach(t *testing.T) {
	for _, c := range []struct {
		events string
		roles  []tape.Role
	}{
		{`[{"content":{"parts":[{"text":"q"}],"role":"user"},"role":"user"},{"content":{"parts":[{"function_call":{"name":"look","args":{}}}],"role":"model"},"role":"user"},` +
			`{"content":{"parts":[{"function_response":{"name":"look","response":{"result":"r"}}}],"role":"user"},"role":"user"}]`, []tape.Role{tape.RoleUser, tape.RoleAssistant, tape.RoleTool}},
		{`[{"content":"one","role":"user"},{"content":"two","role":"user"}]`, []tape.Role{tape.RoleUser}},
	} {
		o := genai.Read(genaitest.Span("opentelemetry.instrumentation.google_genai", "generate_content m", "gen_ai.operation.name", "generate_content", "gen_ai.request.model", "m", "events", c.events))
		var roles []tape.Role
		for _, m := range o.Request {
			roles = append(roles, m.Role)
		}
		if !slices.Equal(roles, c.roles) {
			t.Errorf("%s: %v, want %v", c.events, roles, c.roles)
		}
	}
}
