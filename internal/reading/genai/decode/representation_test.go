// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestMessageIsReadFromTheCallsThatConstructIt(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"haystack, a call": {
			`ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='it\'s'), ToolCall(tool_name='f', arguments={'x': [1, None]}, id='c1', extra=None)], _name=None, _meta={'finish_reason': 'stop'})`,
			`assistant: text "it's"; tool_call c1 f {"x":[1,null]}`},
		"haystack, a result": {
			`ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='{"a": 1}', origin=ToolCall(tool_name='f', arguments={}, id='c1'), error=True)], _name=None, _meta={})`,
			`tool: tool_result c1 failed "{\"a\": 1}"`},
		"llamaindex": {
			`ChatMessage(role=<MessageRole.USER: 'user'>, additional_kwargs={}, blocks=[TextBlock(block_type='text', text='q')])`,
			`user: text "q"`},
		"llamaindex, calls beside the blocks": {
			`ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={'tool_calls': [ChatCompletionMessageFunctionToolCall(id='c1', function=Function(arguments='{"x":1}', name='f'), type='function')]}, blocks=[])`,
			`assistant: tool_call c1 f {"x":1}`},
		"a dictionary": {
			`{"role": "assistant", "content": "{'content': None, 'role': 'assistant', 'tool_calls': [{'id': 'c1', 'function': {'arguments': '{}', 'name': 'f'}, 'type': 'function'}]}"}`,
			`assistant: tool_call c1 f {}`},
		"parts as JSON": {
			`{"role": "assistant", "parts": [{"type": "text", "content": "[{\"type\":\"text\",\"text\":\"hm\"},{\"type\":\"functionCall\",\"functionCall\":{\"name\":\"f\",\"args\":{\"x\":1}}}]"}]}`,
			`assistant: text "hm"; tool_call  f {"x":1}`},
		"pieces of a stream": {
			`{"role": "assistant", "content": [{"index":1,"type":"tool_use","id":"c1","name":"f","input":""},{"index":1,"type":"input_json_delta","input":"{\"x\""},{"type":"input_json_delta","partial_json":":1}"},{"type":"tool_use","id":"c2","name":"g","input":""},{"type":"input_json_delta","input":"{}"}]}`,
			`assistant: tool_call c1 f {"x":1}; tool_call c2 g {}`},
		"an object that was not recorded": {`{"role": "assistant", "parts": [{"type": "text", "content": "hm"}, {"type": "tool_use", "content": "[object Object]"}]}`, `assistant: text "hm"`},
		"an empty member is no call":      {`{"role": "assistant", "content": "hm", "function_call": {}}`, `assistant: text "hm"`},
		"an address is no value":          {`ChatMessage(role='user', content=<Foo object at 0x7f>)`, `user: text "ChatMessage(role='user', content=<Foo object at 0x7f>)"`},
		"cut":                             {`ChatMessage(role='user', content='abc`, `user: text "ChatMessage(role='user', content='abc"`},
	} {
		t.Run(name, func(t *testing.T) {
			messages, ok := Messages(exactjson.StringValue(c.text), tape.RoleUser)
			if !ok || len(messages) != 1 {
				t.Fatalf("%d messages, %t", len(messages), ok)
			}
			var parts []string
			for _, p := range messages[0].Parts {
				switch p.Type {
				case tape.PartText:
					parts = append(parts, "text "+exactjson.StringValue(p.Text).JSON())
				case tape.PartToolCall:
					parts = append(parts, "tool_call "+p.ID+" "+p.Name+" "+p.Args.JSON())
				case tape.PartToolResult:
					parts = append(parts, "tool_result "+p.ID+map[bool]string{true: " failed ", false: " "}[p.IsError]+p.Result.JSON())
				default:
					parts = append(parts, string(p.Type))
				}
			}
			if got := string(messages[0].Role) + ": " + strings.Join(parts, "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func FuzzRepresentation(f *testing.F) {
	f.Add(`ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='q')], _meta={'a': -1.5e3})`)
	f.Add(`a.b.C(1, x=D(), y=<E.F: "g">)`)
	f.Add(`C(C(C(C(`)
	f.Add(`content='it\'s' additional_kwargs={} tool_calls=[C(x=None)] id=7`)
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := Representation(text); ok {
			if _, err := exactjson.Parse(v.JSON()); err != nil {
				t.Errorf("%q became %s: %v", text, v.JSON(), err)
			}
		}
		if v, _, ok := Fields(text); ok {
			if _, err := exactjson.Parse(v.JSON()); err != nil || v.Len() < 2 || v.Len() > maxFields {
				t.Errorf("%q became %s: %v", text, v.JSON(), err)
			}
		}
	})
}

func TestOneValueOfADictIsRead(t *testing.T) {
	for text, want := range map[string]string{
		`{'messages': [ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')])], 'tools': [<function f at 0x7f>]}`: "hi",
		`{'tools': [], 'messages': []}`:            "",
		`{'messages': [<object at 0x7f>], 'n': 1}`: "",
		`{'messages': [ChatMessage(_cont`:          "",
		``:                                         "",
	} {
		v, ok := RepresentationOf(text, "messages")
		if got := v.At(0).First("content", "_content").At(0).Get("text").Str(); ok != (want != "") || got != want {
			t.Errorf("%s: %v %s", text, ok, v.JSON())
		}
	}
}

func TestObjectsInARowAreWhatAProgramYielded(t *testing.T) {
	for text, want := range map[string]bool{
		`ToolCall(name='f', arguments={'x': 1}, id='c1')ToolOutput(id='c1', output=`: true,
		`ToolCall(name='f', arguments={'x': 1}, id='c1')`:                            false,
		`print(end='') prints nothing, flush(now=True) does.`:                        false,
		`f(x)g(y=1)`: false,
	} {
		if got := IsObjectsInARow(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The class of a message says who speaks, where none of its fields does.
func TestTheClassOfARepresentedMessageIsItsRole(t *testing.T) {
	text := `[SystemMessage(content='be brief', additional_kwargs={}), HumanMessage(content='hi', id='7'), AIMessage(content='', tool_calls=[{'name': 'look', 'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]), ` +
		`ToolMessage(content="it's rain", name='look', tool_call_id='c1', status='error'), UserMessage(content='and?', role='assistant')]`
	messages, ok := Messages(exactjson.StringValue(text), tape.RoleUser)
	if !ok || len(messages) != 5 {
		t.Fatalf("read as %v", messages)
	}
	for i, want := range []tape.Role{tape.RoleSystem, tape.RoleUser, tape.RoleAssistant, tape.RoleTool, tape.RoleAssistant} {
		if messages[i].Role != want {
			t.Errorf("message %d is of %s, want %s", i, messages[i].Role, want)
		}
	}
}
