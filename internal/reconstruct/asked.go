// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file finds the run of a tool call that lies apart from the response that asked for it.

// tools lists the tool calls of a fragment that no other one encloses, in order of time.
func (f *fragment) tools() []*node {
	var out []*node
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class == genai.Tool {
				out = append(out, n)
			}
			return n.obs.Class != genai.Tool
		})
	}
	slices.SortFunc(out, compareNodes)
	return out
}

// asking is a tool call that the conversation of a fragment shows to have been asked for.
type asking struct {
	f        *fragment
	n        *node // the model call that was answered with it, where it is known: by its response, or by its place in the conversation
	part     *genai.Part
	response bool // a response asks for it, and not only a request or a step shows it
	executed bool
}

// askings lists the tool calls that responses of a fragment ask for. It adds those that its requests, and what its steps were given, show
// beyond them since the last user message.
func (s *stitcher) askings(f *fragment) (out []*asking) {
	known := map[string]int{}
	key := func(p *genai.Part) string {
		if p.ID != "" {
			return p.ID
		}
		return p.Name + "\x00" + p.Args.JSON()
	}
	for _, t := range s.turns[f] {
		for _, r := range t.n.obs.Response {
			for _, p := range callsOf(r.Parts) {
				known[key(p)]++
				out = append(out, &asking{f: f, n: t.n, part: p, response: true})
			}
		}
	}
	longest := s.longest(f)
	for _, messages := range [][]*message{longest, handed(f), s.concluded(f)} {
		shown := map[string]int{}
		since := sinceUser(messages)
		for i, m := range since {
			if m.tape.Role != tape.RoleAssistant {
				continue
			}
			for _, p := range callsOf(m.parts) {
				if shown[key(p)]++; shown[key(p)] > known[key(p)] {
					known[key(p)]++
					a := &asking{f: f, part: p}
					if at := len(messages) - len(since) + i; len(longest) > at && longest[at] == m {
						a.n = s.answeredWith(f, at)
					}
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// answeredWith finds the model call whose request ends where its answer stands in later requests.
func (s *stitcher) answeredWith(f *fragment, at int) *node {
	for _, t := range s.turns[f] {
		if len(t.sent) == at {
			return t.n
		}
	}
	return nil
}

// longest is the longest request of a fragment.
func (s *stitcher) longest(f *fragment) (sent []*message) {
	for _, t := range s.turns[f] {
		if len(t.sent) > len(sent) {
			sent = t.sent
		}
	}
	return sent
}

// concluded is the conversation at the end of a graph whose span stands alone: its calls lie in other traces (Traceloop for LangChain.js without a
// workflow around it).
func (s *stitcher) concluded(f *fragment) (out []*message) {
	if len(f.heads) != 1 || !f.heads[0].obs.WeakAgent || len(f.heads[0].kids) > 0 || len(s.turns[f]) > 0 {
		return nil
	}
	for _, m := range conversationIn(f.heads[0].obs.OutputData) {
		out = append(out, newMessage(m))
	}
	return out
}

// handed is the longest conversation that a step of a fragment was given.
func handed(f *fragment) (out []*message) {
	var longest []genai.Message
	for _, h := range f.heads {
		if h.obs.WeakAgent && len(h.obs.Input) > len(longest) {
			longest = h.obs.Input
		}
	}
	for _, m := range longest {
		out = append(out, newMessage(m))
	}
	return out
}

// sinceUser is what follows the last user message.
func sinceUser(messages []*message) []*message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].tape.Role == tape.RoleUser {
			return messages[i:]
		}
	}
	return messages
}

// byCalls unites parts whose calls a run asked for:
//
//   - A part that shows, since the last user message, a call that another run's response asked for and that no request of that run shows.
//   - Parts that hold nothing but tool calls. The call id decides if exactly one run asked for it. Otherwise name and arguments decide, if such
//     a call is open in exactly one run. If no conversation knows of such a call, it is that of the one run of its trace that may hide it, or the
//     one run that was told its result, or its failure, in the next request.
func (s *stitcher) byCalls() {
	askings := map[*fragment][]*asking{}
	c := calls{byID: map[string][]*asking{}, byName: map[string][]*asking{}, byArgs: map[string][]*asking{}, meets: map[scopeKey]bool{}}
	s.calls = c
	for _, f := range s.all {
		askings[f] = s.askings(f)
		for _, a := range askings[f] {
			if a.part.ID != "" {
				c.byID[a.part.ID] = append(c.byID[a.part.ID], a)
			}
			c.byName[a.part.Name] = append(c.byName[a.part.Name], a)
			if args := a.part.Args; !args.IsEmpty() {
				c.byArgs[args.JSON()] = append(c.byArgs[args.JSON()], a)
			}
		}
	}
	s.byShownCalls()
	var parts []*fragment
	for _, f := range s.all {
		tools := f.tools()
		for _, n := range tools {
			c.meets[n.scope] = c.meets[n.scope] || n.obs.CallID != "" && len(c.byID[n.obs.CallID]) > 0
		}
		if len(tools) > 0 && !f.ownRun() && !slices.ContainsFunc(s.turns[f], func(t *turn) bool { return !inTool(t.n) }) {
			parts = append(parts, f)
			continue
		}
		for _, n := range tools {
			s.execute(c, n, f)
		}
	}
	again := s.reportedAgain(parts)
	for _, f := range parts {
		owners := map[*fragment]bool{}
		var first *asking
		effect := f.tools()[0]
		for i, list := range []func(*node) []*asking{c.asked, c.open} {
			if len(owners) > 0 {
				break
			}
			for _, n := range f.tools() {
				if i > 0 && again[n] {
					continue
				}
				for _, a := range list(n) {
					owners[s.find(a.f)] = true
					if first == nil {
						first, effect = a, n
					}
				}
			}
		}
		if t := s.handedTo(f); t != nil && len(owners) == 0 {
			owners[s.find(t.f)], first = true, &asking{f: t.f, n: t.n}
		}
		if len(owners) == 0 {
			owners = s.hiding(f)
		}
		if len(owners) == 0 {
			owners = s.told(f)
		}
		delete(owners, s.find(f))
		if owner := only(owners); owner != nil {
			s.unite(owner, f, byCall)
			if first != nil && first.n != nil {
				s.after(first.f, first.n, f, effect)
			}
		}
		for _, n := range f.tools() {
			if !again[n] {
				s.execute(c, n, f)
			}
		}
	}
}

// unsaid reports that an answer asked for tools and holds no call, or that it was recorded without a text or a call.
func (t *turn) unsaid() bool {
	empty := !t.failed() && len(t.n.obs.Response) > 0 && !slices.ContainsFunc(t.n.obs.Response[0].Parts, isContent)
	return empty || losesCalls(t.n)
}

// hiding lists the runs of the same trace whose latest model call before the first tool call of f may have asked for it: of its answer neither a
// text nor a call was recorded, or nothing of it at all, and the tool has the id of a provider.
func (s *stitcher) hiding(f *fragment) map[*fragment]bool {
	first := f.tools()[0]
	latest := map[*fragment]*turn{}
	for _, trace := range f.traces {
		turns := s.ended(trace)
		before, _ := slices.BinarySearchFunc(turns, first.start+clockSlack+1, func(t *turn, at uint64) int { return cmp.Compare(t.n.end, at) })
		for i := before - 1; i >= 0 && i >= before-maxOpenTurns; i-- {
			if g := s.find(turns[i].f); latest[g] == nil || latest[g].n.end < turns[i].n.end {
				latest[g] = turns[i]
			}
		}
	}
	owners := map[*fragment]bool{}
	for g, t := range latest {
		unheard := len(first.obs.CallID) >= decode.MinDrawnID && !t.failed() && len(t.n.obs.Response) == 0
		if (t.unsaid() || unheard) && !conversationsDiffer(t.n, first) {
			owners[g] = true
		}
	}
	return owners
}

// hearing is a result that a request shows first.
type hearing struct {
	f    *fragment
	n    *node  // the model call that was told
	from uint64 // when the call before it began
	lost bool   // that call's answer lacks the calls that it asked for
	text string
}

// told lists the groups of the service in which a model was told, after a tool of f ended and with a call before it began, what the tool returned where
// nothing shows the calls any more, or a text with its failure where such a call is open under another name. Instrumentations of steps that lose the
// trace context leave calls out of answers too, and names out of calls that failed (Traceloop with LangChain.js).
func (s *stitcher) told(f *fragment) map[*fragment]bool {
	if s.hearings == nil {
		s.hearings = s.allHearings()
	}
	owners := map[*fragment]bool{}
	for _, n := range f.tools() {
		list, failed := s.hearings[saidText(n.obs.Result.Value)], ""
		if said := failureText(n.obs.Error); len(said) >= minQuoted {
			list, failed = s.hearings[""], said
		} else if !n.obs.Result.Present() {
			continue
		}
		if len(list) > maxAskings {
			continue
		}
		for _, h := range list {
			if h.from > n.start+clockSlack || n.end > h.n.start+clockSlack || !sameService(h.f, f) || failed != "" && !strings.Contains(h.text, failed) {
				continue
			}
			if h.lost || failed != "" && len(s.calls.byName[n.obs.Name]) == 0 && s.openIn(h.f, n) {
				owners[s.find(h.f)] = true
			}
		}
	}
	return owners
}

// failureText is what a failure says, without the name of its type where that stands before it: the model is told the same under another name.
func failureText(e *tape.Error) string {
	if e == nil {
		return ""
	}
	if said, typed := strings.CutPrefix(e.Message, e.Type+": "); typed && e.Type != "" {
		return said
	}
	return e.Message
}

// openIn reports that a call with the arguments of a tool span was asked for in the group of a fragment and executed by no span.
func (s *stitcher) openIn(f *fragment, n *node) bool {
	list := s.calls.byArgs[n.obs.Args.Value.JSON()]
	return slices.ContainsFunc(list[:min(len(list), maxAskings)], func(a *asking) bool { return !a.executed && s.find(a.f) == s.find(f) })
}

// saidText is the text of a result that a request may tell: that of toldText, or the JSON of any other value.
func saidText(v exactjson.Value) string {
	if text := strings.TrimSpace(toldText(v)); text != "" {
		return text
	}
	if inner, ok := decoded(v); ok {
		v = inner
	}
	if v.IsEmpty() {
		return ""
	}
	return v.JSON()
}

// allHearings lists what requests tell of tools: by the text, and all of them under no text.
func (s *stitcher) allHearings() map[string][]hearing {
	groups := map[*fragment][]*turn{}
	for _, f := range s.all {
		groups[s.find(f)] = append(groups[s.find(f)], s.turns[f]...)
	}
	all := map[string][]hearing{}
	for _, f := range s.all {
		turns := groups[f]
		slices.SortStableFunc(turns, func(a, b *turn) int { return compareNodes(a.n, b.n) })
		for i := 1; i < len(turns); i++ {
			t, before := turns[i], turns[i-1]
			asks := false // the message before the results shows calls
			for i, m := range t.sent {
				if m.tape.Role != tape.RoleTool {
					asks = hasToolCall(m)
				}
				if i < len(before.sent) {
					continue
				}
				for k := range m.parts {
					if text := saidText(m.parts[k].Result); m.parts[k].Type == tape.PartToolResult && text != "" {
						one := hearing{f, t.n, before.n.start, !asks || losesCalls(before.n), text}
						all[text], all[""] = append(all[text], one), append(all[""], one)
					}
				}
			}
		}
	}
	return all
}

// handedTo finds the model call whose answer was handed to the step around a part: they have the same text, and the calls were recorded with the step
// alone. It returns nil when there is none, or several.
func (s *stitcher) handedTo(f *fragment) *turn {
	up := f.heads[0].up
	if up == nil || up.obs.Class != genai.Structure || !up.obs.InputData.Present() {
		return nil
	}
	answer := handedAnswer(up)
	if answer == nil || len(textOf(answer)) < minQuoted {
		return nil
	}
	if s.lost == nil {
		s.lost = map[string][]*turn{}
		for _, f := range s.all {
			for _, t := range s.turns[f] {
				if len(t.n.obs.Response) > 0 && losesCalls(t.n) {
					text := textOf(newMessage(t.n.obs.Response[0]))
					s.lost[text] = append(s.lost[text], t)
				}
			}
		}
	}
	if turns := s.lost[textOf(answer)]; len(turns) == 1 && sameService(turns[0].f, f) {
		return turns[0]
	}
	return nil
}

// ended lists the turns of a trace in order of their end.
func (s *stitcher) ended(trace string) []*turn {
	if s.ends == nil {
		s.ends = map[string][]*turn{}
		for _, f := range s.all {
			for _, t := range f.traces {
				s.ends[t] = append(s.ends[t], s.turns[f]...)
			}
		}
		for _, turns := range s.ends {
			slices.SortStableFunc(turns, func(a, b *turn) int { return cmp.Or(cmp.Compare(a.n.end, b.n.end), compareNodes(a.n, b.n)) })
		}
	}
	return s.ends[trace]
}

// byShownCalls unites a fragment with the run whose call, or whose result, its requests show among what was said since the last user message. Such
// requests do not repeat the request before: a history was compacted, messages were recorded out of order, or the provider keeps the conversation and
// is sent what is new (previous_response_id of the Responses API).
func (s *stitcher) byShownCalls() {
	open := map[string][]*turn{}
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			if ids := callIDs(t.n); !t.done && len(ids) > 0 {
				open[ids[0]] = append(open[ids[0]], t)
			}
		}
	}
	for _, f := range s.all {
		if f.ownRun() || len(s.turns[f]) == 0 {
			continue
		}
		for _, m := range sinceUser(s.longest(f)) {
			for _, p := range m.parts {
				if p.Type != tape.PartToolCall && p.Type != tape.PartToolResult {
					continue
				}
				for _, t := range open[p.ID] {
					if len(p.ID) >= minQuoted && len(open[p.ID]) == 1 && !t.done && s.find(t.f) != s.find(f) && sameService(t.f, f) && !conversationsDiffer(t.n, s.turns[f][0].n) {
						s.unite(t.f, f, byCall)
						s.after(t.f, t.n, f, s.turns[f][0].n)
						t.done = true
					}
				}
			}
		}
	}
}

// maxToolTime is how long after an answer that asked for tools a request may come that goes on with it and shows nothing of them, ns.
const maxToolTime = 10 * 60 * 1_000_000_000

// byRepeat unites a model call with the run that it goes on with where calls and results are left out of what is sent or recorded: its request repeats the
// one before word for word, and the answer to that asked for tools and shows none, or was recorded and says nothing (OpenLIT on a provider's SDK without a
// span around it). Where the framework put behind the last message that the step failed, it leaves out calls that were recorded too (smolagents). Where several
// runs wait so, none is taken.
func (s *stitcher) byRepeat() {
	type key struct {
		service, first, last string
		length               int
	}
	var turns []*turn
	waits := false
	for _, f := range s.all {
		if !f.ownRun() {
			turns = append(turns, s.turns[f]...)
			waits = waits || slices.ContainsFunc(s.turns[f], func(t *turn) bool { return t.unsaid() || t.retries() })
		}
	}
	if !waits {
		return
	}
	slices.SortStableFunc(turns, func(a, b *turn) int { return compareNodes(a.n, b.n) })
	waiting := map[key][]*turn{}
	for _, t := range turns {
		if len(t.sent) == 0 {
			continue
		}
		k := key{serviceOf(t.n.resource).Name, withoutTail(t.sent[0]), withoutTail(t.sent[len(t.sent)-1]), len(t.sent)}
		waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool {
			return s.find(o.f) == s.find(t.f) || o.n.end+maxToolTime < t.n.start
		})
		var before []*turn
		for _, o := range waiting[k] {
			if t.retries() || o.unsaid() && o.sent[0].id == t.sent[0].id && o.sent[len(o.sent)-1].id == t.sent[len(t.sent)-1].id {
				before = append(before, o)
			}
		}
		if len(before) == 1 && before[0].n.end <= t.n.start+clockSlack && !s.sameTrace(before[0].f, t.f) && !conversationsDiffer(before[0].n, t.n) {
			s.unite(before[0].f, t.f, byConversation)
			waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return o == before[0] })
		}
		if (t.unsaid() || t.asksForTools()) && !t.done {
			waiting[k] = append(waiting[k], t)
		}
	}
}

// byResults unites a model call whose request holds nothing but results with the run that waits for as many: its last answer, under the same instructions,
// asked for them, and the ids of the results are of another kind than those of its calls. So it is where the provider keeps the conversation and the
// instrumentation records the ids of items of an answer (Traceloop with the Responses API). A run whose last answer lost the calls beside its text waits for any. Where several runs wait so,
// none is taken.
func (s *stitcher) byResults() {
	const callsLost = -1
	type key struct {
		service, system string
		calls           int
	}
	var turns []*turn
	some := false
	for _, f := range s.all {
		if !f.ownRun() {
			turns = append(turns, s.turns[f]...)
			some = some || slices.ContainsFunc(s.turns[f], func(t *turn) bool { return len(resultsAlone(t)) > 0 })
		}
	}
	if !some {
		return
	}
	slices.SortStableFunc(turns, func(a, b *turn) int { return compareNodes(a.n, b.n) })
	waiting, last := map[key][]*turn{}, map[*fragment]*turn{}
	for _, t := range turns {
		system := ""
		for _, m := range t.n.request()[:len(t.n.request())-len(t.sent)] {
			system += m.id
		}
		k := key{serviceOf(t.n.resource).Name, system, 0}
		if ids := resultsAlone(t); len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return len(s.calls.byID[id]) > 0 }) {
			k.calls = len(ids)
			var fit []*turn
			for _, k := range []key{k, {k.service, k.system, callsLost}} {
				waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return last[s.find(o.f)] != o || o.n.end+maxToolTime < t.n.start })
				for _, o := range waiting[k][:min(len(waiting[k]), maxAskings)] {
					asked := callsOf(o.n.obs.Response[0].Parts)
					if s.find(o.f) != s.find(t.f) && o.n.end <= t.n.start+clockSlack && !conversationsDiffer(o.n, t.n) &&
						!slices.ContainsFunc(ids, func(id string) bool { return len(asked) > 0 && !otherKind(asked[0].ID, id) }) {
						fit = append(fit, o)
					}
				}
			}
			if len(fit) == 1 && !s.sameTrace(fit[0].f, t.f) {
				s.unite(fit[0].f, t.f, byConversation)
				s.after(fit[0].f, fit[0].n, t.f, t.n)
			}
		}
		last[s.find(t.f)] = t
		if len(t.n.obs.Response) > 0 {
			if k.calls = len(callsOf(t.n.obs.Response[0].Parts)); k.calls == 0 && t.n.obs.TextAlone {
				k.calls = callsLost
			}
			if k.calls != 0 {
				waiting[k] = append(waiting[k], t)
			}
		}
	}
}

// resultsAlone lists the ids of the results that a request consists of; nil when it holds anything else.
func resultsAlone(t *turn) (ids []string) {
	for _, m := range t.sent {
		for i := range m.parts {
			if m.parts[i].Type != tape.PartToolResult {
				return nil
			}
			ids = append(ids, m.parts[i].ID)
		}
	}
	return ids
}

// retries reports a request whose last message ends with what the framework says of a step that failed.
func (t *turn) retries() bool {
	return len(t.sent) > 0 && withoutTail(t.sent[len(t.sent)-1]) != t.sent[len(t.sent)-1].id
}

// asksForTools reports an answer with a call of a tool that runs.
func (t *turn) asksForTools() bool {
	return len(t.n.obs.Response) > 0 && slices.ContainsFunc(callsOf(t.n.obs.Response[0].Parts), func(p *genai.Part) bool { return !slices.Contains(t.n.obs.OutputTools, p.Name) })
}

// withoutTail is the id of a message without what the framework put behind it.
func withoutTail(m *message) string {
	n := len(m.parts)
	for n > 0 && m.parts[n-1].Injected {
		n--
	}
	if n == 0 || n == len(m.parts) {
		return m.id
	}
	return newMessage(genai.Message{Role: m.tape.Role, Name: m.tape.Name, Parts: m.parts[:n]}).id
}

// calls are the tool calls that the conversations of all fragments show.
type calls struct {
	byID, byName map[string][]*asking
	byArgs       map[string][]*asking // the arguments as JSON
	meets        map[scopeKey]bool    // instrumentations whose tool calls have the ids that responses ask with
}

// asked lists the calls with the id of a tool span, or of the call that it was handed whole.
func (c calls) asked(n *node) []*asking {
	id := n.obs.CallID
	if id == "" {
		_, _, id = c.handed(n)
	}
	return surest(c.byID[id])
}

// handed is the name, the arguments and the id of the call that a tool span stands for: those that it was handed, where nobody asked for a tool of its own name.
func (c calls) handed(n *node) (name string, args genai.Content, id string) {
	if len(c.byName[n.obs.Name]) == 0 && n.obs.Args.Label == "" {
		if part, ok := onlyCall(n.obs.Args.Value); ok {
			return part.Name, genai.Content{Value: part.Args}, part.ID
		}
	}
	return n.obs.Name, n.obs.Args, n.obs.CallID
}

// surest leaves of calls those that responses asked for, if there are any.
func surest(all []*asking) []*asking {
	if some := slices.DeleteFunc(slices.Clone(all), func(a *asking) bool { return !a.response }); len(some) > 0 {
		return some
	}
	return all
}

// maxAskings bounds how many calls of one name a tool span is compared with.
const maxAskings = 256

// open lists the calls of the same name and arguments that were asked for and that no span executed. For a record that is no span it also
// lists those that a span executed: the record is a second report.
func (c calls) open(n *node) []*asking {
	var equal, wider []*asking
	tried := 0
	name, args, _ := c.handed(n)
	for _, a := range c.byName[name] {
		if a.executed && n.spans > 0 || n.obs.CallID != "" && a.part.ID != "" && c.meets[n.scope] {
			continue
		}
		if tried++; tried > maxAskings {
			break
		}
		switch {
		case !args.Present() || args.Label != "" || equalArgs(args.Value, a.part.Args, sameValue):
			equal = append(equal, a)
		case includes(args.Value, a.part.Args, maxEnvelopes):
			wider = append(wider, a)
		}
	}
	if len(equal) > 0 {
		return surest(equal)
	}
	return surest(wider)
}

// includes reports that arguments hold all that was asked for, beside others that the program passes on its own, or in an envelope.
func includes(received, asked exactjson.Value, depth int) bool {
	if asked.Kind() != exactjson.Object || asked.Len() == 0 || received.Kind() != exactjson.Object || depth == 0 {
		return false
	}
	if !slices.ContainsFunc(asked.Members(), func(m exactjson.Member) bool { return !sameValue(received.Get(m.Name), m.Value) }) {
		return true
	}
	return slices.ContainsFunc(received.Members(), func(m exactjson.Member) bool { return includes(m.Value, asked, depth-1) })
}

// inTool reports a span that lies below the span of a tool call.
func inTool(n *node) bool {
	for up := n.up; up != nil; up = up.up {
		if up.obs.Class == genai.Tool {
			return true
		}
	}
	return false
}

// execute marks the asked call that a tool span of a fragment executed.
func (s *stitcher) execute(c calls, n *node, f *fragment) {
	for _, list := range [][]*asking{c.asked(n), c.open(n)} {
		for _, a := range list {
			if !a.executed && s.find(a.f) == s.find(f) {
				a.executed = true
				return
			}
		}
	}
}
