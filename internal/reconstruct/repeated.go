// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file tells what a request repeats of the model call before it.

// continues reports that the request of t repeats the request of a and its answer. Beyond these it holds only what the
// assistant, the tools and other agents said since. Of a request that was cut nobody knows where it ends.
func continues(a, t *turn) bool {
	if a.n.obs.RequestLabel == tape.Truncated || len(a.sent) == 0 || len(t.sent) <= len(a.sent) || commonPrefix(a.sent, t.sent) < len(a.sent) {
		return false
	}
	return (repeatsAnswer(a.n, t.n, t.sent) || sameAnswer(a.n, t.n) || toldToUser(a, t.sent[len(a.sent)])) && sameTurn(a, t)
}

// afterRequest are the messages of a turn behind those of an earlier model call.
func afterRequest(before *node, t *turn) []*message {
	return t.sent[len(afterSystem(before.request())):]
}

// sameTurn reports that no user message begins a new run after the messages that t repeats of a.
func sameTurn(a, t *turn) bool {
	speaker, task := "", ""
	for _, m := range a.sent {
		if m.tape.Role == tape.RoleUser {
			speaker, task = m.tape.Name, partsText(m.parts)
		}
	}
	quoted := losesCalls(a.n) // then neither were the results recorded as such
	spoken := true            // only the assistant has spoken since
	for i := len(a.sent); i < len(t.sent); i++ {
		m := t.sent[i]
		first := spoken
		spoken = spoken && m.tape.Role == tape.RoleAssistant
		switch {
		case m.tape.Role == tape.RoleAssistant, m.tape.Role == tape.RoleTool:
		case first && toldToUser(a, m):
			quoted = true
		case i > len(a.sent) && t.sent[i-1].tape.Role == tape.RoleTool && len(task) >= minQuoted && strings.Contains(textOf(m), task): // the framework wants an answer now
		case m.tape.Role != tape.RoleUser:
			return false
		case m.tape.Name != "" && speaker != "" && m.tape.Name != speaker: // an agent of a group
		case quotesCalls(a.n, m): // what came of the calls, told as the user
			quoted = true
		case !quoted:
			return false
		}
	}
	return true
}

// toldToUser reports a user message with what a tool said that failed when a model call had asked for it: a program that
// answers no call of a step that broke tells the model so.
func toldToUser(a *turn, m *message) bool {
	if m.tape.Role != tape.RoleUser || !asksTools(a.n) {
		return false
	}
	text := textOf(m)
	return slices.ContainsFunc(a.f.tools, func(n *node) bool {
		return n.failed() && n.start+clockSlack >= a.n.end && tellsFailure(text, n)
	})
}

// quotesCalls reports a text that names all calls that a model call was answered with: by their ids, or by their names and
// arguments.
func quotesCalls(n *node, m *message) bool {
	calls := n.asks()
	if len(calls) == 0 {
		return false
	}
	text := textOf(m)
	return text != "" && !slices.ContainsFunc(calls, func(p *genai.Part) bool {
		if len(p.ID) >= minQuoted && strings.Contains(text, p.ID) {
			return false
		}
		return p.Name == "" || p.Args.Len() == 0 || !strings.Contains(text, p.Name) ||
			slices.ContainsFunc(p.Args.Members(), func(a exactjson.Member) bool { return a.Value.Text() == "" || !strings.Contains(text, a.Value.Text()) })
	})
}

func repeatsIDs(n *node, t *turn) bool {
	return len(n.asks()) > 0 && len(n.request()) > 0 && sameCalls(n.answer(), afterRequest(n, t)[0])
}

// repeatsAnswer reports that a request repeats, right after the messages of the one before it, what that one was answered.
// Any message will do if the answer was not recorded.
func repeatsAnswer(before, n *node, sent []*message) bool {
	answer := before.answer()
	if answer == nil {
		return true
	}
	following := sent[len(afterSystem(before.request())):]
	said := following[0]
	if same, _ := answer.equal(said); same || quotesCalls(before, said) {
		return true
	}
	if said.tape.Role != tape.RoleAssistant { // a result follows what asked for it, whether that was recorded or not
		return answersCalls(idsOf(before.asks()), following) || said.tape.Role == tape.RoleTool && losesCalls(before)
	}
	text, asks := textOf(answer), hasToolCall(answer)
	switch {
	case n.obs.RequestLabel != "", asks && repeatsCalls(answer, following): // the request is not what was sent, or names the calls
		return true
	case (text == "" || text == textOf(said)) && takesApart(said, answer): // the calls of a stream were recorded as one
		return true
	case text != textOf(said):
		return false
	case text != "":
		return true
	case asks: // the message that asked was recorded without its calls, before what they returned
		return !hasToolCall(said) && len(following) > 1 && following[1].tape.Role == tape.RoleTool
	}
	return hasToolCall(said) || finishedForTools(before)
}

// answersCalls reports that the first of these messages are the results of the calls with the ids, each told once. Some
// packages leave out the message that asked for them.
func answersCalls(ids []string, said []*message) bool {
	var told []string
	for _, m := range said {
		if m.tape.Role != tape.RoleTool {
			break
		}
		for i := range m.parts {
			if m.parts[i].Type == tape.PartToolResult {
				told = append(told, m.parts[i].ID)
			}
		}
	}
	for _, id := range ids {
		i := slices.Index(told, id)
		if i < 0 || len(id) < minQuoted {
			return false
		}
		told = slices.Delete(told, i, i+1)
	}
	return len(ids) > 0
}

// repeatsCalls reports that the first of these messages, which may hold one call each, ask for the calls of the answer: with
// the same ids or, where one side has none, with the same names and arguments.
func repeatsCalls(answer *message, said []*message) bool {
	var calls []*genai.Part
	for _, m := range said {
		if m.tape.Role != tape.RoleAssistant {
			break
		}
		calls = append(calls, callsOf(m.parts)...)
	}
	asked := callsOf(answer.parts)
	return len(asked) == len(calls) && !slices.ContainsFunc(asked, func(p *genai.Part) bool {
		return !slices.ContainsFunc(calls, func(q *genai.Part) bool {
			return p.ID != "" && p.ID == q.ID || (p.ID == "" || q.ID == "") && p.Name == q.Name && sameValue(p.Args, q.Args)
		})
	})
}

// sameCalls reports that two messages ask for tools with the same ids.
func sameCalls(a, b *message) bool {
	ids := idsOf(callsOf(a.parts))
	return len(ids) > 0 && slices.Equal(ids, idsOf(callsOf(b.parts)))
}

// isHollow reports the span of a model call without what was sent around the span that holds it. It has no answer either, or
// that of the other.
func isHollow(n *node) bool {
	o := n.obs
	if len(o.Request) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return false
	}
	var told []*node
	for _, k := range n.kids {
		if k.obs.Class == genai.Model && len(k.obs.Request) > 0 {
			told = append(told, k)
		}
	}
	if len(o.Response) == 0 {
		return len(told) > 0
	}
	inner, text := only(told), spokenText(o.Response[0])
	return inner != nil && text != "" && len(inner.obs.Response) > 0 && text == spokenText(inner.obs.Response[0])
}

// failureTold is what stands before a failure where a framework tells of it in words of its own.
var failureTold = regexp.MustCompile(`^[^{}\[\]"]*(?i:error|fail|exception)`)

// tellsFailure reports a text that holds what a tool that failed said. A few words have to stand behind a colon that says so;
// of a failure without words the text begins with one.
func tellsFailure(text string, n *node) bool {
	said := failureText(n.obs.Error)
	if len(said) >= minQuoted {
		return strings.Contains(text, said)
	}
	before, ok := strings.CutSuffix(strings.TrimSpace(text), said)
	return ok && (said == "" || strings.HasSuffix(before, ": ")) && failureTold.MatchString(before)
}
