// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// MinQuoted is the length from which an id or a text does not stand in another text by chance.
const MinQuoted = 8

// SpokenText is the text of a message.
func SpokenText(m genai.Message) string { return TextOf(&Message{Parts: m.Parts}) }

// AnswerKeys tell an answer from others: the ids of its calls or, without any, a text that is no mere word.
func AnswerKeys(m genai.Message) (keys []string) {
	for _, id := range IdsOf(CallsOf(m.Parts)) {
		keys = append(keys, "call "+id)
	}
	if text := SpokenText(m); len(keys) == 0 && len(text) >= MinQuoted {
		keys = append(keys, "answer "+text)
	}
	return keys
}

// ToldText is the text that a result tells the model. Providers that take objects alone are told one member
// with it. A program may write every result as JSON. Of JSON that holds no one text it is the JSON as it was
// written.
func ToldText(v exactjson.Value) string {
	v = decode.UnwrapResult(genai.Content{Value: v}).Content.Value
	written := v.Str()
	if inner, ok := Decoded(v); ok && (inner.Kind() == exactjson.Object || inner.Kind() == exactjson.String) {
		v = inner
	}
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		v = v.Members()[0].Value
	}
	if v.Kind() != exactjson.String && len(written) >= MinQuoted {
		return written
	}
	return v.Str()
}

// FailureText is what a failure says without the name of its type before it: the model is told the same under
// another name.
func FailureText(e *tape.Error) string {
	if e == nil {
		return ""
	}
	if said, typed := strings.CutPrefix(e.Message, e.Type+": "); typed && e.Type != "" {
		return said
	}
	return e.Message
}

// SinceUser is what was said from the last user message on.
func SinceUser(messages []*Message) []*Message {
	for i, m := range slices.Backward(messages) {
		if m.Tape.Role == tape.RoleUser {
			return messages[i:]
		}
	}
	return messages
}

// Plain are messages of which the role and the parts are looked at alone.
func Plain(list []genai.Message) []*Message {
	out := make([]*Message, len(list))
	for i, m := range list {
		out[i] = &Message{Tape: tape.Message{Role: m.Role}, Parts: m.Parts}
	}
	return out
}

func CommonPrefix(a, b []*Message) int {
	n := min(len(a), len(b))
	for i := range n {
		if same, _ := a[i].Equal(b[i]); !same {
			return i
		}
	}
	return n
}

// Extends reports a request that continues another one: it repeats all messages of the other, whatever the
// instructions before them, and adds only what the assistant, the tools and other agents said.
func Extends(before, after []*Message) bool {
	before, after = AfterSystem(before), AfterSystem(after)
	if len(before) == 0 || len(after) <= len(before) || CommonPrefix(before, after) < len(before) {
		return false
	}
	speaker := ""
	for _, m := range before {
		if m.Tape.Role == tape.RoleUser {
			speaker = m.Tape.Name
		}
	}
	return !slices.ContainsFunc(after[len(before):], func(m *Message) bool {
		// another agent of a group
		another := m.Tape.Role == tape.RoleUser && m.Tape.Name != "" && speaker != "" && m.Tape.Name != speaker
		return m.Tape.Role != tape.RoleAssistant && m.Tape.Role != tape.RoleTool && !another
	})
}

// TurnAt is what the assistant said at the beginning of messages, nil if it said nothing. Some packages
// resend its text and its calls as messages of their own.
func TurnAt(messages []*Message) *Message {
	n := 0
	for n < len(messages) && messages[n].Tape.Role == tape.RoleAssistant && !messages[n].Omitted && (n == 0 || !HasToolCall(messages[n-1])) {
		n++
	}
	if n == 0 {
		return nil
	}
	return Joined(messages[:n]...)
}

// Joined is one message with the parts of several.
func Joined(messages ...*Message) *Message {
	if len(messages) == 1 {
		return messages[0]
	}
	whole := genai.Message{Role: messages[0].Tape.Role, Name: messages[0].Tape.Name}
	for _, m := range messages {
		whole.Parts = append(whole.Parts, m.Parts...)
	}
	return NewMessage(whole)
}

// AfterSystem leaves out the instructions at the beginning of a request: an agent that takes over has its
// own, and some change with time.
func AfterSystem(request []*Message) []*Message {
	for len(request) > 0 && request[0].Tape.Role == tape.RoleSystem {
		request = request[1:]
	}
	return request
}

func HasToolCall(m *Message) bool {
	return slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall })
}

// SaysNothing reports a message without parts, or with empty texts only.
func SaysNothing(m *Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" })
}

func TextOf(m *Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == tape.PartText {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// SaidBy is what a model answered by a call.
func SaidBy(p *genai.Part) string {
	if text, ok := decode.AnswerBy(p); ok {
		return text
	}
	if args := p.Args; args.Kind() == exactjson.Object && args.Len() == 1 && args.Members()[0].Value.Kind() == exactjson.String {
		return args.Members()[0].Value.Str()
	}
	return p.Args.JSON()
}

// IsContent reports a part that answers: anything but thoughts and empty text.
func IsContent(p genai.Part) bool {
	return p.Type != tape.PartReasoning && (p.Type != tape.PartText || p.Text != "" || p.Label != "")
}

// EndsAsking reports that the last thing said is a request for a tool. Some packages record several turns as
// one message.
func EndsAsking(parts []genai.Part) bool {
	for _, p := range slices.Backward(parts) {
		if IsContent(p) {
			return p.Type == tape.PartToolCall
		}
	}
	return false
}

// SameWords reports two texts that are the same, or of which one holds the other. A few words stand in
// another text by chance: there all that is said besides is the class of an error.
func SameWords(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b && a != "" || min(len(a), len(b)) >= MinQuoted && (strings.Contains(a, b) || strings.Contains(b, a)) || WithoutClass(a) == b && b != "" || WithoutClass(b) == a && a != ""
}

// WithoutClass is what an error says behind its class: of "ToolError: timeout" the last word.
func WithoutClass(text string) string {
	if class, rest, ok := strings.Cut(text, ": "); ok && isErrorClass.MatchString(class) {
		return strings.TrimSpace(rest)
	}
	return text
}

var isErrorClass = regexp.MustCompile(`^[\w.]*(Error|Exception)$`)

// Given is what an agent was started with where that was no message: its text, or the structure as it was
// recorded.
func Given(c genai.Content) string {
	if args := c.Value.Get("args"); c.Value.Len() == 1 && args.Kind() == exactjson.Array && args.Len() == 1 && args.At(0).Kind() == exactjson.String {
		return args.At(0).Str() // of a function that was called with one argument by position
	}
	// The last is null as Python writes it.
	if c.Label != "" || c.Value.IsEmpty() || c.Value.Kind() == exactjson.Null || c.Value.Str() == "None" {
		return ""
	}
	return TextResult(c.Value)
}

// Undamaged reports a value that is what it was, wherever it was found.
func Undamaged(l tape.Label) bool { return l == "" || l == tape.Recovered }

func TextResult(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}

// WordsOf reports a result in the words of the error: what a framework tells the model of it, as a text or as
// an object of the message alone.
func WordsOf(e *tape.Error, result exactjson.Value) bool {
	if e == nil || e.Message == "" {
		return false
	}
	if result.Kind() == exactjson.String && SameWords(result.Str(), e.Message) {
		return true
	}
	object := result
	if inner, ok := Decoded(result); ok {
		object = inner
	}
	if object.Kind() != exactjson.Object || object.Len() != 1 {
		return false
	}
	message := object.First("error", "message", "error_message", "errorMessage")
	return message.Kind() == exactjson.String && strings.TrimSpace(message.Str()) == strings.TrimSpace(e.Message)
}

func UsageKnown(u tape.Usage) bool {
	return u.InputTokens != nil || u.OutputTokens != nil || u.CacheReadTokens != nil || u.CacheWriteTokens != nil || u.ReasoningTokens != nil
}
