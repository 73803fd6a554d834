// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
)

// Python reads what the official Python packages write beside the conventions.
var Python = &dialect.Dialect{
	ID:   "otel-python",
	Name: "Official OpenTelemetry packages for Python",
	Scopes: []string{
		"opentelemetry.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents_v2", "opentelemetry.instrumentation.openai_v2",
		"opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.genai.openai_agents", "opentelemetry.instrumentation.genai.anthropic",
		"opentelemetry.instrumentation.genai.langchain", "opentelemetry.instrumentation.genai.bedrock",
	},
	Root:     "the outermost `invoke_agent` or `invoke_workflow`; none for the packages of model providers",
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` (older packages: `true`, content then comes in log records)",
	Settings: []dialect.Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "SPAN_ONLY"}},
	Classify: classifyOtelPython,
	Read:     readOtelPython,
}

func classifyOtelPython(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if strings.HasPrefix(a.Text("gen_ai.operation.name"), "guardrail") || a.Has("gen_ai.guardrail.name") {
		return dialect.Noise, false
	}
	return Classify(s)
}

func readOtelPython(s *dialect.Source, o *dialect.Observation) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Tool:
		if to := a.Text("gen_ai.handoff.to_agent"); to != "" {
			o.Handoff = true
			o.Name = "handoff to " + to
		}
	case dialect.Noise:
		o.NoiseReason = "guardrail"
	}
}
