// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Echo is the call by which a model answered, where a conversation ends with what a framework makes of it: a
// result that is what the tool was handed and, in the role of the model, a text that calls it the structured
// response. No model said that.
func Echo(state []genai.Message) *genai.Part {
	if len(state) < 3 {
		return nil
	}
	asks, shows, says := state[len(state)-3], state[len(state)-2], state[len(state)-1]
	calls := CallsOf(asks.Parts)
	if asks.Role != tape.RoleAssistant || says.Role != tape.RoleAssistant || len(CallsOf(says.Parts)) > 0 ||
		len(calls) != 1 || calls[0].Args.Kind() != exactjson.Object ||
		len(shows.Parts) != 1 || shows.Parts[0].Type != tape.PartToolResult || !answersWith(&shows.Parts[0], calls[0]) {
		return nil
	}
	text := PartsText(says.Parts)
	at := strings.IndexByte(text, '{')
	if at < 0 || !saysStructured.MatchString(text[:at]) {
		return nil
	}
	if again, ok := decode.ParseStructure(text[at:]); !ok || !SameValue(again, calls[0].Args) {
		return nil
	}
	return calls[0]
}

// answersWith reports a result that is what a call was handed.
func answersWith(r, call *genai.Part) bool {
	return (r.ID == "" || r.ID == call.ID) && SameContent(r.Result, call.Args)
}

var saysStructured = regexp.MustCompile(`(?i)\bstructured (response|output)[: ]*$`)
