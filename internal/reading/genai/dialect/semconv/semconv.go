// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package semconv reads the OpenTelemetry GenAI conventions and what the official Python packages add to
// them.
package semconv

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the OpenTelemetry GenAI conventions of every generation: attributes, span events and log
// records, and everything that borrows their names.
var Dialect = &dialect.Dialect{
	ID:       "otel-genai",
	Name:     "OpenTelemetry GenAI semantic conventions",
	Marks:    []string{"gen_ai."},
	Root:     "the outermost `invoke_agent` or `invoke_workflow`",
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` (older packages: `true`, content then comes in log records)",
	Settings: []dialect.Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "SPAN_ONLY"}},
	Repairs: dialect.Repairs{
		ScopeQuirks: scopeQuirks,
		Hooks:       []dialect.Hook{{Quirk: dialect.EchoesModel, Last: true, Run: forgetEchoedModel}},
	},
	Classify: Classify,
	Read:     func(s *dialect.Source, o *dialect.Draft) { Read(s, o, false) },
}

// scopeQuirks names packages that follow the conventions. AG2 keeps its instructions apart from 1.0 on. The
// package of OpenTelemetry for OpenAI in JavaScript knows the role system alone, where clients send a
// developer's message.
func scopeQuirks(scope string) dialect.Quirks {
	switch {
	case scope == "opentelemetry.instrumentation.ag2", scope == "@opentelemetry/instrumentation-openai":
		return dialect.OmitsSystem
	case strings.Contains(scope, "openai_agents"), strings.Contains(scope, "openai-agents"):
		return dialect.EchoesModel
	}
	return 0
}

// OperationClasses maps values of gen_ai.operation.name onto classes: those of every generation, and those of
// producers that borrow the key.
var OperationClasses = map[string]dialect.Class{
	"chat": dialect.Model, "text_completion": dialect.Model, "generate_content": dialect.Model, "chat.completions": dialect.Model, "completion": dialect.Model, "responses": dialect.Model,
	"execute_tool": dialect.Tool, "tool.execute": dialect.Tool,
	"invoke_agent": dialect.Agent, "invoke_workflow": dialect.Agent, turnOperation: dialect.Agent, "agent.run": dialect.Agent, "workflow.run": dialect.Agent, "conversation": dialect.Agent, "graph.execution": dialect.Agent,
	"retrieval": dialect.Retrieval, "search_memory": dialect.Retrieval,
	"create_memory": dialect.Structure, "upsert_memory": dialect.Structure, "update_memory": dialect.Structure, "delete_memory": dialect.Structure,
	"create_memory_store": dialect.Structure, "delete_memory_store": dialect.Structure,
	"embeddings": dialect.Noise, "create_agent": dialect.Structure, "agent_step": dialect.Structure, "plan": dialect.Structure, "handoff": dialect.Tool, "orchestrate_tools": dialect.Structure,
	"execute_task": dialect.Structure, "tool_selection": dialect.Structure, "framework": dialect.Structure,
}

// turnOperation is the operation of a turn of a conversation, around the agents that answer it.
const turnOperation = "handle_conversation_turn"

// kindClasses maps values of gen_ai.span.kind onto classes. Several vendors have that key; the conventions do
// not.
var kindClasses = map[string]dialect.Class{
	"llm": dialect.Model, "agent": dialect.Agent, "tool": dialect.Tool, "retriever": dialect.Retrieval, "embedding": dialect.Noise, "reranker": dialect.Noise,
}

// namePrefixes classify a span by its name where no attribute does.
var namePrefixes = []struct {
	prefix string
	class  dialect.Class
}{
	{"invoke_agent", dialect.Agent}, {"invoke_workflow", dialect.Agent}, {"execute_tool", dialect.Tool}, {"tools/call", dialect.Tool}, {"running tool", dialect.Tool},
	{"chat ", dialect.Model}, {"text_completion ", dialect.Model}, {"generate_content ", dialect.Model},
}

// Operation returns the operation of a span. The name of the span may stand in its place (OpenLIT 1.35:
// `workflow RunnableSequence`). The first word of such a name is the operation then.
func Operation(s *dialect.Source) string {
	op := decode.Attributes(s.Span.Attributes()).Text("gen_ai.operation.name")
	if op == s.Span.Name() {
		op, _, _ = strings.Cut(op, " ")
	}
	return op
}

// Classify returns the class of a span by its operation, else by its name, else by attributes that one class
// alone has.
func Classify(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	class := OperationClasses[Operation(s)]
	if class == dialect.Unclassified {
		class = kindClasses[strings.ToLower(a.Text("gen_ai.span.kind"))]
	}
	if class == dialect.Unclassified {
		if method := a.Text("mcp.method.name"); method != "" {
			if method != "tools/call" {
				return dialect.Noise, false
			}
			class = dialect.Tool
		}
	}
	if class == dialect.Unclassified {
		for _, p := range namePrefixes {
			if strings.HasPrefix(s.Span.Name(), p.prefix) {
				class = p.class
				break
			}
		}
	}
	if class == dialect.Unclassified {
		// an operation of their own may be anything
		model := a.Has("gen_ai.request.model") || a.Has("gen_ai.response.model") || a.Has("gen_ai.usage.input_tokens") || hasMessages(a) && a.Text("gen_ai.operation.name") == ""
		switch {
		case !model && (a.Has("gen_ai.tool.name") || a.Has("gen_ai.tool.call.id")):
			class = dialect.Tool
		case model:
			class = dialect.Model
			if own, _ := generic.ClassOf(s.Span.Attributes()); own == dialect.Agent {
				class = own // it says so in a word of its own
			}
		}
	}
	return class, class == dialect.Agent
}

// Prefixes under which instrumentations flattened the messages before the conventions had attributes for
// them.
const (
	indexedPrompt     = "gen_ai.prompt."
	indexedCompletion = "gen_ai.completion."
)

func hasMessages(a decode.Attributes) bool {
	if a.Has("gen_ai.input.messages") || a.Has("gen_ai.output.messages") {
		return true
	}
	sent, structured := decode.Structure(a.JSON("gen_ai.prompt"))
	if structured && sent.Kind() == exactjson.Object {
		messages, _ := decode.RequestMessages(sent, tape.RoleUser)
		return len(messages) > 0 // else what a function was handed: the key is a general one
	}
	return a.Has("gen_ai.prompt") || a.Has("gen_ai.completion")
}

// Read fills a draft from the attributes, the span events and the log records of the conventions. encoded
// says that every tool result is written JSON-encoded.
func Read(s *dialect.Source, o *dialect.Draft, encoded bool) {
	a := decode.Attributes(s.Span.Attributes())
	o.Agent = tape.Agent{Name: a.Text("gen_ai.agent.name"), ID: a.Text("gen_ai.agent.id"), Version: a.Text("gen_ai.agent.version"), Description: a.Text("gen_ai.agent.description")}
	events := Events(s)
	switch o.Class {
	case dialect.Agent:
		decode.FillString(&o.Agent.Name, a.Text("gen_ai.workflow.name"))
		if o.Agent.Name == "" {
			o.Agent.Name = decode.NameAfter(s.Span.Name(), "invoke_agent ", "invoke_workflow ")
		}
		o.WeakAgent = o.WeakAgent || Operation(s) == turnOperation // the agent below, where there is one, is the run
		o.System = System(a, o)
		o.Input, _ = decode.Messages(a.JSON("gen_ai.input.messages"), tape.RoleUser)
		o.Output = decode.OneTurn(Output(a))
		if len(o.Input) == 0 && len(o.Output) == 0 {
			o.Input = Indexed(a, indexedPrompt, tape.RoleUser)
			o.Output, _ = IndexedAnswer(a, indexedCompletion, false)
		}
		// of a run there is no message to put in its place: a text would be invented
		dialect.External(a, "gen_ai.input.messages", o)
		dialect.External(a, "gen_ai.output.messages", o)
		o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.tool.definitions"))
		dialect.External(a, "gen_ai.tool.definitions", o)
		readEvents(events, o, &o.Input, &o.Output)
	case dialect.Model:
		readSemconvModel(a, o)
		if name := decode.NameAfter(s.Span.Name(), "chat ", "text_completion ", "generate_content "); !dialect.HasPrefixed(s.Span, "gen_ai.") && !strings.Contains(name, " ") {
			// an instrumentation that failed wrote no attribute (OpenLIT with Groq)
			decode.FillString(&o.Model, decode.ModelName(name))
		}
		readEvents(events, o, &o.Request, &o.Response)
		o.Response = decode.OneTurn(o.Response)
		if a.Text("langtrace.sdk.name") == "@langtrase/typescript-sdk" {
			readLangtrace(a, o)
		}
		if s.ScopeName == quarkus && len(o.Request) == 1 && len(o.Request[0].Parts) == 1 && strings.Contains(o.Request[0].Parts[0].Text, "\n") {
			// all messages, one below the other: where one ends is not told
			o.RequestLabel, o.Request = tape.Lossy, decode.CloneParts(o.Request)
			o.Request[0].Parts[0].Label = tape.Lossy
		}
		if givesFunctions(a, o) {
			o.AddNote(tape.CodeModelCallHidden, "response", "the client was given functions to call by itself: the span may stand for every model call of the loop; it holds the first request and the last answer")
		}
	case dialect.Tool:
		readSemconvTool(s, a, events, o, encoded)
	case dialect.Retrieval:
		o.Name = decode.NameAfter(s.Span.Name(), "retrieval ")
		o.Query = decode.Content{Value: a.JSON("gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "gen_ai.memory.query.text")}
		if docs, ok := decode.Structure(a.JSON("gen_ai.retrieval.documents", "gen_ai.memory.records")); ok && docs.Kind() == exactjson.Array {
			for _, m := range docs.Members() {
				o.Documents = append(o.Documents, m.Value)
			}
		}
	case dialect.Structure:
		if o.Operation = a.Text("gen_ai.operation.name"); o.Operation == "create_agent" {
			// it runs nothing, and tells of the agent that runs later
			o.System = System(a, o)
			o.Model = decode.ModelName(a.Text("gen_ai.request.model"))
		}
	case dialect.Noise:
		o.NoiseReason = a.Text("gen_ai.operation.name")
		decode.FillString(&o.NoiseReason, a.Text("mcp.method.name"))
	}
}

// System returns the system prompt, also one that lies at a reference.
func System(a decode.Attributes, o *dialect.Draft) []decode.Part {
	if p, ok := dialect.External(a, "gen_ai.system_instructions", o); ok {
		return []decode.Part{p}
	}
	recorded := a.JSON("gen_ai.system_instructions")
	parts := decode.System(recorded)
	o.Quirks.Add(dialect.OmitsSystem, len(parts) == 0 && !recorded.IsEmpty())
	return parts
}

// Output returns the output messages. An answer without a role is the assistant's. Messages that repeat the
// input are no answer: who writes the conversation that an agent ended with may write the one that it began
// with.
func Output(a decode.Attributes) []decode.Message {
	messages, _ := decode.Messages(a.JSON("gen_ai.output.messages"), tape.RoleAssistant)
	if len(messages) > 0 && messages[0].Role != tape.RoleAssistant && a.Text("gen_ai.output.messages") == a.Text("gen_ai.input.messages") {
		return nil
	}
	for i := range messages {
		if messages[i].Role == tape.RoleUser {
			messages[i].Role = tape.RoleAssistant
		}
	}
	return messages
}

func readSemconvModel(a decode.Attributes, o *dialect.Draft) {
	o.Operation = a.Text("gen_ai.operation.name")
	o.Model = decode.ModelName(a.Text("gen_ai.request.model"))
	o.Provider = decode.Provider(a.Text("gen_ai.provider.name", "gen_ai.system"))
	o.PreviousID = a.Text(previousKeys...)
	o.ResponseID, o.ResponseModel = a.Text("gen_ai.response.id"), decode.ModelName(a.Text("gen_ai.response.model"))
	if o.Model != "" && generic.NamesResponse(a, o.Model) {
		o.Model, o.ResponseModel = "", cmp.Or(o.ResponseModel, o.Model)
	}
	o.FinishReasons = a.Texts("gen_ai.response.finish_reasons")
	if len(o.FinishReasons) == 0 {
		o.FinishReasons = a.Texts("gen_ai.response.finish_reason")
	}
	for key, v := range a.All() {
		if name, ok := strings.CutPrefix(key, "gen_ai.request."); ok {
			if canonical, ok := decode.ParamNames[name]; ok {
				p := decode.JSONOf(v)
				if canonical == "stop_sequences" {
					if texts := decode.TextsOf(p); p.Kind() == exactjson.String && texts != nil {
						p = decode.TextArray(texts)
					}
				}
				o.AddParam(canonical, p)
			}
		}
	}
	o.AddParam("seed", a.JSON("gen_ai.openai.request.seed", "openai.request.seed"))
	o.AddParam("choice_count", a.JSON("gen_ai.request.choice.count"))
	o.AddParam("output_type", a.JSON("gen_ai.output.type"))
	o.AddParam("response_format", a.JSON("gen_ai.openai.request.response_format", "openai.request.response_format"))
	o.AddParam("service_tier", a.JSON("openai.request.service_tier", "gen_ai.openai.request.service_tier"))
	o.Streaming = a.Text("gen_ai.request.stream") == "true"
	o.System = System(a, o)
	o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.tool.definitions"))
	dialect.External(a, "gen_ai.tool.definitions", o)
	o.Request, o.RequestLabel = LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
	o.Response, o.ResponseLabel = LabelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
	if len(o.Request) == 0 && len(o.Response) == 0 && (a.Has("gen_ai.prompt") || a.Has("gen_ai.completion")) {
		said := a.JSON("gen_ai.completion")
		if isNothing(said) {
			said = exactjson.Value{}
		}
		// of the conventions' first version: texts, messages, or all that was sent and came back
		dialect.ReadWholeModel(o, a.JSON("gen_ai.prompt"), said)
	}
	if len(o.Request) == 0 {
		o.Request = Indexed(a, indexedPrompt, tape.RoleUser)
	}
	if first, ok := decode.Structure(a.JSON("gen_ai.request.first_message")); ok && len(o.System)+len(o.Request) == 0 && decode.RoleOf(first.Get("role").Str()) == tape.RoleSystem {
		// the only message of a request that the package genai-otel-instrument records of a stream
		o.System = decode.System(first.Get("content"))
	}
	if len(o.Response) == 0 {
		var reasons []string
		if o.Response, reasons = IndexedAnswer(a, indexedCompletion, false); len(o.FinishReasons) == 0 {
			o.FinishReasons = reasons
		}
	}
	if len(o.Response) == 0 && o.ResponseLabel == "" {
		o.Response = bareOutput(a.JSON("gen_ai.output"))
	}
	o.Usage = tape.Usage{
		InputTokens:      a.Count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
		OutputTokens:     a.Count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
		CacheReadTokens:  a.Count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cached_input_tokens"),
		CacheWriteTokens: a.Count("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens"),
		ReasoningTokens:  a.Count("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
	}
}

// previousKeys name the response that a request goes on after. The first is that of the conventions.
var previousKeys = []string{
	"gen_ai.request.previous_response.id", "gen_ai.request.previous_response_id", "gen_ai.openai.request.previous_response_id", "openai.request.previous_response_id",
	"openai.response.previous_response_id",
}

// bareOutput reads an answer that stands beside its type (gen_ai.output, gen_ai.output.type; any-agent). It
// is a list of calls, or a text, whatever it looks like.
func bareOutput(v exactjson.Value) []decode.Message {
	if v.IsEmpty() {
		return nil
	}
	m := decode.Message{Role: tape.RoleAssistant}
	calls, _ := decode.Structure(v)
	for _, call := range calls.Members() {
		if calls.Kind() != exactjson.Array || call.Value.Get("tool.name").Str() == "" || call.Value.Get("tool.args").IsAbsent() {
			m.Parts = nil
			break
		}
		m.Parts = append(m.Parts, decode.CallPart("", call.Value.Get("tool.name").Str(), call.Value.Get("tool.args")))
	}
	if len(m.Parts) == 0 {
		text := v.Str()
		if v.Kind() != exactjson.String {
			text = v.JSON()
		}
		m.Parts = []decode.Part{decode.TextPart(text)}
	}
	return []decode.Message{m}
}

// LabelledMessages reads a message list, or messages that stand under keys of their own. It labels a list
// that was cut or stands elsewhere.
func LabelledMessages(a decode.Attributes, key string, role tape.Role, o *dialect.Draft) ([]decode.Message, tape.Label) {
	v := a.JSON(key)
	if v.IsAbsent() {
		if p, ok := dialect.External(a, key, o); ok {
			return []decode.Message{{Role: role, Parts: []decode.Part{p}}}, tape.External
		}
		flat := a.Unflatten(key + ".")
		messages, ok := openinference.Messages(flat)
		if !ok {
			// without the wrapper around each that OpenInference has
			messages, _ = decode.Messages(flat, role)
		}
		return messages, ""
	}
	if text, ok := decode.TrimmedJSON(v); ok {
		if messages, ok := o.Lists.Messages(text, role); ok {
			if !o.SharesRequest || role != tape.RoleUser {
				messages = decode.CloneParts(messages)
			}
			return messages, ""
		}
		if parsed, err := exactjson.Parse(text); err == nil {
			v = parsed
		} else if parsed, lossy, ok := decode.Python(text); ok && !lossy {
			v = parsed
		} else if messages, ok := decode.OddMessages(text, role); ok {
			return messages, ""
		} else if startsStructure(text) {
			messages, _ := decode.Messages(decode.LeadingElements(text), role)
			return messages, tape.Truncated
		}
	}
	messages, ok := decode.Messages(v, role)
	if !ok && !v.IsEmpty() {
		return []decode.Message{{Role: role, Parts: []decode.Part{decode.DataPart(v)}}}, ""
	}
	labelNulls(a.JSON(key), messages)
	return messages, ""
}

// labelNulls labels results of tools that are null, or whose only member is null, in a list that was recorded
// as a structure. Null stands there for values that attributes have no form for, such as a list of several
// kinds.
func labelNulls(recorded exactjson.Value, messages []decode.Message) {
	if recorded.Kind() != exactjson.Array {
		return
	}
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			only := p.Result
			if only.Kind() == exactjson.Object && only.Len() == 1 {
				only = only.Members()[0].Value
			}
			if p.Type == tape.PartToolResult && only.Kind() == exactjson.Null && p.Label == "" {
				p.Label = tape.Lossy
			}
		}
	}
}

// startsStructure tells the beginning of a JSON list or object from a text in brackets.
func startsStructure(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	return rest == "" || strings.ContainsRune("{[\"", rune(rest[0]))
}

// ofTool returns what a tool got or gave back: the attribute of the conventions, else one that an
// instrumentation put beside them, in the order of the words.
func ofTool(a decode.Attributes, key string, words ...string) exactjson.Value {
	v := a.JSON(key)
	for _, w := range words {
		if !v.IsAbsent() {
			break
		}
		v = a.JSON("gen_ai.tool."+w, "gen_ai.tool.call."+w)
	}
	return v
}

func readSemconvTool(s *dialect.Source, a decode.Attributes, events []Event, o *dialect.Draft, encoded bool) {
	o.Name = a.Text("gen_ai.tool.name", "tool.name", "mcp.tool.name")
	decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "execute_tool ", "tools/call ", "running tool: ", "running tool "))
	o.CallID = decode.UsableID(a.Text("gen_ai.tool.call.id", "gen_ai.tool.call_id"))
	switch a.Text("gen_ai.tool.type") {
	case "extension":
		o.ToolKind = tape.ToolServer
	case "function":
		o.ToolKind = tape.ToolFunction
	}
	if method := a.Text("mcp.method.name"); method != "" {
		o.ToolKind, o.MCPLeg = tape.ToolMCP, true
	}
	o.Handoff = a.Text("gen_ai.operation.name") == "handoff"
	if from, ok := decode.Structure(a.JSON("gen_ai.tool.call.arguments")); ok && from.Len() == 2 && from.Get("from_agent").Str() != "" && from.Get("to_agent").Str() != "" {
		// who hands over to whom, and not what the model asked with (AWS's instrumentation of the Agents SDK)
		o.Handoff = true
		return
	}
	if v := ofTool(a, "gen_ai.tool.call.arguments", "arguments", "args", "input"); !v.IsAbsent() {
		o.Args = decode.UnwrapArgs(decode.Args(v))
	} else if v := a.JSON("gen_ai.tool.parameters", "gen_ai.tool.call.parameters"); !v.IsAbsent() {
		if args := decode.Args(v); !decode.IsSchema(args.Value) {
			o.Args = decode.UnwrapArgs(args)
		}
	} else if v := a.Unflatten("gen_ai.tool.call.arguments."); !v.IsAbsent() {
		// attributes of their own have no null and no empty list
		o.Args = decode.Content{Value: v, Label: tape.Lossy}
	}
	if v := a.Unflatten("gen_ai.tool.call.result."); !v.IsAbsent() {
		o.Result = decode.Content{Value: v, Label: tape.Lossy}
	}
	v := ofTool(a, "gen_ai.tool.call.result", "result", "output", "response", "message")
	if v.IsAbsent() {
		v = a.JSON("gen_ai.output")
	}
	if !v.IsAbsent() {
		u := decode.UnwrapResult(decode.Result(v, encoded))
		o.Result = u.Content
		o.Failed = o.Failed || u.IsError
		decode.FillString(&o.CallID, u.CallID)
	}
	for _, e := range events {
		switch e.Name {
		case "gen_ai.tool.message", "gen_ai.tool.input":
			decode.FillContent(&o.Args, decode.Args(e.Fields.First("content", "gen_ai.tool.call.arguments")))
			decode.FillString(&o.CallID, decode.TextOfID(e.Fields.First("id", "tool_call_id")))
		case "gen_ai.choice", "gen_ai.tool.output", "tool.output":
			u := decode.UnwrapResult(decode.Result(e.Fields.First("message", "content", "output", "gen_ai.tool.call.result"), encoded))
			decode.FillContent(&o.Result, u.Content)
			o.Failed = o.Failed || u.IsError
			decode.FillString(&o.CallID, decode.TextOfID(e.Fields.First("id", "tool_call_id")))
		}
	}
	if a.Text("error.type") != "" {
		o.Failed = true
	}
}

// googleProviders serve Gemini's API.
var googleProviders = []string{"gcp.gen_ai", "gcp.gemini", "gcp.vertex_ai", "gemini", "google"}

// givesFunctions reports a call of Gemini whose tools have names alone. They are functions of the program,
// which Google's client calls by itself before it asks again. Where the request or the answer holds calls,
// the program calls them.
func givesFunctions(a decode.Attributes, o *dialect.Draft) bool {
	defined, _ := decode.Structure(a.JSON("gen_ai.tool.definitions"))
	if defined.Kind() != exactjson.Array || defined.Len() == 0 || !slices.Contains(googleProviders, o.Provider) {
		return false
	}
	for _, m := range defined.Members() {
		if m.Value.Len() != 1 || m.Value.Get("name").Str() == "" {
			return false
		}
	}
	return !slices.ContainsFunc(o.Request, decode.HasCalls) && !slices.ContainsFunc(o.Response, decode.HasCalls)
}

// isNothing reports an object whose only member is null. LangSmith's exporter writes one for a call that
// threw.
func isNothing(v exactjson.Value) bool {
	inner, ok := decode.Structure(v)
	return ok && inner.Kind() == exactjson.Object && inner.Len() == 1 && inner.Members()[0].Value.Kind() == exactjson.Null
}

// quarkus is the scope of the spans of Quarkus, among them those of its extension for LangChain4j.
const quarkus = "io.quarkus.opentelemetry"
