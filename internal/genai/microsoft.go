// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// agentFramework reads Microsoft's Agent Framework for Python: the conventions, the spans of its workflows, and results that newer
// versions write JSON-encoded.
var agentFramework = &Dialect{
	ID:       "ms-agent-framework",
	Name:     "Microsoft Agent Framework (Python)",
	Scopes:   []string{"agent_framework"},
	Root:     "the outermost `invoke_agent` or `workflow.run`",
	Switch:   "`ENABLE_INSTRUMENTATION=true` and `ENABLE_SENSITIVE_DATA=true`",
	classify: classifyMicrosoft,
	read:     readMicrosoft,
}

// dotnetAI reads the .NET stack: Microsoft.Extensions.AI, Agent Framework for .NET. Results are JSON, also those that are texts.
var dotnetAI = &Dialect{
	ID:       "dotnet-ai",
	Name:     "Microsoft.Extensions.AI and Agent Framework (.NET)",
	Scopes:   []string{"Experimental.Microsoft.Extensions.AI", "Experimental.Microsoft.Agents.AI", "Microsoft.Agents.AI.Workflows", "Microsoft.Agents.AI"},
	Root:     "the outermost `invoke_agent` or `workflow.run`",
	Encoded:  true,
	Switch:   "`EnableSensitiveData = true` or `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	classify: classifyMicrosoft,
	read:     readMicrosoft,
}

// workflowSpans are the spans of workflows, which are told by name.
var workflowSpans = []struct {
	prefix string
	class  Class
}{
	{"workflow.run", Agent}, {"workflow_invoke", Agent}, {"workflow.session", Structure}, {"workflow.build", Noise},
	{"executor.process", Structure}, {"edge_group.process", Structure}, {"message.send", Structure}, {"orchestrate_tools", Structure},
}

func classifyMicrosoft(s *Source) (Class, bool) {
	for _, w := range workflowSpans {
		if strings.HasPrefix(s.Span.Name(), w.prefix) {
			return w.class, w.class == Agent
		}
	}
	return classifySemconv(s)
}

func readMicrosoft(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Agent:
		if strings.HasPrefix(s.Span.Name(), "workflow") {
			o.WeakAgent = true
			o.Agent.Name = a.str("workflow.name", "workflow.id")
			o.WorkflowID = a.str("workflow.id")
			o.InputData, o.OutputData = Content{Value: a.json("workflow.input", "executor.input")}, Content{Value: a.json("workflow.output", "executor.output")}
		} else if name := a.str("gen_ai.agent.name"); name == "" {
			// invoke_agent Name(id)
			o.Agent.Name, _, _ = strings.Cut(nameAfter(s.Span.Name(), "invoke_agent "), "(")
		}
	case Tool:
		v := a.json("gen_ai.tool.call.result")
		if text := v.Str(); strings.HasPrefix(text, `"`) {
			// a text that was JSON-encoded on its way; anything else reads the same either way
			u := unwrapResult(resultContent(v, true))
			o.Result, o.Failed = u.content, u.isError
		} else if text == "null" && a.str("error.type") != "" {
			o.Failed = true // no result
			o.Result = Content{}
		}
	case Noise:
		o.NoiseReason = "workflow"
	}
}

// semanticKernel reads Semantic Kernel of .NET and Python: messages in span events or log records, each with its whole body as JSON.
var semanticKernel = &Dialect{
	ID:            "semantic-kernel",
	Name:          "Semantic Kernel",
	ScopePrefixes: []string{"Microsoft.SemanticKernel", "semantic_kernel"},
	Root:          "the outermost `invoke_agent`",
	Switch:        "`SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true`",
	classify:      classifySemconv,
	read: func(s *Source, o *Observation) {
		a := attributes(s.Span.Attributes())
		if o.Class == Model {
			if reasons := a.strings("gen_ai.response.finish_reason"); len(reasons) == 1 && reasons[0] == "N/A" {
				o.note(tape.CodeContentAbsent, "response.finish_reasons", "recorded as N/A")
			}
		}
		if o.Class == Tool {
			if text := a.str("gen_ai.tool.call.result"); strings.HasPrefix(text, "Failed to serialize ") {
				o.Result = Content{Value: exactjson.StringValue(text), Label: tape.Lossy}
			}
			if text := a.str("gen_ai.tool.call.arguments"); strings.HasPrefix(text, "Failed to serialize ") {
				o.Args = Content{Value: exactjson.StringValue(text), Label: tape.Lossy}
			}
		}
	},
}

const autogenEvents = "autogen_core.events"

// autogen reads AutoGen. Its spans hold neither arguments nor results nor model calls; those are in its event log.
var autogen = &Dialect{
	ID:     "autogen",
	Name:   "AutoGen",
	Scopes: []string{"autogen-core", "autogen_core"},
	Root:   "the outermost `invoke_agent`",
	Switch: "the OpenTelemetry handler on the Python logger `autogen_core.events`",
	Events: []string{autogenEvents},
	eventName: func(scope, recorded string) string {
		if scope == autogenEvents {
			return autogenEvents
		}
		return recorded
	},
	log:      autogenLog,
	classify: classifySemconv,
	read:     readAutogen,
}

func autogenLog(_ string, a attributes) logRole {
	body, _ := structureOf(a.json(LogBody))
	role := logRole{alone: true, lane: body.Get("agent_id").Str()}
	switch body.Get("type").Str() {
	case "ToolCall":
		role.class = Tool
	case "LLMCall", "LLMStreamEnd":
		role.class, role.opens = Model, true
	default:
		if body.IsAbsent() {
			role.class = Model // the body is looked at later
		}
	}
	return role
}

func readAutogen(s *Source, o *Observation) {
	for _, l := range s.Logs {
		body, _ := structureOf(attributes(l.Attributes()).json(LogBody))
		switch body.Get("type").Str() {
		case "ToolCall":
			if o.Class != Tool {
				continue
			}
			str(&o.Name, body.Get("tool_name").Str())
			if args := body.Get("arguments"); !args.IsAbsent() {
				o.Args = argsContent(args)
			}
			if result := body.Get("result"); !result.IsAbsent() {
				o.Result = unwrapResult(resultContent(result, false)).content
			}
		case "LLMCall", "LLMStreamEnd":
			if o.Class != Model {
				continue
			}
			o.Operation = "chat"
			o.Request, _ = messagesOf(body.Get("messages"), tape.RoleUser)
			response := body.Get("response")
			answer, _ := messagesOf(response, tape.RoleAssistant)
			o.Response = oneTurn(answer)
			o.ResponseID, o.ResponseModel = response.Get("id").Str(), response.Get("model").Str()
			o.Tools = toolDefinitions(body.Get("tools"))
			fillUsage(&o.Usage, tape.Usage{InputTokens: wholeOf(body.Get("prompt_tokens")), OutputTokens: wholeOf(body.Get("completion_tokens"))})
			o.Agent.Name, _, _ = strings.Cut(body.Get("agent_id").Str(), "/")
		}
	}
}
