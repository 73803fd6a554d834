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

// Python packages that record a message with str() write the calls that would construct it: ChatMessage(_role=<ChatRole.USER:
// 'user'>, _content=[TextContent(text='…')]). Such a text is read as the object that it stands for, under the names that the same
// message has as JSON.

var (
	messageRepr = regexp.MustCompile(`^\s*\[?(?:[a-z_]\w*\.)*(?:[A-Z]\w*)?Message\(`)
	enumMember  = regexp.MustCompile(`^<[\w.]+: ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+)>`)
)

// IsMessageRepresentation reports a text that begins like the construction of a message, or of a list of them.
func IsMessageRepresentation(text string) bool {
	begin := strings.TrimPrefix(strings.TrimLeft(text, "\t\n\f\r "), "[")
	return beginsConstruction(begin) && messageRepr.MatchString(text)
}

// beginsConstruction reports a text that begins with names, divided by dots, and a bracket: what most texts
// do not begin with.
func beginsConstruction(text string) bool {
	for {
		end := wordEnd(text)
		switch {
		case end == 0 || end == len(text):
			return false
		case text[end] == '(':
			return true
		case text[end] != '.':
			return false
		}
		text = text[end+1:]
	}
}

// classOf is the name of the class that is constructed where a text begins, with the bracket behind it; ""
// for none.
func classOf(text string) string {
	for at := 0; ; {
		end := at + wordEnd(text[at:])
		switch {
		case end == at || end == len(text) || text[at] <= '9':
			return ""
		case text[end] == '(':
			return text[:end+1]
		case text[end] != '.':
			return ""
		}
		at = end + 1
	}
}

// fieldOf is the name of the field that a text gives a value to where it begins: name=value.
func fieldOf(text string) (name string, ok bool) {
	end := wordEnd(text)
	if end == 0 || end == len(text) || text[end] != '=' || text[0] <= '9' {
		return "", false
	}
	return text[:end], true
}

// wordEnd is where the letters, digits and underscores end with which a text begins.
func wordEnd(text string) int {
	for i := range len(text) {
		if c := text[i]; c != '_' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
			return i
		}
	}
	return len(text)
}

// Representation reads the text as the representation of a Python object: constructor calls, members of enumerations, and literals. The
// class of an object becomes its type where the fields hold none and a message part of that type is known. ok is false when the text
// holds anything else, the address of an object for example, or does not end well.
func Representation(text string) (v exactjson.Value, ok bool) {
	p := pyParser{text: strings.TrimSpace(text), objects: true}
	v, good := p.value(0)
	p.space()
	return v, good && p.pos == len(p.text)
}

// IsObjectsInARow reports a text that begins with two representations, the second right behind the first: what a program yielded, written one after the other.
func IsObjectsInARow(text string) bool {
	p := pyParser{text: text, objects: true}
	for range 2 {
		class := classOf(p.text[p.pos:])
		if _, named := fieldOf(p.text[p.pos+len(class):]); class == "" || !named {
			return false
		}
		if p.pos == 0 {
			if _, ok := p.object(0); !ok {
				return false
			}
		}
	}
	return true
}

// RepresentationOf reads one value of a dict that str() has written, whatever stands behind it. ok is false where the dict does not begin with that key, or
// the value holds what Representation does not read.
func RepresentationOf(text, key string) (v exactjson.Value, ok bool) {
	p := pyParser{text: strings.TrimSpace(text), objects: true}
	if p.peek() != '{' {
		return exactjson.Value{}, false
	}
	p.pos++
	if name, good := p.value(0); !good || name.Str() != key {
		return exactjson.Value{}, false
	}
	if p.space(); p.peek() != ':' {
		return exactjson.Value{}, false
	}
	p.pos++
	v, good := p.value(0)
	return v, good && p.separator('}')
}

// Fields reads what str() makes of a Pydantic model: its fields as name=value, with a space between. ok is false for a text with fewer than
// two fields or of more than maxFields, with a name twice, or with anything else in it. lossy says that a value stands for an object, of which it may not say all.
func Fields(text string) (v exactjson.Value, lossy, ok bool) {
	v, lossy, ok = leadingFields(text)
	if !ok || v.Len() < 2 {
		return exactjson.Value{}, false, false
	}
	return v, lossy, true
}

// leadingFields reads the fields that stand before the first thing that is none. whole is whether they are all of the text.
func leadingFields(text string) (v exactjson.Value, lossy, whole bool) {
	p := pyParser{text: text, objects: true}
	var members []exactjson.Member
	for p.pos < len(p.text) {
		name, ok := fieldOf(p.text[p.pos:])
		if !ok || len(members) == maxFields || slices.ContainsFunc(members, func(o exactjson.Member) bool { return o.Name == name }) {
			return exactjson.ObjectValue(members...), p.built, false
		}
		p.pos += len(name) + len("=")
		value, good := p.value(0)
		if !good {
			return exactjson.ObjectValue(members...), p.built, false
		}
		members = append(members, exactjson.Member{Name: name, Value: value})
		p.space()
	}
	return exactjson.ObjectValue(members...), p.built, true
}

// maxFields is more than any message or outcome has.
const maxFields = 256

// describedMessage reads a message of LangChain that str() has written. Its class is not in the text: a tool's message names the call that it
// answers, and only a model's holds calls, tells what it cost or has an id of the run that made it, which a graph gives what it says in the model's place too.
func describedMessage(text string) (Message, bool) {
	if strings.HasPrefix(text, "role=") { // agno's before 2, whose role comes first; behind what it says stand objects of which str() tells the address alone
		v, _, _ := leadingFields(text)
		role, known := roles[v.Get("role").Str()]
		if !known || v.Get("content").IsAbsent() || v.Get("tool_call_id").IsAbsent() || v.Get("tool_calls").IsAbsent() {
			return Message{}, false
		}
		return RoleMessage(v, role), true
	}
	if !strings.HasPrefix(text, "content=") {
		return Message{}, false
	}
	v, _, ok := Fields(text)
	if !ok {
		return Message{}, false
	}
	role := tape.RoleUser
	switch {
	case v.Get("tool_call_id").Kind() == exactjson.String:
		role = tape.RoleTool
	case v.Get("additional_kwargs").IsAbsent() || v.Get("response_metadata").IsAbsent():
		return Message{}, false
	case v.Get("response_metadata").Len() > 0 || v.Get("tool_calls").Kind() == exactjson.Array || v.Get("usage_metadata").Kind() == exactjson.Object,
		strings.HasPrefix(v.Get("id").Str(), "run-"), strings.HasPrefix(v.Get("id").Str(), "lc_run-"):
		role = tape.RoleAssistant
	}
	return RoleMessage(v, role), true
}

// IsDescribedMessage reports a text that describedMessage reads.
func IsDescribedMessage(text string) bool {
	_, ok := describedMessage(text)
	return ok
}

// object reads a constructor call or the member of an enumeration.
func (p *pyParser) object(depth int) (exactjson.Value, bool) {
	rest := p.text[p.pos:]
	if strings.HasPrefix(rest, "<") && enumMember.MatchString(rest) {
		p.pos += strings.Index(rest, ": ") + 2
		v, ok := p.value(depth + 1)
		p.pos++
		return v, ok
	}
	class := classOf(rest)
	if class == "" {
		return exactjson.Value{}, false
	}
	p.pos += len(class)
	p.built = true
	var members []exactjson.Member
	var positional []exactjson.Value
	for {
		p.space()
		if p.peek() == ')' {
			p.pos++
			return constructed(class[strings.LastIndexByte(class, '.')+1:len(class)-1], members, positional), true
		}
		name, named := fieldOf(p.text[p.pos:])
		if named {
			p.pos += len(name) + len("=")
		}
		v, ok := p.value(depth + 1)
		if !ok || !p.separator(')') {
			return exactjson.Value{}, false
		}
		if name == "" {
			positional = append(positional, v)
		} else {
			members = append(members, exactjson.Member{Name: name, Value: v})
		}
	}
}

// constructedTypes are the types of message parts by what the name of their class ends with, the longer first.
var constructedTypes = []struct{ class, partType string }{
	{"ToolCallResult", "tool_call_result"}, {"ToolResult", "tool_call_result"}, {"FunctionResult", "tool_call_result"},
	{"ToolCall", "tool_call"}, {"ToolCallBlock", "tool_call"}, {"FunctionCall", "tool_call"},
	{"TextContent", "text"}, {"TextBlock", "text"}, {"TextPart", "text"},
}

// constructedSpeakers are the types of messages of LangChain by the name of their class, and the roles that other packages have for the same.
var constructedSpeakers = map[string]string{
	"SystemMessage": "system", "HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "ai", "ToolMessage": "tool", "FunctionMessage": "function",
	"UserMessage": "user", "AssistantMessage": "assistant",
}

// constructedFields are the names of fields that the same values have elsewhere.
var constructedFields = map[string]string{"blocks": "content", "kwargs": "arguments", "result": "content", "error": "is_error"}

func constructed(class string, fields []exactjson.Member, positional []exactjson.Value) exactjson.Value {
	partType, speaker := "", constructedSpeakers[class]
	for _, t := range constructedTypes {
		if strings.HasSuffix(class, t.class) {
			partType = t.partType
			break
		}
	}
	members := make([]exactjson.Member, 0, len(fields)+2) // of several with one name the first stays
	add := func(name string, v exactjson.Value) {
		members = append(members, exactjson.Member{Name: name, Value: v})
	}
	if partType != "" && !slices.ContainsFunc(fields, func(m exactjson.Member) bool {
		return strings.TrimLeft(m.Name, "_") == "type" && m.Value.Kind() == exactjson.String
	}) {
		add("type", exactjson.StringValue(partType))
	}
	if speaker != "" && !slices.ContainsFunc(fields, func(m exactjson.Member) bool {
		name := strings.TrimLeft(m.Name, "_")
		return name == "type" || name == "role"
	}) {
		add("type", exactjson.StringValue(speaker))
	}
	for _, m := range fields {
		name := strings.TrimLeft(m.Name, "_")
		if known, ok := constructedFields[name]; ok && (partType != "" || name == "blocks") {
			name = known
		}
		add(name, m.Value)
	}
	if len(positional) > 0 {
		add("args", exactjson.ArrayValue(positional...))
	}
	return exactjson.ObjectValue(members...)
}

// callRepr is how str() begins that writes a call of the provider's package: ResponseFunctionToolCall(arguments='{…}', call_id='…', name='…').
var callRepr = regexp.MustCompile(`^(?:[a-z_]\w*\.)*[A-Z]\w*(?:ToolCall|FunctionCall)\(`)

// representedCalls opens the texts of an answer that represent calls, in place. A text with anything beside the call stays.
func representedCalls(parts []Part) (opened bool) {
	for i := range parts {
		p := &parts[i]
		if p.Type != tape.PartText || !beginsConstruction(p.Text) || !callRepr.MatchString(p.Text) {
			continue
		}
		v, ok := Representation(p.Text)
		if call := ToolCallPart(v); ok && v.Kind() == exactjson.Object && call.Name != "" && call.ID != "" {
			parts[i], opened = call, true
		}
	}
	return opened
}

// representedMessage opens an assistant message whose only text represents the provider's own object, a message or a whole response, as
// a Python dictionary, or the parts of its body as JSON.
func representedMessage(m Message) (Message, bool) {
	if m.Role == tape.RoleAssistant && representedCalls(m.Parts) {
		return m, true
	}
	if m.Role != tape.RoleAssistant || len(m.Parts) != 1 || m.Parts[0].Type != tape.PartText {
		return m, false
	}
	if parts := Parts(exactjson.StringValue(m.Parts[0].Text)); HasCallParts(parts) {
		m.Parts = parts
		return m, true
	}
	if !strings.HasPrefix(m.Parts[0].Text, "{'") {
		return m, false
	}
	v, ok := Representation(m.Parts[0].Text)
	if !ok {
		return m, false
	}
	if v.Get("role").Str() == string(tape.RoleAssistant) && (!v.Get("tool_calls").IsAbsent() || !v.Get("content").IsAbsent()) {
		return RoleMessage(v, tape.RoleAssistant), true
	}
	if v.Get("object").Str() == "response" || v.Get("output").Kind() == exactjson.Array && !v.Get("id").IsAbsent() {
		if said := OneTurn(OutputMessages(v, 0)); len(said) == 1 {
			return said[0], true
		}
	}
	return m, false
}

// blockRepr is how the representation of a block begins with which a model asks for a tool: ToolUseBlock(id='c1', …
var blockRepr = regexp.MustCompile(`^\w*ToolUseBlock\(`)

// constructedParts reads the parts of a message whose texts are the representations of a provider's own blocks: a program sent the answer back as the
// objects that it got, and the instrumentation wrote each with str() (Logfire for Anthropic). Only calls show that the texts are not what was said.
func constructedParts(parts []Part) []Part {
	if !anyPart(parts, func(p *Part) bool {
		return p.Type == tape.PartText && beginsConstruction(p.Text) && blockRepr.MatchString(p.Text)
	}) {
		return parts
	}
	var out []Part
	for _, p := range parts {
		v, ok := Representation(p.Text)
		if kind := v.Get("type").Str(); p.Type != tape.PartText || !ok || kind == "" {
			return parts
		}
		out = append(out, Parts(exactjson.ArrayValue(v))...)
	}
	return out
}
