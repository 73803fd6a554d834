// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The state of a graph, as str() writes it, is a dict of messages that are written as the calls which would make them.
func TestStateOfAGraphAsPythonWritesIt(t *testing.T) {
	for text, want := range map[string]int{
		`{'messages': [HumanMessage(content='q', additional_kwargs={}), AIMessage(content='', tool_calls=[{'name': 'f', 'args': {'x': 1}, 'id': 'c1', 'type': 'tool_call'}]), ToolMessage(content='r', name='f', tool_call_id='c1'), AIMessage(content='a')], 'steps': 2}`: 4,
		`{'messages': [HumanMessage(content='q'), <Message at 0x7f>]}`: 0,
		`{'messages': [HumanMessage(content='q'`:                       0,
		`{'a': 1, 'note': 'HumanMessage(content=1)'}`:                  0,
	} {
		if got := decode.Transcript(exactjson.StringValue(text)); len(got) != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
