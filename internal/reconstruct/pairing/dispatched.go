// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// dispatched pairs the span of a function that runs any tool with the request that it was handed, see
// dispatch.go.
//
// Needs: the whole call in the arguments of the span.
// Refuses: a name that the conversation knows; the id of another call; another agent.
// Seen in: loops written by hand, whose execute_tool is decorated (Langfuse).
func (p *pairing) dispatched(t *ledger.Call, a *ledger.Asked) bool { return isDispatch(t, a, p.known) }

// isDispatch reports the span of a function that was handed the whole call that a response asks for.
func isDispatch(t *ledger.Call, a *ledger.Asked, known map[string]bool) bool {
	return !known[ledger.NameOf(t)] && t.Agent == a.Model.Agent && a.Part.Name != "" && !a.Part.Args.IsAbsent() &&
		chat.HandsOver(t.Obs.Args.Value, a.Part.Name, a.Part.ID, a.Part.Args)
}

// readDispatched reads the spans of functions that run any tool as the calls of the tools that they were
// handed.
//
// Needs: a span that is paired, with the whole call in its arguments.
// Refuses: a name that the conversation knows.
// Seen in: loops written by hand, whose execute_tool is decorated.
func (p *pairing) readDispatched() {
	for _, t := range p.Tools {
		if t.By != nil && p.dispatched(t, t.By) {
			t.Obs = asDispatched(t.Obs, t.By.Part, t.By.Shown)
		}
	}
}

// asDispatched reads the span of such a function as the call of the tool. The function may return the message
// in which the model is told, and shown is what a later request shows of it.
func asDispatched(o *genai.Report, part genai.Part, shown *genai.Part) *genai.Report {
	made := o.Draft()
	made.Name, made.Args = part.Name, genai.Content{Value: part.Args}
	if told, ok := toldOf(made.Result.Value, part); ok {
		made.Result.Value, made.Result.Envelope = told, append(slices.Clip(made.Result.Envelope), "tool_message")
	}
	if shown != nil && shown.IsError && made.Result.Present() &&
		strings.Contains(cmp.Or(chat.ToldText(shown.Result), chat.TextResult(shown.Result)), chat.TextResult(made.Result.Value)) {
		made.Failed = true // it caught what the tool raised, and told the model
	}
	return made.Seal()
}

// toldOf opens the message in which the model is told the result of a call. It names the id of the call or,
// where the provider's calls have none, the tool.
func toldOf(v exactjson.Value, part genai.Part) (exactjson.Value, bool) {
	result, ok := decode.Structure(v)
	if !ok || result.Kind() != exactjson.Object {
		return exactjson.Value{}, false
	}
	messages, _ := decode.Messages(exactjson.ArrayValue(result), "")
	if len(messages) != 1 || messages[0].Role != tape.RoleTool || len(messages[0].Parts) != 1 {
		return exactjson.Value{}, false
	}
	told := messages[0].Parts[0]
	named := told.ID == "" && result.Get("role").Str() == "tool" && result.Get("name").Str() == part.Name
	return told.Result, told.ID != "" && told.ID == part.ID || named
}
