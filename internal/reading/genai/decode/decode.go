// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode reads recorded values of every dialect: attributes, JSON in strings, flattened keys, Python literals, message
// lists and parts. It also reads envelopes around tool results, request and response bodies of providers, masks and cuts.
//
// Every function is pure and takes input of any content. A value that cannot be decoded stays the text that was recorded. A label
// says when a value was cut or masked. Depth and number of nested values are bounded.
package decode

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Content is a recorded value. The producer may have cut, masked or wrapped it.
type Content struct {
	// Value is the decoded value: JSON where the dialect writes JSON, else a string. Absent when nothing was recorded.
	Value exactjson.Value
	// Text is the recorded text when the value was decoded from one.
	Text string
	// Label is truncated, masked (as a whole), lossy or external; "" is exact.
	Label tape.Label
	// Masked says that the producer masked a part of a lossy value.
	Masked bool
	// Envelope names what was taken off around the value, outermost first.
	Envelope []string
	// Suspected names, in a lossy value, the members that lead inside what may be an envelope.
	Suspected string
	// Told says of a result that it is what the model was told, whatever the tool returned: nothing of it is an envelope.
	Told bool
}

// Present reports whether a value was recorded.
func (c Content) Present() bool { return !c.Value.IsAbsent() }

// Message is one message of a request or response.
type Message struct {
	Role  tape.Role
	Name  string
	Parts []Part
	// FinishReason as the message itself says it.
	FinishReason string
	// Omitted says that the message was sent and not recorded: the numbers of the messages around it leave a place. It asked for the calls
	// whose results follow.
	Omitted bool
}

// Part is a part of a message, with the damage that its producer did to it.
type Part struct {
	tape.Part
	Label    tape.Label
	Emptied  bool // nulls stand in it where the record has what may be a null, or a text that says so
	Masked   bool // see Content
	Envelope []string
	// Wrapped is a result as it was recorded, where an envelope was taken off.
	Wrapped exactjson.Value
	// Injected says that the framework put the part into a user's message.
	Injected bool
	// Gemini says that the part has the form of Gemini's API; see OpenGemini.
	Gemini bool
}

// TextPart makes a text part.
func TextPart(text string) Part { return Part{Part: tape.Part{Type: tape.PartText, Text: text}} }

// RefusalPart is the text by which a model says that it does not answer.
func RefusalPart(text string) Part {
	return Part{Part: tape.Part{Type: tape.PartText, Text: text, Refusal: true}}
}

// FillString takes src where dst is empty.
func FillString(dst *string, src string) {
	if *dst == "" {
		*dst = src
	}
}

// FillList takes src where dst has no elements.
func FillList[T any](dst *[]T, src []T) {
	if len(*dst) == 0 {
		*dst = src
	}
}

// FillContent takes src if dst is empty. It also takes src if dst is damaged, src is not, and their recorded texts differ. An equal text
// without a label is not better: its dialect only did not recognise the damage.
func FillContent(dst *Content, src Content) {
	if !src.Present() {
		return
	}
	if !dst.Present() || dst.Label != "" && src.Label == "" && dst.recorded() != src.recorded() {
		*dst = src
	}
}

// recorded is the text that was recorded.
func (c Content) recorded() string {
	if c.Text != "" {
		return c.Text
	}
	return c.Value.Text()
}

// FillUsage takes each count of src that dst lacks.
func FillUsage(dst *tape.Usage, src tape.Usage) {
	for _, f := range []struct{ dst, src **int64 }{
		{&dst.InputTokens, &src.InputTokens},
		{&dst.OutputTokens, &src.OutputTokens},
		{&dst.CacheReadTokens, &src.CacheReadTokens},
		{&dst.CacheWriteTokens, &src.CacheWriteTokens},
		{&dst.ReasoningTokens, &src.ReasoningTokens},
	} {
		if *f.dst == nil {
			*f.dst = *f.src
		}
	}
	if dst.InputIncludesCache == nil {
		dst.InputIncludesCache = src.InputIncludesCache
	}
}
