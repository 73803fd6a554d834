// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// The keys by which instrumentations say that a span is a guardrail, and that it refused what it was given.
var (
	guardrailKinds = []string{"gen_ai.operation.name", "openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind", "mlflow.spanType", "langwatch.span.type", "agent.span_type", "span.type"}
	tripKeys       = []string{"tripwire_triggered", "guardrail.triggered", "guardrail.tripwire_triggered", "gen_ai.guardrail.triggered", "gen_ai.guardrail.tripwire_triggered"}
)

// plainTrip says so where something else calls the span a guardrail, or where the attribute name repeats the
// name of the span, as OpenAI's Agents SDK exports guardrails. Any other step may be triggered too.
const plainTrip = "triggered"

// readGuardrail reads whether a span is a guardrail, and whether it refused. An agent is one by its name: it
// stands for the check where no span does.
func readGuardrail(s *dialect.Source, o *dialect.Draft) {
	if o.Class == dialect.Model || o.Class == dialect.Tool || o.Class == dialect.Retrieval {
		return
	}
	a := decode.Attributes(s.Span.Attributes())
	tripped := a.Text(tripKeys...)
	o.Guardrail = tripped != "" || a.Has("gen_ai.guardrail.name") || o.Class == dialect.Agent && namesGuardrail(o.Agent.Name)
	for _, key := range guardrailKinds {
		o.Guardrail = o.Guardrail || namesGuardrail(a.Text(key))
	}
	o.Tripped = tripped == "true" || (o.Guardrail || namesGuardrail(s.Span.Name()) || a.Text("name") == s.Span.Name()) && a.Text(plainTrip) == "true"
	o.Guardrail = o.Guardrail || o.Tripped
}

func namesGuardrail(name string) bool { return strings.Contains(strings.ToLower(name), "guardrail") }
