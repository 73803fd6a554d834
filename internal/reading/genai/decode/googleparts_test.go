// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

func TestPartsOfGooglesClientThatWerePrintedAreOpened(t *testing.T) {
	const (
		called   = "media_resolution=None function_call=FunctionCall(\n  args={'city': 'Paris'},\n  name='look'\n) function_response=None inline_data=None text=None thought=None"
		returned = "media_resolution=None function_call=None function_response=FunctionResponse(\n  name='look',\n  response={\n    'result': 'rain'\n  }\n) inline_data=None text=None"
		elided   = "media_resolution=None function_call=FunctionCall(\n  args={'days': [<... 4 items at Max depth ...>]},\n  name='look'\n) function_response=None inline_data=None text=None"
	)
	said := func(role tape.Role, texts ...string) decode.Message {
		m := decode.Message{Role: role}
		for _, text := range texts {
			m.Parts = append(m.Parts, decode.TextPart(text))
		}
		return m
	}
	for name, c := range map[string]struct {
		messages []decode.Message
		want     []tape.PartType
	}{
		"a call and its result":    {[]decode.Message{said(tape.RoleAssistant, "I look.", called), said(tape.RoleUser, returned)}, []tape.PartType{tape.PartText, tape.PartToolCall, tape.PartToolResult}},
		"one with its middle gone": {[]decode.Message{said(tape.RoleAssistant, called, elided), said(tape.RoleUser, returned)}, []tape.PartType{tape.PartText, tape.PartText, tape.PartText}},
		"what a user writes of it": {[]decode.Message{said(tape.RoleUser, "why is function_call= printed beside function_response= and inline_data=?")}, []tape.PartType{tape.PartText}},
	} {
		var got []tape.PartType
		opened := decode.OpenGoogleParts(c.messages)
		for _, m := range opened {
			for _, p := range m.Parts {
				got = append(got, p.Type)
			}
		}
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", name, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		if last := opened[len(opened)-1]; len(c.want) == 3 && c.want[2] == tape.PartToolResult && last.Role != tape.RoleTool {
			t.Errorf("%s: the result is of %s", name, last.Role)
		}
	}
}

func FuzzOpenGoogleParts(f *testing.F) {
	for _, text := range []string{
		"media_resolution=None function_call=FunctionCall(\n  args={'city': 'Paris'},\n  name='look'\n) function_response=None inline_data=None text=None thought=None",
		"media_resolution=None function_call=None function_response=FunctionResponse(\n  name='look',\n  response={\n    'result': 'rain'\n  }\n) inline_data=None text=None",
		"function_call= function_response= inline_data=",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		messages := []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("said"), decode.TextPart(text)}}}
		opened := decode.OpenGoogleParts(messages)
		if len(opened) != 1 || len(opened[0].Parts) != 2 || opened[0].Parts[0].Text != "said" || messages[0].Parts[1].Text != text {
			t.Errorf("%+v", opened)
		}
		if again := decode.OpenGoogleParts(opened); again[0].Parts[1].Type != opened[0].Parts[1].Type {
			t.Errorf("opened twice: %s, %s", opened[0].Parts[1].Type, again[0].Parts[1].Type)
		}
	})
}
