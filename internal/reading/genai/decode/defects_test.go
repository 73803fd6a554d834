// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestOneIndexSpeltTwoWaysHasOneOrder(t *testing.T) {
	first := ""
	for range 200 {
		v := genaitest.Flat("m.0", "a", "m.00", "b", "m.000", "c", "m.+0", "d", "m.-0", "e").Unflatten("m.")
		if first == "" {
			first = v.JSON()
		}
		if v.JSON() != first {
			t.Fatalf("%s, then %s", first, v.JSON())
		}
	}
}

func TestIndexBeyondAllNumbersDoesNotTurnAListIntoAnObject(t *testing.T) {
	v := genaitest.Flat("m.0", "a", "m.2", "b", "m.10", "c", "m.99999999999999999999", "z").Unflatten("m.")
	if v.JSON() != `["a","b","c"]` {
		t.Errorf("%s", v.JSON())
	}
}

func TestTextInParenthesesIsNoTuple(t *testing.T) {
	for _, text := range []string{`(1)`, `('a')`, `[(2)]`, `[007]`, `{'code': 0123}`} {
		if v, lossy, ok := decode.Python(text); ok && !lossy {
			t.Errorf("%s is read as %s, which Python would not", text, v.JSON())
		}
	}
}

func TestIDInAListLosesItsPadding(t *testing.T) {
	for text, want := range map[string]string{`[" call_1","fc_1"]`: "call_1", `["unknown"]`: "", `[" a "]`: "a"} {
		if got := decode.TextOfID(genaitest.Parse(t, text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestToolDefinitionInTheRoleOfAToolIsNoResult(t *testing.T) {
	messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"user","content":"hi"},{"role":"tool","content":{"type":"function","function":{"name":"f","parameters":{}}}}]`), tape.RoleUser)
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolResult {
				t.Errorf("a definition is read as %s", genaitest.Part(p))
			}
		}
	}
}

func TestErrorInAResultPartIsAnError(t *testing.T) {
	for _, text := range []string{
		`[{"role":"tool","content":[{"type":"tool_result","tool_use_id":"c1","error":"no such file"}]}]`,
		`[{"role":"tool","content":[{"type":"tool-error","toolCallId":"c1","toolName":"f","error":"no such file"}]}]`,
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, text), tape.RoleUser)
		if p := messages[0].Parts[0]; !p.IsError {
			t.Errorf("%s is read as %s", text, genaitest.Part(p))
		}
	}
}

func TestBytesOfMediaAreNeverKept(t *testing.T) {
	const secret = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk"
	for name, part := range map[string]string{
		"OpenAI file":        `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + secret + `"}}`,
		"OpenAI audio":       `{"type":"input_audio","input_audio":{"data":"` + secret + `","format":"wav"}}`,
		"AI SDK image":       `{"type":"image","image":"` + secret + `","mimeType":"image/png"}`,
		"Bedrock document":   `{"document":{"format":"pdf","name":"a","source":{"bytes":"` + secret + `"}}}`,
		"Bedrock video":      `{"video":{"format":"mp4","source":{"bytes":"` + secret + `"}}}`,
		"file_data as bytes": `{"type":"input_file","filename":"a.pdf","file_data":"` + secret + `"}`,
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, `[{"role":"user","content":[`+part+`]}]`), tape.RoleUser)
		for _, p := range messages[0].Parts {
			if strings.Contains(genaitest.Part(p), secret) {
				t.Errorf("%s: %s", name, genaitest.Part(p))
			}
		}
	}
}

func TestReprOfAToolMessageThatHasANameIsOpened(t *testing.T) {
	for text, want := range map[string]string{
		"content='v' name='f' tool_call_id='c1'":                            "v",
		"content=\"it's\" name='f' id='i' tool_call_id='c1' status='error'": "it's",
		"content=\"a' name='b\" name='f' tool_call_id='c1'":                 "a' name='b",
	} {
		if u := decode.UnwrapResult(decode.Content{Value: genaitest.Text(text)}); u.Content.Value.Str() != want || u.CallID != "c1" {
			t.Errorf("%s is %s", text, u.Content.Value.JSON())
		}
	}
}
