// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file finds what goes on with what: the conversation that requests repeat is the spine of a run.

// turn is a model call in its conversation.
type turn struct {
	f    *fragment
	n    *node
	sent []*message // without instructions
	done bool       // another call goes on with it
}

// maxOpenTurns bounds how many turns of conversations with the same beginning a request is compared with.
const maxOpenTurns = 64

// byConversation unites fragments whose requests continue each other. The content of requests decides which continues which, not their
// times, because clocks differ. Each turn goes on once.
func (s *stitcher) byConversation() {
	type key struct{ service, opening string }
	conversations := map[key][]*turn{}
	var order []key
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			if len(t.sent) == 0 {
				continue
			}
			k := key{serviceOf(t.n.resource).Name, t.sent[0].id}
			if conversations[k] == nil {
				order = append(order, k)
			}
			conversations[k] = append(conversations[k], t)
		}
	}
	for _, k := range order {
		turns := conversations[k]
		if !slices.ContainsFunc(turns, func(t *turn) bool { return t.f != turns[0].f }) {
			continue
		}
		slices.SortStableFunc(turns, func(a, b *turn) int {
			return cmp.Or(cmp.Compare(len(a.sent), len(b.sent)), compareNodes(a.n, b.n))
		})
		var first []*turn // those that do not go on with a turn of their own fragment
		own := map[*fragment][]*turn{}
		for _, t := range turns {
			if before := s.before(own[t.f], t, func(*turn) bool { return true }); before != nil {
				before.done = before.done || !t.failed()
			} else {
				first = append(first, t)
			}
			own[t.f] = append(own[t.f], t)
		}
		for _, t := range first {
			before := s.before(turns, t, func(a *turn) bool { return a.f != t.f && !a.done && s.mayGoOn(a, t) })
			if before == nil {
				continue
			}
			s.unite(before.f, t.f, byConversation)
			before.done = before.done || !t.failed()
			s.after(before.f, before.n, t.f, t.n)
		}
	}
}

func (t *turn) failed() bool { return t.n.obs.Failed || t.n.obs.StatusError }

// before finds the turn with which t goes on, among turns in order of their length. It takes the turn with the most messages. Of several as
// long it prefers the one whose calls have the ids that t repeats, then one of the same trace. Of calls that nothing stands above it then
// prefers the latest before t.
func (s *stitcher) before(turns []*turn, t *turn, may func(*turn) bool) *turn {
	shorter, _ := slices.BinarySearchFunc(turns, len(t.sent), func(a *turn, n int) int { return cmp.Compare(len(a.sent), n) })
	var fit []*turn
	for i := shorter - 1; i >= 0 && i >= shorter-maxOpenTurns; i-- {
		a := turns[i]
		if len(fit) > 0 && len(a.sent) < len(fit[0].sent) {
			break
		}
		if may(a) && continues(a, t) {
			fit = append(fit, a)
		}
	}
	for _, better := range []func(*turn) bool{
		func(a *turn) bool { return repeatsIDs(a.n, t) },
		func(a *turn) bool { return s.sameTrace(a.f, t.f) },
		func(a *turn) bool { return a.f.root == nil && t.f.root == nil && a.n.end <= t.n.start },
	} {
		if some := slices.DeleteFunc(slices.Clone(fit), func(a *turn) bool { return !better(a) }); len(some) > 0 {
			fit = some
		}
	}
	groups := map[*fragment]bool{}
	bare := true
	for _, a := range fit {
		groups[s.find(a.f)] = true
		bare = bare && a.f.root == nil && t.f.root == nil
	}
	if len(fit) == 0 || len(groups) > 1 && !bare { // of several runs that wait with the same words, which one goes on is not known
		return nil
	}
	return slices.MaxFunc(fit, func(a, b *turn) int { return compareNodes(a.n, b.n) })
}

// mayGoOn reports that the fragment of t can be a part of the run of a. Calls that nothing stands above go on with any. Other parts go on
// with a run that asked for tools. If such a part is an agent with a span of its own, the run must also have ended before, or lie around it. If it seems
// to be over before it began, the clock of its trace is behind, and the ids of the calls that it repeats say the same, or the text.
func (s *stitcher) mayGoOn(a, t *turn) bool {
	if conversationsDiffer(a.n, t.n) {
		return false
	}
	if a.f.root == nil && t.f.root == nil || !a.f.ownRun() && !t.f.ownRun() && a.f.beside(t.f) {
		return true
	}
	if said := turnAt(t.sent[len(a.sent):]); (said == nil || !hasToolCall(said)) && !asksTools(a.n) && !sameAnswer(a.n, t.n) {
		return false
	}
	if !t.f.ownRun() {
		return true
	}
	_, end := a.f.interval()
	start, _ := t.f.interval()
	return end <= start || a.f.root != nil && a.f.spans(t.f) || !s.sameTrace(a.f, t.f) && t.n.end <= a.n.start && quotes(a.n, t)
}

// quotes reports that a request repeats what a model call was answered in a way that does not come about by chance: the ids of its calls or, where
// the calls were not recorded with the answer, its text.
func quotes(n *node, t *turn) bool {
	if ids := callIDs(n); len(ids) > 0 {
		return len(ids[0]) >= minQuoted && repeatsIDs(n, t)
	}
	if len(n.obs.Response) == 0 {
		return false
	}
	text := textOf(newMessage(n.obs.Response[0]))
	return len(text) >= minQuoted && text == textOf(t.sent[len(afterSystem(n.request()))])
}

// beside reports fragments that name the same parent, which never came.
func (f *fragment) beside(g *fragment) bool {
	a, b := f.heads[0], g.heads[0]
	return a.missing && b.missing && !a.adopted && !b.adopted && a.parent == b.parent
}

func asksTools(n *node) bool {
	return len(n.obs.Response) > 0 && len(callsOf(n.obs.Response[0].Parts)) > 0 ||
		slices.ContainsFunc(n.obs.FinishReasons, tape.AsksForTools)
}

// continues reports that the request of t repeats the request of a and its answer. Beyond these the request of t holds only what the
// assistant, the tools and other agents said since.
func continues(a, t *turn) bool {
	if a.n.obs.RequestLabel == tape.Truncated { // where it ends is not known
		return false
	}
	if len(a.sent) == 0 || len(t.sent) <= len(a.sent) || commonPrefix(a.sent, t.sent) < len(a.sent) {
		return false
	}
	return (repeatsAnswer(a.n, t) || sameAnswer(a.n, t.n) || toldToUser(a, t.sent[len(a.sent)])) && sameTurn(a, t)
}

// sameTurn reports that no user message begins a new run after the messages that t repeats of a. A user message that follows a request
// for tools, or quotes the ids of the calls, shows what came of them. Some packages tell the model so, some record the role so. One that follows a
// result and quotes what the user asked is the framework's, which wants an answer now.
func sameTurn(a, t *turn) bool {
	speaker, task := "", ""
	for _, m := range a.sent {
		if m.tape.Role == tape.RoleUser {
			speaker, task = m.tape.Name, partsText(m.parts)
		}
	}
	lost := losesCalls(a.n) // so neither were their results recorded as such
	quoted := false
	spoken := true // only the assistant has spoken since
	for i, m := range t.sent[len(a.sent):] {
		first := spoken
		spoken = spoken && m.tape.Role == tape.RoleAssistant
		switch {
		case m.tape.Role == tape.RoleAssistant, m.tape.Role == tape.RoleTool:
		case first && toldToUser(a, m):
			quoted = true
		case i > 0 && t.sent[len(a.sent)+i-1].tape.Role == tape.RoleTool && len(task) >= minQuoted && strings.Contains(textOf(m), task):
		case m.tape.Role != tape.RoleUser:
			return false
		case m.tape.Name != "" && speaker != "" && m.tape.Name != speaker: // an agent of a group
		case quotesCalls(a.n, m):
			quoted = true
		case !quoted && !lost:
			return false
		}
	}
	return true
}

// toldToUser reports a user message with what a tool said that failed when a model call had asked for it: who answers no call of a step that broke tells the model so.
func toldToUser(a *turn, m *message) bool {
	if m.tape.Role != tape.RoleUser || !asksTools(a.n) {
		return false
	}
	text := textOf(m)
	return slices.ContainsFunc(a.f.tools(), func(n *node) bool {
		return (n.obs.Failed || n.obs.StatusError) && n.start+clockSlack >= a.n.end && tellsFailure(text, n)
	})
}

// losesCalls reports a model call that asked for tools, as its finish reason says, and of whose calls none was recorded.
func losesCalls(n *node) bool {
	lost := len(n.obs.Response) == 0 || len(callsOf(n.obs.Response[0].Parts)) == 0
	return lost && slices.ContainsFunc(n.obs.FinishReasons, tape.AsksForTools)
}

// callIDs are the ids of the calls that a model call was answered with.
func callIDs(n *node) (ids []string) {
	if len(n.obs.Response) > 0 {
		for _, p := range callsOf(n.obs.Response[0].Parts) {
			if p.ID != "" {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

// minQuoted is the length from which an id does not stand in a text by chance.
const minQuoted = 8

// quotesCalls reports a text that names all calls that a model call was answered with: by their ids, or by their names and arguments.
func quotesCalls(n *node, m *message) bool {
	if len(n.obs.Response) == 0 {
		return false
	}
	calls, text := callsOf(n.obs.Response[0].Parts), textOf(m)
	return text != "" && len(calls) > 0 && !slices.ContainsFunc(calls, func(p *genai.Part) bool {
		if len(p.ID) >= minQuoted && strings.Contains(text, p.ID) {
			return false
		}
		return p.Name == "" || p.Args.Len() == 0 || !strings.Contains(text, p.Name) ||
			slices.ContainsFunc(p.Args.Members(), func(a exactjson.Member) bool { return a.Value.Text() == "" || !strings.Contains(text, a.Value.Text()) })
	})
}

func repeatsIDs(n *node, t *turn) bool {
	return len(callIDs(n)) > 0 && len(n.request()) > 0 && sameCalls(newMessage(n.obs.Response[0]), t.sent[len(afterSystem(n.request()))])
}

// repeatsAnswer reports that a request repeats, right after the messages of the one before it, what that one was answered. Any
// message will do if the answer was not recorded, or the request is not what was sent.
func repeatsAnswer(before *node, t *turn) bool {
	if len(before.obs.Response) == 0 {
		return true
	}
	following := t.sent[len(afterSystem(before.request())):]
	answer, said := newMessage(before.obs.Response[0]), following[0]
	if same, _ := answer.equal(said); same {
		return true
	}
	if quotesCalls(before, said) {
		return true
	}
	if said.tape.Role != tape.RoleAssistant { // a result follows what asked for it, whether that was recorded or not
		return answersCalls(callIDs(before), following) || said.tape.Role == tape.RoleTool && losesCalls(before)
	}
	switch text := textOf(answer); {
	case t.n.obs.RequestLabel != "", hasToolCall(answer) && repeatsCalls(answer, following):
		return true
	case (text == "" || text == textOf(said)) && takesApart(said, answer): // the calls of a stream, recorded as one, with or without the text beside them
		return true
	case text != textOf(said):
		return false
	case text == "" && hasToolCall(answer) && !hasToolCall(said) && len(following) > 1 && following[1].tape.Role == tape.RoleTool:
		return true // the message that asked was recorded without its calls, before what they returned
	default:
		return text != "" || !hasToolCall(answer) && (hasToolCall(said) || slices.ContainsFunc(before.obs.FinishReasons, tape.AsksForTools))
	}
}

// answersCalls reports that the first of these messages are the results of the calls with the ids, each told once. Some packages leave out the message
// that asked for them.
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

// repeatsCalls reports that the first of these messages, which may hold one call each, ask for the calls of the answer. The calls have the
// same ids or, where one side has none, the same names and arguments.
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

// callsOf lists the tool calls among the parts of a message.
func callsOf(parts []genai.Part) (calls []*genai.Part) {
	for i := range parts {
		if parts[i].Type == tape.PartToolCall {
			calls = append(calls, &parts[i])
		}
	}
	return calls
}

func conversationsDiffer(a, b *node) bool {
	return a.obs.ConversationID != "" && b.obs.ConversationID != "" && a.obs.ConversationID != b.obs.ConversationID
}

// sameCalls compares the tool calls of two messages by id.
func sameCalls(a, b *message) bool {
	ids := func(m *message) []string {
		var out []string
		for _, p := range callsOf(m.parts) {
			if p.ID != "" {
				out = append(out, p.ID)
			}
		}
		return out
	}
	x, y := ids(a), ids(b)
	return len(x) > 0 && slices.Equal(x, y)
}

// isHollow reports a model span without what was sent around the one that holds it. It has no answer either, or that of the other (OpenLIT's for LangChain around that for OpenAI).
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
	text := textOf(newMessage(o.Response[0]))
	return len(told) == 1 && text != "" && len(told[0].obs.Response) > 0 && text == textOf(newMessage(told[0].obs.Response[0]))
}

// models lists the model calls of a fragment in order of time.
func (f *fragment) models() []*node {
	var out []*node
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class != genai.Model || isWrapper(n) || summedUp(n) != nil || isHollow(n) {
				return true
			}
			out = append(out, n)
			return false
		})
	}
	slices.SortFunc(out, compareNodes)
	return out
}
