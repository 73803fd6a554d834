// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestMessagesOfEveryShapeAreRead(t *testing.T) {
	const call = `call(c1 f {"x":1})`
	for _, c := range []struct{ shape, text, want string }{
		{"S1 conventions", `[{"role":"user","parts":[{"type":"text","content":"hi"}]},
			{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"c1","name":"f","arguments":{"x":1}}],"finish_reason":"tool_call"},
			{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"v"}]}]`,
			"user: text(hi)|assistant: reasoning(hm) " + call + " -> tool_call|tool: result(c1  \"v\")"},
		{"S1 response named result", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","result":{"y":2}}]}]`, `tool: result(c1  {"y":2})`},
		{"S1 results in the user's role", `[{"role":"user","parts":[{"type":"tool_call_response","id":"c1","name":"f","response":"v"}]}]`, `tool: result(c1 f "v")`},
		{"S2 OpenAI chat", `[{"role":"developer","content":"be kind"},{"role":"user","content":"hi","name":"ann"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"v"}]`,
			"system: text(be kind)|user(ann): text(hi)|assistant: " + call + `|tool: result(c1  "v")`},
		{"pairs of a role and a text", `[["system","be kind"],["human","{\"note\":true,\"content\":-274}"],["ai","hi"]]`, `system: text(be kind)|user: text({"note":true,"content":-274})|assistant: text(hi)`},
		{"pairs of roles are texts", `[["user","assistant"]]`, "user: text(user)|user: text(assistant)"},
		{"S2 content parts", `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]`, "user: text(a) media( https://x/y.png  0)"},
		{"S2 old function call", `[{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{\"x\":1}"}},{"role":"function","name":"f","content":"v"}]`, `assistant: call( f {"x":1})|tool: result( f "v")`},
		{"S2 refusal", `[{"role":"assistant","content":null,"refusal":"no"}]`, "assistant: refusal(no)"},
		{"S1 parts of other types", `[{"role":"assistant","parts":[{"type":"generic","generic_type":"refusal","content":"no"},{"type":"generic","generic_type":"citation","content":{"src":"d"}}]}]`,
			`assistant: refusal(no) data({"type":"generic","generic_type":"citation","content":{"src":"d"}})`},
		{"S1 speech with its words", `[{"role":"user","parts":[{"type":"blob","modality":"audio","mime_type":"audio/wav","content":"UklGRg==","transcript":"hi"}]}]`,
			"user: media(audio/wav  a40ff3d5 4) text(hi)"},
		{"S2b parts and calls beside them", `[{"role":"assistant","parts":[{"type":"text","text":"so"}],"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","parts":[{"type":"text","text":"v"}]}]`, "assistant: text(so) " + call + `|tool: result(c1  "v")[content_blocks]`},
		{"S2b calls said twice", `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"x":1}}],"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]}]`, "assistant: " + call},
		{"S3 choices", `[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]`, "assistant: text(a) -> stop"},
		{"S3 in a completion", `{"id":"r","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "assistant: text(a) -> stop"},
		{"S4 Responses items", `[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"function_call","call_id":"c1","id":"fc_9","name":"f","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c1","output":"v"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]`,
			"user: text(hi)|assistant: reasoning(hm) " + call + `|tool: result(c1  "v")|assistant: text(done)`},
		{"S4 built-in tools stay verbatim", `[{"type":"web_search_call","id":"ws_1","status":"completed"}]`, `assistant: data({"type":"web_search_call","id":"ws_1","status":"completed"})`},
		{"S4 hidden reasoning stays verbatim", `[{"type":"reasoning","summary":[],"encrypted_content":"xx"}]`, `assistant: data({"type":"reasoning","summary":[],"encrypted_content":"xx"})`},
		{"S5 Anthropic", `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"so"},{"type":"tool_use","id":"c1","name":"f","input":{"x":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"v"}]}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"no","is_error":true},{"type":"text","text":"go on"}]}]`,
			"user: text(hi)|assistant: reasoning(hm) text(so) " + call + `|tool: result(c1  "v")[content_blocks]|user: result(c2  "no")! text(go on)`},
		{"S5 a block as its stream began it", `[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{},"partial_json":"{\"x\": 1}"}]}]`, "assistant: " + call},
		{"S5 a block whose input is whole", `[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"x":1},"partial_json":"{\"y\": 1}"}]}]`, "assistant: " + call},
		{"S6 Gemini", `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"f","args":{"x":1}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"y":2}}}]}]`,
			"user: text(hi)|assistant: reasoning(hm) " + call + `|tool: result(c1 f {"y":2})`},
		{"S6 snake case", `[{"role":"model","parts":[{"function_call":{"name":"f","args":{"x":1}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"y":2}}}]}]`,
			`assistant: call( f {"x":1})|tool: result( f {"y":2})`},
		{"S7 Bedrock", `[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{"x":1}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"c1","status":"error","content":[{"text":"v"}]}}]}]`,
			"user: text(hi)|assistant: " + call + `|tool: result(c1  "v")![content_blocks]`},
		{"S7 json block", `[{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"json":{"y":2}}]}}]}]`, `tool: result(c1  {"y":2})[json_block]`},
		{"LlamaIndex", `{"message":{"role":"assistant","additional_kwargs":{},"blocks":[{"text":"so"},{"tool_call_id":"c1","tool_name":"f","tool_kwargs":"{\"x\":1}"}]}}`, "assistant: text(so) " + call},
		{"LlamaIndex calls twice", `[{"role":"assistant","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"arguments":"{\"x\":1}","name":"f"}}]},"blocks":[{"block_type":"tool_call","tool_call_id":"c1","tool_name":"f","tool_kwargs":{"x":1}}]}]`, "assistant: " + call},
		{"S8 AI SDK", `[{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{"x":1}}]},
			{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","output":{"type":"json","value":{"y":2}}}]}]`,
			"assistant: text(so) " + call + `|tool: result(c1 f {"y":2})[ai_sdk.output]`},
		{"S8 error text", `[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","output":{"type":"error-text","value":"no"}}]}]`, `tool: result(c1 f "no")![ai_sdk.output]`},
		{"S8 version 4", `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"f","args":{"x":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","result":"v"}]}]`,
			"assistant: " + call + `|tool: result(c1 f "v")`},
		{"S9 LangChain constructor", `[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","type":"human"}},
			{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"}],"response_metadata":{"finish_reason":"tool_calls"}}},
			{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"v","tool_call_id":"c1","name":"f","status":"error"}}]]`,
			"user: text(hi)|assistant: " + call + ` -> tool_calls|tool: result(c1 f "v")!`},
		{"S9 typed", `[{"type":"human","data":{"content":"hi"}},{"type":"ai","data":{"content":"so"}},{"type":"tool","data":{"content":"v","tool_call_id":"c1"}}]`, `user: text(hi)|assistant: text(so)|tool: result(c1  "v")`},
		{"a type that is the role", `[{"type":"SYSTEM","text":"be kind"},{"type":"USER","contents":[{"text":"hi","type":"TEXT"}]},{"type":"AI","text":"so","toolExecutionRequests":[{"id":"c1","name":"f","arguments":"{\"x\":1}"}]},
			{"type":"TOOL_EXECUTION_RESULT","id":"c1","toolName":"f","contents":[{"text":"v","type":"TEXT"}],"isError":true}]`,
			"system: text(be kind)|user: text(hi)|assistant: text(so) " + call + `|tool: result(c1 f "v")!`},
		{"S9 dump of fields", `[{"content":"be kind","type":"system"},{"content":"hi","type":"human"},{"content":"so","type":"AIMessageChunk","tool_calls":[]}]`, "system: text(be kind)|user: text(hi)|assistant: text(so)"},
		{"S9 the provider's own arguments win", `[{"type":"ai","content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"n\":12345678901234567890}"}}]},"tool_calls":[{"name":"f","args":{"n":12345678901234567000},"id":"c1"}]}]`,
			`assistant: call(c1 f {"n":12345678901234567890})`},
		{"S10 Haystack", `[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"tool_call":{"tool_name":"f","arguments":{"x":1},"id":"c1"}}]},
			{"role":"tool","content":[{"tool_call_result":{"result":"v","error":false,"origin":{"tool_name":"f","arguments":{"x":1},"id":"c1"}}}]}]`,
			"user: text(hi)|assistant: " + call + `|tool: result(c1  "v")`},
		{"S11 messages", `{"messages":[{"role":"user","content":"hi"}]}`, "user: text(hi)"},
		{"S11 text", `{"text":"hi"}`, "user: text(hi)"},
		{"S11 contents", `{"model":"m","config":{},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, "user: text(hi)"},
		{"S11 message", `{"message":{"role":"assistant","content":"a"}}`, "assistant: text(a)"},
		{"S11 batch", `[[{"role":"user","content":"hi"}]]`, "user: text(hi)"},
		{"S11 JSON in JSON in JSON", `"\"[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"hi\\\"}]\""`, "user: text(hi)"},
		{"S12 Genkit", `[{"role":"model","content":[{"toolRequest":{"name":"f","ref":"c1","input":{"x":1}}}]},{"role":"tool","content":[{"toolResponse":{"name":"f","ref":"c1","output":"v"}}]}]`,
			"assistant: " + call + `|tool: result(c1 f "v")`},
		{"S13 text", `"hi"`, "user: text(hi)"},
		{"S13 text that is JSON of another kind", `"{\"city\":\"Oslo\"}"`, `user: text({"city":"Oslo"})`},
		{"S13 text that starts like a list", `"[urgent] please"`, "user: text([urgent] please)"},
		{"bare parts", `[{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"f","input":{"x":1}}]`, "user: text(hi) " + call},
		{"an unknown part stays verbatim", `[{"role":"user","parts":[{"type":"hologram","z":[1,{"a":null}]},"plain",7]}]`, `user: data({"type":"hologram","z":[1,{"a":null}]}) text(plain) data(7)`},
		{"nothing", `[]`, ""},
	} {
		t.Run(c.shape, func(t *testing.T) {
			messages, ok := decode.Messages(genaitest.Parse(t, c.text), tape.RoleUser)
			if !ok {
				t.Fatal("not read")
			}
			if diff := cmp.Diff(c.want, strings.Join(genaitest.Messages(messages), "|")); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONOfAnotherKindHoldsNoMessages(t *testing.T) {
	for _, text := range []string{`null`, `7`, `true`, `{}`, `{"a":1}`, `[{"a":1}]`, `[1]`, `""`, `"  "`, strings.Repeat("[", 20) + strings.Repeat("]", 20)} {
		if messages, ok := decode.Messages(genaitest.Parse(t, text), tape.RoleUser); ok && len(messages) > 0 {
			t.Errorf("%s gives %v", text, genaitest.Messages(messages))
		}
	}
}

func TestRolesMapOntoFour(t *testing.T) {
	for name, want := range map[string]tape.Role{
		"system": "system", "developer": "system", "user": "user", "human": "user", "Human": "user", "assistant": "assistant", "model": "assistant", "AI": "assistant",
		"tool": "tool", "function": "tool", "stranger": "user", "": "user",
	} {
		if got := decode.RoleOf(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestCallIDsLosePaddingAndPlaceholders(t *testing.T) {
	for text, want := range map[string]string{
		`"call_1"`: "call_1", `" call_1 "`: "call_1", `7`: "7", `""`: "", `null`: "", `"<not specified>"`: "", `"unknown"`: "", `"None"`: "", `"N/A"`: "",
		`["fc_1","call_1"]`: "call_1", `["toolu_1","x"]`: "toolu_1", `["a","b"]`: "b", `[]`: "", `{}`: "",
	} {
		if got := decode.TextOfID(genaitest.Parse(t, text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestTextOfArgumentsIsKeptWhereItIsNotCanonical(t *testing.T) {
	for _, c := range []struct{ args, value, text string }{
		{`"{\"x\":1}"`, `{"x":1}`, ""},
		{`"{\"x\": 1}"`, `{"x":1}`, `{"x": 1}`},
		{`"{\"b\":1,\"a\":2}"`, `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{`{"x":1}`, `{"x":1}`, ""},
		{`"plain words"`, `"plain words"`, ""},
		{`"{'x': 1}"`, `{"x":1}`, `{'x': 1}`},
	} {
		p := decode.CallPart("", "f", genaitest.Parse(t, c.args))
		if p.Args.JSON() != c.value || p.ArgsText != c.text {
			t.Errorf("%s: %s and text %q", c.args, p.Args.JSON(), p.ArgsText)
		}
	}
	if p := decode.CallPart("", "f", exactjson.Value{}); !p.Args.IsAbsent() {
		t.Errorf("arguments that are not there become %s", p.Args.JSON())
	}
}

// FuzzMessagesOfAnyJSONAreRead: no value crashes the reader, what it reads has roles and typed parts, and reading is repeatable.
func FuzzMessagesOfAnyJSONAreRead(f *testing.F) {
	for _, text := range []string{
		`[{"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c"}}],"tool_calls":[{"id":1}]}]`,
		`[{"type":"function_call","arguments":"{"},{"type":"function_call_output","output":[{"text":"x"}]}]`,
		`{"lc":1,"type":"constructor","id":["ToolMessage"],"kwargs":{"content":[{"json":1}],"tool_call_id":[]}}`,
		`{"message":{"message":{"content":"x"}}}`, `[[["x"]]]`, `"[{\"role\":\"tool\"}]"`,
		`[{"role":"user","content":[{"type":"image","source":{"data":"AAAA"}},{"inlineData":{"data":"?"}}]}]`,
		`{"Choices":[{"Content":"x","StopReason":"stop","ToolCalls":[{"ID":"c","Function":{"Name":"f","Arguments":"{}"}}]}]}`, `[{"Role":"user","Content":[{"Text":"hi"}]}]`,
		`{"message":{"source":"writer","models_usage":{"prompt_tokens":4},"content":[{"id":"c","name":"f","arguments":"{}"}]}}`, `{"messages":[{"source":"user","content":"hi"}]}`,
		`{"role":"assistant","tool_call_id":"c","content":"{\"name\":\"f\",\"arguments\":\"{}\"}"}`, `{"role":"assistant","content":"{\"name\":\"f\",\"arguments\":\"{}\"}"}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n",
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n" +
			"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"a\"}}\n",
		"data: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := exactjson.Parse(text)
		if err != nil {
			v = exactjson.StringValue(text)
		}
		messages, ok := decode.Messages(v, tape.RoleUser)
		if !ok && len(messages) > 0 {
			t.Fatal("messages of a value that holds none")
		}
		messages = append(messages, decode.OpenWrittenCalls(decode.OutputMessages(v, 0))...)
		for _, p := range decode.PostedMessages(v) {
			messages = append(messages, p.Message)
		}
		for _, m := range messages {
			if m.Role == "" {
				t.Fatalf("a message without a role: %v", genaitest.Messages(messages))
			}
			for _, p := range m.Parts {
				if p.Type == "" {
					t.Fatalf("a part without a type: %v", genaitest.Messages(messages))
				}
			}
		}
		again, _ := decode.Messages(v, tape.RoleUser)
		again = append(again, decode.OpenWrittenCalls(decode.OutputMessages(v, 0))...)
		for _, p := range decode.PostedMessages(v) {
			again = append(again, p.Message)
		}
		if diff := cmp.Diff(genaitest.Messages(messages), genaitest.Messages(again)); diff != "" {
			t.Fatalf("read twice:\n%s", diff)
		}
	})
}

func TestMessageThatAnswersACallIsItsResult(t *testing.T) {
	v, err := exactjson.Parse(`[{"role":"user","tool_call_id":"c1","content":"rain"},{"role":"user","content":"and now?"}]`)
	if err != nil {
		t.Fatal(err)
	}
	messages, ok := decode.Messages(v, tape.RoleUser)
	if !ok || len(messages) != 2 || messages[0].Role != tape.RoleTool || messages[0].Parts[0].ID != "c1" || messages[0].Parts[0].Result.Str() != "rain" || messages[1].Role != tape.RoleUser {
		t.Errorf("%+v", messages)
	}
}

// Measurements of an answer stand beside its text; an object of a text and a number is an answer of its own.
func TestAnswerBesideItsMeasurements(t *testing.T) {
	for text, want := range map[string][]string{
		`{"text":"hi","finishReason":"stop","msToFirstChunk":8.5,"avgTokens":2}`: {"assistant: text(hi) -> stop"},
		`{"text":"hi","score":1}`:                              nil,
		`{"text":"hi","finishReason":"stop","title":"A page"}`: nil,
	} {
		if got := genaitest.Messages(decode.OutputMessages(genaitest.Parse(t, text), 0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// LangChain4j and Spring AI for Java write an answer as one message whose type is its role; without the list of calls it may as well be what the model said, in JSON.
func TestAnswerWhoseTypeIsItsRole(t *testing.T) {
	for text, want := range map[string][]string{
		`{"toolExecutionRequests":[{"id":"c1","name":"f","arguments":"{\"x\":1}"}],"attributes":{},"type":"AI"}`: {`assistant: call(c1 f {"x":1})`},
		`{"text":"hi","toolExecutionRequests":[],"attributes":{},"type":"AI"}`:                                   {"assistant: text(hi)"},
		`{"text":"hi","toolCalls":[],"messageType":"ASSISTANT","metadata":{"a":1}}`:                              {"assistant: text(hi)"},
		`{"toolExecutionRequests":[{"id":"c1","name":"f","arguments":"{}"}],"type":"ticket"}`:                    nil,
		`{"toolExecutionRequests":[],"text":"hi","type":"USER"}`:                                                 nil,
		`{"score":1,"type":"AI"}`: nil,
	} {
		if got := genaitest.Messages(decode.OutputMessages(genaitest.Parse(t, text), 0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Laminar writes Gemini's candidates as the messages of the answer; a text in them that is JSON is a text all the same.
func TestCandidateIsAMessage(t *testing.T) {
	messages, ok := decode.Messages(genaitest.Parse(t, `[{"content":{"parts":[{"text":"{\"job\":\"12\"}"}],"role":"model"},"finish_reason":"STOP","index":0}]`), tape.RoleAssistant)
	if !ok || len(messages) != 1 || messages[0].Role != tape.RoleAssistant || messages[0].FinishReason != "STOP" || len(messages[0].Parts) != 1 || messages[0].Parts[0].Text != `{"job":"12"}` {
		t.Errorf("read %+v", messages)
	}
}

// LlamaIndex's agents write the answer beside the results of all tools of the run.
func TestAnswerBesideTheCallsOfTheRun(t *testing.T) {
	for text, want := range map[string][]string{
		`{"result":{"response":{"role":"assistant","blocks":[{"block_type":"text","text":"so"}]},"tool_calls":[{"tool_name":"f","tool_kwargs":{}}]}}`: {"assistant: text(so)"},
		`{"role":"assistant","content":"a","response":{"role":"assistant","content":"b"}}`:                                                            {"assistant: text(a)"},
	} {
		if got := genaitest.Messages(decode.OutputMessages(genaitest.Parse(t, text), 0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Logfire writes the blocks of an answer that a program sent back as the objects of Anthropic's SDK with str().
func TestBlocksOfAnAnswerThatWereWrittenAsObjectsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		`[{"role":"assistant","parts":[{"type":"text","content":"ParsedTextBlock(citations=None, text='Hm.', type='text', parsed_output=None)"},{"type":"text","content":"ToolUseBlock(id='c1', caller=None, input={'x': 1}, name='f', type='tool_use')"}]}]`: `assistant: text(Hm.) call(c1 f {"x":1})`,
		`[{"role":"assistant","parts":[{"type":"text","content":"See:"},{"type":"text","content":"ToolUseBlock(id='c1', input={'x': 1}, name='f', type='tool_use')"}]}]`:                                                                                      `assistant: text(See:) text(ToolUseBlock(id='c1', input={'x': 1}, name='f', type='tool_use'))`,
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, text), tape.RoleUser)
		if got := genaitest.Messages(messages); !slices.Equal(got, []string{want}) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestLinesThatAreMessagesOrTheirPartsAreReadAsSuch(t *testing.T) {
	list := `[{'role': 'user', 'content': 'q'}, ResponseFunctionToolCall(arguments='{"a": 1}', call_id='call_1', name='f', type='function_call', id='fc_1'), {'type': 'function_call_output', 'call_id': 'call_1', 'output': '2'}]`
	got := decode.PromptLines("user: q\nuser: " + list + "\nuser: " + list)
	if len(got) != 3 || !decode.HasCalls(got[1]) || got[1].Parts[0].ID != "call_1" || got[2].Role != tape.RoleTool {
		t.Errorf("%d messages: %+v", len(got), got)
	}
	got = decode.PromptLines("user: text: q\nmodel: text: so, function_call: id=None args={'a': 1} name='f'\nuser: function_response: id=None name='f' response={'result': '2'}")
	if len(got) != 3 || got[0].Parts[0].Text != "q" || len(got[1].Parts) != 2 || got[1].Parts[1].Name != "f" || got[2].Role != tape.RoleTool {
		t.Errorf("%d messages: %+v", len(got), got)
	}
	for _, text := range []string{"user: [1, 2]", "user: function_call: of what?", "user: so, text: q"} {
		if got := decode.PromptLines(text); len(got) != 1 || got[0].Parts[0].Text != text[len("user: "):] || got[0].Parts[0].Label != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestCallsWhereAMessageStandsAreTheAssistants(t *testing.T) {
	const calls = `[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for text, want := range map[string]string{
		`[{"role":"user","content":"q"},` + calls + `]`:                   "assistant 1 false",
		`[{"role":"user","content":"q"},[{"id":"","type":""}]]`:           "assistant 0 true",
		`[{"role":"user","content":"q"},[{"type":"text","text":"more"}]]`: "user 1 false",
	} {
		got, ok := decode.Messages(exactjson.StringValue(text), tape.RoleUser)
		if !ok || len(got) != 2 || fmt.Sprintf("%s %d %t", got[1].Role, len(got[1].Parts), got[1].Omitted) != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestMessagesThatPythonPrintedAreRead(t *testing.T) {
	for text, want := range map[string]int{
		`[{'role': 'system', 'content': 'be brief'}, {'role': 'user', 'content': "what's up", 'name': None}]`: 2,
		`{'choices': [{'index': 0, 'message': {'role': 'assistant', 'content': 'yes'}}]}`:                     1,
	} {
		messages, ok := decode.Messages(exactjson.StringValue(text), tape.RoleUser)
		if !ok || len(messages) != want || messages[want-1].Parts[0].Text == text {
			t.Errorf("%s: %v", text, messages)
		}
	}
	for _, text := range []string{ // a text of somebody's, whatever stands in it
		`{'job': '12', 'state': 'done'}`, `{'role': 'plumber', 'rate': 17}`, `[{'name': 'Ada', 'role': 'owner'}]`, `[{'role': 'user', 'content': 'hi'}`, `Why is [{'role': 'user'}] wrong?`,
	} {
		if messages, _ := decode.Messages(exactjson.StringValue(text), tape.RoleUser); len(messages) != 1 || messages[0].Parts[0].Text != text {
			t.Errorf("%s: %v", text, messages)
		}
	}
}

// A result that a program made itself need not say whose it is, and some handlers write the name of the tool for the role.
func TestMessageWithoutARoleBehindACallIsItsResult(t *testing.T) {
	const ask = `{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}`
	for text, want := range map[string]string{
		`[` + ask + `,{"content":"it broke","additional_kwargs":{}}]`:                        "user assistant tool",
		`[` + ask + `,{"content":"5","role":"f"}]`:                                           "user assistant tool",
		`[` + ask + `,{"content":"5","role":"f"},{"content":"go on"}]`:                       "user assistant tool user", // one call, one result
		`[` + ask + `,{"content":"5","role":"narrator"}]`:                                    "user assistant user",      // the name of no tool
		`[` + ask + `,{"content":"5","role":"user"}]`:                                        "user assistant user",
		`[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"content":"5"}]`: "user assistant user", // nothing was asked for
		`[{"role":"user","content":"q"},{"content":"5"}]`:                                    "user user",
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, text), tape.RoleUser)
		var roles []string
		for _, m := range messages {
			roles = append(roles, string(m.Role))
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// OpenLIT's messages of Anthropic under LangChain hold each block as the text that Python makes of it.
func TestBlockThatIsPrintedIntoTheContentOfAPartIsRead(t *testing.T) {
	for part, want := range map[string]string{
		`{"type":"tool_use","content":"{'id': 'toolu_1', 'input': {'x': 1}, 'name': 'f', 'type': 'tool_use'}"}`:        `f toolu_1 {"x":1}`,
		`{"type":"tool_use","content":"{\"id\":\"toolu_1\",\"input\":{},\"name\":\"f\",\"type\":\"tool_use\"}"}`:       `f toolu_1 {}`,
		`{"type":"tool_use","content":"{'id': 'toolu_1', 'name': 'f', 'type': 'text'}"}`:                               ` `,
		`{"type":"tool_use","content":"{'id': 'toolu_1', 'input': <Args at 0x1>, 'name': 'f', 'type': 'tool_use'}"}`:   ` `,
		`{"type":"tool_use","id":"toolu_2","name":"g","content":"{'id': 'toolu_1', 'name': 'f', 'type': 'tool_use'}"}`: `g toolu_2`,
	} {
		p, ok := decode.PartOf(genaitest.Parse(t, part))
		if got := p.Name + " " + p.ID; !ok || p.Type != tape.PartToolCall || !strings.HasPrefix(want, got) || strings.Contains(want, "{") && !strings.HasSuffix(want, p.Args.JSON()) {
			t.Errorf("%s is %s %s (%t), want %s", part, got, p.Args.JSON(), ok, want)
		}
	}
}

// A list of pairs of a role and a text is one conversation, and no batch of prompts, whatever JSON the first text is.
func TestPairsInARequestAreNoBatch(t *testing.T) {
	for request, want := range map[string]string{
		`{"messages":[["user","{\"content\":\"north\"}"],["assistant","almost"],["user","now what"]]}`:       `{"content":"north"}|almost|now what`,
		`{"messages":[[{"role":"user","content":"first"}],[{"role":"user","content":"of another prompt"}]]}`: "first",
		`{"messages":[["nobody","{\"content\":\"north\"}"],["assistant","almost"]]}`:                         "nobody|north",
	} {
		messages, _ := decode.RequestMessages(genaitest.Parse(t, request), tape.RoleUser)
		var texts []string
		for _, m := range messages {
			texts = append(texts, m.Parts[0].Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}
