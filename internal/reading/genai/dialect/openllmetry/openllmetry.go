// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package openllmetry reads OpenLLMetry, the instrumentations and SDKs of Traceloop.
package openllmetry

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Traceloop's instrumentations and SDKs in Python, JavaScript and Go, and SDKs made from them
// (ioa_observe). It reads the entity spans of decorators and frameworks. It also reads model calls of the
// older generation, whose messages are flattened under gen_ai.prompt.N and gen_ai.completion.N. Later ones
// (0.55 and on) write the messages of the GenAI conventions.
var Dialect = &dialect.Dialect{
	ID:            "openllmetry",
	Name:          "OpenLLMetry (Traceloop)",
	ScopePrefixes: []string{"@traceloop/", "traceloop.", "ioa_observe.", "ioa.observe."},
	Marks: []string{
		"traceloop.", "ioa_observe.", firstPrompt, firstCompletion, "llm.request.", "llm.prompts.", "llm.completions.", "llm.usage.", "llm.is_streaming",
	},
	Root:     "the outermost `workflow` or `agent`",
	Encoded:  true,
	Switch:   "on by default; `TRACELOOP_TRACE_CONTENT=false` turns it off",
	Settings: []dialect.Setting{{Name: "TRACELOOP_TRACE_CONTENT", Value: "true"}},
	Classify: classifyOpenLLMetry,
	Read:     readOpenLLMetry,
	Repairs: dialect.Repairs{
		ScopeQuirks: scopeQuirks,
		Hooks: []dialect.Hook{
			{Quirk: dialect.OmitsArgs, Run: dropEmptyArgs},
			{Quirk: dialect.CutsModelID, Last: true, Run: forgetCutModel},
			{Quirk: dialect.AppendsNone, Last: true, Run: dropNones},
		},
	},
}

// Beginnings of the keys of the first flattened message. The conventions have other names under the same
// prefix, such as gen_ai.prompt.name.
const (
	firstPrompt     = "gen_ai.prompt.0"
	firstCompletion = "gen_ai.completion.0"
)

func scopeQuirks(scope string) dialect.Quirks {
	switch scope {
	case "opentelemetry.instrumentation.bedrock":
		return dialect.CutsModelID
	case "opentelemetry.instrumentation.google_generativeai":
		return dialect.AppendsNone
	}
	return 0
}

// entity reads an attribute of the entity under either of the two names.
func entity(a decode.Attributes, name string) exactjson.Value {
	return a.JSON("traceloop."+name, "ioa_observe."+name)
}

func classifyOpenLLMetry(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	name := s.Span.Name()
	tool := a.Text("gen_ai.operation.name") == "execute_tool" || strings.HasPrefix(name, "execute_tool ")
	switch kind := entity(a, "span.kind").Str(); kind {
	case "workflow", "agent", "graph":
		if kind == "workflow" && isChainPlumbing(a.Text("traceloop.entity.name", "traceloop.workflow.name")) {
			return dialect.Structure, false
		}
		return dialect.Agent, true
	case "tool", "handoff":
		return dialect.Tool, false
	case "task":
		if tool { // LangChain's tools are tasks in JavaScript
			return dialect.Tool, false
		}
		if _, ok := calledInStep(a); ok || calledUntold(s, a) {
			return dialect.Tool, false
		}
		if semconv.OperationClasses[a.Text("gen_ai.operation.name")] == dialect.Model && a.Has("gen_ai.input.messages") && a.Has("gen_ai.output.messages") {
			// models of LlamaIndex, of 0.53 and later, whatever their class is called
			return dialect.Model, false
		}
		return dialect.Structure, false
	case "session", "server", "unknown":
		return dialect.Structure, false
	}
	if class := semconv.OperationClasses[a.Text("gen_ai.operation.name")]; class == dialect.Agent || class == dialect.Tool {
		// what a client wrote onto the span of the program around it (LiteLLM)
		return dialect.Unclassified, false
	}
	switch a.Text("llm.request.type") {
	case "chat", "completion", "response": // the last with the Agents SDK until 0.48
		return dialect.Model, false
	case "embedding", "rerank":
		return dialect.Noise, false
	}
	switch {
	case strings.HasSuffix(name, ".mcp"), strings.HasSuffix(name, ".guard") && a.Has("gen_ai.guardrail.name"):
		return dialect.Noise, false
	case strings.HasPrefix(s.ScopeName, "@traceloop/instrumentation-"):
		return semconv.Classify(s)
	case tool || a.Text("gen_ai.operation.name") != "":
		return dialect.Unclassified, false
	case dialect.HasPrefixed(s.Span, firstPrompt, firstCompletion, "llm.prompts.", "llm.completions."):
		return indexedClass(s)
	case strings.HasSuffix(name, ".tool"):
		return dialect.Tool, false
	}
	return dialect.Unclassified, false
}

// indexedClass returns the class of a span with a flattened prompt and completion. Some producers write so
// whatever went into a step and came out of it. The span is a model call if it names a model, or says nothing
// else.
func indexedClass(s *dialect.Source) (dialect.Class, bool) {
	class, said := generic.ClassOf(s.Span.Attributes())
	switch a := decode.Attributes(s.Span.Attributes()); {
	case !said, class == dialect.Model, a.Has("gen_ai.request.model"), a.Has("gen_ai.response.model"):
		return dialect.Model, false
	case class == dialect.Agent:
		return class, true
	case class == dialect.Tool:
		return class, false
	}
	return dialect.Structure, false
}

// indexedIO returns what went into a step and came out of it, where these are flattened as one prompt and one
// completion.
func indexedIO(a decode.Attributes, in, out exactjson.Value) (exactjson.Value, exactjson.Value) {
	for _, x := range []struct {
		to   *exactjson.Value
		from string
	}{{&in, "gen_ai.prompt."}, {&out, "gen_ai.completion."}} {
		if list := a.Unflatten(x.from); x.to.IsAbsent() && list.Len() == 1 {
			*x.to = list.At(0).Get("content")
			if text, ok := decode.Structure(*x.to); !ok {
				if inner, err := exactjson.Parse(x.to.Str()); err == nil && inner.Kind() == exactjson.String {
					*x.to = inner // a text, encoded
				}
			} else {
				*x.to = text
			}
		}
	}
	return in, out
}

// chainPlumbing are the parts of LangChain's chains that hand values on. Each would be a run where every span
// is a trace of its own.
var chainPlumbing = []string{
	"RunnableLambda", "RunnableMap", "RunnableParallel", "RunnableAssign", "RunnablePassthrough", "RunnablePick", "ChannelWrite", "ChannelRead", "Branch<",
	"prompt", "parser", "ChatPromptTemplate", "PromptTemplate", "StrOutputParser", "StringOutputParser", "JsonOutputParser", "__start__",
}

func isChainPlumbing(name string) bool {
	for _, p := range chainPlumbing {
		if name == p || strings.HasPrefix(name, p) && (strings.HasSuffix(p, "<") || strings.IndexByte("<.", name[len(p)]) >= 0) {
			return true
		}
	}
	return false
}

// isGraphNode reports the body of a node of a LangGraph graph, or the model in it with what stands before it.
// It was given the state, and answers with a change of it or with the message of the model. The model call
// has a span too, which holds all that a chain alone would say of a run.
func isGraphNode(a decode.Attributes) bool {
	in, _ := decode.Structure(entity(a, "entity.input"))
	out, _ := decode.Structure(entity(a, "entity.output"))
	if in.Get("messages").Kind() != exactjson.Array {
		return false
	}
	class := out.Get("id")
	return out.Get("messages").Kind() == exactjson.Array || out.Get("output").At(0).Get("lg_name").Str() != "" || strings.HasPrefix(class.At(class.Len()-1).Str(), "AIMessage")
}

func readOpenLLMetry(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("traceloop.association.properties.session_id", "traceloop.association.properties.thread_id", "traceloop.association.properties.sessionId",
		"traceloop.association.properties.conversation_id", "ioa_observe.association.properties.session_id", "ioa_observe.association.properties.thread_id")
	o.UserID = a.Text("traceloop.association.properties.user_id", "traceloop.association.properties.userId", "ioa_observe.association.properties.user_id")
	o.Quirks.Add(dialect.EchoesModel, isRespanResponse(a))
	kind := entity(a, "span.kind").Str()
	in, out := entity(a, "entity.input"), entity(a, "entity.output")
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = kind != "agent"
		o.Body = kind == "workflow" && a.Text("traceloop.entity.name", "traceloop.workflow.name") == "RunnableSequence" && isGraphNode(a)
		o.Agent.Name = a.Text("gen_ai.agent.name", "traceloop.entity.name", "ioa_observe.entity.name", "traceloop.workflow.name", "ioa_observe.workflow.name")
		if strings.HasSuffix(o.Agent.Name, "."+kind) {
			o.Agent.Name = strings.TrimSuffix(o.Agent.Name, "."+kind)
		}
		if in.IsAbsent() && out.IsAbsent() {
			o.Input, o.Output = semconv.Indexed(a, "gen_ai.prompt.", tape.RoleUser), decode.OneTurn(semconv.Indexed(a, "gen_ai.completion.", tape.RoleAssistant))
		}
		dialect.ReadWholeAgent(o, in, out)
		o.Waiting = cmp.Or(decode.WaitsInLangGraph(out), decode.WaitsInLangGraph(outputsOf(out)))
	case dialect.Model:
		readOpenLLMetryModel(s, a, o)
	case dialect.Tool:
		if called, ok := calledInStep(a); ok && kind == "task" {
			o.Name, o.CallID = called.Get("tool_name").Str(), decode.TextOfID(called.Get("tool_id"))
			dialect.ReadWholeTool(o, called.Get("tool_kwargs"), called.Get("tool_output"), false)
			break
		}
		if calledUntold(s, a) {
			o.AddNote(tape.CodeContentAbsent, "name", "a step called a tool, and does not tell which")
			break
		}
		o.Name = a.Text("gen_ai.tool.name", "traceloop.entity.name", "ioa_observe.entity.name")
		if o.Name == "" {
			o.Name = decode.NameAfter(s.Span.Name(), "execute_tool ")
		}
		decode.FillString(&o.Name, strings.TrimSuffix(s.Span.Name(), ".tool"))
		o.Name = strings.TrimSuffix(o.Name, ".tool")
		o.Handoff = kind == "handoff"
		in, out = indexedIO(a, in, out)
		readOpenLLMetryTool(s, a, in, out, o)
	case dialect.Structure:
		in, out = indexedIO(a, in, out)
		o.InputData, o.OutputData = decode.Content{Value: in}, decode.Content{Value: out}
		if name := a.Text("traceloop.entity.name", "ioa_observe.entity.name"); kind == "task" && name != "" {
			o.Called = &dialect.Called{Name: strings.TrimSuffix(name, ".task"), In: in, Out: out, Encoded: true}
		}
	case dialect.Noise:
		o.NoiseReason = a.Text("llm.request.type", "gen_ai.operation.name")
		if strings.HasSuffix(s.Span.Name(), ".mcp") {
			o.NoiseReason = "mcp"
		}
	}
}

// isRespanResponse reports a span of Respan for a call of the Responses API. Respan writes no scope.
func isRespanResponse(a decode.Attributes) bool {
	return a.Has("respan.entity.log_type") && a.Text("traceloop.entity.name") == "response"
}

// calledInStep returns the tool that a step of a workflow says it called: name, arguments and output
// (LlamaIndex's agents). Where the tool is an agent, its output is not told; name and arguments stand beside
// it.
func calledInStep(a decode.Attributes) (exactjson.Value, bool) {
	out := entity(a, "entity.output")
	if name := a.Text("tool.name"); name != "" && out.IsAbsent() {
		args, ok := decode.Structure(a.JSON("tool.arguments"))
		return exactjson.ObjectValue(exactjson.Member{Name: "tool_name", Value: exactjson.StringValue(name)}, exactjson.Member{Name: "tool_kwargs", Value: args}), ok && args.Kind() == exactjson.Object
	}
	if out.Kind() == exactjson.String && !strings.Contains(out.Str(), "tool_kwargs") {
		return exactjson.Value{}, false // most steps call none: their values are not parsed for it
	}
	called, ok := decode.Structure(out)
	return called, ok && called.Get("tool_name").Str() != "" && called.Get("tool_kwargs").Kind() == exactjson.Object && called.Get("tool_output").Kind() == exactjson.Object
}

// calledUntold reports a step of LlamaIndex's agents that calls one tool without telling which. 0.47 writes
// the call into the output, and writes no output without a JSON form, such as the answer of an agent that is
// a tool.
func calledUntold(s *dialect.Source, a decode.Attributes) bool {
	return s.Span.Name() == "call_tool.task" && strings.HasSuffix(s.ScopeName, ".llamaindex") && a.Text("tool.name") == "" && entity(a, "entity.output").IsAbsent()
}

// outputsOf returns what lies under outputs.
func outputsOf(v exactjson.Value) exactjson.Value {
	inner, _ := decode.Structure(v)
	return inner.First("outputs", "output")
}

func readOpenLLMetryTool(s *dialect.Source, a decode.Attributes, in, out exactjson.Value, o *dialect.Draft) {
	// what the conventions' own attributes hold comes before the entity, which repeats it in a wrapper
	args, result := a.JSON("gen_ai.tool.call.arguments"), a.JSON("gen_ai.tool.call.result")
	// the AI SDK's, renamed
	encoded := result.IsAbsent() && !strings.Contains(s.ScopeName, "openai_agents") || s.ScopeName == "ai"
	if args.IsAbsent() {
		args = in
	}
	if result.IsAbsent() {
		result = out
	}
	if v, ok := decode.Structure(args); ok {
		if list := v.Get("args"); v.Len() == 1 && list.Kind() == exactjson.Array && list.Len() == 1 && list.At(0).Kind() == exactjson.String {
			if inner := decode.Args(list.At(0)); inner.Value.Kind() == exactjson.Object {
				// LangChain in JavaScript
				inner.Envelope = []string{"langchain.input"}
				o.Args = inner
			}
		}
		if raw := v.Get("_raw"); v.Len() == 1 && raw.Kind() == exactjson.String {
			// arguments that are not JSON
			o.Args = decode.Content{Value: raw, Envelope: []string{"openllmetry.raw"}}
		}
		if v.Get("tool_name").Kind() == exactjson.String && !v.Get("arguments").IsAbsent() {
			o.ToolKind, o.MCPLeg = tape.ToolMCP, true
			decode.FillString(&o.Name, v.Get("tool_name").Str())
		}
	}
	known := o.Args
	if o.MCPLeg {
		if v, ok := decode.Structure(result); ok && !v.Get("result").IsAbsent() && (v.Len() == 1 || v.Len() == 2 && !v.Get("is_error").IsAbsent()) {
			o.Failed = v.Get("is_error").True()
			result, encoded = v.Get("result"), false
			dialect.ReadWholeTool(o, args, result, encoded)
			o.Result.Envelope = append([]string{"mcp.result"}, o.Result.Envelope...)
			return
		}
	}
	dialect.ReadWholeTool(o, args, result, encoded)
	if known.Present() {
		o.Args = known
	}
}

// forgetCutModel drops the id of a model of Bedrock without its vendor. Bedrock knows no model by what is
// left.
func forgetCutModel(_ *dialect.Source, o *dialect.Draft) {
	if o.Class == dialect.Model && o.Model != "" && !strings.ContainsAny(o.Model, "./") {
		o.AddNote(tape.CodeContentAbsent, "model", "the producer leaves the vendor, and the region if there was one, out of the id of the model: "+o.Model)
		o.Model, o.ResponseModel = "", ""
	}
}

// dropNones takes each "None" off the end of an answer. It is the text of a part without one, such as a call.
func dropNones(_ *dialect.Source, o *dialect.Draft) {
	if len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].Type != tape.PartText {
		return
	}
	text := o.Response[0].Parts[0].Text
	said := text
	for strings.HasSuffix(said, "None") {
		said = strings.TrimSuffix(said, "None")
	}
	switch {
	case said == text, strings.TrimRightFunc(said, unicode.IsSpace) != said: // a word that was said
	case said == "":
		o.Response = nil
	default:
		o.Response[0].Parts[0].Text = said
	}
}

// dropEmptyArgs takes the empty arguments off the calls of an answer, whichever dialect read it.
func dropEmptyArgs(_ *dialect.Source, o *dialect.Draft) {
	o.Response = decode.CloneParts(o.Response)
	decode.DropEmptyArgs(o.Response)
}

func readOpenLLMetryModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Operation = a.Text("llm.request.type")
	if o.Operation == "completion" {
		o.Operation = "text_completion"
	}
	for _, prefix := range []string{"gen_ai.prompt.", "llm.prompts."} {
		if len(o.Request) == 0 {
			o.Request = semconv.Indexed(a, prefix, tape.RoleUser)
		}
	}
	for _, prefix := range []string{"gen_ai.completion.", "llm.completions."} {
		if len(o.Response) > 0 {
			continue
		}
		var reasons []string
		if o.Response, reasons = semconv.IndexedAnswer(a, prefix, strings.Contains(s.ScopeName, "agents")); len(o.FinishReasons) == 0 {
			o.FinishReasons = reasons
		}
	}
	if strings.HasPrefix(s.ScopeName, "@traceloop/instrumentation-anthropic") {
		readStreamedAnthropic(a, o)
	}
	for _, m := range a.Unflatten("llm.request.functions.").Members() {
		f := m.Value
		tool := tape.Tool{Name: f.Get("name").Str(), Description: f.Get("description").Str(), Parameters: f.First("parameters", "input_schema", "arguments")}
		if v, ok := decode.Structure(tool.Parameters); ok {
			tool.Parameters = v
		}
		if tool.Name != "" {
			o.Tools = append(o.Tools, tool)
		}
	}
	o.Model = a.Text("gen_ai.request.model", "llm.request.model")
	o.ResponseModel = a.Text("gen_ai.response.model", "llm.response.model")
	if isRespanResponse(a) {
		o.Operation = "response"
	}
	o.Provider = decode.Provider(a.Text("gen_ai.provider.name", "gen_ai.system", "llm.vendor"))
	for _, name := range []string{"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty"} {
		o.AddParam(name, a.JSON("llm."+name))
	}
	if texts := a.Texts("llm.chat.stop_sequences"); texts != nil {
		o.AddParam("stop_sequences", decode.TextArray(texts))
	}
	o.Streaming = a.Text("llm.is_streaming", "gen_ai.is_streaming") == "true"
	o.Usage = tape.Usage{
		InputTokens:  a.Count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
		OutputTokens: a.Count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"),
	}
}

// readStreamedAnthropic takes off the empty arguments that the JavaScript instrumentation writes for every
// streamed call: it does not gather their chunks. A streamed answer has no finish reason there.
func readStreamedAnthropic(a decode.Attributes, o *dialect.Draft) {
	answer := decode.OneTurn(semconv.Output(a))
	if len(answer) != 1 || answer[0].FinishReason != "" || len(a.Texts("gen_ai.response.finish_reasons")) > 0 {
		return
	}
	if decode.DropEmptyArgs(answer) {
		o.Quirks |= dialect.OmitsArgs
		o.AddNote(tape.CodeContentAbsent, "response.message", "the producer does not record the arguments of streamed calls")
	}
	o.Response = answer
}
