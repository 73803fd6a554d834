// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// This file tells what a request repeats of the model call before it.

// continues reports that the request of t repeats the request of a and its answer. Beyond these it holds only
// what the assistant, the tools and other agents said since. Of a request that was cut nobody knows where it
// ends.
func continues(a, t *turn) bool {
	n := len(a.sent)
	if a.n.Obs.RequestLabel == tape.Truncated || n == 0 || n >= len(t.sent) || chat.CommonPrefix(a.sent, t.sent) < n {
		return false
	}
	goesOn := spantree.RepeatsAnswer(a.n, t.n, t.sent) || spantree.SameAnswer(a.n, t.n) || toldToUser(a, t.sent[n])
	return goesOn && sameTurn(a, t)
}

// afterRequest are the messages of a turn behind those of an earlier model call.
func afterRequest(before *spantree.Node, t *turn) []*chat.Message {
	return t.sent[len(chat.AfterSystem(before.Request())):]
}

// sameTurn reports that no user message begins a new run after the messages that t repeats of a.
func sameTurn(a, t *turn) bool {
	speaker, task := "", ""
	for _, m := range a.sent {
		if m.Tape.Role == tape.RoleUser {
			speaker, task = m.Tape.Name, chat.PartsText(m.Parts)
		}
	}
	quoted := spantree.LosesCalls(a.n) // then neither were the results recorded as such
	spoken := true                     // only the assistant has spoken since
	for i := len(a.sent); i < len(t.sent); i++ {
		m := t.sent[i]
		first := spoken
		spoken = spoken && m.Tape.Role == tape.RoleAssistant
		switch {
		case m.Tape.Role == tape.RoleAssistant, m.Tape.Role == tape.RoleTool:
		case first && toldToUser(a, m):
			quoted = true
		case i > len(a.sent) && t.sent[i-1].Tape.Role == tape.RoleTool && len(task) >= chat.MinQuoted && strings.Contains(chat.TextOf(m), task):
			// the framework wants an answer now
		case m.Tape.Role != tape.RoleUser:
			return false
		case m.Tape.Name != "" && speaker != "" && m.Tape.Name != speaker: // an agent of a group
		case spantree.QuotesCalls(a.n, m): // what came of the calls, told as the user
			quoted = true
		case !quoted:
			return false
		}
	}
	return true
}

// toldToUser reports a user message with what a tool said that failed when a model call had asked for it: a
// program that answers no call of a step that broke tells the model so.
func toldToUser(a *turn, m *chat.Message) bool {
	if m.Tape.Role != tape.RoleUser || !spantree.AsksTools(a.n) {
		return false
	}
	text := chat.TextOf(m)
	return slices.ContainsFunc(a.f.tools, func(n *spantree.Node) bool {
		return n.Failed() && n.Start+spantree.ClockSlack >= a.n.End && tellsFailure(text, n)
	})
}

func repeatsIDs(n *spantree.Node, t *turn) bool {
	return len(n.Asks()) > 0 && len(n.Request()) > 0 && chat.SameCalls(n.Answer(), afterRequest(n, t)[0])
}

// failureTold is what stands before a failure where a framework tells of it in words of its own.
var failureTold = regexp.MustCompile(`^[^{}\[\]"]*(?i:error|fail|exception)`)

// tellsFailure reports a text that holds what a tool that failed said. A few words have to stand behind a
// colon that says so; of a failure without words the text begins with one.
func tellsFailure(text string, n *spantree.Node) bool {
	said := chat.FailureText(n.Obs.Error)
	if len(said) >= chat.MinQuoted {
		return strings.Contains(text, said)
	}
	before, ok := strings.CutSuffix(strings.TrimSpace(text), said)
	return ok && (said == "" || strings.HasSuffix(before, ": ")) && failureTold.MatchString(before)
}
