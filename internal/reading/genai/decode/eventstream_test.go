// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// said is what an answer says and asks for.
func said(v exactjson.Value) string {
	var out []string
	for _, m := range OutputMessages(v, 0) {
		for _, p := range m.Parts {
			one := string(p.Type) + " " + p.Text
			if p.Type == tape.PartToolCall {
				one += p.ID + " " + p.Name + " " + p.Args.JSON()
			}
			out = append(out, one)
		}
		out = append(out, m.FinishReason)
	}
	return strings.Join(out, "; ")
}

func TestTheEventsOfAStreamAreTheAnswerThatTheyMakeUp(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"chat": {`data: {"id":"x","model":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"index":0,"delta":{"content":"One mo"}}]}

data: {"choices":[{"index":0,"delta":{"content":"ment."}},{"index":1,"delta":{"content":"no"}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]
`, `text One moment.; tool_call c1 f {"a":1}; tool_calls`},
		"messages": {"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[],\"model\":\"m\"}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"One\"}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"f\",\"input\":{}}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n", `text One; tool_call c1 f {"a":1}; `},
		"gemini": {"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"One \"}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"more\"}]},\"finishReason\":\"STOP\"}]}\r\n",
			"text One more; STOP"},
		"responses": {"event: response.created\ndata: {\"type\":\"response.created\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}]}}\n",
			"text hi; "},
		"a text":       {"data: none was found", "text data: none was found; "},
		"other events": {"event: message\ndata: {\"jsonrpc\":\"2.0\"}\n", "text event: message\ndata: {\"jsonrpc\":\"2.0\"}\n; "},
		"a cut stream": {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choi", "text data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choi; "},
	} {
		if got := said(exactjson.StringValue(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Go and C# write members with a capital. What lies in arguments and results is somebody's data.
func TestMembersWithACapitalAreReadAsEverybodyElsesAre(t *testing.T) {
	for doc, want := range map[string]string{
		`{"Choices":[{"Content":"hi","StopReason":"stop","ToolCalls":null}]}`:                                                         "text hi; stop",
		`{"Choices":[{"Content":"","StopReason":"tool_calls","ToolCalls":[{"ID":"c1","Name":"f","Arguments":{"Name":"x","ID":7}}]}]}`: `tool_call c1 f {"Name":"x","ID":7}; tool_calls`,
		`{"Role":"assistant","Content":"hi"}`:  "text hi; ",
		`{"Total":3,"Name":"a"}`:               "",
		`{"content":"hi","Content":"another"}`: "text hi; ",
	} {
		v, err := exactjson.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(v); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
	v, _ := exactjson.Parse(`[{"Role":"system","Content":"be brief"},{"Role":"user","Content":"hi"},{"Role":"tool","ToolCallID":"c1","Content":"{\"Role\":\"x\"}"}]`)
	messages, ok := Messages(v, tape.RoleUser)
	if !ok || len(messages) != 3 || messages[0].Role != tape.RoleSystem || messages[2].Role != tape.RoleTool || messages[2].Parts[0].ID != "c1" || messages[2].Parts[0].Result.Str() != `{"Role":"x"}` {
		t.Errorf("messages: %+v", messages)
	}
}

// A part may lie in a member that is named after its type, as LangChainGo writes calls and results.
func TestPartsLieInTheMemberOfTheirType(t *testing.T) {
	v, _ := exactjson.Parse(`[{"role":"ai","parts":[{"type":"tool_call","tool_call":{"function":{"name":"f","arguments":"{\"a\":1}"},"id":"c1","type":"function"}}]},{"role":"tool","parts":[{"type":"tool_response","tool_response":{"content":"r","name":"f","tool_call_id":"c1"}}]}]`)
	messages, _ := Messages(v, tape.RoleUser)
	if len(messages) != 2 || messages[0].Parts[0].Name != "f" || messages[0].Parts[0].ID != "c1" || messages[1].Parts[0].ID != "c1" || messages[1].Parts[0].Result.Str() != "r" {
		t.Errorf("messages: %+v", messages)
	}
}

// A client that reads a stream to its end has the list of its events.
func TestListOfTheEventsOfAStreamIsTheResponse(t *testing.T) {
	for doc, want := range map[string]string{
		`[{"choices":[{"index":0,"delta":{"role":"assistant","content":"h"}}]},{"choices":[{"index":0,"delta":{"content":"i"},"finish_reason":"stop"}]}]`:                                                                                                                                                       "text hi; stop",
		`[{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}]}}]},{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":null,"function":{"arguments":":1}","name":null}}]},"finish_reason":"tool_calls"}]}]`:                              `tool_call c1 f {"a":1}; tool_calls`,
		`[{"type":"message_start","message":{"id":"m1","role":"assistant"}},{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}},{"type":"message_delta","delta":{"stop_reason":"end_turn"}}]`: "text hi; ",
		`[{"delta":"a"},{"choices":[{"index":0,"delta":{"content":"i"}}]}]`: "",
		`[{"type":"message_start","of":"a letter"}]`:                        "",
	} {
		v, err := exactjson.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(v); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
