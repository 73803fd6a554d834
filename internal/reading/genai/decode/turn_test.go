// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestChunksAndThenTheWholeAreOneAnswer(t *testing.T) {
	const piece, whole = `{"type":"tool_call","id":"c1","name":"f","arguments":null}`, `{"type":"tool_call","id":"c1","name":"f","arguments":{"a":1}}`
	message := func(parts string) string { return `{"role":"assistant","parts":[` + parts + `]}` }
	text := func(s string) string { return `{"type":"text","content":"` + s + `"}` }
	for name, c := range map[string]struct{ list, want string }{
		"text and calls":                 {message(text("On")) + "," + message(text("e")) + "," + message(piece) + "," + message(text("One")+","+whole), `assistant: text(One) call(c1 f {"a":1})`},
		"calls":                          {message(piece) + "," + message(piece) + "," + message(whole), `assistant: call(c1 f {"a":1})`},
		"another text":                   {message(text("One")) + "," + message(text("One, two")), `assistant: text(One) text(One, two)`},
		"a call that is not in the last": {message(whole) + "," + message(text("done")), `assistant: call(c1 f {"a":1}) text(done)`},
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, "["+c.list+"]"), tape.RoleAssistant)
		if got := genaitest.Messages(decode.OneTurn(messages)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestAnswerThatIsAllTurnsIsTheAnswer(t *testing.T) {
	const turns = `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"One moment.","tool_calls":[]},{"role":"tool","content":"r","tool_call_id":"c1"},{"role":"assistant","content":"Done."}]`
	for content, want := range map[string]string{
		"One moment.Done.": "assistant: text(One moment.Done.)",
		"Done.":            "assistant: text(Done.)",
		"moment.Done.":     "assistant: text(Done.)",
		"a title":          "assistant: text(Done.)",
		"":                 "assistant: text(Done.)",
	} {
		said := decode.OneTurn(decode.OutputMessages(genaitest.Parse(t, `{"content":"`+content+`",`+turns+`}`), 0))
		if got := genaitest.Messages(said); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %v, want %s", content, got, want)
		}
	}
}

func TestAnswerInJSONBesideTheRestOfAnOutputIsTheAnswer(t *testing.T) {
	for text, want := range map[string][]string{
		`{"trajectory":{},"answer":"{\"job\":\"12\"}"}`: {`assistant: text({"job":"12"})`},
		`{"trajectory":{},"answer":"plain"}`:            {"assistant: text(plain)"},
		`{"answer":{"job":"12"}}`:                       nil,
		`{"response":"{\"job\":\"12\"}"}`:               nil, // it may be all that a server said
	} {
		if got := genaitest.Messages(decode.OutputMessages(genaitest.Parse(t, text), 0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestResultNamesItsCallBesideItsBlocks(t *testing.T) {
	for text, want := range map[string]string{
		`[{"role":"tool","additional_kwargs":{"tool_call_id":"c1"},"blocks":[{"block_type":"text","text":"v"}]}]`: `tool: result(c1  "v")[content_blocks]`,
		`[{"role":"user","additional_kwargs":{"tool_call_id":"c1"},"blocks":[{"block_type":"text","text":"v"}]}]`: "user: text(v)",
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, text), tape.RoleUser)
		if got := genaitest.Messages(messages); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

func TestInputIsTheWholeListThatStrWrote(t *testing.T) {
	for text, want := range map[string][]string{
		`[Message(id='1', role='user', content='a', metrics=M(n=0)), Message(role='assistant', content='b'), Message(role='user', content='c')]`: {"user: text(a)", "assistant: text(b)", "user: text(c)"},
		`[Message(role='user', content='a'), <object at 0x7f>]`:                                                                                  nil,
		`[Message(role='user', cont`:                nil,
		`Message(role='user') is how it is written`: nil,
	} {
		input, ok := decode.OpenInput([]decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(text)}}})
		if got := genaitest.Messages(input); ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", text, ok, got, want)
		}
	}
}

// What str() of Mistral's package makes of the calls in a request holds their ids.
func TestCallsThatWerePrintedOneByOne(t *testing.T) {
	for printed, want := range map[string]string{
		`function=FunctionCall(name='f', arguments='{\"a\": 1}') id='c1' type='function'`: `assistant: call(c1 f {"a":1})`,
		`function=None id='c1' type='function'`:                                           "assistant: call(  null)",
		`call f with a=1`:                                                                 "assistant: call(  null)",
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"assistant","content":"","tool_calls":["`+printed+`"]}]`), tape.RoleUser)
		if got := genaitest.Messages(messages); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", printed, got, want)
		}
	}
}

func TestAnswerInTheEventOfAStream(t *testing.T) {
	for text, want := range map[string][]string{
		`{"data":{"id":"x","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}}`: {"assistant: text(hi) -> stop"},
		`{"data":{"choices":2}}`: nil,
		`{"data":{"choices":[{"message":{"role":"assistant","content":"hi"}}]},"page":1}`: nil,
	} {
		if got := genaitest.Messages(decode.OutputMessages(genaitest.Parse(t, text), 0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestALoopInOneAnswerIsItsTurns(t *testing.T) {
	text := func(s string) decode.Part { return decode.TextPart(s) }
	call := func(id string) decode.Part {
		return decode.Part{Part: tape.Part{Type: tape.PartToolCall, ID: id, Name: "f"}}
	}
	result := func(id string) decode.Part { return decode.Part{Part: tape.Part{Type: tape.PartToolResult, ID: id}} }
	said := func(parts ...decode.Part) decode.Message {
		return decode.Message{Role: tape.RoleAssistant, Parts: parts}
	}
	told := func(parts ...decode.Part) decode.Message { return decode.Message{Role: tape.RoleTool, Parts: parts} }
	for name, c := range map[string]struct {
		output []decode.Message
		want   string // roles and parts
	}{
		"one answer in two messages":     {[]decode.Message{said(text("a")), said(call("1"))}, "assistant 2"},
		"a loop":                         {[]decode.Message{said(text("a")), said(call("1")), told(result("1")), said(text("b"))}, "assistant 2, tool 1, assistant 1"},
		"a loop in one message":          {[]decode.Message{said(call("1"), call("2"), result("1"), result("2"), text("b"))}, "assistant 2, tool 2, assistant 1"},
		"a loop without its end":         {[]decode.Message{said(call("1")), told(result("1"))}, "assistant 1, tool 1"},
		"what the provider ran itself":   {[]decode.Message{said(call("1"), result("1"))}, "assistant 2"},
		"a result that nobody asked for": {[]decode.Message{said(result("9"), text("b"))}, "assistant 2"},
	} {
		got := ""
		for i, m := range decode.OneTurn(c.output) {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%s %d", m.Role, len(m.Parts))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
