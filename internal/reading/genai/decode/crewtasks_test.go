// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestTaskOfCrewAIIsToldFromTheWordsAroundIt(t *testing.T) {
	const behind = "\n\nThis is the expected criteria for your final answer: The answer.\nyou MUST return the actual complete content as the final answer, not a summary."
	for name, c := range map[string]struct{ text, task string }{
		"to a model":       {"\nCurrent Task: Count the days." + behind + "\n\nBegin! This is VERY important to you, use the tools available and give your best Final Answer, your job depends on it!\n\nThought:", "Count the days."},
		"to an agent":      {"Count the days.\n\nQuickly:\n" + behind, "Count the days.\n\nQuickly:\n"},
		"no demand":        {"Count the days.\n\nThis is the expected criteria for your final answer: a number.", ""},
		"another order":    {"you MUST return the actual complete content as the final answer, not a summary.\nThis is the expected criteria for your final answer: x", ""},
		"of another":       {"Current Task: Count the days.\n\nBegin!", ""},
		"no task":          {"\nCurrent Task: " + behind, ""},
		"words within one": {"Say: This is the expected criteria for your final answer: x", ""},
	} {
		asked := []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(c.text)}}}
		got := decode.OpenTasks(asked)
		if asked[0].Parts[0].Text != c.text || len(asked[0].Parts) != 1 {
			t.Errorf("%s: the message was changed in place", name)
		}
		var all, task string
		for _, p := range got[0].Parts {
			all += p.Text
			if !p.Injected {
				task += p.Text
			}
		}
		want := c.task
		if want == "" {
			want = c.text
		}
		if all != c.text || task != want {
			t.Errorf("%s: task %q of %q", name, task, all)
		}
	}
	said := []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("x" + behind)}}}
	if got := decode.OpenTasks(said); len(got[0].Parts) != 1 {
		t.Error("what the assistant said is no task")
	}
}

// AWS's instrumentation of CrewAI writes names and arguments of calls as repr() does.
func TestNamesInQuotesOfPython(t *testing.T) {
	for _, c := range []struct{ name, args, wantName, wantArgs string }{
		{"'look'", `'{"x": "it\'s"}'`, "look", `{"x":"it's"}`},
		{"'look'", `{"x":1}`, "look", `{"x":1}`},
		{"look", `'{"x":1}'`, "look", `"'{\"x\":1}'"`},
		{"'it's'", `{}`, "'it's'", `{}`},
		{"'look at'", `{}`, "'look at'", `{}`},
	} {
		p := decode.CallPart("c1", c.name, exactjson.StringValue(c.args))
		if p.Name != c.wantName || p.Args.JSON() != c.wantArgs {
			t.Errorf("%s(%s): %s(%s)", c.name, c.args, p.Name, p.Args.JSON())
		}
	}
}

func TestReprsOfResultsAreOpened(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		failed     bool
	}{
		"AgentScope":       {`ToolResponse(content=[{'type': 'text', 'text': 'rows'}], metadata=None, stream=False, id='1')`, `"rows"`, false},
		"as JSON":          {`"ToolResponse(content=[{'type': 'text', 'text': \"it's\"}], metadata=None)"`, `"it's"`, false},
		"MCP":              {`CallToolResult(meta=None, content=[TextContent(type='text', text='no such row', annotations=None)], structuredContent=None, isError=True)`, `"no such row"`, true},
		"a tool's message": {`{"name":"look","tool_call_id":"call_5INQHKHN6TCF7SBDPY2VHF","content":["a"]}`, `["a"]`, false},
		"a made-up id":     {`{"name":"look","tool_call_id":"call_1","content":["a"]}`, `"{\"name\":\"look\",\"tool_call_id\":\"call_1\",\"content\":[\"a\"]}"`, false},
		"no blocks":        {`ToolResponse(content=['rows'], metadata=None)`, `"ToolResponse(content=['rows'], metadata=None)"`, false},
		"another class":    {`Rows(content=[{'type': 'text', 'text': 'rows'}])`, `"Rows(content=[{'type': 'text', 'text': 'rows'}])"`, false},
		"more behind":      {`ToolResponse(content=[{'type': 'text', 'text': 'rows'}]) and more`, `"ToolResponse(content=[{'type': 'text', 'text': 'rows'}]) and more"`, false},
		"of an address":    {`ToolResponse(content=[<Block object at 0x7f>])`, `"ToolResponse(content=[<Block object at 0x7f>])"`, false},
		"no content in it": {`ToolResponse(metadata=None)`, `"ToolResponse(metadata=None)"`, false},
	} {
		u := decode.UnwrapResult(decode.Content{Value: exactjson.StringValue(c.text)})
		if u.Content.Value.JSON() != c.want || u.IsError != c.failed {
			t.Errorf("%s: %s, failed %t", name, u.Content.Value.JSON(), u.IsError)
		}
	}
}
