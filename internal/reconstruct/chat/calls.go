// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"iter"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// EachCall yields the tool calls among the parts of a message.
func EachCall(parts []genai.Part) iter.Seq[*genai.Part] {
	return func(yield func(*genai.Part) bool) {
		for i := range parts {
			if parts[i].Type == tape.PartToolCall && !yield(&parts[i]) {
				return
			}
		}
	}
}

// AnyCall reports that one of the tool calls among the parts of a message fits.
func AnyCall(parts []genai.Part, fits func(*genai.Part) bool) bool {
	for p := range EachCall(parts) {
		if fits(p) {
			return true
		}
	}
	return false
}

// CallsOf lists the tool calls among the parts of a message.
func CallsOf(parts []genai.Part) []*genai.Part { return slices.Collect(EachCall(parts)) }

// ShowsResult reports messages with the result of the call of an id.
func ShowsResult(messages []genai.Message, id string) bool {
	return id != "" && slices.ContainsFunc(messages, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult && p.ID == id })
	})
}

// AsksAs reports a message with a call of an answer, by an id that no other call has.
func AsksAs(m *Message, answer []genai.Message) bool {
	return slices.ContainsFunc(answer, func(said genai.Message) bool { return AsksOne(m.Parts, DrawnIDs(said.Parts)) })
}

// AnswersCalls reports that the first of these messages are the results of the calls with the ids, each told
// once. Some packages leave out the message that asked for them.
func AnswersCalls(ids []string, said []*Message) bool {
	var told []string
	for _, m := range said {
		if m.Tape.Role != tape.RoleTool {
			break
		}
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartToolResult {
				told = append(told, m.Parts[i].ID)
			}
		}
	}
	for _, id := range ids {
		i := slices.Index(told, id)
		if i < 0 || len(id) < MinQuoted {
			return false
		}
		told = slices.Delete(told, i, i+1)
	}
	return len(ids) > 0
}

// RepeatsCalls reports that the first of these messages, which may hold one call each, ask for the calls of
// the answer: with the same ids or, where one side has none, with the same names and arguments.
func RepeatsCalls(answer *Message, said []*Message) bool {
	var calls []*genai.Part
	for _, m := range said {
		if m.Tape.Role != tape.RoleAssistant {
			break
		}
		calls = append(calls, CallsOf(m.Parts)...)
	}
	asked := CallsOf(answer.Parts)
	return len(asked) == len(calls) && !slices.ContainsFunc(asked, func(p *genai.Part) bool {
		return !slices.ContainsFunc(calls, func(q *genai.Part) bool {
			return p.ID != "" && p.ID == q.ID || (p.ID == "" || q.ID == "") && p.Name == q.Name && SameValue(p.Args, q.Args)
		})
	})
}

// SameCalls reports that two messages ask for tools with the same ids.
func SameCalls(a, b *Message) bool {
	ids := IdsOf(CallsOf(a.Parts))
	return len(ids) > 0 && slices.Equal(ids, IdsOf(CallsOf(b.Parts)))
}

// ToolResults are the results of tools in some messages.
func ToolResults(messages []*Message) iter.Seq[*genai.Part] {
	return func(yield func(*genai.Part) bool) {
		for _, m := range messages {
			for k := range m.Parts {
				if m.Parts[k].Type == tape.PartToolResult && !yield(&m.Parts[k]) {
					return
				}
			}
		}
	}
}

// ResultsOf counts the results of one id in a request.
func ResultsOf(id string, request []*Message) (n int) {
	for r := range ToolResults(request) {
		if r.ID == id {
			n++
		}
	}
	return n
}

// BeforeAnswer are the messages before the next one of a model.
func BeforeAnswer(messages []*Message) []*Message {
	if i := slices.IndexFunc(messages, func(m *Message) bool { return m.Tape.Role == tape.RoleAssistant }); i >= 0 {
		return messages[:i]
	}
	return messages
}
