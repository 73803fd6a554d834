// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// OpenLIT writes the model that answered under both names onto the span of a graph.
func TestAgentDoesNotAskForTheModelThatAnswered(t *testing.T) {
	for names, want := range map[[2]string]string{
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"}: "",
		{"claude-sonnet-4-5", "claude-sonnet-4-5-20250929"}:          "claude-sonnet-4-5",
		{"claude-sonnet-4-5", "claude-sonnet-4-5"}:                   "claude-sonnet-4-5",
		{"gpt-4o-2024-08-06", ""}:                                    "gpt-4o-2024-08-06",
	} {
		o := genai.Read(genaitest.Span("openlit.instrumentation.langgraph", "invoke_workflow g", "gen_ai.operation.name", "invoke_workflow", "gen_ai.request.model", names[0], "gen_ai.response.model", names[1]))
		if o.Model != want {
			t.Errorf("%v: asked %q, want %q", names, o.Model, want)
		}
	}
}
