// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestToolsThatTheProviderRanAreNoCalls(t *testing.T) {
	for text, want := range map[string]tape.PartType{
		`{"type":"tool_call","id":"call_1","name":"f","arguments":{}}`:                            tape.PartToolCall,
		`{"type":"tool_call","id":"x","name":"web_search","arguments":{},"builtin":true}`:         tape.PartData,
		`{"type":"tool_call_response","id":"x","name":"web_search","result":[],"builtin":true}`:   tape.PartData,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`:  tape.PartData,
		`{"type":"tool_call","id":"srvtoolu_1","name":"web_search","arguments":{}}`:               tape.PartData,
		`{"type":"tool-call","toolCallId":"1","toolName":"s","args":{},"providerExecuted":true}`:  tape.PartData,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"title":"no"}]}`: tape.PartData,
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if parts := decode.Parts(exactjson.ArrayValue(v)); len(parts) != 1 || parts[0].Type != want {
			t.Errorf("%s is read as %v", text, parts)
		}
	}
}

func TestCallsThatTheProviderRanAreRead(t *testing.T) {
	for text, want := range map[string]string{
		`[{"type":"server_tool_call","id":"a","name":"s","server_tool_call":{"type":"web_search","q":1}},{"type":"server_tool_call_response","id":"a","server_tool_call_response":{"type":"web_search","r":2}}]`: `a s {"q":1} {"r":2} false`,
		`[{"type":"server_tool_use","id":"srvtoolu_1","name":"s","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error"}}]`:                    `srvtoolu_1 s {} {"type":"web_search_tool_result_error"} true`,
		`[{"type":"web_search_call","id":"ws","action":{"type":"search","query":"q"}}]`:                                                                                                                          `ws web_search {"query":"q"} null false`,
		`[{"type":"code_interpreter_call","id":"ci","code":"1","outputs":[]}]`:                                                                                                                                   `ci code_interpreter {"code":"1"} [] false`,
		`[{"type":"file_search_call","id":"fs","queries":["q"],"results":null}]`:                                                                                                                                 `fs file_search {"queries":["q"]} null false`,
		`[{"executableCode":{"code":"1"}},{"codeExecutionResult":{"output":"1"}}]`:                                                                                                                               ` code_execution {"code":"1"} {"output":"1"} false`,
		`[{"type":"tool-call","toolCallId":"1","toolName":"s","args":{},"providerExecuted":true}]`:                                                                                                               `1 s {} null false`,
		`[{"type":"tool_cal","id":"x","name":"f","arguments":{}}]`:                                                                                                                                               ``,
		`[{"type":"computer_call","id":"c","action":{}},{"type":"tool_call","id":"x","name":"f","args":{}}]`:                                                                                                     ``,
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var parts []decode.Part
		for _, m := range v.Members() {
			if item, ok := decode.ResponseItem(m.Value); ok {
				parts = append(parts, item.Parts...)
			} else {
				parts = append(parts, decode.Parts(exactjson.ArrayValue(m.Value))...)
			}
		}
		got := ""
		for _, c := range decode.ServerCalls(parts) {
			got += fmt.Sprint(c.ID, " ", c.Name, " ", c.Args.JSON(), " ", c.Result.JSON(), " ", c.IsError)
		}
		if got != want {
			t.Errorf("%s\n is %q\nnot %q", text, got, want)
		}
	}
}
