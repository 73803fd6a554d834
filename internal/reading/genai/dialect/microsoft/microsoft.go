// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package microsoft reads Agent Framework, Microsoft.Extensions.AI, Semantic Kernel and AutoGen.
package microsoft

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// AgentFramework reads Microsoft's Agent Framework for Python: the conventions, the spans of its workflows,
// and results that newer versions write JSON-encoded.
var AgentFramework = &dialect.Dialect{
	ID:       "ms-agent-framework",
	Name:     "Microsoft Agent Framework (Python)",
	Scopes:   []string{"agent_framework"},
	Root:     "the outermost `invoke_agent` or `workflow.run`",
	Switch:   "`ENABLE_INSTRUMENTATION=true` and `ENABLE_SENSITIVE_DATA=true`",
	Settings: []dialect.Setting{{Name: "ENABLE_INSTRUMENTATION", Value: "true"}, {Name: "ENABLE_SENSITIVE_DATA", Value: "true"}},
	Classify: classifyMicrosoft,
	Read:     readMicrosoft,
}

// DotnetAI reads the .NET stack: Microsoft.Extensions.AI, Agent Framework for .NET. Results are JSON, also
// those that are texts.
var DotnetAI = &dialect.Dialect{
	ID:       "dotnet-ai",
	Name:     "Microsoft.Extensions.AI and Agent Framework (.NET)",
	Scopes:   []string{"Experimental.Microsoft.Extensions.AI", "Experimental.Microsoft.Agents.AI", "Microsoft.Agents.AI.Workflows", "Microsoft.Agents.AI"},
	Root:     "the outermost `invoke_agent` or `workflow.run`",
	Encoded:  true,
	Switch:   "`EnableSensitiveData = true` or `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	Settings: []dialect.Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "true", Yields: true}},
	Classify: classifyMicrosoft,
	Read:     readMicrosoft,
}

// workflowSpans are the spans of workflows, by the beginnings of their names.
var workflowSpans = []struct {
	prefix string
	class  dialect.Class
}{
	{"workflow.run", dialect.Agent}, {"workflow_invoke", dialect.Agent}, {"workflow.session", dialect.Structure}, {"workflow.build", dialect.Noise},
	{"executor.process", dialect.Structure}, {"edge_group.process", dialect.Structure}, {"message.send", dialect.Structure}, {"orchestrate_tools", dialect.Structure},
}

func classifyMicrosoft(s *dialect.Source) (dialect.Class, bool) {
	for _, w := range workflowSpans {
		if strings.HasPrefix(s.Span.Name(), w.prefix) {
			return w.class, w.class == dialect.Agent
		}
	}
	return semconv.Classify(s)
}

func readMicrosoft(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Agent:
		if strings.HasPrefix(s.Span.Name(), "workflow") {
			o.WeakAgent = true
			o.Agent.Name = a.Text("workflow.name", "workflow.id")
			o.WorkflowID = a.Text("workflow.id")
			o.InputData, o.OutputData = decode.Content{Value: a.JSON("workflow.input", "executor.input")}, decode.Content{Value: a.JSON("workflow.output", "executor.output")}
		} else if name := a.Text("gen_ai.agent.name"); name == "" {
			// invoke_agent Name(id)
			o.Agent.Name, _, _ = strings.Cut(decode.NameAfter(s.Span.Name(), "invoke_agent "), "(")
		}
	case dialect.Tool:
		v := a.JSON("gen_ai.tool.call.result")
		if text := v.Str(); strings.HasPrefix(text, `"`) {
			// a text that was JSON-encoded on its way; anything else reads the same either way
			u := decode.UnwrapResult(decode.Result(v, true))
			o.Result, o.Failed = u.Content, u.IsError
		} else if text == "null" && a.Text("error.type") != "" {
			o.Failed = true // no result
			o.Result = decode.Content{}
		}
	case dialect.Noise:
		o.NoiseReason = "workflow"
	}
}

// SemanticKernel reads Semantic Kernel of .NET and Python: messages in span events or log records, each with
// its whole body as JSON.
var SemanticKernel = &dialect.Dialect{
	ID:            "semantic-kernel",
	Name:          "Semantic Kernel",
	ScopePrefixes: []string{"Microsoft.SemanticKernel", "semantic_kernel"},
	Root:          "the outermost `invoke_agent`",
	Switch:        "`SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true`",
	Settings:      []dialect.Setting{{Name: "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE", Value: "true"}},
	Classify:      semconv.Classify,
	Read: func(s *dialect.Source, o *dialect.Draft) {
		a := decode.Attributes(s.Span.Attributes())
		if o.Class == dialect.Model {
			if reasons := a.Texts("gen_ai.response.finish_reason"); len(reasons) == 1 && reasons[0] == "N/A" {
				o.AddNote(tape.CodeContentAbsent, "response.finish_reasons", "recorded as N/A")
			}
		}
		if o.Class == dialect.Tool {
			if text := a.Text("gen_ai.tool.call.result"); strings.HasPrefix(text, "Failed to serialize ") {
				o.Result = decode.Content{Value: exactjson.StringValue(text), Label: tape.Lossy}
			}
			if text := a.Text("gen_ai.tool.call.arguments"); strings.HasPrefix(text, "Failed to serialize ") {
				o.Args = decode.Content{Value: exactjson.StringValue(text), Label: tape.Lossy}
			}
		}
	},
}

const autogenEvents = "autogen_core.events"

// AutoGen reads AutoGen. Its spans of agents and tools hold neither arguments nor results nor model calls;
// those are in its event log and, of teams, in the messages of its runtime, whose spans have scopes such as
// "autogen SingleThreadedAgentRuntime".
var AutoGen = &dialect.Dialect{
	ID:            "autogen",
	Name:          "AutoGen",
	Scopes:        []string{"autogen-core", "autogen_core"},
	ScopePrefixes: []string{"autogen "},
	Root:          "the outermost `invoke_agent`",
	Switch:        "the OpenTelemetry handler on the Python logger `autogen_core.events`",
	Records:       dialect.Records{Events: []string{autogenEvents}, Log: autogenLog, EventName: autogenEventName},
	Classify: func(s *dialect.Source) (dialect.Class, bool) {
		if strings.HasPrefix(s.ScopeName, "autogen ") {
			return dialect.Structure, false
		}
		return semconv.Classify(s)
	},
	Read: readAutogen,
}

func autogenEventName(scope, recorded string) string {
	if scope == autogenEvents {
		return autogenEvents
	}
	return recorded
}

func autogenLog(_ string, a decode.Attributes) dialect.LogRole {
	if a.JSON(dialect.LogBody).IsAbsent() {
		return dialect.LogRole{Class: dialect.Model, Alone: true} // the body is looked at later
	}
	call := dialect.ReadBodyCall(a)
	return call.Role()
}

func readAutogen(s *dialect.Source, o *dialect.Draft) {
	// a ToolCallSummaryMessage, unless reflect_on_tool_use is set
	o.Quirks.Add(dialect.EndsWithTools, o.Class == dialect.Agent)
	if o.Class == dialect.Structure && strings.HasPrefix(s.ScopeName, "autogen ") {
		o.Relay = true
		o.Posted = decode.PostedMessages(decode.Attributes(s.Span.Attributes()).JSON("message"))
	}
	for _, l := range s.Logs {
		call := dialect.ReadBodyCall(decode.Attributes(l.Attributes()))
		call.Fill(o)
	}
}
