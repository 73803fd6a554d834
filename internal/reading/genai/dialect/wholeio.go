// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ReadWholeAgent reads an agent's input and output from one value each.
func ReadWholeAgent(o *Draft, in, out exactjson.Value) {
	if !in.IsAbsent() {
		o.InputData = decode.Content{Value: in, Label: decode.LabelOf(in.Str())}
		var system []decode.Part
		o.Input, system = decode.InputMessages(in, 0)
		decode.FillList(&o.System, system)
	}
	if !out.IsAbsent() {
		o.OutputData = decode.Content{Value: out, Label: decode.LabelOf(out.Str())}
		o.Output = decode.OneTurn(decode.OutputMessages(out, 0))
		if len(o.Output) == 0 {
			o.Output = AnswerText(out)
		}
	}
}

// AnswerText reads the answer of a function that returned a text, which was recorded as JSON. The text itself
// may be JSON that holds no message.
func AnswerText(out exactjson.Value) []decode.Message {
	text, ok := decode.WholeText(out)
	if !ok || text == "" || text == out.Str() || !decode.LooksJSON(text) {
		return nil
	}
	return []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
}

// isHollow reports an object that stands for no answer: its text is empty, and so is everything beside it
// (Mastra's, of a call that threw).
func isHollow(v exactjson.Value) bool {
	return v.Len() > 1 && v.Get("text").Kind() == exactjson.String && !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return !m.Value.IsEmpty() })
}

// ReadWholeModel reads a model call from the request and the response of a provider or framework.
func ReadWholeModel(o *Draft, in, out exactjson.Value) {
	decode.FillString(&o.Operation, "chat")
	out = decode.Response(out)
	if request, ok := decode.Structure(in); ok {
		readProviderRequest(o, request)
	} else if text, ok := decode.WholeText(in); ok && text != "" {
		o.Request, o.RequestLabel = decode.TextMessages(text, tape.RoleUser)
	}
	if response, ok := decode.Structure(out); ok {
		if said := response.At(0); response.Kind() == exactjson.Array && said.Kind() == exactjson.String {
			response = said // the answers of one call, further ones being other answers (DSPy)
			o.Response, o.ResponseLabel = decode.TextMessages(said.Str(), tape.RoleAssistant)
		} else {
			readProviderResponse(o, response)
		}
		if text, ok := decode.WholeText(out); ok && len(o.Response) == 0 && response.Kind() == exactjson.Object && !saysResponse(response) && !isHollow(response) {
			// the model answered in JSON
			o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
		}
	} else if text, ok := decode.WholeText(out); ok && text != "" {
		o.Response, o.ResponseLabel = decode.TextMessages(text, tape.RoleAssistant)
	}
}

// OwnJSON returns the text of a value of a program in JavaScript, where it is JSON on one line with white
// space between its tokens. JSON.stringify writes none, or breaks the lines. So a model wrote the text, and
// it is no object of the program.
func OwnJSON(v exactjson.Value) (text string, ok bool) {
	text = v.Str()
	if !decode.LooksJSON(text) {
		return "", false
	}
	inString, spaced := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '\n' || c == '\r':
			return "", false
		case c == ' ' || c == '\t':
			spaced = true
		}
	}
	if !spaced {
		return "", false
	}
	_, ok = decode.ParseStructure(text)
	return text, ok
}

// responseNames are members of what a provider or a framework answers.
var responseNames = []string{
	"choices", "candidates", "generations", "output", "outputs", "message", "messages", "content", "role", "usage", "model", "response", "finish_reason",
	"finishReason", "stop_reason", "tool_calls", "toolCalls", "lc", "error",
}

// plainNames are those of them that a model uses for members of its own. Where a message stands there, or all
// members are those of a wrapper, they do speak of a response.
var plainNames = []string{"output", "outputs", "message", "content", "response", "error"}

// saysNothing reports a value that is no message and no list of parts or messages.
func saysNothing(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Object:
		return v.First("role", "content", "text", "parts", "message", "messages", "tool_calls", "toolCalls", "choices", "kwargs").IsAbsent()
	case exactjson.Array:
		return !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return m.Value.Kind() == exactjson.Object }) || holdsNoParts(v)
	}
	return true
}

// saysResponse reports an object with a member of what a provider or a framework answers. A number or a truth
// value does not count. Such an object is no text of a model, even if no answer is found in it.
func saysResponse(v exactjson.Value) bool {
	return slices.ContainsFunc(responseNames, func(name string) bool {
		member := v.Get(name)
		if name == "content" && v.Get("role").IsAbsent() && holdsNoParts(member) {
			return false
		}
		if slices.Contains(plainNames, name) && saysNothing(member) && !decode.Wraps(v, name) {
			return false
		}
		return !member.IsAbsent() && (name == "lc" || member.Kind() != exactjson.Number && member.Kind() != exactjson.Bool)
	})
}

// holdsNoParts reports a list of objects none of which says what kind of part it is, or holds a text.
func holdsNoParts(v exactjson.Value) bool {
	return v.Kind() == exactjson.Array && v.Len() > 0 && !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		return m.Value.Kind() != exactjson.Object || !m.Value.First("type", "text", "content", "functionCall", "function_call", "toolUse").IsAbsent()
	})
}

// readProviderRequest reads messages, system prompt, tools and parameters of a request object.
func readProviderRequest(o *Draft, v exactjson.Value) {
	if inner := v.Get("kwargs"); inner.Kind() == exactjson.Object && v.Get("args").Kind() == exactjson.Array && v.Get("args").Len() == 0 {
		v = inner
	}
	v = requestOf(v)
	if v.Kind() == exactjson.Array && !decode.IsMessageList(v) {
		if v.At(0).Kind() == exactjson.String { // a batch of prompts, of which the first counts
			o.Request, _ = decode.Messages(v.At(0), tape.RoleUser)
			return
		}
		o.Request = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.DataPart(v)}}}
		return
	}
	var system []decode.Part
	o.Request, system = decode.RequestMessages(v, tape.RoleUser)
	o.Tools = append(o.Tools, decode.OfferedAsMessages(v)...)
	decode.FillList(&o.System, system)
	if len(o.Request) == 0 && v.Kind() == exactjson.Object {
		if prompts := v.Get("prompts"); prompts.Kind() == exactjson.Array {
			o.Request, _ = decode.Messages(prompts.At(0), tape.RoleUser)
		}
	}
	if v.Kind() != exactjson.Object {
		return
	}
	decode.FillList(&o.Tools, decode.ToolDefinitions(v.First("tools", "functions")))
	decode.FillList(&o.Tools, decode.ToolDefinitions(v.Get("toolConfig").Get("tools")))
	decode.FillString(&o.Model, v.First("model", "modelId", "model_name").Str())
	ReadParams(o, v)
	if config := v.First("config", "generationConfig", "inferenceConfig", "options"); config.Kind() == exactjson.Object {
		ReadParams(o, config)
		decode.FillList(&o.Tools, decode.ToolDefinitions(config.Get("tools")))
		decode.FillList(&o.System, decode.System(config.First("system_instruction", "systemInstruction")))
	}
}

// requestOf returns the request among the arguments of a function of an SDK, which a tracer of functions
// recorded by position. The options of the call come after it.
func requestOf(v exactjson.Value) exactjson.Value {
	if args, more := v.Get("args"), v.Get("kwargs"); v.Len() == 2 && args.Len() == 1 && decode.IsMessageList(args.At(0)) && more.Kind() == exactjson.Object && more.Get("messages").IsAbsent() {
		// the conversation by position, its settings by name (AgentScope)
		return exactjson.ObjectValue(append([]exactjson.Member{{Name: "messages", Value: args.At(0)}}, more.Members()...)...)
	}
	given, least := v, 2
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		given, least = v.Get("args"), 1
	}
	first := given.At(0)
	if given.Kind() != exactjson.Array || given.Len() < least || first.Kind() != exactjson.Object || !first.Get("role").IsAbsent() || first.First("messages", "input", "contents", "prompt").IsAbsent() {
		return v
	}
	for _, m := range given.Members()[1:] {
		if m.Value.Kind() != exactjson.Null && (m.Value.Kind() != exactjson.Object || !m.Value.First("messages", "input", "contents", "prompt", "role").IsAbsent()) {
			return v // a batch
		}
	}
	return first
}

// ReadParams reads the request parameters of an object.
func ReadParams(o *Draft, v exactjson.Value) {
	for _, m := range v.Members() {
		name, ok := decode.ParamNames[m.Name]
		if n, isNumber := m.Value.Int(); isNumber && n < 0 && name == "max_tokens" {
			continue // what some packages write when no limit was set
		}
		if ok {
			o.AddParam(name, m.Value)
		}
	}
	o.Streaming = o.Streaming || v.Get("stream").True()
}

// readProviderResponse reads the answer, its id and model, why it ended and what it cost from a response
// object.
func readProviderResponse(o *Draft, v exactjson.Value) {
	if failure := providerFailure(v); failure != nil {
		o.Failed, o.Error = true, failure
		return
	}
	o.Response = decode.OneTurn(decode.OutputMessages(v, 0))
	for i := range o.Response {
		o.Response[i].Role = tape.RoleAssistant
	}
	defer func() {
		if len(o.FinishReasons) == 0 && len(o.Response) > 0 && o.Response[0].FinishReason != "" {
			o.FinishReasons = []string{o.Response[0].FinishReason}
		}
	}()
	if v.Kind() != exactjson.Object {
		return
	}
	if v.Get("choices").Kind() == exactjson.Array || !v.First("object", "stop_reason", "usage", "modelVersion", "model").IsAbsent() {
		decode.FillString(&o.ResponseID, v.First("id", "responseId").Str())
		decode.FillString(&o.ResponseModel, v.First("model", "modelVersion").Str())
	}
	if reason := v.First("stop_reason", "stopReason").Str(); reason != "" {
		decode.FillList(&o.FinishReasons, []string{reason})
	}
	generation := v.Get("generations").At(0)
	if generation.Kind() == exactjson.Array {
		generation = generation.At(0)
	}
	if fields := generation.Get("message"); fields.Kind() == exactjson.Object {
		if k := fields.First("kwargs", "data"); k.Kind() == exactjson.Object {
			fields = k
		}
		if id := fields.Get("id").Str(); !strings.HasPrefix(id, "run-") && !strings.HasPrefix(id, "lc_run") {
			decode.FillString(&o.ResponseID, id)
		}
		metadata := fields.Get("response_metadata")
		decode.FillString(&o.ResponseModel, metadata.First("model_name", "model").Str())
		decode.FillUsage(&o.Usage, decode.Usage(fields.Get("usage_metadata")))
	}
	decode.FillUsage(&o.Usage, decode.Usage(v.First("usage", "usage_metadata", "usageMetadata")))
}

// failureType is what providers call the kinds of their failures.
var failureType = regexp.MustCompile(`^([a-z]+_)*error$|^[A-Z]+(_[A-Z]+)+$`)

// providerFailure reads the body with which the API of a provider refuses a request. OpenAI writes {"error":
// {"message", "type": "…_error"}}, Anthropic adds a type beside it, Google writes {"error": {"code",
// "message", "status": "INVALID_ARGUMENT"}}. A model may say anything else with a member of that name.
func providerFailure(v exactjson.Value) *tape.Error {
	failure := v.Get("error")
	message, kind := failure.Get("message").Str(), failure.First("type", "status").Str()
	if v.Kind() != exactjson.Object || failure.Kind() != exactjson.Object || strings.TrimSpace(message) == "" || !failureType.MatchString(kind) {
		return nil
	}
	for _, name := range []string{"choices", "candidates", "content", "output", "usage"} {
		if !v.Get(name).IsEmpty() {
			return nil
		}
	}
	return &tape.Error{Type: kind, Message: message}
}

// ReadWholeTool fills a tool call from one value for the arguments and one for the result. A result that was
// recorded as JSON text stays text unless an envelope is taken off.
func ReadWholeTool(o *Draft, in, out exactjson.Value, encoded bool) {
	if o.ToolKind == "" {
		o.ToolKind = tape.ToolFunction
	}
	if !in.IsAbsent() {
		args := decode.Args(in)
		_, id := decode.PositionalCall(args.Value)
		decode.FillString(&o.CallID, id)
		if name, id, ok := decode.HandedCall(args.Value); ok {
			o.Name = name // the span has that of the step
			decode.FillString(&o.CallID, id)
		}
		o.Args = decode.UnwrapArgs(args)
		TakeFromName(o)
		if v := o.Args.Value; v.Get("args").Len() == 1 && v.Get("args").Kind() == exactjson.Array && v.Get("kwargs").Len() == 0 && v.Len() <= 2 && (v.Len() == 1 || !v.Get("kwargs").IsAbsent()) {
			o.Args.Value = v.Get("args").At(0) // one argument by position: its value alone is known
			o.Args.Envelope = append(o.Args.Envelope, "python.call")
		}
		if wrapped := o.Args.Value.Get("input"); o.Args.Value.Len() == 1 && wrapped.Kind() == exactjson.String {
			// LangChain hands a tool's arguments to its tracers as one text. A text that is no object is the
			// argument itself.
			if inner := decode.Args(wrapped); inner.Label == "" && inner.Value.Kind() == exactjson.Object {
				inner.Envelope = append(o.Args.Envelope, "langchain.input")
				o.Args = inner
			} else if inner.Label == tape.Lossy && strings.HasPrefix(strings.TrimSpace(wrapped.Str()), "{") {
				o.Args.Label = tape.Lossy
			}
		}
	}
	if !out.IsAbsent() {
		u := decode.UnwrapResult(decode.Result(out, encoded))
		o.Result = u.Content
		o.Failed = o.Failed || u.IsError
		decode.FillString(&o.CallID, decode.UsableID(u.CallID))
		if u.Name != "" {
			o.Name = u.Name // a span may be named after the tool's class
		}
	}
}

// TakeFromName opens the arguments of a tool that stand beside its own name, and beside at most the id of the
// call.
func TakeFromName(o *Draft) {
	v := o.Args.Value
	if len(o.Args.Envelope) > 0 || o.Name == "" || v.Kind() != exactjson.Object || v.Len() < 2 || v.Len() > 3 {
		return
	}
	named := false
	var args exactjson.Value
	for _, m := range v.Members() {
		switch inner, ok := decode.Structure(m.Value); {
		case ok && inner.Kind() == exactjson.Object && args.IsAbsent():
			args = inner
		case m.Value.Str() == o.Name && !named:
			named = true
		case o.CallID != "" && m.Value.Str() == o.CallID:
		default:
			return
		}
	}
	if named && !args.IsAbsent() {
		o.Args.Value, o.Args.Text, o.Args.Envelope = args, "", []string{"name"}
	}
}
