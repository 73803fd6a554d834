// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
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
