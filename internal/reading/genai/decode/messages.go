// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Message lists arrive in more than a dozen shapes, often under the same attribute name. They are told apart by what each element
// looks like, never by the attribute they came in.

// maxMessageNesting bounds lists of lists and messages in messages.
const maxMessageNesting = 8

// Messages reads a message list of any known shape. A text that is no JSON is one message of the given role. ok is false for JSON that
// holds no messages.
func Messages(v exactjson.Value, role tape.Role) (messages []Message, ok bool) {
	return messagesAt(v, role, 0)
}

func messagesAt(v exactjson.Value, role tape.Role, depth int) ([]Message, bool) {
	if depth > maxMessageNesting {
		return nil, false
	}
	switch v.Kind() {
	case exactjson.String:
		if IsMessageRepresentation(v.Str()) {
			if object, ok := Representation(v.Str()); ok {
				return messagesAt(object, role, depth+1)
			}
		}
		if said, ok := describedMessage(v.Str()); ok {
			return []Message{said}, true
		}
		if pairs, ok := writtenPairs(v.Str()); ok {
			return messagesAt(pairs, role, depth+1)
		}
		if inner, ok := ParseStructure(v.Str()); ok {
			if messages, ok := messagesAt(inner, role, depth+1); ok {
				return messages, true
			}
		}
		if mayBeOdd(v.Str()) {
			if messages, ok := OddMessages(strings.TrimSpace(v.Str()), role); ok {
				return messages, true
			}
		}
		if inner, ok := printedMessages(v.Str()); ok {
			if messages, ok := messagesAt(inner, role, depth+1); ok {
				return messages, true
			}
		}
		if strings.TrimSpace(v.Str()) == "" {
			return nil, false
		}
		p := TextPart(v.Str())
		p.labelText()
		return []Message{{Role: role, Parts: []Part{p}}}, true
	case exactjson.Array:
		return messageList(v, role, depth)
	case exactjson.Object:
		return messageObject(v, role, depth)
	default:
		return nil, false
	}
}

// printedMessages reads the messages, or the answer of a provider, that str() of Python wrote. A text of any other dict, as people write and tools return it, stays
// a text.
func printedMessages(text string) (exactjson.Value, bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{'") && !strings.HasPrefix(text, "[{'") || !strings.Contains(text, "'role': '") {
		return exactjson.Value{}, false
	}
	v, lossy, ok := Python(text)
	if !ok || lossy {
		return exactjson.Value{}, false
	}
	first := v
	if v.Kind() == exactjson.Array {
		first = v.At(0)
	}
	_, known := roles[first.Get("role").Str()]
	return v, known || first.First("choices", "candidates", "messages").Kind() == exactjson.Array
}

func messageList(v exactjson.Value, role tape.Role, depth int) ([]Message, bool) {
	list := messageReader{role: role, depth: depth}
	for i, m := range v.Members() {
		switch list.add(m.Value) {
		case noMessage:
			return nil, false
		case partOnly:
			// a bare list of parts is one message
			return []Message{MessageWith(role, "", Parts(v))}, true
		}
		if i == 0 {
			list.out = slices.Grow(list.out, min(v.Len()-1, maxRoom))
		}
	}
	return list.out, true
}

// maxRoom bounds the messages or parts of a list for which room is made before they are read: elements of a
// list may be a hundred times smaller than what is made of them.
const maxRoom = 64

// messageReader reads a message list element by element.
type messageReader struct {
	role  tape.Role
	depth int
	out   []Message
	// responseItem says that the last message was made of items of the Responses API. Further items of the same turn join it.
	responseItem bool
}

// element is what an element of a message list is.
type element uint8

const (
	someMessages element = iota
	partOnly             // a part and no message
	noMessage
)

func (l *messageReader) add(e exactjson.Value) element {
	if l.depth < maxMessageNesting && isPlain(e) {
		l.out, l.responseItem = append(l.out, RoleMessage(e, l.role)), false
		return someMessages
	}
	if item, ok := ResponseItem(e); ok {
		if last := len(l.out) - 1; l.responseItem && item.Role == tape.RoleAssistant && l.out[last].Role == tape.RoleAssistant {
			l.out[last].Parts = append(l.out[last].Parts, item.Parts...)
		} else {
			l.out = append(l.out, item)
		}
		l.responseItem = true
		return someMessages
	}
	l.responseItem = false
	if calls, hollow := bareCalls(e); calls != nil || hollow {
		l.out = append(l.out, Message{Role: tape.RoleAssistant, Parts: calls, Omitted: hollow})
		return someMessages
	}
	if said, ok := rolePair(e); ok {
		l.out = append(l.out, said)
		return someMessages
	}
	if e.Kind() == exactjson.Object && isPartOnly(e) {
		return partOnly
	}
	messages, ok := messagesAt(l.asResult(e), l.role, l.depth+1)
	if !ok {
		return noMessage
	}
	if e.Get("kind").Kind() == exactjson.String && sameInstructions(l.out, messages) {
		messages = messages[1:]
	}
	l.out = append(l.out, messages...)
	return someMessages
}

// rolePair reads a message that is a pair of a role and a content, as programs hand messages to LangChain: ["user", "text"].
func rolePair(e exactjson.Value) (Message, bool) {
	if e.Kind() != exactjson.Array || e.Len() != 2 || e.At(0).Kind() != exactjson.String {
		return Message{}, false
	}
	role, known := KnownRole(e.At(0).Str())
	content := e.At(1)
	if _, second := KnownRole(content.Str()); !known || second || content.Kind() != exactjson.String && content.Kind() != exactjson.Array {
		return Message{}, false
	}
	return Message{Role: role, Parts: Parts(content)}, true
}

// writtenPairs reads a list of pairs of a role and a text that str() has written, as programs hand messages to LangChain: [('user', 'hi')]. Of one that was cut nothing is read.
func writtenPairs(text string) (pairs exactjson.Value, is bool) {
	text = strings.TrimSpace(text)
	rest, is := strings.CutPrefix(text, "[(")
	if !is || len(rest) < 2 || rest[0] != '\'' && rest[0] != '"' {
		return exactjson.Value{}, false
	}
	role, _, closed := strings.Cut(rest[1:], rest[:1]+", ")
	if _, known := KnownRole(role); !closed || !known {
		return exactjson.Value{}, false
	}
	pairs, lossy, ok := Python(text)
	if !ok || lossy {
		return exactjson.Value{}, !strings.HasSuffix(text, ")]")
	}
	for _, m := range pairs.Members() {
		if _, is := rolePair(m.Value); !is {
			return exactjson.Value{}, false
		}
	}
	return pairs, true
}

// asResult gives a message the role of a tool that has none, or the name of a tool for one, where the list ends with an answer and fewer results than it has calls: no provider takes anything
// but a result there. So Langfuse's handler for LangChain.js writes them, and those without a role that the program made itself.
func (l *messageReader) asResult(e exactjson.Value) exactjson.Value {
	said := e.Get("role")
	if _, known := roles[strings.ToLower(said.Str())]; known || e.Kind() != exactjson.Object || e.Get("content").IsAbsent() || !said.IsAbsent() && said.Str() == "" {
		return e
	}
	name := said.Str()
	if !l.openCall(name) {
		return e
	}
	members := []exactjson.Member{{Name: "role", Value: exactjson.StringValue(string(tape.RoleTool))}}
	if name != "" {
		members = append(members, exactjson.Member{Name: "name", Value: exactjson.StringValue(name)})
	}
	return exactjson.ObjectValue(append(members, slices.DeleteFunc(slices.Clone(e.Members()), func(m exactjson.Member) bool { return m.Name == "role" || m.Name == "name" && name != "" })...)...)
}

// openCall reports that the answer with which the list ends, but for results, has more calls than results follow it, and a call of that name unless the name is "".
func (l *messageReader) openCall(name string) bool {
	results := 0
	for _, m := range slices.Backward(l.out) {
		if m.Role == tape.RoleTool {
			results++
			continue
		}
		calls, named := 0, name == ""
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolCall {
				calls++
				named = named || p.Name == name
			}
		}
		return m.Role == tape.RoleAssistant && named && results < calls
	}
	return false
}

// bareCalls reads a list of calls that stands where a message should, as Langtrace writes a turn of the assistant. Of calls that are objects of an SDK nothing is left there but
// [{"id": "", "type": ""}]: hollow then.
func bareCalls(e exactjson.Value) (calls []Part, hollow bool) {
	if e.Kind() != exactjson.Array || e.Len() == 0 {
		return nil, false
	}
	hollow = true
	named := true
	for _, m := range e.Members() {
		id, kind := m.Value.Get("id"), m.Value.Get("type")
		hollow = hollow && m.Value.Len() == 2 && id.Kind() == exactjson.String && id.Str() == "" && kind.Kind() == exactjson.String && kind.Str() == ""
		named = named && m.Value.Get("function").Get("name").Str() != "" && m.Value.Get("role").IsAbsent()
	}
	if named {
		calls = ChatCalls(e)
	}
	return calls, hollow
}

// typedMessage reads a message whose type is its role, as frameworks for Java write them: {type: "SYSTEM", text}, {type: "USER", contents}, {type:
// "AI", text, toolExecutionRequests}, {type: "TOOL_EXECUTION_RESULT", id, toolName, text}. Jackson writes the type of an object as @type.
func typedMessage(v exactjson.Value) (Message, bool) {
	kind := strings.ToLower(v.First("type", "messageType", "@type").Str())
	role, known := roles[kind]
	if kind == "tool_execution_result" {
		role, known = tape.RoleTool, true
	}
	if !known || !v.Get("role").IsAbsent() {
		return Message{}, false
	}
	text, calls := v.First("text", "contents"), v.First("toolExecutionRequests", "toolCalls")
	switch {
	case role == tape.RoleTool:
		name := v.First("toolName", "tool_name").Str()
		if name == "" || text.IsAbsent() {
			return Message{}, false
		}
		if parts := Parts(text); len(parts) == 1 && parts[0].Type == tape.PartText {
			text = exactjson.StringValue(parts[0].Text)
		}
		return Message{Role: role, Parts: []Part{ResultPart(TextOfID(v.First("id", "toolCallId")), name, text, v.Get("isError").True())}}, true
	case text.Kind() != exactjson.String && text.Kind() != exactjson.Array && calls.Kind() != exactjson.Array:
		return Message{}, false
	}
	m := Message{Role: role}
	if !text.IsEmpty() {
		m.Parts = Parts(text)
	}
	if role == tape.RoleAssistant {
		m.Parts = append(m.Parts, ChatCalls(calls)...)
	}
	return m, true
}

// isPartOnly reports an object that is a message part and no message.
func isPartOnly(v exactjson.Value) bool {
	if !v.Get("role").IsAbsent() || !v.Get("message").IsAbsent() || !v.Get("kwargs").IsAbsent() {
		return false
	}
	switch v.Get("type").Str() {
	case "text", "tool_use", "tool_result", "tool-call", "tool-result", "tool_call", "tool_call_response", "thinking", "image", "image_url":
		return v.Get("data").Kind() != exactjson.Object
	}
	return false
}

// isPlain reports a message of which every member is one that RoleMessage reads, so that it has no other
// shape. Most messages are such.
func isPlain(v exactjson.Value) bool {
	if v.Kind() != exactjson.Object {
		return false
	}
	known := false
	for _, m := range v.Members() {
		switch m.Name {
		case "role":
			_, known = roles[m.Value.Str()]
		case "parts":
			if slices.ContainsFunc(m.Value.Members(), isUITool) {
				return false
			}
		case "content", "name", "finish_reason", "tool_call_id":
		default:
			return false
		}
	}
	return known && !isToolDefinition(v)
}

func messageObject(v exactjson.Value, role tape.Role, depth int) ([]Message, bool) {
	if isPlain(v) {
		return []Message{RoleMessage(v, role)}, true
	}
	v = plainNames(v)
	if m, ok := LangChainMessage(v); ok {
		return []Message{m}, true
	}
	if item, ok := ResponseItem(v); ok {
		return []Message{item}, true
	}
	if m, ok := typedMessage(v); ok {
		return []Message{m}, true
	}
	if messages, ok := kindMessages(v); ok {
		return messages, true
	}
	if inner := v.Get("message"); inner.Kind() == exactjson.Object { // choices, candidates
		messages, ok := messagesAt(inner, tape.RoleAssistant, depth+1)
		if ok && len(messages) == 1 {
			messages[0].FinishReason = v.First("finish_reason", "finishReason").Text()
			if calls := v.Get("tool_calls"); calls.Kind() == exactjson.Array && !HasCalls(messages[0]) {
				messages[0].Parts = append(messages[0].Parts, ChatCalls(calls)...)
			}
		}
		return messages, ok
	}
	if isToolDefinition(v) {
		return nil, true
	}
	if messages, ok := uiMessages(v); ok {
		return messages, true
	}
	if own, ok := ownMessage(v); ok {
		return []Message{RoleMessage(own, role)}, true
	}
	if !v.Get("role").IsAbsent() || v.Get("parts").Kind() == exactjson.Array {
		return []Message{RoleMessage(v, role)}, true
	}
	for _, name := range []string{"messages", "contents", "choices", "candidates", "generations"} {
		if inner := v.Get(name); inner.Kind() == exactjson.Array {
			return messagesAt(inner, role, depth+1)
		}
	}
	if inner := v.Get("content"); inner.Get("parts").Kind() == exactjson.Array { // a candidate of Gemini's answer
		m := RoleMessage(inner, role)
		m.FinishReason = v.First("finish_reason", "finishReason").Text()
		return []Message{m}, true
	}
	if inner := v.Get("content"); !inner.IsEmpty() && inner.Kind() >= exactjson.String { // a number is no message
		return messagesAt(exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue(string(role))}, exactjson.Member{Name: "content", Value: inner}), role, depth+1)
	}
	if text := v.Get("text"); text.Kind() == exactjson.String {
		return []Message{{Role: role, Parts: []Part{TextPart(text.Str())}}}, true
	}
	return nil, false
}

// isToolDefinition recognises the definitions that some handlers put among the messages in the role of a tool.
func isToolDefinition(v exactjson.Value) bool {
	body, _ := Structure(v.Get("content"))
	return RoleOf(v.Get("role").Str()) == tape.RoleTool && body.Get("type").Str() == "function" && body.Get("function").Kind() == exactjson.Object &&
		v.First("tool_call_id", "toolCallId", "call_id").IsAbsent()
}

// RoleMessage reads {role, parts|content, tool_calls, tool_call_id, …}: OTel, OpenAI, Anthropic, Gemini, Bedrock, AI SDK, Haystack,
// Genkit and mixtures of them.
func RoleMessage(v exactjson.Value, role tape.Role) Message {
	if r := v.Get("role").Str(); r != "" {
		role = RoleOf(r)
	}
	var parts []Part
	callID := v.First("tool_call_id", "toolCallId", "call_id")
	if callID.IsAbsent() && role == tape.RoleTool {
		if callID = v.Get("tool_id"); callID.IsAbsent() { // tRPC-Agent-Go
			callID = v.Get("additional_kwargs").Get("tool_call_id") // LlamaIndex
		}
	}
	if role == tape.RoleUser && TextOfID(callID) != "" && !v.First("parts", "content").IsAbsent() {
		role = tape.RoleTool // what answers a call is its result, whoever is said to have written it
	}
	switch body := v.First("parts", "content", "blocks"); {
	case role == tape.RoleTool && (!callID.IsAbsent() || !hasResultPart(body)):
		id := TextOfID(callID)
		parts = []Part{ResultPart(id, v.Get("name").Str(), body, v.First("is_error", "isError", "tool_call_error").True() || v.Get("status").Str() == "error")}
	default:
		parts = Parts(body)
		if r := v.First("reasoning_content", "reasoning"); r.Kind() == exactjson.String && r.Str() != "" {
			parts = append([]Part{{Part: tape.Part{Type: tape.PartReasoning, Text: r.Str()}}}, parts...)
		}
	}
	if role == tape.RoleAssistant {
		parts = constructedParts(parts)
		if call, ok := callOf(TextOfID(callID), parts); ok {
			parts = []Part{call}
		}
	}
	calls := v.First("tool_calls", "toolCalls")
	if calls.Len() == 0 {
		calls = v.Get("additional_kwargs").Get("tool_calls") // LangChain, in the shape of a chat message
	}
	if calls.Kind() == exactjson.Array && !hasResult(parts) {
		if !HasCallParts(parts) {
			parts = append(parts, ChatCalls(calls)...)
		}
	} else if call := v.Get("function_call"); call.Get("name").Str() != "" {
		parts = append(parts, CallPart("", call.Get("name").Str(), call.Get("arguments")))
	}
	if refusal := v.Get("refusal"); refusal.Kind() == exactjson.String && refusal.Str() != "" {
		parts = append(parts, RefusalPart(refusal.Str()))
	}
	m := MessageWith(role, v.Get("name").Str(), parts)
	m.FinishReason = v.First("finish_reason", "finishReason").Text()
	if role == tape.RoleTool {
		m.Name = ""
	}
	if inner, ok := representedMessage(m); ok {
		FillString(&inner.FinishReason, m.FinishReason)
		return inner
	}
	return m
}

// MessageWith makes a message. A message that consists of tool results gets the role tool: some providers return results in the role of
// the user.
func MessageWith(role tape.Role, name string, parts []Part) Message {
	if len(parts) > 0 && role == tape.RoleUser && allResults(parts) {
		role = tape.RoleTool // Anthropic, Bedrock and Gemini
	}
	return Message{Role: role, Name: name, Parts: parts}
}

var roles = map[string]tape.Role{
	"system": tape.RoleSystem, "developer": tape.RoleSystem,
	"user": tape.RoleUser, "human": tape.RoleUser,
	"assistant": tape.RoleAssistant, "model": tape.RoleAssistant, "ai": tape.RoleAssistant, "chatbot": tape.RoleAssistant,
	"tool": tape.RoleTool, "function": tape.RoleTool, "toolresult": tape.RoleTool, "tool_response": tape.RoleTool,
}

// RoleOf maps a recorded role to one of the four roles of the tape. An unknown role becomes user.
func RoleOf(name string) tape.Role {
	if r, ok := KnownRole(name); ok {
		return r
	}
	return tape.RoleUser
}

// KnownRole maps a recorded role to one of the four roles of the tape, if a provider or framework calls one so.
func KnownRole(name string) (tape.Role, bool) {
	r, ok := roles[strings.ToLower(name)]
	return r, ok
}

// System reads a system prompt: a text, a list of parts, {parts}, or messages. A text that stands for an object of the program ("[object Object]", which OpenLIT in
// JavaScript writes of LangChain's messages) tells nothing.
func System(v exactjson.Value) []Part {
	if v.IsEmpty() || IsAddress(v) {
		return nil
	}
	if inner, ok := Structure(v); ok {
		v = inner
	}
	if v.Kind() == exactjson.Array && v.At(0).Get("role").Kind() == exactjson.String {
		var parts []Part
		messages, _ := Messages(v, tape.RoleSystem)
		for _, m := range messages {
			parts = append(parts, m.Parts...)
		}
		return tellingParts(parts)
	}
	if v.Kind() == exactjson.Object && v.Get("parts").Kind() == exactjson.Array {
		v = v.Get("parts")
	}
	return tellingParts(Parts(v))
}

func tellingParts(parts []Part) []Part {
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Type == tape.PartText && IsObjectTag(p.Text) })
}

// OpenInput opens a request of one user message whose only text is the whole list of messages or items that was sent, as JSON or as str() writes it.
func OpenInput(request []Message) ([]Message, bool) {
	if len(request) != 1 || request[0].Role != tape.RoleUser || len(request[0].Parts) != 1 || request[0].Parts[0].Type != tape.PartText {
		return nil, false
	}
	text := request[0].Parts[0].Text
	items, ok := ParseStructure(text)
	if !ok && strings.HasPrefix(text, "[") && IsMessageRepresentation(text) { // what agno was given, as OpenLIT writes it
		items, ok = Representation(text)
	}
	if !ok || items.Kind() != exactjson.Array || !IsMessageList(items) {
		return nil, false
	}
	for _, item := range items.Members() {
		if v := item.Value; v.Get("role").Kind() != exactjson.String && v.Get("type").Kind() != exactjson.String {
			return nil, false
		}
	}
	return Messages(items, tape.RoleUser)
}

// CloneParts returns messages whose parts may be changed.
func CloneParts(messages []Message) []Message {
	out := slices.Clone(messages)
	n := 0
	for _, m := range out {
		n += len(m.Parts)
	}
	parts := make([]Part, 0, n)
	for i, m := range out {
		if m.Parts != nil {
			parts = append(parts, m.Parts...)
			out[i].Parts = slices.Clip(parts[len(parts)-len(m.Parts):])
		}
	}
	return out
}

// HasRole reports whether one of the messages is of the role.
func HasRole(messages []Message, role tape.Role) bool {
	for _, m := range messages {
		if m.Role == role {
			return true
		}
	}
	return false
}
