// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "strings"

// otelPython reads what the official Python packages write beside the conventions.
var otelPython = &Dialect{
	ID:   "otel-python",
	Name: "Official OpenTelemetry packages for Python",
	Scopes: []string{
		"opentelemetry.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents_v2", "opentelemetry.instrumentation.openai_v2",
		"opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.genai.openai_agents", "opentelemetry.instrumentation.genai.anthropic",
		"opentelemetry.instrumentation.genai.langchain", "opentelemetry.instrumentation.genai.bedrock",
	},
	Root:     "the outermost `invoke_agent` or `invoke_workflow`; none for the packages of model providers",
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` (older packages: `true`, content then comes in log records)",
	classify: classifyOtelPython,
	read:     readOtelPython,
}

func classifyOtelPython(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	if strings.HasPrefix(a.str("gen_ai.operation.name"), "guardrail") || a.has("gen_ai.guardrail.name") {
		return Noise, false
	}
	return classifySemconv(s)
}

func readOtelPython(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Tool:
		if to := a.str("gen_ai.handoff.to_agent"); to != "" {
			o.Handoff = true
			o.Name = "handoff to " + to
		}
	case Noise:
		o.NoiseReason = "guardrail"
	}
}
