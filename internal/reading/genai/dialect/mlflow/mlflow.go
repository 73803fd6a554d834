// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package mlflow reads MLflow Tracing.
package mlflow

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads MLflow Tracing's native export. Every attribute value is JSON-encoded once more, plain
// strings too. Spans hold no call ids. Its export in the GenAI schema drops these attributes and is read as
// GenAI spans.
var Dialect = &dialect.Dialect{
	ID:       "mlflow",
	Name:     "MLflow Tracing",
	Marks:    []string{"mlflow."},
	Root:     "the outermost `AGENT`, else the outermost `CHAIN` or the span without a parent",
	Encoded:  true,
	Switch:   "on by default",
	Classify: classifyMLflow,
	Read:     readMLflow,
}

var mlflowTypes = map[string]dialect.Class{
	"AGENT": dialect.Agent, "CHAIN": dialect.Agent, "WORKFLOW": dialect.Agent, "CHAT_MODEL": dialect.Model, "LLM": dialect.Model, "COMPLETION": dialect.Model, "TOOL": dialect.Tool, "RETRIEVER": dialect.Retrieval,
	"EMBEDDING": dialect.Noise, "RERANKER": dialect.Noise, "EVALUATOR": dialect.Noise, "GUARDRAIL": dialect.Noise, "PARSER": dialect.Structure, "MEMORY": dialect.Structure, "TASK": dialect.Structure,
}

// mlflowValue decodes an attribute once.
func mlflowValue(a decode.Attributes, keys ...string) exactjson.Value {
	v := a.JSON(keys...)
	if v.Kind() == exactjson.String {
		if inner, err := exactjson.Parse(strings.TrimSpace(v.Str())); err == nil {
			return inner
		}
	}
	return v
}

func classifyMLflow(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := mlflowValue(a, "mlflow.spanType").Str()
	if kind == "LLM" && strings.Contains(mlflowValue(a, "signature").Str(), " -> ") {
		// DSPy's predictor, which fills a signature; the span of the model's call lies below it
		return dialect.Structure, false
	}
	if class, ok := mlflowTypes[strings.ToUpper(kind)]; ok {
		return class, class == dialect.Agent
	}
	if kind == "" {
		return dialect.Unclassified, false
	}
	if s.Span.ParentSpanID().IsEmpty() {
		return dialect.Agent, true
	}
	return dialect.Structure, false
}

func readMLflow(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := strings.ToUpper(mlflowValue(a, "mlflow.spanType").Str())
	o.ConversationID = mlflowValue(a, "mlflow.trace.session", "session.id").Text()
	o.UserID = mlflowValue(a, "mlflow.trace.user", "user.id").Text()
	in, out := mlflowValue(a, "mlflow.spanInputs"), mlflowValue(a, "mlflow.spanOutputs")
	if value := out.Get("_value"); out.Kind() == exactjson.Object && out.Len() == 1 && value.Kind() == exactjson.String {
		out = value // smolagents' text is an object with this one member
	}
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = kind != "AGENT"
		// the agent's own members lie beside what it was called with (smolagents, Pydantic AI)
		if text := mlflowValue(a, "instructions").Str(); text != "" && text != "None" && kind == "AGENT" {
			o.System = []decode.Part{decode.TextPart(text)}
		}
		o.Agent.Name = s.Span.Name()
		dialect.ReadWholeAgent(o, in, out)
		o.Waiting = decode.WaitsInLangGraph(out)
	case dialect.Model:
		readMLflowModel(a, in, out, o)
	case dialect.Structure:
		o.Called = &dialect.Called{Name: mlflowFunction(s, a), In: in, Out: encodedAgain(out), Encoded: true}
	case dialect.Tool:
		o.Name = mlflowFunction(s, a)
		if kwargs := in.Get("kwargs"); kwargs.Kind() == exactjson.Object && in.Len() == 2 && in.Get("sanitize_inputs_outputs").Kind() == exactjson.Bool {
			in = kwargs // the switch is smolagents' own
		}
		dialect.ReadWholeTool(o, in, encodedAgain(out), true)
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: in}
		if v, ok := decode.Structure(in); ok && v.Len() == 1 {
			o.Query.Value = v.Members()[0].Value
		}
		o.Documents = decode.Documents(out)
	case dialect.Noise:
		o.NoiseReason = strings.ToLower(kind)
	}
}

// readMLflowModel reads a model call. DSPy writes models as LiteLLM takes them, with the provider before the
// name. Messages of a chat may have the answer at their end. The settings of the request stand one by one.
func readMLflowModel(a decode.Attributes, in, out exactjson.Value, o *dialect.Draft) {
	dialect.ReadWholeModel(o, in, out)
	if mlflowValue(a, "mlflow.message.format").Str() == "dspy" {
		provider, name, ok := strings.Cut(mlflowValue(a, "model").Str(), "/")
		if ok {
			o.Provider, o.Model = decode.Provider(provider), name
		}
	}
	if len(o.Request) == 0 {
		o.Request, _ = decode.Messages(mlflowValue(a, "mlflow.chat.messages"), tape.RoleUser)
		if last := len(o.Request) - 1; last > 0 && o.Request[last].Role == tape.RoleAssistant {
			decode.FillList(&o.Response, o.Request[last:])
			o.Request = o.Request[:last]
		}
	}
	if tools := decode.ToolDefinitions(mlflowValue(a, "mlflow.chat.tools")); len(tools) > 0 {
		o.Tools = tools
	}
	if params := mlflowValue(a, "mlflow.invocation_params", "invocation_params"); params.Kind() == exactjson.Object {
		dialect.ReadParams(o, params)
		decode.FillString(&o.Model, params.First("model", "model_name").Str())
	}
	decode.FillString(&o.Model, mlflowValue(a, "model").Str())
	decode.FillString(&o.Model, mlflowValue(a, "mlflow.llm.model").Str())
	if provider := decode.Provider(mlflowValue(a, "mlflow.llm.provider").Str()); provider != "" {
		o.Provider = provider
	}
	u := decode.Usage(mlflowValue(a, "mlflow.chat.tokenUsage"))
	decode.FillUsage(&u, o.Usage)
	o.Usage = u
}

// mlflowFunction returns the name of the function that a span stands for. The name of a repeated span ends in
// a number.
func mlflowFunction(s *dialect.Source, a decode.Attributes) string {
	if name := mlflowValue(a, "mlflow.spanFunctionName").Str(); name != "" && strings.HasPrefix(s.Span.Name(), name+"_") {
		return name
	}
	return s.Span.Name()
}

// encodedAgain writes a text that was decoded once as JSON again.
func encodedAgain(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		return exactjson.StringValue(v.JSON())
	}
	return v
}
