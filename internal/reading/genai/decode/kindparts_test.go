// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// pydanticConversation is what Pydantic AI keeps of a run, as MLflow's instrumentation records it.
const pydanticConversation = `[
	{"kind":"request","instructions":"Be brief.","parts":[{"part_kind":"user-prompt","content":"hi"}]},
	{"kind":"response","finish_reason":"tool_call","parts":[{"part_kind":"text","content":"One moment."},{"part_kind":"tool-call","tool_name":"f","args":"{\"x\":1}","tool_call_id":"c1"},{"part_kind":"tool-call","tool_name":"g","args":{},"tool_call_id":"c2"}]},
	{"kind":"request","instructions":"Be brief.","parts":[{"part_kind":"tool-return","tool_name":"f","content":{"y":2},"tool_call_id":"c1"},{"part_kind":"retry-prompt","tool_name":"g","content":"no","tool_call_id":"c2"}]},
	{"kind":"response","parts":[{"part_kind":"thinking","content":"hm"},{"part_kind":"text","content":"done"}]}]`

func TestMessagesOfPydanticAIAreTakenApart(t *testing.T) {
	messages, ok := decode.Messages(genaitest.Parse(t, pydanticConversation), tape.RoleUser)
	var roles []tape.Role
	for _, m := range messages {
		roles = append(roles, m.Role)
	}
	if !ok || !slices.Equal(roles, []tape.Role{tape.RoleSystem, tape.RoleUser, tape.RoleAssistant, tape.RoleTool, tape.RoleTool, tape.RoleAssistant}) {
		t.Fatalf("roles %v", roles)
	}
	if calls := messages[2].Parts[1:]; len(calls) != 2 || calls[0].ID != "c1" || calls[0].Name != "f" || calls[0].Args.Get("x").JSON() != "1" {
		t.Errorf("calls %v", calls)
	}
	if messages[3].Parts[0].IsError || !messages[4].Parts[0].IsError || messages[3].Parts[0].Result.Get("y").JSON() != "2" {
		t.Errorf("results %v %v", messages[3].Parts, messages[4].Parts)
	}
	response := genaitest.Parse(t, pydanticConversation).At(3)
	if said := decode.OutputMessages(response, 0); len(said) != 1 || said[0].Role != tape.RoleAssistant || len(said[0].Parts) != 2 {
		t.Errorf("answer %v", said)
	}
	// Objects of a kind of their own are no messages, and Gemini's have parts too.
	for _, other := range []string{`{"kind":"request","parts":[{"id":1}]}`, `{"kind":"engine","parts":[{"part_kind":"text","content":"x"}]}`} {
		for _, m := range decode.OutputMessages(genaitest.Parse(t, other), 0) {
			if len(m.Parts) > 0 && m.Parts[0].Type == tape.PartText {
				t.Errorf("%s says %v", other, m.Parts)
			}
		}
	}
	if gemini, _ := decode.Messages(genaitest.Parse(t, `[{"role":"user","parts":[{"text":"hi"}]}]`), tape.RoleUser); len(gemini) != 1 || gemini[0].Parts[0].Text != "hi" {
		t.Errorf("Gemini's %v", gemini)
	}
}

func TestCallsThatStrHasWrittenAreCalls(t *testing.T) {
	one := func(id string) string {
		return `{"type":"text","content":"ResponseFunctionToolCall(arguments='{\"x\": 1}', call_id='` + id + `', name='f', type='function_call', id='fc', async_=None, status='completed')"}`
	}
	messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"assistant","parts":[`+one("c1")+`,`+one("c2")+`]}]`), tape.RoleAssistant)
	if p := messages[0].Parts; len(p) != 2 || p[0].Type != tape.PartToolCall || p[1].ID != "c2" || p[0].Name != "f" || p[0].Args.Get("x").JSON() != "1" {
		t.Errorf("parts %v", p)
	}
	for _, said := range []string{
		`ResponseFunctionToolCall(arguments='{}', call_id='c1', name='f') is how it looks`, `ToolCall(x=1)`, `ToolCall(arguments='{}', call_id='c1', name=<object at 0x7f>)`,
	} {
		v := exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue("assistant")}, exactjson.Member{Name: "content", Value: exactjson.StringValue(said)})
		if m := decode.RoleMessage(v, tape.RoleAssistant); len(m.Parts) != 1 || m.Parts[0].Text != said {
			t.Errorf("%s became %v", said, m.Parts)
		}
	}
	user := genaitest.Parse(t, `[{"role":"user","parts":[`+one("c1")+`]}]`)
	if messages, _ := decode.Messages(user, tape.RoleUser); messages[0].Parts[0].Type != tape.PartText {
		t.Error("what a user wrote is no call")
	}
}

func TestAnswersInWrappersOfFrameworks(t *testing.T) {
	for output, want := range map[string]string{
		`[{"object":"response","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]}]`: "done", // the Agents SDK, of a stream
		`{"raw":"{\"job\":1}","pydantic":null,"tasks_output":[]}`:                                                                   `{"job":1}`,
		`{"raw":"done","output_format":"raw","name":"t"}`:                                                                           "done",
		`{"raw":"done","level":3}`: "",
		`[{"output":"done"}]`:      "",
		`{"result":"done","type":"result","session_id":"s","duration_ms":7}`: "done",
		`{"result":"never","type":"delayed"}`:                                "", // an answer in JSON
		`{"content":"done","type":"ai","response_metadata":{"a":1}}`:         "done",
		`{"input":"q","output":"done","intermediate_steps":[1]}`:             "done", // of a chain
		`{"user_query":"q","chat_history":"[]","response":"done"}`:           "done",
		`{"output":"done","latency":12,"cost_usd":0.1}`:                      "done",
		`{"content":"late","level":3}`:                                       "",
		`{"reasoning":"I look.","answer":"done","level":3}`:                  "done", // a name that says so
	} {
		got := ""
		for _, m := range decode.OutputMessages(genaitest.Parse(t, output), 0) {
			for _, p := range m.Parts {
				got += p.Text
			}
		}
		if got != want {
			t.Errorf("%s answers %q, want %q", output, got, want)
		}
	}
}

func TestOnlyOneConversationSpeaksForAll(t *testing.T) {
	conversation := func(text string) string {
		return `[{"role":"user","content":"` + text + `"},{"role":"assistant","content":"done"}]`
	}
	for value, want := range map[string]int{
		`{"a":{"messages":` + conversation("x") + `}}`:                                              2,
		`{"a":{"messages":` + conversation("x") + `},"b":[{"messages":` + conversation("x") + `}]}`: 2,
		`{"a":{"messages":` + conversation("x") + `},"b":[{"messages":` + conversation("y") + `}]}`: 0,
		`{"a":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}`:                     2,
		`{"a":[{"role":"user","content":"x"}]}`:                                                     0,
	} {
		if got := decode.OnlyTranscript(genaitest.Parse(t, value)); len(got) != want {
			t.Errorf("%s holds %d messages, want %d", value, len(got), want)
		}
	}
}
