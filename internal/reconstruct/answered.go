// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// minQuoted is the length from which an id or a text does not stand in another text by chance.
const minQuoted = 8

func (n *node) failed() bool { return n.obs.Failed || n.obs.StatusError }

// answer is what a model call was answered with as recorded, nil where nothing was.
func (n *node) answer() *message {
	if len(n.obs.Response) == 0 {
		return nil
	}
	return n.made.message(n.obs.Response[0])
}

// asks lists the tool calls in the recorded answer of a model call.
func (n *node) asks() []*genai.Part {
	if len(n.obs.Response) == 0 {
		return nil
	}
	return callsOf(n.obs.Response[0].Parts)
}

// callsOf lists the tool calls among the parts of a message.
func callsOf(parts []genai.Part) (calls []*genai.Part) {
	for i := range parts {
		if parts[i].Type == tape.PartToolCall {
			calls = append(calls, &parts[i])
		}
	}
	return calls
}

// idsOf lists the ids of the tool calls that have one.
func idsOf(calls []*genai.Part) (ids []string) {
	for _, p := range calls {
		if p.ID != "" {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// asksTools reports a model call that asked for a tool, by its answer or by why it finished.
func asksTools(n *node) bool { return len(n.asks()) > 0 || finishedForTools(n) }

func finishedForTools(n *node) bool {
	return slices.ContainsFunc(n.obs.FinishReasons, tape.AsksForTools)
}

// losesCalls reports a model call that asked for tools, as its finish reason says, and of whose calls none was recorded.
func losesCalls(n *node) bool { return finishedForTools(n) && len(n.asks()) == 0 }

// spokenText is the text of a message.
func spokenText(m genai.Message) string { return textOf(&message{parts: m.Parts}) }

// answerKeys tell an answer from others: the ids of its calls or, without any, a text that is no mere word.
func answerKeys(m genai.Message) (keys []string) {
	for _, id := range idsOf(callsOf(m.Parts)) {
		keys = append(keys, "call "+id)
	}
	if text := spokenText(m); len(keys) == 0 && len(text) >= minQuoted {
		keys = append(keys, "answer "+text)
	}
	return keys
}

// toldText is the text that a result tells the model. Providers that take objects alone are told one member with it. A
// program may write every result as JSON. Of JSON that holds no one text it is the JSON as it was written.
func toldText(v exactjson.Value) string {
	v = decode.UnwrapResult(genai.Content{Value: v}).Content.Value
	written := v.Str()
	if inner, ok := decoded(v); ok && (inner.Kind() == exactjson.Object || inner.Kind() == exactjson.String) {
		v = inner
	}
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		v = v.Members()[0].Value
	}
	if v.Kind() != exactjson.String && len(written) >= minQuoted {
		return written
	}
	return v.Str()
}

// failureText is what a failure says without the name of its type before it: the model is told the same under another name.
func failureText(e *tape.Error) string {
	if e == nil {
		return ""
	}
	if said, typed := strings.CutPrefix(e.Message, e.Type+": "); typed && e.Type != "" {
		return said
	}
	return e.Message
}

// sinceUser is what was said from the last user message on.
func sinceUser(messages []*message) []*message {
	for i, m := range slices.Backward(messages) {
		if m.tape.Role == tape.RoleUser {
			return messages[i:]
		}
	}
	return messages
}
