// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// A run is not a trace: command line agents open a trace per step, and a provider's SDK one per call. Such traces are joined when a
// run-level id says so, or when each request continues the conversation of the one before it.

// Joined is what several traces hold together.
type Joined struct {
	// Tape is a run that was joined from several traces.
	Tape *tape.Tape
	// Traces are the traces it was made from, in order of time.
	Traces []string
	// Roots are the root span ids of its fragments, as trace id and root span id.
	Roots []Root
}

// Root names a run within a trace.
type Root struct{ TraceID, SpanID string }

// Join rebuilds the runs that lie in several of the traces. What it does not return is left to Trace.
func Join(traces []evidence.Trace, opts Options) []Joined {
	var all []*fragment
	for _, t := range traces {
		frags, _, _ := fragments(t)
		all = append(all, frags...)
	}
	var out []Joined
	for _, f := range join(all) {
		if len(f.joined) < 2 {
			continue
		}
		b := &builder{fragment: f, calls: collect(f)}
		j := Joined{Tape: b.build(opts), Traces: f.traces}
		for _, part := range f.joined {
			j.Roots = append(j.Roots, Root{part.traces[0], part.rootID()})
		}
		out = append(out, j)
	}
	return out
}

// join unites fragments that are one run.
func join(all []*fragment) []*fragment {
	slices.SortStableFunc(all, func(a, b *fragment) int { return compareNodes(a.first(), b.first()) })
	group := make(map[*fragment]*fragment, len(all)) // fragment → the first of its group
	find := func(f *fragment) *fragment {
		for group[f] != nil && group[f] != f {
			f = group[f]
		}
		return f
	}
	unite := func(a, b *fragment) {
		a, b = find(a), find(b)
		if a == b {
			return
		}
		if compareNodes(b.first(), a.first()) < 0 {
			a, b = b, a
		}
		group[b] = a
	}
	byRunID(all, unite)
	byConversation(all, unite, find)
	byCallID(all, unite, find)
	members := map[*fragment][]*fragment{}
	for _, f := range all {
		members[find(f)] = append(members[find(f)], f)
	}
	var out []*fragment
	for _, f := range all {
		if list := members[f]; len(list) > 0 {
			out = append(out, united(list))
		}
	}
	return out
}

// united makes one fragment of several.
func united(list []*fragment) *fragment {
	if len(list) == 1 {
		return list[0]
	}
	u := &fragment{joined: list, root: list[0].root}
	for _, f := range list {
		u.heads = append(u.heads, f.heads...)
		u.entry = append(u.entry, f.entry...)
		for _, t := range f.traces {
			if !slices.Contains(u.traces, t) {
				u.traces = append(u.traces, t)
				u.seen = u.seen.and(f.seen)
				u.cut = cmp.Or(u.cut, f.cut)
			}
		}
	}
	return u
}

// ending is the run span of the part that ended last: of a run that waited and was resumed, the one that knows how it ended.
func (f *fragment) ending() *node {
	for _, part := range slices.Backward(f.joined) {
		if part.root != nil {
			return part.root
		}
	}
	return f.root
}

func (f *fragment) first() *node {
	first := f.heads[0]
	for _, h := range f.heads {
		if compareNodes(h, first) < 0 {
			first = h
		}
	}
	return first
}

// byRunID unites what carries the same prompt, invocation or turn id of one service.
func byRunID(all []*fragment, unite func(a, b *fragment)) {
	type key struct{ service, id string }
	seen := map[key]*fragment{}
	for _, f := range all {
		id := f.says(func(o *genai.Observation) string { return o.InvocationID })
		if id == "" {
			continue
		}
		k := key{serviceOf(f.first().resource).Name, id}
		if seen[k] == nil {
			seen[k] = f
		} else {
			unite(seen[k], f)
		}
	}
}

// says returns the first value that the run's own span, what stands above it, or a call gives.
func (f *fragment) says(get func(*genai.Observation) string) string {
	if f.root != nil {
		if v := get(f.root.obs); v != "" {
			return v
		}
	}
	for _, list := range [][]*node{f.entry, f.heads} {
		for _, n := range list {
			value := ""
			walk(n, func(m *node) bool {
				if value == "" {
					value = get(m.obs)
				}
				return value == ""
			})
			if value != "" {
				return value
			}
		}
	}
	return ""
}

// maxOpenChains bounds how many conversations with the same beginning a request is compared with.
const maxOpenChains = 16

// byConversation unites bare model calls whose requests continue each other, and a run that waited with the one that resumed it. A new
// user message starts a new run.
func byConversation(all []*fragment, unite func(a, b *fragment), find func(*fragment) *fragment) {
	type key struct{ service, opening string }
	type link struct {
		f    *fragment
		call *node
	}
	open := map[key][]link{}
	for _, f := range all {
		models := f.models()
		if len(models) == 0 {
			continue
		}
		first := models[0]
		k := key{serviceOf(first.resource).Name, opening(first.request())}
		if k.opening == "" {
			continue
		}
		chains := open[k]
		var fit []int
		for i := len(chains) - 1; i >= 0 && i >= len(chains)-maxOpenChains; i-- {
			before := chains[i]
			if find(before.f) == find(f) {
				fit = nil
				break
			}
			if conversationsDiffer(before.call, first) || !extends(before.call.request(), first.request()) || !repeatsAnswer(before.call, first) {
				continue
			}
			bare := before.f.root == nil && f.root == nil
			if !bare && !resumes(before.f, before.call, f) {
				continue
			}
			fit = append(fit, i)
			if bare {
				break
			}
		}
		if len(fit) == 1 { // of several runs that wait with the same words, which one was resumed is not known
			unite(chains[fit[0]].f, f)
			chains = slices.Delete(chains, fit[0], fit[0]+1) // a conversation goes on once
		}
		open[k] = append(chains, link{f, models[len(models)-1]})
	}
}

// resumes reports that a part in another trace may go on with a run whose last response asked for tools: one with a span of its own when the
// run ended before, or when the part lies in its time because the trace context was lost on the way; one without when it starts later.
func resumes(waited *fragment, last *node, f *fragment) bool {
	_, end := waited.interval()
	start, _ := f.interval()
	later := end <= start || f.root == nil && last.end <= start || waited.root != nil && waited.spans(f)
	return later && !slices.Contains(f.traces, waited.traces[0]) && len(last.obs.Response) > 0 &&
		slices.ContainsFunc(last.obs.Response[0].Parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall })
}

// opening is the id of the first message that is no system prompt.
func opening(request []*message) string {
	for _, m := range request {
		if m.tape.Role != tape.RoleSystem {
			return m.id
		}
	}
	return ""
}

func conversationsDiffer(a, b *node) bool {
	return a.obs.ConversationID != "" && b.obs.ConversationID != "" && a.obs.ConversationID != b.obs.ConversationID
}

// repeatsAnswer reports that a request repeats, right after the messages of the one before it, what that one was answered. Where the
// answer was not recorded, any will do.
func repeatsAnswer(before, after *node) bool {
	if len(before.obs.Response) == 0 {
		return true
	}
	answer, said := newMessage(before.obs.Response[0]), afterSystem(after.request())[len(afterSystem(before.request()))]
	if same, _ := answer.equal(said); same {
		return true
	}
	return said.tape.Role == tape.RoleAssistant && (sameCalls(answer, said) || textOf(answer) != "" && textOf(answer) == textOf(said))
}

// sameCalls compares the tool calls of two messages by id.
func sameCalls(a, b *message) bool {
	ids := func(m *message) []string {
		var out []string
		for _, p := range m.parts {
			if p.Type == tape.PartToolCall && p.ID != "" {
				out = append(out, p.ID)
			}
		}
		return out
	}
	x, y := ids(a), ids(b)
	return len(x) > 0 && slices.Equal(x, y)
}

func (f *fragment) models() []*node {
	var out []*node
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class != genai.Model || isWrapper(n) || sumsUp(n) {
				return true
			}
			out = append(out, n)
			return false
		})
	}
	slices.SortFunc(out, compareNodes)
	return out
}

// byCallID unites traces that hold nothing but tool calls with the run that asked for them: by call id, if exactly one run asked for
// it; else by conversation, if exactly one run of it was going on at that time.
func byCallID(all []*fragment, unite func(a, b *fragment), find func(*fragment) *fragment) {
	asked := map[string][]*fragment{}
	byConversation := map[string][]*fragment{}
	for _, f := range all {
		for _, m := range f.models() {
			for _, r := range m.obs.Response {
				for _, p := range r.Parts {
					if p.Type == tape.PartToolCall && p.ID != "" {
						asked[p.ID] = append(asked[p.ID], f)
					}
				}
			}
		}
		if id := f.says(func(o *genai.Observation) string { return o.ConversationID }); id != "" {
			byConversation[id] = append(byConversation[id], f)
		}
	}
	for _, f := range all {
		if f.root != nil || len(f.models()) > 0 {
			continue
		}
		owners := map[*fragment]bool{}
		for _, h := range f.heads {
			if id := h.obs.CallID; id != "" {
				for _, o := range asked[id] {
					owners[find(o)] = true
				}
			}
		}
		if len(owners) == 0 {
			id := f.says(func(o *genai.Observation) string { return o.ConversationID })
			for _, o := range byConversation[id] {
				if id != "" && find(o) != find(f) && (o.root != nil || len(o.models()) > 0) && o.spans(f) {
					owners[find(o)] = true
				}
			}
		}
		if len(owners) == 1 {
			for o := range owners {
				unite(o, f)
			}
		}
	}
}

// spans reports whether f was going on while g took place.
func (f *fragment) spans(g *fragment) bool {
	start, end := f.interval()
	from, to := g.interval()
	return start <= from && to <= end
}

func (f *fragment) interval() (start, end uint64) {
	start, end = f.first().start, 0
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			end = max(end, n.end)
			return true
		})
	}
	return start, end
}
