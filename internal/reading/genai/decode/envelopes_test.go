// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestEnvelopesAreTakenOffResultsAndNamed(t *testing.T) {
	for _, c := range []struct {
		name, result, want, envelope, callID string
		failed                               bool
	}{
		{"none", `{"a":1}`, `{"a":1}`, "", "", false},
		{"a text stays a text", `"{\"a\":1}"`, `"{\"a\":1}"`, "", "", false},
		{"one text block", `[{"type":"text","text":"v"}]`, `"v"`, "content_blocks", "", false},
		{"one bare text block", `[{"text":"v"}]`, `"v"`, "content_blocks", "", false},
		{"one text block as JSON", `"[{\"type\":\"text\",\"text\":\"v\"}]"`, `"v"`, "content_blocks", "", false},
		{"two blocks stay a list", `[{"type":"text","text":"v"},{"type":"text","text":"w"}]`, `[{"type":"text","text":"v"},{"type":"text","text":"w"}]`, "", "", false},
		{"a block with more in it stays", `[{"type":"text","text":"v","score":1}]`, `[{"type":"text","text":"v","score":1}]`, "", "", false},
		{"an image stays", `[{"type":"image","data":"x"}]`, `[{"type":"image","data":"x"}]`, "", "", false},
		{"one JSON block", `[{"json":{"a":1}}]`, `{"a":1}`, "json_block", "", false},
		{"MCP", `{"content":[{"type":"text","text":"v"}],"isError":false}`, `"v"`, "mcp.result content_blocks", "", false},
		{"MCP failure", `{"content":[{"type":"text","text":"no"}],"isError":true}`, `"no"`, "mcp.result content_blocks", "", true},
		{"MCP with structure beside", `{"content":[{"type":"text","text":"v"}],"structuredContent":{"a":1},"_meta":{}}`, `"v"`, "mcp.result content_blocks", "", false},
		{"MCP of two blocks stays whole", `{"content":[{"type":"text","text":"v"},{"type":"text","text":"w"}]}`, `{"content":[{"type":"text","text":"v"},{"type":"text","text":"w"}]}`, "", "", false},
		{"an object that has content", `{"content":[{"type":"text","text":"v"}],"page":2}`, `{"content":[{"type":"text","text":"v"}],"page":2}`, "", "", false},
		{"a block with times beside its text", `[{"type":"text","text":"v","id":"b1","created_at":"2026-11-25T22:09:05.542115","finished_at":null}]`, `"v"`, "content_blocks", "", false},
		{"a block with a date that somebody wrote", `[{"type":"text","text":"v","due":"next week"}]`, `[{"type":"text","text":"v","due":"next week"}]`, "", "", false},
		{"a record of times alone", `[{"text":"v","created_at":"2026-11-25T22:09:05Z"}]`, `[{"text":"v","created_at":"2026-11-25T22:09:05Z"}]`, "", "", false},
		{"a framework's record of a call", `{"content":[{"type":"text","text":"v"}],"state":"success","metadata":{},"id":"c1"}`, `"v"`, "tool_response content_blocks", "c1", false},
		{"its record of a call that returned nothing", `{"status":"success","result":null,"error":null,"images":null,"files":null,"updated_session_state":null}`, `null`, "result", "", false},
		{"a record of a few members", `{"status":"success","result":null,"error":null}`, `{"status":"success","result":null,"error":null}`, "", "", false},
		{"a record that says something", `{"status":"success","result":null,"error":null,"images":null,"files":null,"count":0}`, `{"status":"success","result":null,"error":null,"images":null,"files":null,"count":0}`, "", "", false},
		{"a record of no success", `{"status":"missing","result":null,"error":null,"images":null,"files":null,"code":null}`, `{"status":"missing","result":null,"error":null,"images":null,"files":null,"code":null}`, "", "", false},
		{"what a tool says itself", `{"content":[{"type":"text","text":"v"}],"status":"success"}`, `{"content":[{"type":"text","text":"v"}],"status":"success"}`, "", "", false},
		{"its record of a failure", `{"toolUseId":"c1","status":"error","content":[{"text":"no"}]}`, `"no"`, "tool_response content_blocks", "c1", true},
		{"a document with a status of its own", `{"content":[{"type":"text","text":"v"}],"status":"published"}`, `{"content":[{"type":"text","text":"v"}],"status":"published"}`, "", "", false},
		{"a document that says more", `{"content":[{"type":"text","text":"v"}],"status":"ok","title":"t"}`, `{"content":[{"type":"text","text":"v"}],"status":"ok","title":"t"}`, "", "", false},
		{"a document without a status", `{"content":[{"type":"text","text":"v"}],"id":"d1"}`, `{"content":[{"type":"text","text":"v"}],"id":"d1"}`, "", "", false},
		{"an answer that is one tool message", `{"object":"tool.response","choices":[{"index":0,"message":{"role":"tool","content":"{\"a\":1}","tool_id":"c1","tool_name":"f"}}]}`, `"{\"a\":1}"`, "completion.tool_message", "c1", false},
		{"LangChain constructor", `{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"v","tool_call_id":"c1"}}`, `"v"`, "langchain.tool_message", "c1", false},
		{"LangChain typed", `{"type":"tool","data":{"content":"no","tool_call_id":"c1","status":"error"}}`, `"no"`, "langchain.tool_message", "c1", true},
		{"LangChain dump", `{"type":"tool","content":"v","tool_call_id":"c1","name":"f"}`, `"v"`, "langchain.tool_message", "c1", false},
		{"LangGraph state", `{"messages":[{"type":"tool","content":"no","tool_call_id":"c1","name":"f","status":"error"}]}`, `"no"`, "langgraph.state langchain.tool_message", "c1", true},
		{"LangGraph state of two", `{"messages":[{"type":"tool","content":"a","tool_call_id":"c1"},{"type":"tool","content":"b","tool_call_id":"c2"}]}`,
			`{"messages":[{"type":"tool","content":"a","tool_call_id":"c1"},{"type":"tool","content":"b","tool_call_id":"c2"}]}`, "", "", false},
		{"a list of messages beside other members", `{"messages":[{"type":"tool","content":"a","tool_call_id":"c1"}],"next":1}`, `{"messages":[{"type":"tool","content":"a","tool_call_id":"c1"}],"next":1}`, "", "", false},
		{"LangChain output", `{"output":{"type":"tool","content":"v","tool_call_id":"c1"}}`, `"v"`, "langchain.output langchain.tool_message", "c1", false},
		{"Traceloop output", `{"output":"v","kwargs":{}}`, `"v"`, "langchain.output", "", false},
		{"an object that has an output", `{"output":"v"}`, `{"output":"v"}`, "", "", false},
		{"LangChain repr", `"content='it\\'s' tool_call_id='c1'"`, `"it's"`, "langchain.repr", "c1", false},
		{"LangChain repr as JSON", `"\"content='50%' name='f' tool_call_id='c1'\""`, `"50%"`, "langchain.repr", "c1", false},
		{"a text in quotes", `"\"content='50%' of it\""`, `"\"content='50%' of it\""`, "", "", false},
		{"AI SDK text", `{"type":"text","value":"v"}`, `"v"`, "ai_sdk.output", "", false},
		{"AI SDK json", `{"type":"json","value":{"a":1}}`, `{"a":1}`, "ai_sdk.output", "", false},
		{"AI SDK failure", `{"type":"error-json","value":{"a":1}}`, `{"a":1}`, "ai_sdk.output", "", true},
		{"AI SDK denied", `{"type":"execution-denied","reason":"not now"}`, `"not now"`, "ai_sdk.output", "", true},
		{"a value of another type", `{"type":"celsius","value":21}`, `{"type":"celsius","value":21}`, "", "", false},
		{"text within an envelope is what the tool said", `{"type":"text","value":"[{\"type\":\"text\",\"text\":\"v\"}]"}`, `"[{\"type\":\"text\",\"text\":\"v\"}]"`, "ai_sdk.output", "", false},
		{"LlamaIndex", `{"blocks":[{"text":"{'a': 1}"}],"tool_name":"f","raw_input":{"args":[],"kwargs":{"x":1}},"raw_output":{"a":1},"is_error":false}`, `{"a":1}`, "llamaindex.tool_output", "", false},
		{"LlamaIndex as text", `"{\"blocks\":[{\"text\":\"None\"}],\"tool_name\":\"f\",\"raw_input\":{},\"raw_output\":null,\"is_error\":false}"`, `"None"`, "llamaindex.tool_output", "", false},
		{"LlamaIndex before it had blocks", `{"content":"v","tool_name":"f","raw_input":{},"raw_output":"v","is_error":false}`, `"v"`, "llamaindex.tool_output", "", false},
		{"LlamaIndex failure", `{"blocks":[{"text":"no"}],"tool_name":"f","raw_input":{},"raw_output":"no","is_error":true}`, `"no"`, "llamaindex.tool_output", "", true},
		{"LlamaIndex blocks", `[{"block_type":"text","text":"v"}]`, `"v"`, "content_blocks", "", false},
		{"blocks of another kind", `[{"block_type":"note","text":"v"}]`, `[{"block_type":"note","text":"v"}]`, "", "", false},
		{"a tool that tells of blocks", `{"blocks":[{"text":"v"}],"tool_name":"f"}`, `{"blocks":[{"text":"v"}],"tool_name":"f"}`, "", "", false},
		{"null", `null`, `null`, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := decode.UnwrapResult(decode.Content{Value: genaitest.Parse(t, c.result)})
			if got := u.Content.Value.JSON(); got != c.want || strings.Join(u.Content.Envelope, " ") != c.envelope || u.CallID != c.callID || u.IsError != c.failed {
				t.Errorf("%s in %v, call %q, failed %t", got, u.Content.Envelope, u.CallID, u.IsError)
			}
		})
	}
	for text, want := range map[string]string{ // Python writes literals so that they can be read back
		"content='v' name='f' tool_call_id='c1'":                            `"v"`,
		`content='it\'s "x"\n\u00e9\\' name='f' tool_call_id='c1'`:          `"it's \"x\"\né\\"`,
		"content=['v', 1.50, {'a': None}] name='f' tool_call_id='c1'":       `["v",1.50,{"a":null}]`,
		"content=[<Block at 0x7f01>, 'v'] name='f' tool_call_id='c1'":       "",
		"content=[Block(text='w'), 'v'] name='f' tool_call_id='c1'":         "",
		"content='v' and more than a message says tool_call_id='c1' so far": "",
	} {
		u := decode.UnwrapResult(decode.Content{Value: genaitest.Text(text)})
		if opened := slices.Contains(u.Content.Envelope, "langchain.repr"); opened != (want != "") || opened && (u.Content.Label != "" || u.Content.Value.JSON() != want) {
			t.Errorf("%s is %s, labelled %q in %v", text, u.Content.Value.JSON(), u.Content.Label, u.Content.Envelope)
		}
	}
}

func TestWrappersAreTakenOffArguments(t *testing.T) {
	for _, c := range []struct{ name, args, want, envelope string }{
		{"none", `{"x":1}`, `{"x":1}`, ""},
		{"LangChain inputs", `{"input_str":"{'x': 2}","tags":[],"metadata":{},"inputs":{"x":1},"kwargs":{}}`, `{"x":1}`, "langchain.input"},
		{"LangChain repr", `{"input_str":"{'x': 1}","tags":[],"inputs":null}`, `{"x":1}`, "langchain.input"},
		{"LangChain text", `{"input_str":"just words"}`, `"just words"`, "langchain.input"},
		{"MCP", `{"tool_name":"f","arguments":{"x":1}}`, `{"x":1}`, "mcp.call"},
		{"MCP as text", `{"tool_name":"f","arguments":"{\"x\":1}"}`, `{"x":1}`, "mcp.call"},
		{"arguments that have a tool_name", `{"tool_name":"f","arguments":{"x":1},"more":1}`, `{"tool_name":"f","arguments":{"x":1},"more":1}`, ""},
		{"Python keywords only", `{"args":[],"kwargs":{"x":1}}`, `{"x":1}`, "python.call"},
		{"Python positions stay", `{"args":[1],"kwargs":{"x":1}}`, `{"args":[1],"kwargs":{"x":1}}`, ""},
		{"a text", `"words"`, `"words"`, ""},
		{"a message of a tool", `[{"role":"tool","content":"{\"x\":1}"}]`, `{"x":1}`, "tool_message"},
		{"a message with more", `[{"role":"tool","content":"{}","x":1}]`, `[{"role":"tool","content":"{}","x":1}]`, ""},
		{"a message of words", `[{"role":"tool","content":"no"}]`, `[{"role":"tool","content":"no"}]`, ""},
		{"the call that a step was handed", `{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"}]}`, `{"x":1}`, "langchain.tool_call"},
		{"an input of another type", `{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"row"}]}`, `{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"row"}]}`, ""},
	} {
		got := decode.UnwrapArgs(decode.Args(genaitest.Parse(t, c.args)))
		if got.Value.JSON() != c.want || strings.Join(got.Envelope, " ") != c.envelope {
			t.Errorf("%s: %s in %v", c.name, got.Value.JSON(), got.Envelope)
		}
	}
}

func TestMediaIsKeptByDigestAndReference(t *testing.T) {
	// "hello" in base64 is aGVsbG8=, its SHA-256 begins with 2cf24dba
	for _, c := range []struct{ name, part, want string }{
		{"conventions, blob", `{"type":"blob","mime_type":"image/png","content":"aGVsbG8="}`, "media(image/png  2cf24dba 5)"},
		{"conventions, uri", `{"type":"uri","mime_type":"image/png","uri":"gs://b/x"}`, "media(image/png gs://b/x  0)"},
		{"conventions, file", `{"type":"file","file_id":"file-1"}`, "media( file-1  0)"},
		{"OpenAI image", `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8="}}`, "media(image/png  2cf24dba 5)"},
		{"OpenAI image by reference", `{"type":"input_image","image_url":"https://x/y"}`, "media( https://x/y  0)"},
		{"Anthropic", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}`, "media(image/png  2cf24dba 5)"},
		{"Anthropic by reference", `{"type":"document","source":{"type":"url","url":"https://x/y"}}`, "media( https://x/y  0)"},
		{"Gemini", `{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}`, "media(image/png  2cf24dba 5)"},
		{"Gemini by reference", `{"file_data":{"mime_type":"image/png","file_uri":"gs://b/x"}}`, "media(image/png gs://b/x  0)"},
		{"Bedrock image", `{"image":{"format":"png","source":{"bytes":"aGVsbG8="}}}`, "media(  2cf24dba 5)"},
		{"AI SDK file", `{"type":"file","mediaType":"image/png","data":"aGVsbG8="}`, "media(image/png  2cf24dba 5)"},
		{"neither bytes nor reference", `{"type":"image"}`, `data({"type":"image"})`},
	} {
		p, _ := decode.PartOf(genaitest.Parse(t, c.part))
		if got := genaitest.Part(p); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMasksAndCutsInMessagesLabelTheirPart(t *testing.T) {
	messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"user","parts":[{"type":"text","content":"__REDACTED__"}]},{"role":"user","content":"<REDACTED>"},
		{"role":"tool","tool_call_id":"c","content":"FILTERED"},{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":"__REDACTED__"}]},{"role":"user","content":"fine"}]`), tape.RoleUser)
	got := strings.Join(genaitest.Messages(messages), "|")
	want := `user: text(__REDACTED__)~masked|user: text(<REDACTED>)~masked|tool: result(c  "FILTERED")~masked|assistant: call(c f "__REDACTED__")~masked|user: text(fine)`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// FuzzUnwrapResult: no result crashes the table of envelopes, and what it leaves is opened no further.
func FuzzUnwrapResult(f *testing.F) {
	for _, text := range []string{
		`{"output":{"lc":1,"id":["ToolMessage"],"kwargs":{"content":[{"type":"text","text":"[{\"json\":1}]"}]}}}`, `{"content":[{"text":"x"}]}`, `content='a' tool_call_id='b'`, `{"type":"text","value":{"type":"text","value":1}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := []exactjson.Value{genaitest.Text(text)}
		if v, err := exactjson.Parse(text); err == nil {
			values = append(values, v)
		}
		for _, v := range values {
			u := decode.UnwrapResult(decode.Content{Value: v})
			if len(u.Content.Envelope) > 4 || len(u.Content.Envelope) == 0 && !u.Content.Value.Equal(v) {
				t.Fatalf("%s becomes %s in %v", v.JSON(), u.Content.Value.JSON(), u.Content.Envelope)
			}
		}
	})
}

// Frameworks call the function of a tool with its arguments and with more of their own; a tracer of functions records all of it.
func TestArgumentsByPositionOfAFunction(t *testing.T) {
	for text, want := range map[string]string{
		`{"args":[{"x":1},{"toolCallId":"c1","messages":[]}]}`:               `{"x":1} c1 [function.call]`,
		`[{"x":1},{"toolCallId":"c1","messages":[]}]`:                        `{"x":1} c1 [function.call]`,
		`[{"x":1},{"metadata":{"langgraph_step":2},"toolCall":{"id":"c1"}}]`: `{"x":1} c1 [function.call]`,
		`[{"x":1},{"context":{}},{"toolCall":{"callId":"c1","name":"f"}}]`:   `{"x":1} c1 [function.call]`,
		`[{"x":1},null]`:                 `{"x":1}  [function.call]`,
		`{"args":[{"x":1},{"id":"c1"}]}`: `{"args":[{"x":1},{"id":"c1"}]}  []`, // may be the argument of that name
		`{"args":[{"x":1}]}`:             `{"args":[{"x":1}]}  []`,
		`[{"x":1}]`:                      `[{"x":1}]  []`,
		`[{"x":1},"dry-run"]`:            `[{"x":1},"dry-run"]  []`,
		`["Oslo",{"unit":"C"}]`:          `["Oslo",{"unit":"C"}]  []`,
	} {
		c := decode.Args(exactjson.StringValue(text))
		got := decode.UnwrapArgs(c)
		_, id := decode.PositionalCall(c.Value)
		if said := fmt.Sprint(got.Value.JSON(), " ", id, " ", got.Envelope); said != want {
			t.Errorf("%s: %s, want %s", text, said, want)
		}
	}
}

func TestResultsOfSeveralCallsAreNoResultOfOne(t *testing.T) {
	const one, two = `{"message":{"role":"tool","content":"a","tool_id":"c1"}}`, `{"message":{"role":"tool","content":"b","tool_id":"c2"}}`
	for text, want := range map[string]bool{
		`{"choices":[` + one + `,` + two + `]}`:                                    true,
		`{"choices":[` + one + `]}`:                                                false,
		`{"choices":[` + one + `,{"message":{"role":"assistant","content":"x"}}]}`: false,
		`{"choices":["red","blue"]}`:                                               false,
		`plain`:                                                                    false,
	} {
		if got := decode.RepeatsResults(exactjson.StringValue(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
