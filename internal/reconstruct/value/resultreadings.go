// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// resultReadings say in their order what a recorded result is, and what the model was shown of it.
var resultReadings = []struct {
	id   rule.ID
	read func(*resultFacts)
}{
	{"value/result-of-transfer", tellsTransfer},
	{"value/result-empty-of-thrown", emptyOfThrown},
	{"value/result-null-of-thrown", nullOfThrown},
	{"value/result-literal-of-python", literalOfPython},
	{"value/result-no-envelope", noEnvelope},
	{"value/result-none-of-thrown", noValueOfThrown},
	{"value/result-error-as-result", errorAsResult},
}

// bothWhole reports a recorded result, or none, and one that the model was shown, neither of which is
// damaged.
func (r *resultFacts) bothWhole() bool {
	return r.shown != nil && r.shown.Label == "" && r.result.Label == ""
}

// shownOther reports a recorded result that is another one than the model was shown.
func (r *resultFacts) shownOther() bool { return !chat.SameContent(r.result.Value, r.shown.Result) }

// tellsTransfer puts what the framework tells the model of a transfer of control in place of what its span
// says.
//
// Needs: a span that describes a hand-off.
// Refuses: nothing.
// Seen in: the Agents SDK of OpenAI.
func tellsTransfer(r *resultFacts) {
	if !r.said.Handoff {
		return
	}
	r.result = genai.Content{}
	if r.shown == nil && !r.said.HandedOver.IsAbsent() {
		r.result = genai.Content{Value: r.said.HandedOver, Label: tape.Recovered}
	}
}

// emptyOfThrown takes off the empty object that was written where the tool threw.
//
// Needs: a span with the status of an error.
// Refuses: an empty object that the model was shown.
// Seen in: packages that write {} in place of nothing.
func emptyOfThrown(r *resultFacts) {
	v := r.result.Value
	if r.said.StatusError && (v.Kind() == exactjson.Object && v.Len() == 0 || v.Str() == "{}") && (r.shown == nil || r.shownOther()) {
		r.result = genai.Content{}
	}
}

// nullOfThrown takes off the null that was written where the tool threw, and told to the model.
//
// Needs: a span with the status of an error and its words.
// Refuses: nothing.
// Seen in: packages that write null in place of nothing.
func nullOfThrown(r *resultFacts) {
	if !r.said.StatusError || !isNull(r.result.Value) || r.said.Error == nil || r.said.Error.Message == "" {
		return
	}
	r.result = genai.Content{}
	if r.shown != nil && isNull(r.shown.Result) {
		r.shown = nil
	}
}

// literalOfPython opens the literal of a text.
//
// Needs: a span that holds repr(result), and a model that was shown the text.
// Refuses: a text in quotes that the model was shown so: a tool may well return one.
// Seen in: hand-written spans.
func literalOfPython(r *resultFacts) {
	if !r.bothWhole() {
		return
	}
	if said, ok := quotedInPython(r.result.Value); ok && r.shownOther() && chat.SameValue(said, r.shown.Result) {
		r.result.Value, r.result.Envelope = said, append(slices.Clip(r.result.Envelope), "python.str")
	}
}

// quotedInPython is the text of a literal of Python.
func quotedInPython(v exactjson.Value) (exactjson.Value, bool) {
	text := v.Str()
	if len(text) < 2 || text[0] != '\'' && text[0] != '"' || text[len(text)-1] != text[0] {
		return exactjson.Value{}, false
	}
	list, lossy, ok := decode.Python("[" + text + "]")
	return list.At(0), ok && !lossy && list.Len() == 1 && list.At(0).Kind() == exactjson.String
}

// noEnvelope puts a result back into what was taken off around it as an envelope: the model was shown that
// the tool returned an object of this one member.
//
// Needs: a whole result on the span and in a later request.
// Refuses: several envelopes within each other.
// Seen in: tools that return an object of one member.
func noEnvelope(r *resultFacts) {
	if !r.bothWhole() || len(r.result.Envelope) != 1 || !r.result.Present() {
		return
	}
	_, name, named := strings.Cut(r.result.Envelope[0], ".")
	whole := exactjson.ObjectValue(exactjson.Member{Name: name, Value: r.result.Value})
	if named && r.shownOther() && chat.SameContent(whole, r.shown.Result) {
		r.result.Value, r.result.Envelope = whole, nil
	}
}

// noValueOfThrown takes off what Python writes of no value, where the model was told of a failure.
//
// Needs: a request that shows a failure.
// Refuses: a model that was shown None itself.
// Seen in: decorated functions in Python.
func noValueOfThrown(r *resultFacts) {
	v := r.result.Value
	if r.threw = r.shown != nil && r.shown.Label == "" && r.shown.IsError && (isNull(v) || v.Str() == "None") && r.shownOther(); r.threw {
		r.result = genai.Content{}
	}
}

// errorAsResult takes off a failure that a reporter recorded as an object of nothing else.
//
// Needs: a model that was told of it in other words, with the message in them.
// Refuses: an object that the model was shown as it is: the tool answered with it.
// Seen in: reporters that write {"error": …} where a tool threw.
func errorAsResult(r *resultFacts) {
	if !r.bothWhole() || r.said.Failed {
		return
	}
	if r.words = errorIn(r.result.Value, r.shown.Result); r.words != "" {
		r.result = genai.Content{}
	}
}

// errorMembers are what stands beside the message of a failure. The value of the last three is null there.
var errorMembers = []string{"error", "error_message", "errorMessage", "error_type", "status", "success", "ok", "is_error", "isError", "result", "output", "data"}

func errorIn(recorded, shown exactjson.Value) string {
	object := recorded
	if inner, ok := chat.Decoded(recorded); ok {
		object = inner
	}
	if object.Kind() != exactjson.Object || chat.SameContent(recorded, shown) {
		return ""
	}
	message := object.First("error", "error_message", "errorMessage")
	if message.Kind() == exactjson.Object {
		message = message.Get("message")
	}
	other := func(m exactjson.Member) bool {
		i := slices.Index(errorMembers, m.Name)
		return i < 0 || i >= len(errorMembers)-3 && m.Value.Kind() != exactjson.Null
	}
	text, told := strings.TrimSpace(message.Str()), chat.TextResult(shown)
	if text == "" || !strings.Contains(told, text) || shown.Kind() == exactjson.String && strings.HasPrefix(told, "{") || slices.ContainsFunc(object.Members(), other) {
		return ""
	}
	return text
}
