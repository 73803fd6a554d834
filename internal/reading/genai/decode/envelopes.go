// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Unwrapped is a tool result without its envelopes, and what they said of the call.
type Unwrapped struct {
	Content Content
	IsError bool
	CallID  string
	Name    string // of the tool, as the model was offered it
}

// MinDrawnID is how long an id is at least that a provider draws. Numbers that some packages give to calls come back with each answer.
const MinDrawnID = 16

// maxEnvelopes bounds envelopes within envelopes.
const maxEnvelopes = 4

// envelope recognises one wrapping and returns what is inside. Names are part of the tape (event field envelope).
type envelope struct {
	name string
	open func(v exactjson.Value) (inner exactjson.Value, u Unwrapped, ok bool)
}

// envelopes is the table of known wrappings, tried in order until none fits.
var envelopes = []envelope{
	{"langchain.output", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		inner := v.Get("output")
		ok := v.Len() == 1 && (IsLangChainTool(inner) || isToolMessageRepr(inner.Str())) || v.Len() == 2 && !inner.IsAbsent() && v.Get("kwargs").Kind() == exactjson.Object
		return inner, Unwrapped{}, ok
	}},
	{"langchain.tool_message", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		if !IsLangChainTool(v) {
			return v, Unwrapped{}, false
		}
		fields := v
		if k := v.First("kwargs", "data"); k.Kind() == exactjson.Object {
			fields = k
		}
		return fields.Get("content"), Unwrapped{IsError: fields.Get("status").Str() == "error", CallID: TextOfID(fields.Get("tool_call_id")), Name: fields.Get("name").Str()}, true
	}},
	{"langgraph.state", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) { // what a step that runs one call adds to the state
		messages := v.Get("messages")
		return messages.At(0), Unwrapped{}, v.Len() == 1 && messages.Kind() == exactjson.Array && messages.Len() == 1 && IsLangChainTool(messages.At(0))
	}},
	{"tool_message", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) { // the one message of the role tool in a list
		one := v.At(0)
		ok := v.Kind() == exactjson.Array && v.Len() == 1 && one.Len() == 2 && one.Get("role").Str() == "tool" && one.Get("content").Kind() == exactjson.String
		return one.Get("content"), Unwrapped{}, ok
	}},
	{"tool_message", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) { // the same with nothing but the tool and the call that it is of (Microsoft Foundry's tracer for LangChain)
		name, id := v.Get("name").Str(), TextOfID(v.Get("tool_call_id"))
		ok := v.Len() == 3 && name != "" && len(id) >= MinDrawnID && !v.Get("content").IsAbsent()
		return v.Get("content"), Unwrapped{CallID: id, Name: name}, ok
	}},
	{"ai_sdk.output", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		inner := v.Get("value")
		if v.Len() > 3 || inner.IsAbsent() && v.Get("type").Str() != "execution-denied" {
			return v, Unwrapped{}, false
		}
		switch v.Get("type").Str() {
		case "text", "json", "content":
			return inner, Unwrapped{}, true
		case "error-text", "error-json":
			return inner, Unwrapped{IsError: true}, true
		case "execution-denied":
			return v.Get("reason"), Unwrapped{IsError: true}, true
		}
		return v, Unwrapped{}, false
	}},
	{"agent_framework.function_result", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		inner := v.Get("result")
		ok := v.Get("type").Str() == "function_result" && !v.Get("call_id").IsAbsent() && !inner.IsAbsent()
		return inner, Unwrapped{CallID: TextOfID(v.Get("call_id"))}, ok
	}},
	{geminiResponse, func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		response := v.Get("response")
		ok := v.Len() == 3 && v.Get("id").Kind() == exactjson.String && v.Get("name").Kind() == exactjson.String && response.Kind() == exactjson.Object
		if only, wrapped := geminiValue(response); wrapped {
			response = only
		}
		return response, Unwrapped{CallID: v.Get("id").Str()}, ok
	}},
	{"completion.tool_message", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		message := v.Get("choices").At(0).Get("message")
		ok := v.Get("choices").Len() == 1 && message.Get("role").Str() == "tool" && message.Get("content").Kind() == exactjson.String
		return message.Get("content"), Unwrapped{CallID: TextOfID(message.First("tool_call_id", "tool_id")), Name: message.First("tool_name", "name").Str()}, ok
	}},
	{"llamaindex.tool_output", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		ok := v.Get("tool_name").Kind() == exactjson.String && !v.Get("raw_input").IsAbsent() && !v.Get("raw_output").IsAbsent()
		raw := v.Get("raw_output")
		if text, shown := singleText(v.Get("blocks")); shown && raw.Kind() == exactjson.Null {
			raw = text // what the model was shown: null is also written for what has no JSON form
		}
		return raw, Unwrapped{IsError: v.Get("is_error").True()}, ok
	}},
	{"mcp.result", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		blocks := v.Get("content")
		if blocks.Kind() != exactjson.Array || v.Get("type").Kind() == exactjson.String {
			return v, Unwrapped{}, false
		}
		for _, m := range v.Members() {
			switch m.Name {
			case "content", "isError", "structuredContent", "_meta":
			default:
				return v, Unwrapped{}, false
			}
		}
		_, ok := singleText(blocks)
		return blocks, Unwrapped{IsError: v.Get("isError").True()}, ok
	}},
	{"tool_response", toolResponse},
	{"result", emptyRecord},
	{"content_block", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		text, ok := singleText(exactjson.ArrayValue(v))
		return text, Unwrapped{}, ok && v.Get("type").Kind() == exactjson.String
	}},
	{"content_blocks", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		text, ok := singleText(v)
		return text, Unwrapped{}, ok
	}},
	{"json_block", func(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
		inner := v.At(0).Get("json")
		return inner, Unwrapped{}, v.Kind() == exactjson.Array && v.Len() == 1 && v.At(0).Len() == 1 && !inner.IsAbsent()
	}},
}

// emptyRecord opens what a framework keeps of a call that returned nothing: that it went well, and for a result, an error and all else that there may be a null (agno's, with updated_session_state,
// images, files, …). What a tool returns has fewer members, or one that says something.
func emptyRecord(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
	const fewest = 6
	if v.Len() < fewest || v.Get("result").Kind() != exactjson.Null || v.Get("error").Kind() != exactjson.Null {
		return v, Unwrapped{}, false
	}
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Null && (m.Name != "status" && m.Name != "state" || !slices.Contains([]string{"success", "ok", "completed"}, strings.ToLower(m.Value.Str()))) {
			return v, Unwrapped{}, false
		}
	}
	return v.Get("result"), Unwrapped{}, true
}

// RepeatsResults reports a value that is no result of one call: an answer made of the tool messages of several.
func RepeatsResults(v exactjson.Value) bool {
	if inner, ok := ParseStructure(v.Str()); ok {
		v = inner
	}
	choices := v.Get("choices")
	for i := range choices.Len() {
		if choices.At(i).Get("message").Get("role").Str() != "tool" {
			return false
		}
	}
	return choices.Kind() == exactjson.Array && choices.Len() > 1
}

// singleText returns the text of a list of exactly one text block.
func singleText(v exactjson.Value) (exactjson.Value, bool) {
	if v.Kind() != exactjson.Array || v.Len() != 1 {
		return exactjson.Value{}, false
	}
	block := v.At(0)
	text := block.First("text", "content")
	if text.Kind() != exactjson.String {
		return exactjson.Value{}, false
	}
	for _, m := range block.Members() {
		switch m.Name {
		case "text", "content", "type", "block_type", "id", "annotations", "_meta", "citations", "cache_control":
		default:
			if !booked(m.Value) {
				return exactjson.Value{}, false
			}
		}
	}
	t := block.First("type", "block_type").Str() // LlamaIndex
	return text, t == "text" || t == "input_text" || t == "output_text" || block.Len() == 1 && block.Get("content").IsAbsent()
}

// booked reports a value that says nothing of what was said: nothing, or when it was.
func booked(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		return moment.MatchString(v.Str())
	}
	return v.IsEmpty()
}

// moment is a time in the form of ISO 8601, with or without its zone.
var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$`)

// outcomes are the words with which a framework says how a call ended, and whether it failed.
var outcomes = map[string]bool{"success": false, "ok": false, "completed": false, "error": true, "failed": true}

// toolResponse opens what a framework keeps of a call: one block of text, how the call ended, and whose call it was or what else frameworks book. What a tool says itself has members
// of its own beside them, or nothing but a text and how it went.
func toolResponse(v exactjson.Value) (exactjson.Value, Unwrapped, bool) {
	blocks, ended, kept, u := v.Get("content"), false, false, Unwrapped{}
	if _, ok := singleText(blocks); !ok {
		return v, u, false
	}
	for _, m := range v.Members() {
		switch m.Name {
		case "content":
		case "state", "status":
			failed, known := outcomes[m.Value.Str()]
			if !known {
				return v, u, false
			}
			ended, u.IsError = true, u.IsError || failed
		case "id", "tool_call_id", "toolUseId", "tool_use_id":
			kept = true
			FillString(&u.CallID, UsableID(TextOfID(m.Value)))
		default:
			if !booked(m.Value) {
				return v, Unwrapped{}, false
			}
			kept = true
		}
	}
	return blocks, u, ended && kept
}

// IsLangChainTool recognises a ToolMessage of LangChain, serialised or dumped.
func IsLangChainTool(v exactjson.Value) bool {
	if v.Kind() != exactjson.Object {
		return false
	}
	if v.Get("kwargs").Kind() == exactjson.Object {
		class := v.Get("id").At(v.Get("id").Len() - 1).Str()
		return strings.HasPrefix(class, "ToolMessage")
	}
	if v.Get("type").Str() != "tool" {
		return false
	}
	return !v.Get("data").Get("content").IsAbsent() || !v.Get("content").IsAbsent() && !v.Get("tool_call_id").IsAbsent()
}

// toolMessageRest is what follows the content in the Python repr of a LangChain ToolMessage.
var toolMessageRest = regexp.MustCompile(`^(?: name=(?:'[^']*'|"[^"]*"))?(?: id='[^']*')? tool_call_id='([^']*)'(?: artifact=.*?)?(?: status='(\w+)')?$`)

// ToolMessageRepr opens the Python repr of a LangChain ToolMessage; ok is false for any other text. Its content is a Python string or a list of literals, which Python writes so that they
// can be read back.
func ToolMessageRepr(text string) (content exactjson.Value, callID string, failed, ok bool) {
	rest, ok := strings.CutPrefix(text, "content=")
	if !ok || rest == "" || !strings.ContainsRune("'\"[", rune(rest[0])) {
		return exactjson.Value{}, "", false, false
	}
	p := pyParser{text: rest}
	content, good := p.value(0)
	if !good || p.pos > len(rest) {
		return exactjson.Value{}, "", false, false
	}
	end := p.pos
	for end > 0 && rest[end-1] == ' ' { // the parser looks behind spaces for a further string
		end--
	}
	m := toolMessageRest.FindStringSubmatch(rest[end:])
	if m == nil {
		return exactjson.Value{}, "", false, false
	}
	return content, m[1], m[2] == "error", true
}

func isToolMessageRepr(text string) bool {
	_, _, _, ok := ToolMessageRepr(text)
	return ok
}

// describedOutcome opens a text in which str() has written how a call ended: its result, and beside it the error.
func describedOutcome(c Content) (u Unwrapped, ok bool) {
	v, lossy, ok := Fields(c.Value.Str())
	if !ok || v.Get("result").IsAbsent() || v.Get("error").IsAbsent() {
		return Unwrapped{}, false
	}
	u = Unwrapped{Content: c, IsError: v.Get("error").Kind() != exactjson.Null}
	u.Content.Value = v.Get("result")
	if u.IsError {
		u.Content.Value = v.Get("error")
	}
	u.Content.Envelope = append(u.Content.Envelope, "python.fields")
	if lossy {
		u.Content.Label = tape.Lossy
	}
	return u, true
}

// resultClass is how the repr of an object begins that holds what a tool returned: ToolResponse(content=[…], …) of AgentScope, CallToolResult(meta=None, content=[…], isError=False) of MCP.
var resultClass = regexp.MustCompile(`^"?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Response|Result|Output)\(`)

// describedContent opens the repr of such an object, also one that was written once more as JSON, whose content is a list of blocks that say what they are.
func describedContent(text string) (content exactjson.Value, failed, ok bool) {
	if !beginsConstruction(strings.TrimPrefix(text, `"`)) || !resultClass.MatchString(text) {
		return exactjson.Value{}, false, false
	}
	if text[0] == '"' {
		inner, err := exactjson.Parse(text)
		if err != nil {
			return exactjson.Value{}, false, false
		}
		text = inner.Str()
	}
	v, ok := Representation(text)
	content = v.Get("content")
	if !ok || content.Kind() != exactjson.Array || content.Len() == 0 || slices.ContainsFunc(content.Members(), func(m exactjson.Member) bool { return m.Value.Get("type").Str() == "" }) {
		return exactjson.Value{}, false, false
	}
	return content, v.First("isError", "is_error").True(), true
}

// UnwrapResult removes the known envelopes from a tool result. A text is opened if it is JSON with an envelope; any other text stays as
// it is.
func UnwrapResult(c Content) Unwrapped {
	u := unwrapResult(c)
	if literal, ok := PythonStr(u.Content.Value.Str()); ok {
		u.Content.Value = literal
		u.Content.Envelope = append(u.Content.Envelope, "python.str")
	}
	return u
}

// unwrapResult leaves what str() made as it is: so the model was told.
func unwrapResult(c Content) Unwrapped {
	u := Unwrapped{Content: c}
	for range maxEnvelopes {
		v, wasText := u.Content.Value, false
		if v.Kind() == exactjson.String {
			text := v.Str()
			if strings.HasPrefix(text, `"content=`) { // written once more, as JSON (Splunk's packages)
				if inner, err := exactjson.Parse(text); err == nil && isToolMessageRepr(inner.Str()) {
					text = inner.Str()
				}
			}
			if content, callID, failed, ok := ToolMessageRepr(text); ok {
				u.CallID, u.IsError = callID, failed
				u.Content.Envelope = append(u.Content.Envelope, "langchain.repr")
				u.Content.Value = content
				return u
			}
			if outcome, ok := describedOutcome(u.Content); ok {
				return outcome
			}
			if content, failed, ok := describedContent(text); ok {
				u.Content.Value, u.IsError = content, u.IsError || failed
				u.Content.Envelope = append(u.Content.Envelope, "python.repr")
				continue
			}
			inner, ok := ParseStructure(v.Str())
			if !ok {
				return u
			}
			v, wasText = inner, true
		}
		opened := false
		for _, e := range envelopes {
			if wasText && e.name == "content_block" {
				continue // a text that looks like one block is what the tool returned
			}
			if wasText && e.name == "content_blocks" && len(u.Content.Envelope) > 0 {
				continue // inside an envelope a text is what the tool returned, even where it looks like blocks
			}
			inner, found, ok := e.open(v)
			if !ok {
				continue
			}
			u.Content.Value = inner
			u.Content.Envelope = append(u.Content.Envelope, e.name)
			u.IsError = u.IsError || found.IsError
			FillString(&u.CallID, found.CallID)
			FillString(&u.Name, found.Name)
			opened = true
			break
		}
		if !opened {
			return u
		}
	}
	return u
}

// PythonStr reads what str() makes of the dict, list or truth value that a tool returned: text that is no JSON and says all of the value.
func PythonStr(text string) (exactjson.Value, bool) {
	switch text {
	case "True", "False":
		return exactjson.BoolValue(text == "True"), true
	}
	if !strings.HasPrefix(text, "{'") && !strings.HasPrefix(text, "[") {
		return exactjson.Value{}, false
	}
	if _, isJSON := ParseStructure(text); isJSON {
		return exactjson.Value{}, false
	}
	v, lossy, ok := Python(text)
	return v, ok && !lossy && v.Len() > 0
}

// HandedCall reads the one call that a step of LangGraph was handed: its name and its id.
func HandedCall(v exactjson.Value) (name, id string, ok bool) {
	one := onlyElement(v)
	ok = one.Get("type").Str() == "tool_call" && one.Get("name").Kind() == exactjson.String && one.Get("args").Kind() == exactjson.Object
	return one.Get("name").Str(), TextOfID(one.Get("id")), ok
}

// handedAsMessage opens arguments that were recorded as the one message in a list: of the role tool with the arguments as its content (TanStack AI), or as the call that a step of
// LangGraph was handed.
func handedAsMessage(v exactjson.Value) (args Content, envelope string) {
	one := onlyElement(v)
	if one.Len() == 2 && one.Get("role").Str() == "tool" && one.Get("content").Kind() == exactjson.String {
		if args = Args(one.Get("content")); args.Value.Kind() == exactjson.Object {
			return args, "tool_message"
		}
	}
	if _, _, ok := HandedCall(v); ok {
		return Content{Value: one.Get("args")}, "langchain.tool_call"
	}
	return Content{}, ""
}

// onlyElement is that of a list of one, which may be the only member of an object, as its input.
func onlyElement(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		v = v.Get("input")
	}
	if v.Kind() != exactjson.Array || v.Len() != 1 {
		return exactjson.Value{}
	}
	return v.At(0)
}

// UnwrapArgs removes the envelopes that frameworks put around tool arguments.
func UnwrapArgs(c Content) Content {
	v := c.Value
	if args, _ := PositionalCall(v); !args.IsAbsent() {
		c.Value, c.Envelope = args, append(c.Envelope, "function.call")
		return c
	}
	if args, envelope := handedAsMessage(v); envelope != "" {
		args.Envelope = append(c.Envelope, envelope)
		return args
	}
	if v.Kind() != exactjson.Object {
		return c
	}
	switch {
	case !v.Get("input_str").IsAbsent():
		if inputs := v.Get("inputs"); inputs.Kind() == exactjson.Object {
			c.Value = inputs
		} else {
			inner := Args(v.Get("input_str"))
			inner.Envelope = c.Envelope
			c = inner
		}
		c.Envelope = append(c.Envelope, "langchain.input")
	case v.Len() == 2 && v.Get("tool_name").Kind() == exactjson.String && !v.Get("arguments").IsAbsent():
		inner := Args(v.Get("arguments"))
		inner.Envelope = append(c.Envelope, "mcp.call")
		c = inner
	case v.Get("method").Str() == "tools/call" && v.Get("params").Get("name").Str() != "" && len(otherMembers(v, "method", "params", "jsonrpc", "id")) == 0: // a request of MCP, without arguments where it has none
		inner := Args(v.Get("params").Get("arguments"))
		if inner.Value.IsAbsent() {
			inner.Value = exactjson.ObjectValue()
		}
		inner.Envelope = append(c.Envelope, "mcp.call")
		if inner.Label == "" {
			inner.Label = c.Label
		}
		c = inner
	case v.Get("args").IsEmpty() && !v.Get("args").IsAbsent() && v.Get("sanitize_inputs_outputs").Kind() == exactjson.Bool && v.Get("kwargs").IsAbsent():
		c.Value = exactjson.ObjectValue(slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool {
			return m.Name == "args" || m.Name == "sanitize_inputs_outputs" // parameters of the frame that calls the tool
		})...)
		c.Envelope = append(c.Envelope, "python.call")
	case v.Get("args").Kind() == exactjson.Array && v.Get("args").Len() == 0 && v.Get("kwargs").Kind() == exactjson.Object:
		c.Value = v.Get("kwargs")
		c.Envelope = append(c.Envelope, "python.call")
	}
	return c
}

// otherMembers are the members of an object that bear none of these names.
func otherMembers(v exactjson.Value, names ...string) []exactjson.Member {
	return slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool { return slices.Contains(names, m.Name) })
}

// PositionalCall opens what a tracer of functions recorded of the function of a tool: the list of its arguments. The first are those of the call; the others are what a framework hands
// to every tool: its options, its context, what it knows of the call. No model calls a tool with a list. args is absent where v is nothing of the kind; a list within an object, which may
// be an argument of that name, has to hold the id of a call as well.
func PositionalCall(v exactjson.Value) (args exactjson.Value, id string) {
	given := v
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		given = v.Get("args")
	}
	if given.Kind() != exactjson.Array || given.Len() < 2 || given.At(0).Kind() != exactjson.Object {
		return exactjson.Value{}, ""
	}
	for _, m := range given.Members()[1:] {
		more := m.Value
		if more.Kind() != exactjson.Object && more.Kind() != exactjson.Null {
			return exactjson.Value{}, ""
		}
		FillString(&id, UsableID(TextOfID(more.First("toolCallId", "tool_call_id"))))
		if call := more.First("toolCall", "tool_call"); call.Kind() == exactjson.Object {
			FillString(&id, UsableID(TextOfID(call.First("callId", "call_id", "id"))))
		}
	}
	if id == "" && v.Kind() == exactjson.Object {
		return exactjson.Value{}, ""
	}
	return given.At(0), id
}
