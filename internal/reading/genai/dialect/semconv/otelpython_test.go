// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// The package for the Agents SDK names the operation of a hand-over now one way, now another: the agent that it goes to tells.
func TestHandOverOfTheAgentsSDKNamesWhomItGoesTo(t *testing.T) {
	const scope = "opentelemetry.instrumentation.openai_agents"
	for _, operation := range []string{"handoff", "agent_handoff"} {
		o := genai.Read(genaitest.Span(scope, operation+" x", "gen_ai.operation.name", operation, "gen_ai.handoff.from_agent", "assistant", "gen_ai.handoff.to_agent", "expert"))
		if o.Class != dialect.Tool || !o.Handoff || o.Name != "handoff to expert" || o.HandedOver.Str() != `{"assistant": "expert"}` || o.Result.Present() {
			t.Errorf("%s: %v, handoff %v, %q, %s", operation, o.Class, o.Handoff, o.Name, o.HandedOver.JSON())
		}
	}
	if o := genai.Read(genaitest.Span(scope, "agent_handoff x", "gen_ai.operation.name", "agent_handoff", "gen_ai.handoff.from_agent", "assistant")); o.Handoff {
		t.Error("a hand-over to nobody")
	}
}
