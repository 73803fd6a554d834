// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// mlflow reads MLflow Tracing's native export: every attribute value is JSON-encoded once more, plain strings too. There are no
// call ids on spans. Its export in the GenAI schema drops these attributes and is read as that.
var mlflow = &Dialect{
	ID:       "mlflow",
	Name:     "MLflow Tracing",
	Marks:    []string{"mlflow."},
	Root:     "the outermost `AGENT`, else the outermost `CHAIN` or the span without a parent",
	Encoded:  true,
	Switch:   "on by default",
	classify: classifyMLflow,
	read:     readMLflow,
}

var mlflowTypes = map[string]Class{
	"AGENT": Agent, "CHAIN": Agent, "WORKFLOW": Agent, "CHAT_MODEL": Model, "LLM": Model, "COMPLETION": Model, "TOOL": Tool, "RETRIEVER": Retrieval,
	"EMBEDDING": Noise, "RERANKER": Noise, "EVALUATOR": Noise, "GUARDRAIL": Noise, "PARSER": Structure, "MEMORY": Structure, "TASK": Structure,
}

// mlflowValue decodes an attribute once.
func mlflowValue(a attributes, keys ...string) exactjson.Value {
	v := a.json(keys...)
	if v.Kind() == exactjson.String {
		if inner, err := exactjson.Parse(strings.TrimSpace(v.Str())); err == nil {
			return inner
		}
	}
	return v
}

func classifyMLflow(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := mlflowValue(a, "mlflow.spanType").Str()
	if class, ok := mlflowTypes[strings.ToUpper(kind)]; ok {
		return class, class == Agent
	}
	if kind == "" {
		return Unclassified, false
	}
	if s.Span.ParentSpanID().IsEmpty() {
		return Agent, true
	}
	return Structure, false
}

func readMLflow(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := strings.ToUpper(mlflowValue(a, "mlflow.spanType").Str())
	o.ConversationID = mlflowValue(a, "mlflow.trace.session", "session.id").Text()
	o.UserID = mlflowValue(a, "mlflow.trace.user", "user.id").Text()
	in, out := mlflowValue(a, "mlflow.spanInputs"), mlflowValue(a, "mlflow.spanOutputs")
	switch o.Class {
	case Agent:
		o.WeakAgent = kind != "AGENT"
		o.Agent.Name = s.Span.Name()
		readWholeAgent(o, in, out)
		o.Interrupted = isLangGraphInterrupt(out)
	case Model:
		readWholeModel(o, in, out)
		if len(o.Request) == 0 {
			o.Request, _ = messagesOf(mlflowValue(a, "mlflow.chat.messages"), tape.RoleUser)
			if last := len(o.Request) - 1; last > 0 && o.Request[last].Role == tape.RoleAssistant { // with the answer at its end
				list(&o.Response, o.Request[last:])
				o.Request = o.Request[:last]
			}
		}
		if tools := toolDefinitions(mlflowValue(a, "mlflow.chat.tools")); len(tools) > 0 {
			o.Tools = tools
		}
		if params := mlflowValue(a, "mlflow.invocation_params", "invocation_params"); params.Kind() == exactjson.Object {
			readParams(o, params)
			str(&o.Model, params.First("model", "model_name").Str())
		}
		str(&o.Model, mlflowValue(a, "mlflow.llm.model").Str())
		o.Provider = providerOf(mlflowValue(a, "mlflow.llm.provider").Str())
		u := providerUsage(mlflowValue(a, "mlflow.chat.tokenUsage"))
		fillUsage(&u, o.Usage)
		o.Usage = u
	case Tool:
		o.Name = s.Span.Name()
		if name := mlflowValue(a, "mlflow.spanFunctionName").Str(); name != "" && strings.HasPrefix(o.Name, name+"_") {
			o.Name = name // a repeated function has a number at the end of its span's name
		}
		if v := out; v.Kind() == exactjson.String {
			out = exactjson.StringValue(v.JSON()) // decoded once already
		}
		readWholeTool(o, in, out, true)
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: in}
		if v, ok := structureOf(in); ok && v.Len() == 1 {
			o.Query.Value = v.Members()[0].Value
		}
		o.Documents = documentsOf(out)
	case Noise:
		o.NoiseReason = strings.ToLower(kind)
	}
}
