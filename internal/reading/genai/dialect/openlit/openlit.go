// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package openlit reads OpenLIT.
package openlit

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads what OpenLIT does beside the GenAI conventions. Model spans repeat the calls that were asked
// for in the attributes of tools. Wrappers have operations of their own. Spans of decorated functions have
// none. Early versions write the prompt as lines of text.
var Dialect = &dialect.Dialect{
	ID:            "openlit",
	Name:          "OpenLIT",
	ScopePrefixes: []string{"openlit", "@openlit/"},
	Root:          "the outermost `invoke_agent`",
	Switch:        "on by default; `capture_message_content=False` turns it off",
	Classify:      classifyOpenLIT,
	Read:          readOpenLIT,
	Repairs: dialect.Repairs{
		ScopeQuirks: scopeQuirks,
		Hooks:       []dialect.Hook{{Quirk: dialect.DefaultsModel, Last: true, Run: forgetDefaultModel}},
	},
}

func scopeQuirks(scope string) (q dialect.Quirks) {
	if strings.HasPrefix(scope, "openlit") {
		q = dialect.DefaultsModel
	}
	return q
}

var openLITOperations = map[string]dialect.Class{
	"execute_task": dialect.Structure, "user_prompt_processing": dialect.Structure, "model_request": dialect.Structure, "tool_coordination": dialect.Structure,
	"vectordb": dialect.Noise, "image": dialect.Noise, "audio": dialect.Noise,
	"tool": dialect.Tool, // of LangChain, 1.35
}

func operationClass(operation string) dialect.Class {
	if class, ok := openLITOperations[operation]; ok {
		return class
	}
	return semconv.OperationClasses[operation]
}

func classifyOpenLIT(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	operation := semconv.Operation(s)
	if class, ok := openLITOperations[operation]; ok {
		return class, false
	}
	if word, _, _ := strings.Cut(s.Span.Name(), " "); word != operation && operationClass(word) == dialect.Structure {
		// AG2's agents that speak to each other: the operation is that of models, the name tells what the
		// span is
		return dialect.Structure, false
	}
	if operation == "graph_execution" {
		return dialect.Agent, false
	}
	if operation == "workflow" {
		// before 1.41: steps of a graph, its building too, each with the name of a model
		if a.Has("gen_ai.workflow.input") {
			return dialect.Agent, false
		}
		return dialect.Structure, false
	}
	if isFunction(s) {
		switch {
		case s.Span.ParentSpanID().IsEmpty():
			return dialect.Agent, true
		case a.Text("function.args") == "()":
			return dialect.Tool, false // a model names its arguments, as others who call do
		}
		return dialect.Structure, false
	}
	if threwFunction(s) {
		if s.Span.ParentSpanID().IsEmpty() {
			return dialect.Agent, true
		}
		return dialect.Tool, false
	}
	return semconv.Classify(s)
}

// threwFunction reports the span of a function that threw. It has its name alone.
func threwFunction(s *dialect.Source) bool {
	threw := false
	for _, e := range s.Span.Events().All() {
		threw = threw || e.Name() == "exception"
	}
	return s.ScopeName == "openlit" && s.Span.Status().Code() == ptrace.StatusCodeError && threw && !dialect.HasPrefixed(s.Span, "gen_ai.", "function.")
}

// isFunction reports the span of a function of the program. What the function returned stands under the key
// of a model's answer.
func isFunction(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	return a.Has("function.args") && a.Has("function.kwargs") && a.Text("gen_ai.operation.name") == ""
}

// readFunction reads the arguments as Python wrote them, and what was returned.
func readFunction(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	out := a.JSON("gen_ai.output.messages", "gen_ai.completion")
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = true
		o.Agent.Name = s.Span.Name()
		// a text is written as it was returned, what it holds be JSON or not; Python writes its objects in a
		// spelling of its own
		text := out.Str()
		if _, err := exactjson.Parse(text); text != "" && err == nil {
			o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
			dialect.ReadWholeAgent(o, onlyText(a), exactjson.Value{})
			return
		}
		dialect.ReadWholeAgent(o, onlyText(a), out)
		if len(o.Output) == 0 && text != "" {
			o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
		}
	case dialect.Tool:
		o.Name, o.Function = s.Span.Name(), true
		if out.Str() == "" && out.Kind() == exactjson.String {
			out = exactjson.Value{} // it writes the same for 0, False, None and what is empty
			o.AddNote(tape.CodeContentAbsent, "result", "an empty text stands for whatever is false")
		}
		dialect.ReadWholeTool(o, a.JSON("function.kwargs"), out, false)
	}
}

// onlyText returns the only argument of a function, where that is a text: the question. Of several arguments
// nothing tells which is the question.
func onlyText(a decode.Attributes) exactjson.Value {
	args, _, _ := decode.Python(a.Text("function.args"))
	kwargs, _, _ := decode.Python(a.Text("function.kwargs"))
	for _, only := range []exactjson.Value{args, kwargs} {
		if args.Kind() == exactjson.Array && kwargs.Kind() == exactjson.Object && args.Len()+kwargs.Len() == 1 && only.Len() == 1 {
			if text := only.Members()[0].Value; text.Kind() == exactjson.String {
				return text
			}
		}
	}
	return exactjson.Value{}
}

// forgetDefaultModel drops the model that OpenLIT names for a call of LangChain of which it does not know the
// model.
func forgetDefaultModel(s *dialect.Source, o *dialect.Draft) {
	const standsForNone = "gpt-3.5-turbo"
	if o.Model == standsForNone && o.ResponseModel == "" && decode.Attributes(s.Span.Attributes()).Text("gen_ai.system") == "langchain" {
		o.Model = ""
	}
}

func readOpenLIT(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	if isFunction(s) {
		readFunction(s, a, o)
		return
	}
	if threwFunction(s) {
		if o.Class == dialect.Agent {
			o.Agent.Name = s.Span.Name()
			return
		}
		o.Name, o.Function, o.ToolKind = s.Span.Name(), true, tape.ToolFunction
		return
	}
	if class := a.Text("gen_ai.framework.error.type"); class != "" {
		// of LangChain, 1.34: the status is ok all the same
		o.Failed, o.Error = true, &tape.Error{Type: class, Message: a.Text("gen_ai.framework.error.message")}
	}
	switch o.Class {
	case dialect.Model:
		readModel(s, a, o)
	case dialect.Agent:
		readAgent(semconv.Operation(s), a, o)
	case dialect.Tool:
		if said := a.Text("error.type"); strings.ContainsAny(said, " \n") && s.Span.Status().Code() == ptrace.StatusCodeError {
			// of agno, which answers with failures; the status is the same for all
			o.Error = &tape.Error{Message: said}
		}
	case dialect.Noise:
		o.NoiseReason = a.Text("gen_ai.operation.name")
	}
}

// readModel reads a model call. The wrapper around generateText and streamText of the AI SDK sees none of the
// calls that these make after each tool; of a call that throws it tells no request.
func readModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Streaming = a.Text("gen_ai.request.is_stream") == "true"
	if strings.HasSuffix(s.ScopeName, "/instrumentation-vercel-ai") && (a.Has("gen_ai.tool.definitions") || !a.Has("gen_ai.input.messages")) {
		o.AddNote(tape.CodeModelCallHidden, "response", "one span stands for every model call of the loop; it holds the first request and the last answer")
	}
	o.Response = namedCalls(a)
	if completion(s, a) == callsUnnamed {
		o.AddNote(tape.CodeContentAbsent, "response.message.tool_calls", "the producer writes that tools were called, and not which")
		o.Response, o.FinishReasons = []decode.Message{{Role: tape.RoleAssistant}}, []string{"tool_calls"}
	}
	prompts := []string{a.Text("gen_ai.prompt")}
	for _, e := range s.Span.Events().All() {
		if e.Name() == "gen_ai.content.prompt" {
			prompts = append(prompts, (decode.Attributes(e.Attributes())).Text("gen_ai.prompt"))
		}
	}
	for _, text := range prompts {
		if text != "" && !decode.LooksJSON(text) {
			o.Request = decode.PromptLines(text)
		}
	}
	if a.Has("gen_ai.prompt") && len(o.Request) > 0 && !decode.HasRole(o.Request, tape.RoleSystem) {
		o.AddNote(tape.CodeContentAbsent, "request.system", "the producer does not record instructions that are given beside the messages")
	}
}

// readAgent reads an agent, or a graph with its state. The state is JSON, cut where it is long. A streamed
// graph writes the conversation of each step once more.
func readAgent(operation string, a decode.Attributes, o *dialect.Draft) {
	o.WeakAgent = o.WeakAgent || operation == "workflow" || operation == "graph_execution"
	if text := a.Text("gen_ai.completion"); text != "" && operation == "invoke_agent" && !a.Has("gen_ai.output.messages") {
		// of agno, 1.35
		said := decode.TextPart(text)
		if utf8.RuneCountInString(text) == 2000 { // it ends there, without a mark
			said.Label = tape.Truncated
		}
		o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{said}}}
	}
	if operation == "graph_execution" && a.Text("langgraph.execution.mode") == "stream" {
		o.Output = nil
	}
	out, whole := decode.Structure(a.JSON("gen_ai.workflow.output"))
	if whole && len(o.Output) == 0 && !o.OutputData.Present() {
		dialect.ReadWholeAgent(o, exactjson.Value{}, out)
	}
	if in, whole := decode.Structure(a.JSON("gen_ai.workflow.input")); whole && len(o.Input) == 0 && !o.InputData.Present() {
		dialect.ReadWholeAgent(o, in, exactjson.Value{})
	}
}

// callsUnnamed stands for an answer that asks for tools, before 1.33.
const callsUnnamed = "Function called with tools"

func completion(s *dialect.Source, a decode.Attributes) string {
	if text := a.Text("gen_ai.completion"); text != "" {
		return text
	}
	for _, e := range s.Span.Events().All() {
		if e.Name() == "gen_ai.content.completion" {
			return (decode.Attributes(e.Attributes())).Text("gen_ai.completion")
		}
	}
	return ""
}

// namedCalls reads an answer whose messages hold the ids of calls alone, or its text (before 1.41). Names and
// arguments stand beside them, each as one list. It returns nil where a list has not one entry for each call,
// in the order of ids.
func namedCalls(a decode.Attributes) []decode.Message {
	ids, names := strings.Split(a.Text("gen_ai.tool.call.id"), ", "), strings.Split(a.Text("gen_ai.tool.name"), ", ")
	args, whole := namedArgs("[" + a.Text("gen_ai.tool.args") + "]")
	if !whole || ids[0] == "" || names[0] == "" || len(names) != len(ids) || args.Len() != len(ids) {
		return nil
	}
	answer := decode.OneTurn(semconv.Output(a))
	if text := a.JSON("gen_ai.completion"); len(answer) == 0 && text.Kind() == exactjson.String {
		turn := decode.Message{Role: tape.RoleAssistant}
		if text.Str() != "" && text.Str() != "None" {
			turn.Parts = append(turn.Parts, decode.TextPart(text.Str()))
		}
		for i, id := range ids {
			if id == "None" { // a provider without ids
				ids[i] = ""
			}
			turn.Parts = append(turn.Parts, decode.Part{Part: tape.Part{Type: tape.PartToolCall, ID: ids[i]}})
		}
		answer = []decode.Message{turn}
	}
	n := 0
	for i := range answer {
		for j := range answer[i].Parts {
			p := &answer[i].Parts[j]
			if p.Type != tape.PartToolCall {
				continue
			}
			if n == len(ids) || p.ID != ids[n] || p.Name != "" || p.Args.Len() > 0 || args.At(n).Kind() != exactjson.Object {
				return nil
			}
			p.Name, p.Args = names[n], args.At(n)
			n++
		}
	}
	if n != len(ids) {
		return nil
	}
	return answer
}

// namedArgs reads a list of arguments as JSON, or as Python writes it.
func namedArgs(text string) (exactjson.Value, bool) {
	if args, err := exactjson.Parse(text); err == nil {
		return args, true
	}
	args, lossy, ok := decode.Python(text)
	return args, ok && !lossy
}
