// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// saidInside is the prompt of the model where the record of the run span is an envelope around it.
//
// Needs: a record that is JSON, with the prompt as a member or at the end of a list of messages.
// Refuses: a prompt that is not whole.
// Seen in: Eino's handler for APMPlus, which writes any input of an agent as what the user said.
func (in *inputFacts) saidInside(recorded string) string {
	if in.prompt == recorded {
		return recorded
	}
	v, _ := decode.ParseStructure(recorded)
	if isMember(v, in.prompt) {
		return in.prompt
	}
	if v.Kind() == exactjson.Array && v.Len() == 1 { // all chunks of a stream of inputs
		v = v.At(0)
	}
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Array || !decode.IsMessageList(m.Value) {
			continue
		}
		if messages, _ := decode.Messages(m.Value, tape.RoleUser); chat.LastUserText(messages) == in.prompt {
			return in.prompt
		}
	}
	return recorded
}

// saidAsJSON is the prompt of the model where it is a JSON text and all that the run was given.
//
// Needs: a prompt that is JSON, alone or as the only content of objects and lists around it.
// Refuses: an input that holds anything else.
// Seen in: users who ask with an object, which a reader of the record takes for a message.
func (in *inputFacts) saidAsJSON(recorded string) string {
	if in.prompt == recorded || !decode.LooksJSON(in.prompt) {
		return recorded
	}
	given := in.run.InputData.Value
	said, ok := chat.Decoded(exactjson.StringValue(in.prompt))
	for steps := 0; ok && steps < chat.MaxEnvelopes; steps++ {
		if chat.SameValue(given, said) || given.Str() == in.prompt {
			return in.prompt
		}
		given, ok = onlyContent(given)
	}
	return recorded
}

// onlyContent is the only member of a list or an object, also of one that is JSON text, that holds anything.
func onlyContent(v exactjson.Value) (inner exactjson.Value, ok bool) {
	for _, m := range chat.Opened(v).Members() {
		if m.Value.IsEmpty() {
			continue
		}
		if ok {
			return v, false
		}
		inner, ok = m.Value, true
	}
	return inner, ok
}

// isWhole reports an object or list that an agent was given, and that the model was sent as it is, as JSON.
func isWhole(given genai.Content, prompt string) bool {
	v, ok := given.Value, given.Label == ""
	if v.Kind() == exactjson.String {
		v, ok = chat.Decoded(v)
	}
	if !ok || v.Kind() < exactjson.Array || v.Len() == 0 || !decode.LooksJSON(prompt) {
		return false
	}
	sent, err := exactjson.Parse(prompt)
	return err == nil && sent.Equal(v)
}

// isMember reports an object with a member that is a text.
func isMember(v exactjson.Value, text string) bool {
	return v.Kind() == exactjson.Object && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return m.Value.Str() == text })
}
