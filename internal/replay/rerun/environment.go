// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// Services are the addresses of what answers an agent in a replay; "" for what is not there.
type Services struct {
	OTLP        string // base URL of the receiver
	Model       string // base URL of the model stub
	Oracle      string
	MCP         string
	Proxy       string // of a network that is shut
	ReplayRunID string
	ReplayOf    string // run id of the recorded run
}

// Variable is a variable of the environment. One that is unset has Unset; its name may end in *, for all that begin so.
type Variable struct {
	Name, Value string
	Unset       bool
}

// dummyKey stands in place of the keys of providers: the SDKs refuse to start without one.
const dummyKey = "tapedeck"

// telemetry leads the telemetry of an agent to the receiver. What turns on the capture of content comes from the table of dialects.
var telemetry = []Variable{
	{Name: "OTEL_EXPORTER_OTLP_PROTOCOL", Value: "http/protobuf"},
	{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Unset: true}, {Name: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", Unset: true}, {Name: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", Unset: true},
	{Name: "OTEL_EXPORTER_OTLP_HEADERS", Unset: true},
	{Name: "OTEL_SDK_DISABLED", Unset: true}, {Name: "OTEL_TRACES_SAMPLER", Value: "always_on"},
	{Name: "OTEL_TRACES_EXPORTER", Value: "otlp"}, {Name: "OTEL_LOGS_EXPORTER", Value: "otlp"}, {Name: "OTEL_METRICS_EXPORTER", Value: "none"},
	{Name: "OTEL_SEMCONV_STABILITY_OPT_IN", Value: "gen_ai_latest_experimental"},
	{Name: "OTEL_BSP_SCHEDULE_DELAY", Value: "200"}, {Name: "OTEL_BLRP_SCHEDULE_DELAY", Value: "200"}, // programs that end without a flush
	{Name: "CLAUDE_CODE_ENABLE_TELEMETRY", Value: "1"},
	{Name: "TRACEPARENT", Unset: true}, {Name: "TRACESTATE", Unset: true}, // the run is a trace of its own
}

// Variables with secrets of this program. No command gets the key of the redaction: whoever has it can find
// out which values the tokens stand for.
const (
	RedactionKeyVariable = "TAPEDECK_REDACTION_KEY"
	OracleTokenVariable  = "TAPEDECK_ORACLE_TOKEN"
)

// Variables are what the services set, in order.
func (s Services) Variables() (list []Variable) {
	list = append(list, Variable{Name: RedactionKeyVariable, Unset: true})
	set := func(value string, names ...string) {
		for _, name := range names {
			list = append(list, Variable{Name: name, Value: value})
		}
	}
	if s.Model != "" {
		set(s.Model+"/v1", "OPENAI_BASE_URL", "OPENAI_API_BASE")
		set(s.Model, "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "TAPEDECK_MODEL_URL")
		set(dummyKey, "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
		set("false", "GOOGLE_GENAI_USE_VERTEXAI")
		set(s.Model, "OLLAMA_HOST", "OLLAMA_API_BASE", "CO_API_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", "GOOGLE_VERTEX_BASE_URL")
		set(s.Model+"/v1", "ANTHROPIC_VERTEX_BASE_URL")
		set(s.Model+"/api/v1", "OPENROUTER_BASE_URL", "OPENROUTER_API_BASE")
		set(s.Model+"/mistral/v1", "MISTRAL_BASE_URL", "MISTRAL_API_BASE", "MISTRAL_AZURE_API_BASE")
		set(s.Model+"/v2/chat", "COHERE_API_BASE") // LiteLLM has the path in it
		set("1", "AWS_MAX_ATTEMPTS")               // what the SDK retried lies behind a recorded failure
		list = append(list, Variable{Name: "ANTHROPIC_AUTH_TOKEN", Unset: true})
	}
	if s.OTLP != "" {
		set(s.OTLP, "OTEL_EXPORTER_OTLP_ENDPOINT")
		list = append(list, telemetry...)
		for _, c := range genai.ContentSettings() {
			list = append(list, Variable{Name: c.Name, Value: c.Value, Unset: c.Unset})
		}
	}
	if s.ReplayRunID != "" {
		set("replay_run_id="+s.ReplayRunID+",replay_of="+s.ReplayOf, "OTEL_RESOURCE_ATTRIBUTES")
		set(s.ReplayRunID, "TAPEDECK_REPLAY_RUN_ID")
	}
	if s.Oracle != "" {
		set(s.Oracle, "TAPEDECK_ORACLE_URL")
	}
	if s.MCP != "" {
		set(s.MCP, "TAPEDECK_MCP_URL")
	}
	set("127.0.0.1,localhost", "NO_PROXY", "no_proxy")
	if s.Proxy != "" {
		set(s.Proxy, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
		set("1", "NODE_USE_ENV_PROXY")
		list = append(list, Variable{Name: "ALL_PROXY", Unset: true}, Variable{Name: "all_proxy", Unset: true})
	}
	return list
}

// Environ puts the variables into an environment. Resource attributes that are set already are kept, others than the tag.
func Environ(base []string, variables []Variable) []string {
	env := slices.Clone(base)
	for _, v := range variables {
		if v.Name == "OTEL_RESOURCE_ATTRIBUTES" {
			v.Value = withAttributes(env, v.Value)
		}
		begin, some := strings.CutSuffix(v.Name, "*")
		if !some {
			begin += "="
		}
		env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, begin) })
		if !v.Unset {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}

// ValueIn is the value of a variable in an environment; "" where it is not set. The last one counts.
func ValueIn(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// withAttributes appends to the resource attributes of an environment, and takes the place of those of the same names.
func withAttributes(env []string, more string) string {
	var kept []string
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "OTEL_RESOURCE_ATTRIBUTES="); ok {
			kept = strings.Split(value, ",")
		}
	}
	for attribute := range strings.SplitSeq(more, ",") {
		name, _, _ := strings.Cut(attribute, "=")
		kept = append(slices.DeleteFunc(kept, func(s string) bool { return s == "" || strings.HasPrefix(s, name+"=") }), attribute)
	}
	return strings.Join(kept, ",")
}
