// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package openinference reads the OpenInference conventions (Arize Phoenix).
package openinference

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the OpenInference conventions: flattened messages under llm.*, and the framework's own
// objects as JSON in input.value and output.value. Each of the two is incomplete with some packages. The
// better one is read, field by field.
var Dialect = &dialect.Dialect{
	ID:            "openinference",
	Name:          "OpenInference",
	ScopePrefixes: []string{"openinference.instrumentation.", "@arizeai/openinference-", "openinference-core"},
	Marks:         []string{"openinference."},
	Root:          "the outermost `AGENT`, else the outermost `CHAIN`",
	Switch:        "on by default; unset `OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS` and the other `OPENINFERENCE_HIDE_*`",
	Settings:      []dialect.Setting{{Name: "OPENINFERENCE_HIDE_*", Unset: true}},
	Classify:      Classify,
	Read:          readOpenInference,
	Repairs: dialect.Repairs{
		ScopeQuirks: traceAIQuirks,
		Hooks:       []dialect.Hook{{Quirk: dialect.EmptiesFalsy, Run: labelFalsy}},
	},
}

var openInferenceKinds = map[string]dialect.Class{
	"LLM": dialect.Model, "AGENT": dialect.Agent, "CHAIN": dialect.Agent, "TOOL": dialect.Tool, "RETRIEVER": dialect.Retrieval,
	"RERANKER": dialect.Noise, "EMBEDDING": dialect.Noise, "GUARDRAIL": dialect.Noise, "EVALUATOR": dialect.Noise, "PROMPT": dialect.Structure,
}

const beeai = "openinference.instrumentation.beeai"

// Classify tells the class of a span from openinference.span.kind.
func Classify(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	class := openInferenceKinds[strings.ToUpper(a.Text("openinference.span.kind"))]
	if class == dialect.Tool && CallsModel(a) {
		// LiteLLM's callbacks for Phoenix and Langfuse call the span of a request that offers tools one of a
		// tool
		class = dialect.Model
	}
	if class == dialect.Tool && s.ScopeName == beeai && s.Span.Name() == "error" && a.Text("tool.name") == "" {
		return dialect.Noise, false // the failure of the tool around it, told once more
	}
	return class, class == dialect.Agent
}

// CallsModel reports a span that names a model, holds what was said or what it took, and names no tool.
func CallsModel(a decode.Attributes) bool {
	return a.Has("llm.model_name") && !a.Has("tool.name") && (a.Has("llm.token_count.total") || a.Has("llm.output_messages.0.message.role") || a.Has("llm.input_messages.0.message.role") ||
		a.Has("llm.request.type"))
}

func readOpenInference(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := strings.ToUpper(a.Text("openinference.span.kind"))
	metadata, _ := decode.Structure(a.JSON("metadata"))
	switch o.Class {
	case dialect.Agent:
		_, event := dialect.EventOf(s.Span)
		// BeeAI: a step of the loop, the agent has a span of its own
		o.WeakAgent = kind == "CHAIN" || event != ""
		// it answers with all that its model said in the run; of a stream that is not recorded (0.1.22)
		o.Quirks.Add(dialect.HandsAll, s.ScopeName == agno)
		readOpenInferenceAgent(s, a, metadata, o)
	case dialect.Model:
		ReadModel(a, o)
		if s.ScopeName == agno {
			dropEmptied(o.Request)
		}
		o.Failed = o.Failed || threwUnseen(s, a, o)
	case dialect.Tool:
		readOpenInferenceTool(s, a, o)
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: a.JSON("input.value")}
		for _, m := range a.Unflatten("retrieval.documents.").Members() {
			if d := m.Value.Get("document"); !d.IsAbsent() {
				o.Documents = append(o.Documents, d)
			}
		}
	case dialect.Noise:
		o.NoiseReason = strings.ToLower(kind)
	}
}

// threwUnseen reports a model call of OpenAI's Agents SDK over Chat Completions that threw. The SDK records
// no error, and the package sets the status ok. Of every call that was answered the SDK records the answer
// and the tokens.
func threwUnseen(s *dialect.Source, a decode.Attributes, o *dialect.Draft) bool {
	return s.ScopeName == "openinference.instrumentation.openai_agents" && s.Span.Name() == "generation" && len(o.Request) > 0 && len(o.Response) == 0 && !a.Has("output.value") && o.Usage.InputTokens == nil && o.Usage.OutputTokens == nil
}

// agno is the scope of agno's instrumentation.
const agno = "openinference.instrumentation.agno"

// dropEmptied takes empty texts off the results that agno's model was told. agno writes one for an empty list
// or object, for 0 and for False. The span of the tool tells what it returned.
func dropEmptied(messages []decode.Message) {
	for _, m := range messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolResult && p.Result.Kind() == exactjson.String && p.Result.Str() == "" {
				p.Result = exactjson.Value{}
			}
		}
	}
}

func readOpenInferenceAgent(s *dialect.Source, a decode.Attributes, metadata exactjson.Value, o *dialect.Draft) {
	o.Agent.Name = a.Text("agent.name", "graph.node.id")
	decode.FillString(&o.Agent.Name, metadata.Get("lc_agent_name").Str())
	if o.Agent.Name == "" && s.Span.Name() != "Agent workflow" {
		o.Agent.Name = s.Span.Name()
	}
	o.InputData = decode.Content{Value: a.JSON("input.value", "crew_tasks")}
	o.OutputData = decode.Content{Value: a.JSON("output.value")}
	if system := metadata.Get("system_prompt"); system.Str() != "" { // the processor for Strands
		o.System = decode.System(system)
	}
	o.Input, _ = openInferenceBlob(o.InputData.Value, tape.RoleUser)
	o.Output = openInferenceAnswer(a)
	if decode.IsObjectsInARow(o.OutputData.Value.Str()) {
		// all that an agent of smolagents yielded while it was streamed
		o.OutputData = decode.Content{}
	}
	if out := o.OutputData.Value; len(o.Output) == 0 && out.Kind() == exactjson.String && !decode.LooksJSON(out.Str()) {
		o.Output, _ = decode.Messages(out, tape.RoleAssistant)
	}
}

// openInferenceBlob reads input.value when it holds messages: a list, a request body, or a batch of prompts
// of which the first counts.
func openInferenceBlob(v exactjson.Value, role tape.Role) ([]decode.Message, []decode.Part) {
	inner, ok := decode.Structure(v)
	if !ok {
		if v.Kind() == exactjson.String && v.Str() != "" && !decode.LooksJSON(v.Str()) {
			messages, _ := decode.Messages(v, role)
			return messages, nil
		}
		return nil, nil
	}
	return decode.RequestMessages(inner, role)
}

// ReadModel reads a model call by the content keys of the convention.
func ReadModel(a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	s := modelSpan{Attributes: a}
	s.answer, _ = decode.Structure(a.JSON("output.value"))
	if s.answer.Kind() == exactjson.Array && s.answer.Len() == 1 && !s.answer.At(0).Get("choices").IsAbsent() {
		s.answer = s.answer.At(0) // the package for the Agents SDK writes a list of responses
	}
	s.params, _ = decode.Structure(a.JSON("llm.invocation_parameters"))
	s.client, _ = decode.Structure(a.JSON("metadata"))
	s.readRequest(o)
	s.readAnswer(o)
	s.readUsage(o)
	s.readNames(o)
	for _, m := range s.params.Members() {
		if name, ok := decode.ParamNames[m.Name]; ok {
			o.AddParam(name, m.Value)
		}
	}
	if len(o.Tools) == 0 {
		o.Tools = decode.ToolDefinitions(s.params.Get("tools"))
	}
	o.Streaming = s.params.Get("stream").True()
	if reason := a.Text("llm.finish_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	} else if reasons := a.Texts("llm.finish_reasons"); reasons != nil {
		o.FinishReasons = reasons
	}
}

// modelSpan is the span of a model call.
type modelSpan struct {
	decode.Attributes
	answer exactjson.Value // the response of the framework
	params exactjson.Value // of the request; the packages for the Agents SDK write the whole response here
	client exactjson.Value // settings of the client (Pipecat's)
}

// readRequest reads what a model was sent, from the flattened messages and from the request of the framework.
// traceAI writes the whole request as raw.input, and some of its messages as input.value.
func (s *modelSpan) readRequest(o *dialect.Draft) {
	flat, _ := Messages(s.Unflatten("llm.input_messages."))
	blob, system := openInferenceBlob(s.JSON("input.value"), tape.RoleUser)
	raw, apart := openInferenceBlob(s.JSON("raw.input"), tape.RoleUser)
	o.System = system
	o.Request = richer(flat, blob)
	lacksSystem := func() bool { return len(o.System) == 0 && !decode.HasRole(o.Request, tape.RoleSystem) }
	if lacksSystem() {
		o.System = apart
	}
	takeSpelling(o.Request, flat)
	takeFailures(o.Request, blob)
	takeResults(o.Request, raw)
	for _, m := range flat {
		if m.Role == tape.RoleSystem && lacksSystem() {
			o.System = append(o.System, m.Parts...)
		}
	}
	if lacksSystem() {
		o.System = decode.System(s.answer.Get("instructions"))
	}
	if lacksSystem() {
		o.System = decode.System(s.client.First("system_instruction", "system_instructions", "system_prompt", "instructions"))
	}
	for _, m := range s.Unflatten("llm.tools.").Members() {
		o.Tools = append(o.Tools, decode.ToolDefinitions(exactjson.ArrayValue(m.Value.Get("tool").First("json_schema", "input_schema")))...)
	}
}

// readAnswer reads what a model answered. AutoGen writes its CreateResult: a list of calls, perhaps with a
// thought, or a text (of 0.1.4). A response without choices is that of a stream that was read to its end, and
// holds none of what it said.
func (s *modelSpan) readAnswer(o *dialect.Draft) {
	flat, _ := Messages(s.Unflatten("llm.output_messages."))
	o.Response = richer(decode.OneTurn(flat), decode.OneTurn(openInferenceAnswer(s.Attributes)))
	if calls := autogenCalls(s.answer.Get("content")); len(flat) == 0 && len(calls) > 0 {
		if thought := s.answer.Get("thought").Str(); thought != "" {
			calls = append([]decode.Part{decode.TextPart(thought)}, calls...)
		}
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: calls, FinishReason: "tool_calls"}}
	}
	if text, why := s.answer.Get("content"), s.answer.Get("finish_reason").Str(); len(o.Response) == 0 && why != "" && text.Kind() == exactjson.String {
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text.Str())}, FinishReason: why}}
	}
	for i := range o.Response {
		o.Response[i].Role = tape.RoleAssistant
	}
	if choices := s.answer.Get("choices"); len(o.Response) == 0 && choices.Kind() == exactjson.Array && choices.Len() == 0 {
		o.ResponseLabel = tape.Missing
	}
}

// readUsage reads what a call took. No request is without tokens.
func (s *modelSpan) readUsage(o *dialect.Draft) {
	o.Usage = tape.Usage{
		InputTokens:      s.Count("llm.token_count.prompt"),
		OutputTokens:     s.Count("llm.token_count.completion"),
		CacheReadTokens:  s.Count("llm.token_count.prompt_details.cache_read"),
		CacheWriteTokens: s.Count("llm.token_count.prompt_details.cache_write"),
		ReasoningTokens:  s.Count("llm.token_count.completion_details.reasoning"),
	}
	if n := o.Usage.InputTokens; n != nil && *n == 0 && s.isMade() {
		o.Usage = tape.Usage{}
	}
}

// fakeID is the id of a response that the Agents SDK for Python made of a stream.
const fakeID = "FAKE_ID"

// isMade reports a response that the Agents SDK made of a stream. It names the model that was asked.
func (s *modelSpan) isMade() bool {
	name := s.Text("llm.model_name")
	return s.answer.Get("id").Str() == fakeID || (name == "" || name == s.answer.Get("model").Str() && !decode.IsDated(name)) && madeOfChunks(s.answer)
}

// readNames reads the id of the answer, the provider, and which model was asked and which one answered.
// LangChain numbers its messages itself.
func (s *modelSpan) readNames(o *dialect.Draft) {
	if o.ResponseID = s.answer.Get("id").Str(); o.ResponseID == fakeID {
		o.ResponseID = ""
	}
	if s.isMade() {
		o.Model = s.answer.Get("model").Str()
	}
	o.ResponseModel = s.answer.Get("model").Str()
	decode.FillString(&o.ResponseModel, s.Text("llm.response.model_name", "llm.output_model_name"))
	if generation := s.answer.Get("generations").At(0).At(0).Get("message"); generation.Kind() == exactjson.Object {
		fields := generation
		if k := generation.First("kwargs", "data"); k.Kind() == exactjson.Object {
			fields = k
		}
		decode.FillString(&o.ResponseID, fields.Get("response_metadata").Get("id").Str())
		if id := fields.Get("id").Str(); !strings.HasPrefix(id, "run-") && !strings.HasPrefix(id, "lc_run-") {
			decode.FillString(&o.ResponseID, id)
		}
		decode.FillString(&o.ResponseModel, fields.Get("response_metadata").First("model_name", "model").Str())
	}
	if o.ResponseModel == "" {
		o.ResponseModel = replyModel(s.answer)
	}
	decode.FillString(&o.Model, s.Text("llm.request.model_name", "llm.input_model_name"))
	if s.params.Get("created_at").IsAbsent() {
		decode.FillString(&o.Model, s.params.First("model", "model_name", "modelId").Str())
	}
	input, _ := decode.Structure(s.JSON("input.value"))
	decode.FillString(&o.Model, input.First("model", "modelId").Str())
	o.Provider = decode.Provider(s.Text("llm.provider", "llm.system"))
	s.readModelName(o)
}

// readModelName reads llm.model_name: the model that was asked for, or the one that answered where the
// settings of the client or the response say so.
func (s *modelSpan) readModelName(o *dialect.Draft) {
	named := s.Text("llm.model_name")
	asked, name := decode.ModelName(s.client.Get("model").Str()), decode.ModelName(named)
	switch {
	case asked != "" && strings.HasPrefix(named, asked+"-") && decode.IsDated(named):
		decode.FillString(&o.Model, asked)
		decode.FillString(&o.ResponseModel, named)
	case name == "":
		decode.FillString(&o.Model, asked)
	case name != o.ResponseModel:
		decode.FillString(&o.Model, name)
	}
}

// replyModel returns the model that a reply of Haystack names with a date, as a provider's answer does. The
// span names that model then, and not the one that was asked for.
func replyModel(answer exactjson.Value) string {
	reply := answer.Get("replies").At(0)
	if reply.Kind() == exactjson.String && decode.IsMessageRepresentation(reply.Str()) {
		reply, _ = decode.Representation(reply.Str())
	}
	if name := reply.First("meta", "_meta").Get("model").Str(); decode.IsDated(name) {
		return name
	}
	return ""
}

// Messages reads the flattened list: each element is {message: {role, content, contents, tool_calls, …}}.
func Messages(v exactjson.Value) ([]decode.Message, bool) {
	var out []decode.Message
	for _, m := range v.Members() {
		fields := m.Value.Get("message")
		if fields.Kind() != exactjson.Object {
			continue
		}
		role := decode.RoleOf(fields.Get("role").Str())
		if results := autogenResults(m.Value.Get("function")); role == tape.RoleTool && len(results) > 0 {
			out = append(out, decode.Message{Role: role, Parts: results})
			continue
		}
		if calls := autogenCalls(fields.Get("content")); role == tape.RoleAssistant && len(calls) > 0 {
			if thought := m.Value.Get("thought").Str(); thought != "" {
				calls = append([]decode.Part{decode.TextPart(thought)}, calls...)
			}
			out = append(out, decode.Message{Role: role, Parts: calls})
			continue
		}
		if role == tape.RoleTool || !fields.Get("tool_call_id").IsAbsent() {
			body := fields.Get("content")
			if contents := contentsOf(fields); body.IsAbsent() && len(contents) > 0 {
				body = exactjson.ArrayValue(contents...)
			}
			out = append(out, decode.Message{Role: tape.RoleTool, Parts: []decode.Part{decode.ResultPart(decode.TextOfID(fields.Get("tool_call_id")), fields.Get("name").Str(), body, false)}})
			continue
		}
		var parts []decode.Part
		if contents := contentsOf(fields); len(contents) > 0 {
			parts = decode.Parts(exactjson.ArrayValue(contents...))
		} else {
			parts = decode.Parts(fields.Get("content"))
		}
		if calls := fields.Get("tool_calls"); calls.Kind() == exactjson.Array && !decode.HasCallParts(parts) {
			parts = append(parts, decode.ChatCalls(calls)...)
		} else if name := fields.Get("function_call_name").Str(); name != "" {
			parts = append(parts, decode.CallPart("", name, fields.Get("function_call_arguments_json")))
		}
		out = append(out, decode.MessageWith(role, fields.Get("name").Str(), parts))
	}
	return out, len(out) > 0
}

// autogenResults reads the results of one message of AutoGen, each an object of its own as JSON.
func autogenResults(list exactjson.Value) (parts []decode.Part) {
	for _, m := range list.Members() {
		if r, ok := decode.Structure(m.Value); ok && r.Get("call_id").Kind() == exactjson.String && !r.Get("content").IsAbsent() {
			parts = append(parts, decode.ResultPart(decode.TextOfID(r.Get("call_id")), r.Get("name").Str(), r.Get("content"), r.Get("is_error").True()))
		}
	}
	return parts
}

// autogenCalls reads a content of AutoGen that holds calls alone: objects of an id, a name and arguments, or
// their repr().
func autogenCalls(content exactjson.Value) (parts []decode.Part) {
	list, ok := decode.Structure(content)
	if !ok || list.Kind() != exactjson.Array {
		return nil
	}
	for _, m := range list.Members() {
		c := m.Value
		if text := c.Str(); text != "" {
			if inner, err := exactjson.Parse(text); err == nil {
				text = inner.Str()
			}
			if !strings.HasPrefix(text, "FunctionCall(") {
				return nil
			}
			c, _ = decode.Representation(text)
		}
		if c.Get("id").Str() == "" || c.Get("name").Str() == "" || c.Get("arguments").Kind() != exactjson.String {
			return nil
		}
		parts = append(parts, decode.CallPart(c.Get("id").Str(), c.Get("name").Str(), c.Get("arguments")))
	}
	return parts
}

// contentsOf returns the ordered parts of a flattened message without the wrapper around each.
func contentsOf(fields exactjson.Value) []exactjson.Value {
	var out []exactjson.Value
	for _, m := range fields.Get("contents").Members() {
		part := m.Value
		if inner := part.Get("message_content"); inner.Kind() == exactjson.Object {
			part = inner
		}
		if image := part.Get("image"); image.Get("image").Kind() == exactjson.Object {
			part = exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("image")}, exactjson.Member{Name: "image_url", Value: image.Get("image").Get("url")})
		}
		if call := m.Value.Get("tool_call"); call.Kind() == exactjson.Object {
			part = exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("tool_call")}, exactjson.Member{Name: "id", Value: call.Get("id")}, exactjson.Member{Name: "function", Value: call.Get("function")})
		}
		out = append(out, part)
	}
	return out
}

// madeOfChunks reports a response that the Agents SDK for JavaScript made of a stream, by the order of its
// members. From 0.2 on it holds the id and the choices of the chunks.
func madeOfChunks(answer exactjson.Value) bool {
	members := answer.Members()
	if len(members) < 5 {
		return false
	}
	for i, name := range []string{"id", "created", "model", "object", "choices"} {
		if members[i].Name != name {
			return false
		}
	}
	return true
}

// openInferenceAnswer reads the answer from output.value where that is more than a text.
func openInferenceAnswer(a decode.Attributes) []decode.Message {
	v, ok := decode.Structure(a.JSON("output.value"))
	if !ok {
		return nil
	}
	return decode.OutputMessages(v, 0)
}

// richer returns the list that lacks less: messages and results without content, calls without id or
// arguments, then calls and results. Several results of one message are flattened onto each other. The
// flattened list wins a tie.
func richer(flat, blob []decode.Message) []decode.Message {
	if len(flat) == 0 {
		return blob
	}
	more := exchanges(flat) - exchanges(blob) // what a list does not show at all is lacking as well
	lacks := cmp.Or(cmp.Compare(gaps(blob)+max(more, 0), gaps(flat)+max(-more, 0)), more)
	if len(blob) == 0 || lacks >= 0 || parts(blob) < parts(flat)-systemParts0(flat) {
		return flat
	}
	return blob
}

// takeSpelling takes the arguments of calls from the flattened list where the other list spells the names of
// members anew. The package for Google's client writes a request in snake case from 0.1.13 on, what the model
// wrote in it too. Both lists have the same calls in the same order then.
func takeSpelling(messages, flat []decode.Message) {
	spelt, written := partsOf(messages, tape.PartToolCall), partsOf(flat, tape.PartToolCall)
	if len(spelt) != len(written) {
		return
	}
	for i, p := range spelt {
		if w := written[i]; p.Name == w.Name && p.Args.JSON() != w.Args.JSON() && respelled(p.Args).JSON() == respelled(w.Args).JSON() {
			p.Args = w.Args
		}
	}
}

// partsOf are the parts of one type.
func partsOf(messages []decode.Message, kind tape.PartType) (out []*decode.Part) {
	for _, m := range messages {
		for i := range m.Parts {
			if m.Parts[i].Type == kind {
				out = append(out, &m.Parts[i])
			}
		}
	}
	return out
}

// respelled returns a value whose member names are in small letters, without separators of words.
func respelled(v exactjson.Value) exactjson.Value {
	if v.Kind() < exactjson.Array {
		return v
	}
	members := slices.Clone(v.Members())
	for i := range members {
		members[i].Name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(members[i].Name))
		members[i].Value = respelled(members[i].Value)
	}
	if v.Kind() == exactjson.Object {
		return exactjson.ObjectValue(members...)
	}
	values := make([]exactjson.Value, len(members))
	for i, m := range members {
		values[i] = m.Value
	}
	return exactjson.ArrayValue(values...)
}

// takeFailures marks results that the request calls failures: flattened messages have no key for that. The
// results of both lists are the same if there are as many, in the same order as far as ids say.
func takeFailures(messages, blob []decode.Message) {
	shown, said := partsOf(messages, tape.PartToolResult), partsOf(blob, tape.PartToolResult)
	if len(shown) != len(said) {
		return
	}
	for i, p := range shown {
		if p.ID == "" || said[i].ID == "" || p.ID == said[i].ID {
			p.IsError = p.IsError || said[i].IsError
		}
	}
}

// takeResults puts all results of a message in place of the one that was left when they were flattened onto
// each other.
func takeResults(messages, raw []decode.Message) {
	for i, m := range messages {
		if m.Role != tape.RoleTool || len(m.Parts) != 1 || m.Parts[0].ID == "" {
			continue
		}
		for _, whole := range raw {
			if len(whole.Parts) > 1 && slices.ContainsFunc(whole.Parts, func(p decode.Part) bool { return p.Type == tape.PartToolResult && p.ID == m.Parts[0].ID }) {
				messages[i] = whole
				break
			}
		}
	}
}

func gaps(messages []decode.Message) int {
	n := 0
	for _, m := range messages {
		if len(m.Parts) == 0 {
			n += 2
		}
		for _, p := range m.Parts {
			if (p.Type == tape.PartToolCall || p.Type == tape.PartToolResult) && p.ID == "" {
				n++
			}
			if p.Type == tape.PartToolCall && p.Args.IsAbsent() && p.ArgsText == "" {
				// those that are empty are left out of the flattened list of Google's client
				n++
			}
			if p.Type == tape.PartToolResult && p.Result.IsAbsent() {
				n += 2
			}
		}
	}
	return n
}

// exchanges counts calls and results.
func exchanges(messages []decode.Message) int {
	n := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall || p.Type == tape.PartToolResult {
				n++
			}
		}
	}
	return n
}

func parts(messages []decode.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Parts)
	}
	return n
}

func systemParts0(messages []decode.Message) int {
	if len(messages) > 0 && messages[0].Role == tape.RoleSystem {
		return len(messages[0].Parts)
	}
	return 0
}

// readDSPyTool takes off what the method that runs a tool of DSPy adds: its own name, and the name of the
// parameter that holds all arguments.
func readDSPyTool(o *dialect.Draft) {
	for _, method := range []string{".__call__", ".acall"} {
		if name, ok := strings.CutSuffix(o.Name, method); ok && name != "" {
			o.Name = name
			break
		}
	}
	if kwargs := o.Args.Value.Get("kwargs"); o.Args.Value.Len() == 1 && kwargs.Kind() == exactjson.Object {
		o.Args.Value, o.Args.Text, o.Args.Envelope = kwargs, "", append(o.Args.Envelope, "python.call")
	}
}

func readOpenInferenceTool(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Name = a.Text("tool.name")
	decode.FillString(&o.Name, s.Span.Name())
	o.CallID = decode.UsableID(a.Text("tool.id", "tool_call.id", "tool.call_id"))
	o.ToolKind = tape.ToolFunction
	if strings.HasPrefix(s.Span.Name(), "handoff to ") || strings.HasPrefix(o.Name, "handoff_to_") || strings.HasPrefix(o.Name, "handoff to ") {
		o.Handoff = true
	}
	if v := a.JSON("input.value"); !v.IsAbsent() {
		o.Args = decode.UnwrapArgs(decode.Args(v))
		if s.ScopeName == "openinference.instrumentation.dspy" {
			readDSPyTool(o)
		}
		if given := o.Args.Value.Get("input"); s.ScopeName == beeai && o.Args.Value.Len() == 2 && given.Kind() == exactjson.Object && !o.Args.Value.Get("options").IsAbsent() {
			// beside the options of the run
			o.Args.Value, o.Args.Envelope = given, append(o.Args.Envelope, "input")
		}
	} else if v, ok := decode.Structure(a.JSON("tool.parameters")); ok && !decode.IsSchema(v) {
		o.Args = decode.Content{Value: v}
	}
	if v := a.JSON("output.value"); !v.IsAbsent() {
		u := decode.UnwrapResult(decode.Result(v, false))
		o.Result = u.Content
		if outputs, _ := decode.Structure(o.Result.Value); isLangChainOutputs(s, a) && outputs.Len() == 1 {
			if returned := outputs.Get("output"); returned.Kind() != exactjson.String && !returned.IsAbsent() {
				o.Result.Value, o.Result.Envelope = returned, append(o.Result.Envelope, "output")
			}
		}
		o.Failed = u.IsError
		decode.FillString(&o.CallID, u.CallID)
	}
}

// isLangChainOutputs reports outputs as LangChain's tracer keeps them: {"output": …}. OpenInference wrote
// them before 0.1.48 for results that are no text. It wrote a text as it was, and without a type.
func isLangChainOutputs(s *dialect.Source, a decode.Attributes) bool {
	return s.ScopeName == "openinference.instrumentation.langchain" && a.Text("output.mime_type") == "application/json" && before(s.ScopeVersion, 0, 1, 48)
}

// before reports a version with as many numbers that is less than these.
func before(version string, numbers ...int) bool {
	parts := strings.Split(version, ".")
	if len(parts) != len(numbers) {
		return false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n > numbers[i] {
			return false
		}
		if n < numbers[i] {
			return true
		}
	}
	return false
}
