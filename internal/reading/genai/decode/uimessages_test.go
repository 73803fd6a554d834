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

func TestMessagesForAUserInterfaceAreOpened(t *testing.T) {
	for _, c := range []struct {
		message string
		want    []string
	}{
		{`{"role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"a look"},
			{"type":"tool-look","toolCallId":"call_1","state":"output-available","input":{"x":1},"output":"r"},
			{"type":"dynamic-tool","toolName":"ask","toolCallId":"call_2","state":"output-error","input":{},"errorText":"no"},
			{"type":"step-start"},{"type":"text","text":"end"}]}`,
			[]string{`assistant: text(a look) call(call_1 look {"x":1}) call(call_2 ask {})`, `tool: result(call_1 look "r") result(call_2 ask "no")!`, `assistant: text(end)`}},
		{`{"role":"assistant","parts":[{"type":"tool-invocation","toolInvocation":{"toolCallId":"call_1","toolName":"look","state":"result","args":{"x":1},"result":7}},{"type":"text","text":"end"}]}`,
			[]string{`assistant: call(call_1 look {"x":1})`, `tool: result(call_1 look 7)`, `assistant: text(end)`}},
		{`{"role":"assistant","parts":[{"type":"tool-look","toolCallId":"call_1","state":"input-available","input":{"x":1}}]}`,
			[]string{`assistant: call(call_1 look {"x":1})`}},
		{`{"role":"assistant","parts":[{"type":"tool-look","text":"a part of no call"}]}`, nil},
		{`{"role":"assistant","parts":[{"type":"tool-call","toolCallId":"call_1","toolName":"look","state":"call","args":{"x":1}},
			{"type":"tool-result","toolCallId":"call_1","toolName":"look","state":"result","result":"r"}]}`,
			[]string{`assistant: call(call_1 look {"x":1}) result(call_1 look "r")`}},
		{`{"role":"assistant","parts":[{"type":"tool-search","toolCallId":"call_1","providerExecuted":true,"state":"output-available","input":{},"output":"r"}]}`, nil},
		{`{"role":"assistant","parts":[{"type":"card","toolName":"look","toolCallId":"call_1","state":"shown"}]}`, nil},
		{`{"role":"user","parts":[{"type":"tool-look","toolCallId":"call_1","state":"output-available","input":{"x":1},"output":"r"}]}`, nil},
		{`{"role":"user","content":"{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool-look\",\"toolCallId\":\"call_1\",\"state\":\"output-available\",\"input\":{}}]}"}`, nil},
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, c.message), tape.RoleUser)
		if got := genaitest.Messages(messages); c.want != nil && !slices.Equal(got, c.want) || c.want == nil && decode.HasCalls(messages[0]) {
			t.Errorf("%s\nis read as %q, want %q", c.message, got, c.want)
		}
	}
}

// FuzzTranscript looks for conversations in any JSON, those for a user interface among them.
func FuzzTranscript(f *testing.F) {
	f.Add(`{"state":[{"role":"assistant","parts":[{"type":"tool-f","toolCallId":"c","state":"output-available","input":{},"output":1},{"type":"step-start"},{"type":"text","text":"x"}]}]}`)
	f.Add(`[{"role":"assistant","parts":[{"type":"tool-invocation","toolInvocation":{"toolCallId":"c","toolName":"f","state":"result","args":{},"result":"r"}}]}]`)
	f.Add(`{"messages":"[{\"role\":\"user\",\"content\":\"q\"}]"}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := exactjson.Parse(text)
		if err != nil {
			return // no JSON
		}
		once := genaitest.Messages(decode.Transcript(v))
		if again := genaitest.Messages(decode.Transcript(v)); !slices.Equal(once, again) {
			t.Fatalf("read twice: %q, then %q", once, again)
		}
	})
}

func TestNullIsTheAnswerOfAUITool(t *testing.T) {
	messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"assistant","parts":[{"type":"tool-f","toolCallId":"c1","state":"output-available","input":{},"output":null}]}]`), tape.RoleAssistant)
	if len(messages) != 2 || messages[1].Parts[0].Result.Kind() != exactjson.Null {
		t.Errorf("got %+v", messages)
	}
}
