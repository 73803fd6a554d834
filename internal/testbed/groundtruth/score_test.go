// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func truthOf(t *testing.T, doc string) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(doc)
	require.NoError(t, err)
	return v
}

// Equal calls of one turn ran at the same time, so any of their entries may answer any of them. Those of two turns ran one after the other, and each entry answers once.
func TestEntriesOfEqualCallsOfOneTurn(t *testing.T) {
	const args = `{"x":1}`
	entry := func(result string) oracle.Entry {
		return oracle.Entry{ToolName: "f", ArgsHash: oracle.HashText(args), Response: result}
	}
	for name, c := range map[string]struct {
		second string // the turn of the second call
		left   []oracle.Entry
		want   string
	}{
		"as they ran":         {"0", []oracle.Entry{entry("a"), entry("b")}, ""},
		"the other way":       {"0", []oracle.Entry{entry("b"), entry("a")}, ""},
		"of two turns":        {"1", []oracle.Entry{entry("a"), entry("b")}, ""},
		"mixed up":            {"1", []oracle.Entry{entry("b"), entry("a")}, `another answer for f: "b"`},
		"one of them twice":   {"0", []oracle.Entry{entry("a"), entry("a")}, `another answer for f: "a"`},
		"one entry is wrong":  {"0", []oracle.Entry{entry("c"), entry("a")}, `another answer for f: "c"`},
		"one is missing":      {"0", []oracle.Entry{entry("a")}, "no answer for f"},
		"one is never served": {"0", []oracle.Entry{{ToolName: "f", ArgsHash: oracle.HashText(args), Response: "a", ResponseFidelity: oracle.Missing}, entry("b")}, "an entry that is never served for f"},
		"one more":            {"0", []oracle.Entry{entry("a"), entry("b"), entry("b")}, "1 entries that nobody asked for"},
	} {
		truth := truthOf(t, `{"scenario":"s","requested_but_not_executed":[],"tool_calls":[
			{"order":0,"name":"f","args":`+args+`,"args_raw":"{\"x\":1}","result":"a","llm_order":0},
			{"order":1,"name":"f","args":`+args+`,"args_raw":"{\"x\":1}","result":"b","llm_order":`+c.second+`}]}`)
		var calls []value
		for _, m := range truth.Get("tool_calls").Members() {
			calls = append(calls, m.Value)
		}
		assert.Equal(t, c.want, Live(truth).unserved(calls, c.left), name)
	}
}

// A framework may put text of its own around the instructions, and indent them. Other words are other instructions.
func TestInstructionsThatAFrameworkIndents(t *testing.T) {
	for told, want := range map[string]Outcome{
		"You are terse.\nAnswer in one word.":                            Exact,
		"Your tools: none.\n    You are terse.\n    Answer in one word.": Exact,
		"You are terse.\nAnswer in two words.":                           Wrong,
	} {
		run := Live(truthOf(t, `{"system_prompt":"You are terse.\nAnswer in one word.","tool_calls":[]}`))
		for _, row := range run.Score([]*tape.Tape{{Input: tape.Input{SystemPrompt: &told}}}) {
			if row.Field == "system_prompt" {
				assert.Equal(t, want, row.Outcome, told)
			}
		}
	}
}

// A call that returned null and an equal one that failed and left no result are told apart; null may be written as a text.
func TestCallThatFailedIsNotTheOneThatReturnedNull(t *testing.T) {
	truth := truthOf(t, `[{"name":"f","args":{},"result":null,"error":null},{"name":"f","args":{},"result":null,"error":"timeout","sent_to_model":"Error: timeout"}]`)
	failed := tape.Event{Type: tape.EventToolCall, Seq: 4, Name: "f", Status: tape.EventError, Error: &tape.Error{Message: "timeout"}}
	returned := tape.Event{Type: tape.EventToolCall, Seq: 2, Name: "f", Result: exactjson.StringValue("None")}
	pairs, lost, extra := match(truth.Members(), []tape.Event{failed, returned})
	require.Len(t, pairs, 2)
	assert.Empty(t, lost)
	assert.Empty(t, extra)
	for _, p := range pairs {
		assert.Equal(t, p.call.Get("error").IsEmpty(), p.event.Seq == 2)
	}
	assert.True(t, returns(truth.At(0), exactjson.StringValue("None")))
	assert.False(t, returns(truth.At(0), exactjson.StringValue("nothing")))
	assert.False(t, returns(truthOf(t, `{"name":"f","args":{},"result":"x","error":null}`), exactjson.StringValue("None")))
}
