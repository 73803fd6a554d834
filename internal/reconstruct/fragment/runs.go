// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// IsRun reports a fragment with a model call, a tool call, user input or a conversation that its run span
// kept.
func (f *Fragment) IsRun() bool {
	if f.HandsOn() {
		return false
	}
	if f.Root != nil && (chat.LastUserText(f.Root.Obs.Input) != "" || !f.Root.Obs.WeakAgent && chat.Given(f.Root.Obs.InputData) != "" || f.failedInModelClient()) {
		return true
	}
	return slices.ContainsFunc(f.Heads, tellsRun) ||
		f.Root != nil && len(f.Root.Obs.Output) > 0 && f.Kept() != nil || f.answersByPost() || f.Stepped().Answer != nil
}

// HandsOn reports a step that hands a question on, and nothing of what was done with it is on record.
//
// Needs: a span that gave back the very messages it was given, the last of which is what the user says.
// Refuses: a span with anything below it; an agent answers with a message of its own.
// Seen in: LangGraph's __start__; LangSmith's bridge for JavaScript, which exports no other step of a run.
func (f *Fragment) HandsOn() bool {
	n := f.Root
	if n == nil || len(f.Heads) != 1 || f.Heads[0] != n || len(n.Kids) > 0 || n.Failed() || !n.Obs.InputData.Value.Equal(n.Obs.OutputData.Value) {
		return false
	}
	messages := decode.Transcript(n.Obs.OutputData.Value)
	return len(messages) > 0 && messages[len(messages)-1].Role == tape.RoleUser
}

// HoldsConversation reports a span, or one below it, whose recorded state holds an answer to somebody.
func HoldsConversation(h *spantree.Node) bool { return ConversationOf(h) != nil }

// ConversationOf is a conversation that a span, or one below it, recorded as its state: it begins with
// somebody else and ends with an answer. It is nil where there is none.
func ConversationOf(h *spantree.Node) []genai.Message {
	return stateOf(h, func(messages []genai.Message) bool { return messages[len(messages)-1].Role == tape.RoleAssistant })
}

// brokeOff reports a recorded conversation that ends with the results of tools: a loop that was cut at a
// number of steps.
func brokeOff(h *spantree.Node) bool {
	return stateOf(h, func(messages []genai.Message) bool {
		return messages[len(messages)-1].Role == tape.RoleTool && slices.ContainsFunc(messages, decode.HasCalls)
	}) != nil
}

// keptBeginning reports a span, or one below it, that recorded a conversation as its state of which the end
// was cut off.
func keptBeginning(h *spantree.Node) bool {
	return spantree.AnySpan([]*spantree.Node{h}, func(n *spantree.Node) bool {
		return n.Obs.OutputData.Label == tape.Truncated && keepsState(n) &&
			(decode.HasRole(decode.Transcript(n.Obs.OutputData.Value), tape.RoleUser) || decode.HasRole(decode.Transcript(n.Obs.InputData.Value), tape.RoleUser))
	})
}

// answersByPost reports the run of an agent whose messages tell what a model answered.
func (f *Fragment) answersByPost() (found bool) {
	for _, h := range f.Heads {
		spantree.Walk(h, func(n *spantree.Node) bool {
			found = found || slices.ContainsFunc(n.Obs.Posted, func(p genai.Posted) bool { return p.Answered })
			return !found
		})
	}
	return found && f.OwnRun()
}

// Relays reports a fragment that made or got a message.
func (f *Fragment) Relays() bool {
	return slices.ContainsFunc(f.Tops(), func(h *spantree.Node) bool { return RelaysIn(h, nil) })
}

// RelaysIn visits the spans of messages and reports whether there is one. Without a visitor it stops at the
// first.
func RelaysIn(h *spantree.Node, visit func(*spantree.Node)) (found bool) {
	spantree.Walk(h, func(n *spantree.Node) bool {
		if n.Obs.Relay && n.Spans > 0 {
			found = true
			if visit != nil {
				visit(n)
			}
		}
		return visit != nil || !found
	})
	return found
}

// Tops are the heads of a fragment, or what handed over the messages that began them.
func (f *Fragment) Tops() (tops []*spantree.Node) {
	if len(f.Heads) == 1 && (f.Heads[0].Up == nil || !f.Heads[0].Up.Obs.Relay) {
		return f.Heads
	}
	known := map[*spantree.Node]bool{}
	for _, h := range f.Heads {
		for h.Up != nil && h.Up.Obs.Relay && !known[h] {
			known[h] = true
			h = h.Up
		}
		if !known[h] {
			known[h] = true
			tops = append(tops, h)
		}
	}
	return tops
}

// Kept is what stands before the first answer in the conversation that the run span kept.
//
// Needs: an output with one conversation.
// Refuses: several conversations; none that a user began.
// Seen in: CrewAI's crews under OpenInference, which leaves model calls to others.
func (f *Fragment) Kept() (sent []*chat.Message) {
	root := f.Root
	if root == nil {
		return nil
	}
	conversation := decode.OnlyTranscript(root.Obs.OutputData.Value)
	first := slices.IndexFunc(conversation, func(m genai.Message) bool { return m.Role == tape.RoleAssistant })
	if first < 0 && len(root.Obs.Output) > 0 {
		first = len(conversation)
	}
	if first < 1 || !decode.HasRole(conversation[:first], tape.RoleUser) {
		return nil
	}
	for _, m := range conversation[:first] {
		sent = append(sent, chat.NewMessage(m))
	}
	return sent
}
