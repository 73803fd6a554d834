// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestMessagesBetweenActorsAreReadByTheirContent(t *testing.T) {
	const usage = `"models_usage":{"prompt_tokens":1,"completion_tokens":2}`
	for text, want := range map[string]string{
		`{"message":{"id":"1","source":"w",` + usage + `,"content":[{"id":"c","name":"f","arguments":"{}"}]}}`: "assistant tool_call answered",
		`{"source":"w",` + usage + `,"content":"hi"}`:                                                          "assistant text answered",
		`{"source":"user",` + usage + `,"content":"hi"}`:                                                       "assistant text answered",
		`{"source":"user","models_usage":null,"content":"hi"}`:                                                 "user text",
		`{"source":"w","content":"I think"}`:                                                                   "assistant text",
		`{"source":"w","content":[{"call_id":"c","name":"f","content":"r"}]}`:                                  "tool tool_result",
		`{"messages":[{"source":"user","content":"hi"},{"source":"w","content":"yes"}]}`:                       "user text, assistant text",
		`{"source":"w","content":"a piece","type":"ModelClientStreamingChunkEvent"}`:                           "",
		`{"source":"w","content":{"rows":3}}`:                                                                  "",
		`{"source":"w","content":[{"name":"f"}]}`:                                                              "",
		`{"content":"hi"}`: "",
		`No Message`:       "",
	} {
		got := ""
		for _, p := range decode.PostedMessages(exactjson.StringValue(text)) {
			if got != "" {
				got += ", "
			}
			got += string(p.Message.Role)
			for _, part := range p.Message.Parts {
				got += " " + string(part.Type)
			}
			if p.Answered {
				got += " answered"
			}
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
}

func TestAddressesOfObjectsAreNoResults(t *testing.T) {
	for text, lost := range map[string]bool{
		"<a.Content object at 0x7f92dae9e570>":                                      true,
		"[<a.Content object at 0x7f92dae9e570>]":                                    true,
		"[<a.Content object at 0x7f92dae9e570>, <b.Text object at 0x7f92dae9e571>]": true,
		"[<a.Content object at 0x7f92dae9e570>, 3]":                                 false,
		"it is [<a.Content object at 0x7f92dae9e570>]":                              false,
		"[]": false,
	} {
		if got := !decode.Result(exactjson.StringValue(text), false).Present(); got != lost {
			t.Errorf("%s is no result: %t", text, got)
		}
	}
}

func TestAMessageOfTheAssistantThatNamesACallIsThatCall(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"assistant","tool_call_id":"c1","content":"{\"name\": \"f\", \"arguments\": \"{\\\"a\\\":1}\"}"}`:  `tool_call f {"a":1}`,
		`{"role":"assistant","content":"{\"name\": \"f\", \"arguments\": \"{}\"}"}`:                                 "text",
		`{"role":"assistant","tool_call_id":"c1","content":"I call f."}`:                                            "text",
		`{"role":"assistant","tool_call_id":"c1","content":"{\"name\": \"Ann\", \"age\": 3}"}`:                      "text",
		`{"role":"assistant","tool_call_id":"c1","content":"{\"name\": \"f\", \"arguments\": {}, \"why\": \"x\"}"}`: "text",
		`{"role":"tool","tool_call_id":"c1","content":"{\"name\": \"f\", \"arguments\": \"{}\"}"}`:                  "tool_result",
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range decode.RoleMessage(v, "").Parts {
			got += string(p.Type)
			if p.Type == "tool_call" {
				got += " " + p.Name + " " + p.Args.JSON()
			}
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
}
