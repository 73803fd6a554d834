// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestFieldsAreWhatStrMakesOfAModel(t *testing.T) {
	for text, want := range map[string]string{
		`status='success' result={'a': [1, None]} error=None`: `{"status":"success","result":{"a":[1,null]},"error":null}`,
		`content='x y=1' id=Kind(v=2)`:                        `{"content":"x y=1","id":{"v":2}}`,
		`content='one field'`:                                 "",
		`a=1 a=2`:                                             "",
		`a=1 b=<object at 0x7f>`:                              "",
		`a=1 and b=2`:                                         "",
		`total=3 items`:                                       "",
		``:                                                    "",
	} {
		v, lossy, ok := decode.Fields(text)
		if ok != (want != "") || ok && v.JSON() != want || lossy != strings.Contains(text, "Kind(") {
			t.Errorf("%s is %s (%v), want %s", text, v.JSON(), ok, want)
		}
	}
	// A megabyte of fields would be compared with each other.
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "f%d=1 ", i)
		if _, _, ok := decode.Fields(many.String()); ok != (i > 0 && i < 256) {
			t.Errorf("%d fields: %v", i+1, ok)
		}
	}
}

func TestMessagesThatStrHasWrittenHaveTheirRole(t *testing.T) {
	list := genaitest.Parse(t, `["content='hi' additional_kwargs={} response_metadata={} id='1'",
		"content='' additional_kwargs={} response_metadata={'model_name': 'm'} id='run-1' tool_calls=[{'name': 'f', 'args': {'x': 1}, 'id': 'c1', 'type': 'tool_call'}]",
		"content='v' name='f' tool_call_id='c1'",
		"content='done' additional_kwargs={} response_metadata={'model_name': 'm'} id='run-2'",
		"content='no steps left' additional_kwargs={} response_metadata={} id='run-3-0'",
		"content='and' additional_kwargs={} response_metadata={} id='running'"]`)
	messages, ok := decode.Messages(list, tape.RoleUser)
	if !ok || len(messages) != 6 {
		t.Fatalf("%d messages", len(messages))
	}
	for i, role := range []tape.Role{tape.RoleUser, tape.RoleAssistant, tape.RoleTool, tape.RoleAssistant, tape.RoleAssistant, tape.RoleUser} {
		if messages[i].Role != role {
			t.Errorf("message %d is of %s, want %s", i, messages[i].Role, role)
		}
	}
	if p := messages[1].Parts; len(p) == 0 || p[len(p)-1].Type != tape.PartToolCall || p[len(p)-1].ID != "c1" {
		t.Errorf("the call is lost: %v", p)
	}
	if p := messages[3].Parts; len(p) != 1 || p[0].Text != "done" {
		t.Errorf("the answer is %v", p)
	}
	for _, text := range []string{"content='hi'", "content is king", "content='hi' more=1"} {
		if decode.IsDescribedMessage(text) {
			t.Errorf("%q is taken for a message", text)
		}
	}
}

func TestOutcomesThatFrameworksWrapAreOpened(t *testing.T) {
	for text, want := range map[string]struct {
		result, envelope string
		failed           bool
	}{
		`"status='success' result={'temp': 17} error=None files=None"`: {`{"temp":17}`, "python.fields", false},
		`"status='failure' result=None error='no such record'"`:        {`"no such record"`, "python.fields", true},
		`"total=3 result=4"`: {`"total=3 result=4"`, "", false},
		`{"output":"content='17' name='f' tool_call_id='c1'"}`:          {`"17"`, "langchain.output", false},
		`{"id":"c1","name":"f","response":{"result":17}}`:               {`17`, "gemini.function_response", false},
		`{"id":"c1","name":"f","response":{"result":{"a":1}}}`:          {`{"result":{"a":1}}`, "gemini.function_response", false},
		`{"id":"c1","name":"f","response":{"result":1,"next":2}}`:       {`{"result":1,"next":2}`, "gemini.function_response", false},
		`{"id":"c1","name":"f","response":"text"}`:                      {`{"id":"c1","name":"f","response":"text"}`, "", false},
		`{"id":"c1","name":"f","response":{"result":1},"status":"new"}`: {`{"id":"c1","name":"f","response":{"result":1},"status":"new"}`, "", false},
	} {
		u := decode.UnwrapResult(decode.Content{Value: genaitest.Parse(t, text)})
		first := ""
		if len(u.Content.Envelope) > 0 {
			first = u.Content.Envelope[0]
		}
		if u.Content.Value.JSON() != want.result || first != want.envelope || u.IsError != want.failed {
			t.Errorf("%s is %s in %v (failed %v), want %v", text, u.Content.Value.JSON(), u.Content.Envelope, u.IsError, want)
		}
	}
}

func TestParametersOfTheFrameAreNoArguments(t *testing.T) {
	for text, want := range map[string]string{
		`{"args":{},"city":"Paris","sanitize_inputs_outputs":true}`:  `{"city":"Paris"}`,
		`{"args":[],"sanitize_inputs_outputs":true}`:                 `{}`,
		`{"args":[1],"city":"Paris","sanitize_inputs_outputs":true}`: `{"args":[1],"city":"Paris","sanitize_inputs_outputs":true}`,
		`{"args":{},"city":"Paris"}`:                                 `{"args":{},"city":"Paris"}`,
	} {
		if got := decode.UnwrapArgs(decode.Content{Value: genaitest.Parse(t, text)}); got.Value.JSON() != want {
			t.Errorf("%s is %s, want %s", text, got.Value.JSON(), want)
		}
	}
}

// Behind what a message of agno says stand objects of which str() tells the address alone; what says less than a message does is a text.
func TestMessagesOfAgnoAsStrWritesThemAreRead(t *testing.T) {
	const rest = " audio=None metrics=MessageMetrics(tokens=0, timer=<agno.utils.timer.Timer object at 0x7f1>) created_at=1"
	for text, want := range map[string]string{
		"role='tool' content='timeout' name=None tool_call_id='c1' tool_calls=None tool_name='f' tool_call_error=True" + rest:                                                     "tool tool_result c1 true",
		"role='tool' content='3' name=None tool_call_id='c1' tool_calls=None tool_name='f' tool_call_error=False" + rest:                                                          "tool tool_result c1 false",
		"role='assistant' content=None name=None tool_call_id=None tool_calls=[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}] audio=None" + rest: "assistant tool_call c1 false",
		"role='user' content='q' name=None tool_call_id=None tool_calls=None" + rest:                                                                                              "user text  false",
		"role='user' content='q' and more":                                     "",
		"role='admin' content='q' name=None tool_call_id=None tool_calls=None": "",
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, `[`+fmt.Sprintf("%q", text)+`]`), tape.RoleUser)
		got := ""
		if decode.IsDescribedMessage(text) && len(messages) == 1 && len(messages[0].Parts) == 1 {
			p := messages[0].Parts[0]
			got = fmt.Sprintf("%s %s %s %v", messages[0].Role, p.Type, p.ID, p.IsError)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Gemini's API takes objects alone: what a result was sent in may have been written as a text. A text of another shape is what the tool returned.
func TestResponsesToGeminiThatWereWrittenAsTextAreOpened(t *testing.T) {
	for response, want := range map[string]string{`"{\"result\":\"17\"}"`: `"17"`, `"{\"result\":1,\"next\":2}"`: `"{\"result\":1,\"next\":2}"`, `"result"`: `"result"`} {
		messages := []decode.Message{{Role: tape.RoleTool, Parts: []decode.Part{decode.ResultPart("", "f", genaitest.Parse(t, response), false)}}}
		messages = decode.OpenGemini(messages, true)
		if got := messages[0].Parts[0].Result.JSON(); got != want {
			t.Errorf("%s is %s, want %s", response, got, want)
		}
	}
}

func TestAnAnswerInJSONUnderTheNameOfAnAnswerIsTheAnswer(t *testing.T) {
	for output, want := range map[string]string{
		`{"trajectory":{"thought_0":"t"},"answer":"{\"output\":\"late\",\"no\":1}"}`: `{"output":"late","no":1}`,
		`{"answer":"{\"output\":\"late\"}"}`:                                         "late", // an object around one text
		`{"answer":{"output":"late","no":1}}`:                                        "late", // it was handed on as an object
	} {
		said := decode.OutputMessages(genaitest.Parse(t, output), 0)
		if len(said) != 1 || len(said[0].Parts) != 1 || said[0].Parts[0].Text != want {
			t.Errorf("%s: %v, want %s", output, said, want)
		}
	}
}
