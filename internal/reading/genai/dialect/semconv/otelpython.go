// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
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

// forgetEchoedModel drops the model that was asked for where it is the model that answered. The Agents SDK
// tells its tracers the response alone of a call of the Responses API. Its official package, and those of
// Traceloop, Coralogix and Respan, write the model of the response as that of the request, and as that of the
// agent around the call.
func forgetEchoedModel(_ *dialect.Source, o *dialect.Draft) {
	if !decode.IsDated(o.Model) {
		return
	}
	switch {
	case o.Class == dialect.Agent:
		o.Model = ""
	case o.Class == dialect.Model && (strings.HasPrefix(o.ResponseID, "resp_") || o.Operation == "response") && (o.ResponseModel == "" || o.ResponseModel == o.Model):
		o.ResponseModel, o.Model = o.Model, ""
	}
}

func classifyOtelPython(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if strings.HasPrefix(a.Text("gen_ai.operation.name"), "guardrail") || a.Has("gen_ai.guardrail.name") {
		return dialect.Noise, false
	}
	if a.Text("gen_ai.handoff.to_agent") != "" { // whatever the operation is called: handoff, agent_handoff
		return dialect.Tool, false
	}
	return Classify(s)
}

func readOtelPython(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Tool:
		if to := a.Text("gen_ai.handoff.to_agent"); to != "" {
			o.Handoff = true
			o.Name = "handoff to " + to
			o.HandedOver = exactjson.StringValue(`{"assistant": ` + exactjson.StringValue(to).JSON() + `}`)
		}
	case dialect.Noise:
		o.NoiseReason = "guardrail"
	}
}
