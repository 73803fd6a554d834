// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// A run is not a trace, and what hangs together in a trace is not always all of a run. Command line agents open a trace per step, a
// provider's SDK opens one per call, and steps lose the span above them, or their trace context. This file unites what the content says
// to be one run. The conversation is the spine. A request that repeats what another part asked and was answered goes on with it. A tool
// call belongs to the part that asked for it. Spans that hold only what another part holds too are no run. A new user message begins a
// new run. Where two parts fit equally well, none is taken.

// How parts of a run were found to be one, as the finding says it.
const (
	byRun          = "run id"
	byConversation = "conversation"
	byCall         = "tool calls"
	byTime         = "session and time"
	byContent      = "content"
	byDescription  = "description of the agent"
	byLinks        = "span links"
	byOffer        = "offered tools"
)

// stitcher unites fragments.
type stitcher struct {
	all   []*fragment
	above map[*fragment]*fragment // towards the first of the group
	why   map[*fragment][]string  // of a group, by its first
	turns map[*fragment][]*turn
	ends  map[string][]*turn // by trace, see ended
	lost  map[string][]*turn // by the text of their answer, see handedTo
	calls calls

	hearings map[string][]hearing // see told
}

// stitch unites fragments that are one run; in order of time.
func stitch(all []*fragment) []*fragment {
	if len(all) < 2 {
		return all
	}
	slices.SortStableFunc(all, func(a, b *fragment) int { return compareNodes(a.first(), b.first()) })
	s := &stitcher{all: all, above: make(map[*fragment]*fragment, len(all)), why: map[*fragment][]string{}, turns: map[*fragment][]*turn{}}
	for _, f := range all {
		for _, n := range f.models() {
			s.turns[f] = append(s.turns[f], &turn{f: f, n: n, sent: afterSystem(n.request())})
		}
	}
	s.byRelay()
	s.byRunID()
	s.byResponse()
	s.byTwin()
	s.byHollowTwin()
	s.byConversation()
	s.steps()
	s.byCalls()
	s.byLink()
	s.byRepeat()
	s.byResults()
	s.byAnswer()
	s.byBrokenRun()
	s.byFailure()
	s.byDelegation()
	s.byStream()
	s.byOffers()
	s.byToolTwin()
	s.bySession()
	s.byUnheard()
	s.byNamedModel()
	s.byToolTwin() // again: of tools whose reports by another instrumentation were joined since
	s.clocks()
	members := map[*fragment][]*fragment{}
	for _, f := range all {
		members[s.find(f)] = append(members[s.find(f)], f)
	}
	var out []*fragment
	for _, f := range all {
		if list := members[f]; len(list) > 0 {
			u := united(list)
			if len(list) > 1 {
				u.why = append(slices.Clone(u.why), s.why[f]...)
				slices.Sort(u.why)
				u.why = slices.Compact(u.why)
			}
			out = append(out, u)
		}
	}
	return out
}

// find returns the first fragment of the group to which f belongs.
func (s *stitcher) find(f *fragment) *fragment {
	for s.above[f] != nil {
		f = s.above[f]
	}
	return f
}

func (s *stitcher) unite(a, b *fragment, why string) {
	a, b = s.find(a), s.find(b)
	if a == b {
		return
	}
	if compareNodes(b.first(), a.first()) < 0 {
		a, b = b, a
	}
	s.above[b] = a
	s.why[a] = append(append(s.why[a], s.why[b]...), why)
	delete(s.why, b)
}

// after says that an effect in g was caused by a model call in f. An effect that is a model call was also caused by the tools that ran in
// between. When the times say otherwise, the clock of the trace of g is behind.
func (s *stitcher) after(f *fragment, cause *node, g *fragment, effect *node) {
	end := cause.end
	if effect.obs.Class == genai.Model {
		next := uint64(math.MaxUint64)
		for _, t := range s.turns[f] {
			if t.n.start > cause.start {
				next = min(next, t.n.start)
			}
		}
		for _, n := range f.tools() {
			if n.start >= cause.start && n.start < next {
				end = max(end, n.end)
			}
		}
	}
	end += f.behind
	if end <= effect.start+g.behind+clockSlack || s.sameTrace(f, g) {
		return
	}
	s.delay(g, end-effect.start)
}

// clocks finds how far the clock of a trace is behind, at least, of the calls that the parts of a run hold together: a tool runs after the response
// that asked for it, and an agent begins after it was handed the conversation. A part that seems to have begun before the run did, and of which
// nothing says more, comes last.
func (s *stitcher) clocks() {
	groups := map[*fragment][]*fragment{}
	for _, f := range s.all {
		groups[s.find(f)] = append(groups[s.find(f)], f)
	}
	for _, first := range s.all {
		group := groups[first]
		if !slices.ContainsFunc(group, func(f *fragment) bool { return !s.sameTrace(f, first) }) {
			continue
		}
		for _, f := range group {
			for _, n := range f.tools() {
				if a := s.cause(n, first); a != nil {
					s.after(a.f, a.n, f, n)
				}
			}
		}
		var whole *fragment
		for _, f := range group {
			if f.ownRun() && !f.asTool && (whole == nil || s.handsOver(f, whole)) {
				whole = f
			}
		}
		if whole == nil {
			continue
		}
		last := whole.root.start
		for _, f := range group {
			if s.sameTrace(f, whole) {
				for _, n := range append(f.models(), f.tools()...) {
					last = max(last, n.end)
				}
			}
		}
		for _, f := range group {
			if start := f.first().start; f.behind == 0 && !s.sameTrace(f, whole) && start+clockSlack < whole.root.start && (f.root != nil || f.isRun()) { // a message may be what the run began with
				s.delay(f, last-start)
			}
		}
	}
}

// cause finds the only response of a group that asked for what a tool span executed.
func (s *stitcher) cause(n *node, group *fragment) *asking {
	for _, list := range [][]*asking{s.calls.byID[n.obs.CallID], s.calls.byName[n.obs.Name]} {
		var fit []*asking
		for _, a := range list[:min(len(list), maxAskings)] {
			same := a.part.ID != "" && a.part.ID == n.obs.CallID || equalArgs(n.obs.Args.Value, a.part.Args, sameValue)
			if a.response && s.find(a.f) == group && same {
				fit = append(fit, a)
			}
		}
		if len(fit) == 1 {
			return fit[0]
		}
	}
	return nil
}

// handsOver reports that a response of f hands the conversation over to the agent of g.
func (s *stitcher) handsOver(f, g *fragment) bool {
	agent := normalName(g.root.obs.Agent.Name)
	return agent != "" && slices.ContainsFunc(s.turns[f], func(t *turn) bool {
		return len(t.n.obs.Response) > 0 && slices.ContainsFunc(callsOf(t.n.obs.Response[0].Parts), func(p *genai.Part) bool {
			return transferTarget(&call{obs: &genai.Observation{Name: p.Name, Args: genai.Content{Value: p.Args}}}) == agent
		})
	})
}

// delay says that the clock of the trace of f is behind, in ns.
func (s *stitcher) delay(f *fragment, behind uint64) {
	for _, one := range s.all {
		if s.sameTrace(one, f) {
			one.behind = behind
			for _, leaf := range one.leaves() {
				leaf.behind = behind
			}
		}
	}
}

// united makes one fragment of several.
func united(list []*fragment) *fragment {
	if len(list) == 1 {
		return list[0]
	}
	slices.SortStableFunc(list, func(a, b *fragment) int { // as if their clocks were one
		return cmp.Compare(a.first().start+a.behind, b.first().start+b.behind)
	})
	u := &fragment{parts: list, own: list[0].own}
	if whole := runSpan(list); whole != nil {
		u.root = whole.root
		u.traces = slices.Clone(whole.traces)
		u.seen, u.cut = whole.seen, whole.cut
	}
	for _, f := range list {
		u.heads = append(u.heads, f.heads...)
		u.entry = append(u.entry, f.entry...)
		u.why = append(u.why, f.why...)
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

// runSpan finds the part whose own span is that of the whole run. It is the part in whose time all others lie, else the first that is
// more than a step, or that nothing stands above. runSpan returns nil when there is none: an agent that a tool ran is no whole run.
func runSpan(list []*fragment) *fragment {
	for _, f := range list {
		if f.root != nil && !slices.ContainsFunc(list, func(g *fragment) bool { return g != f && !f.spans(g) }) {
			return f
		}
	}
	if f := list[0]; f.root != nil && !f.heads[0].missing {
		return f
	}
	for _, f := range list {
		if f.ownRun() && !f.asTool {
			return f
		}
	}
	return nil
}

// ownRun reports a fragment whose own span is the one of an agent, and no step of a graph.
func (f *fragment) ownRun() bool { return f.root != nil && !f.root.obs.WeakAgent }

// pieces lists the parts that it was united from; itself where there are none.
func (f *fragment) pieces() []*fragment {
	if len(f.parts) == 0 {
		return []*fragment{f}
	}
	return f.parts
}

// leaves lists the fragments that were united to this one.
func (f *fragment) leaves() []*fragment {
	if len(f.parts) == 0 {
		return []*fragment{f}
	}
	var out []*fragment
	for _, part := range f.parts {
		out = append(out, part.leaves()...)
	}
	return out
}

// ending is the run span that ended last: of a run that waited and was resumed, the one that knows how it ended.
func (f *fragment) ending() *node {
	last, end := f.root, uint64(0)
	for _, part := range f.leaves() {
		if part.root == last && last != nil {
			end = last.end + part.behind
		}
	}
	for _, part := range f.leaves() {
		if n := part.root; n != nil && last != nil && n != last && n.end+part.behind > end && (part.ownRun() || !n.missing && f.root.obs.WeakAgent) {
			last = n
		}
	}
	return last
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

// byFailure unites a model call that failed, of which nothing else was recorded and that lies alone in its trace, with the run whose last model call asked for tools and was
// not gone on with: the call before it of the same instrumentation, service and model. Some packages write what was sent only when an answer came (OpenLIT for JavaScript).
// Where another run of the service waits too, or another model call lies between, which one failed is not known.
func (s *stitcher) byFailure() {
	type key struct{ service, scope string }
	keyOf := func(t *turn) key { return key{serviceOf(t.n.resource).Name, t.n.scope.name} }
	failures, last := map[key][]*turn{}, map[key]map[*fragment]*turn{}
	var order []*turn
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			k := keyOf(t)
			o := t.n.obs
			if t.failed() && o.Model != "" && len(o.Request)+len(o.Response) == 0 && o.RequestLabel == "" && len(s.turns[f]) == 1 && len(f.tools()) == 0 && f.root == nil && !s.joined(f) {
				failures[k] = append(failures[k], t)
				order = append(order, t)
				continue
			}
			if last[k] == nil {
				last[k] = map[*fragment]*turn{}
			}
			if g := s.find(f); last[k][g] == nil || compareNodes(last[k][g].n, t.n) < 0 {
				last[k][g] = t
			}
		}
	}
	for _, t := range order {
		k := keyOf(t)
		if len(failures[k]) > 1 {
			continue
		}
		var open []*turn
		for _, a := range last[k] {
			if asksTools(a.n) && !a.failed() && a.f.root == nil {
				open = append(open, a)
			}
		}
		if len(open) != 1 || open[0].n.obs.Model != t.n.obs.Model || open[0].n.end > t.n.start || t.n.start-open[0].n.end > maxFailureGap || conversationsDiffer(open[0].n, t.n) {
			continue
		}
		between := false
		for _, a := range last[k] {
			between = between || a != open[0] && a.n.end > open[0].n.start && a.n.start < t.n.end
		}
		if !between {
			s.unite(open[0].f, t.f, byContent)
		}
	}
}

// maxFailureGap is how long tools may take before a failed call that tells nothing else, in nanoseconds.
const maxFailureGap = 600_000_000_000

// joined reports a fragment that is a part of a group already.
func (s *stitcher) joined(f *fragment) bool { return s.find(f) != f || len(s.why[f]) > 0 }

// byRunID unites what carries the same prompt, invocation or turn id of one service.
func (s *stitcher) byRunID() {
	type key struct{ service, id string }
	seen := map[key]*fragment{}
	for _, f := range s.all {
		id := f.says(func(o *genai.Observation) string { return o.InvocationID })
		if id == "" {
			continue
		}
		k := key{serviceOf(f.first().resource).Name, id}
		if seen[k] == nil {
			seen[k] = f
		} else {
			s.unite(seen[k], f, byRun)
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

func sameService(a, b *fragment) bool {
	return serviceOf(a.first().resource).Name == serviceOf(b.first().resource).Name
}

func (s *stitcher) sameTrace(a, b *fragment) bool {
	return slices.ContainsFunc(a.traces, func(t string) bool { return slices.Contains(b.traces, t) })
}

// only is the one member of a set that has no other.
func only(set map[*fragment]bool) *fragment {
	for f := range set {
		if len(set) == 1 {
			return f
		}
	}
	return nil
}

// session is what says which run a part without a user message belongs to: its conversation, else its agent, by name and instructions.
func session(o *genai.Observation) string {
	if o.ConversationID != "" || o.Agent.Name == "" || len(o.System) == 0 {
		return o.ConversationID
	}
	var said strings.Builder
	said.WriteString("\x00" + o.Agent.Name)
	for _, p := range o.System {
		if p.Type == tape.PartText {
			said.WriteString("\x00" + p.Text)
		}
	}
	return said.String()
}

// bySession unites parts that hold no user message of their own with the run of the same session, if exactly one was going on at that time.
// A run of which only a record of the prompt came goes on until the next one begins. Parts that were sent its prompt belong to it, and such
// that name no session and lie in its trace. Where no session is named, the agent is what a part and its run have in common.
func (s *stitcher) bySession() {
	runs, prompts := map[string][]*fragment{}, map[string][]*fragment{}
	var parts, asked []*fragment
	for _, f := range s.all {
		id := f.says(session)
		switch {
		case f.prompt() != "":
			runs[id] = append(runs[id], f)
			prompts[id] = append(prompts[id], f)
			for _, t := range f.traces {
				prompts[t] = append(prompts[t], f)
			}
		case f.ownRun() || f.userText() != "":
			if id != "" {
				runs[id] = append(runs[id], f)
			}
			if !f.ownRun() {
				asked = append(asked, f)
			}
		default:
			parts = append(parts, f)
		}
	}
	for _, f := range parts {
		id := f.says(session)
		owners := map[*fragment]bool{}
		for _, g := range runs[id] {
			if id != "" && s.find(g) != s.find(f) && g.spans(f) && sameService(g, f) {
				owners[s.find(g)] = true
			}
		}
		if owner := only(owners); owner != nil {
			s.unite(owner, f, byTime)
			continue
		}
		if strings.HasPrefix(id, "\x00") {
			continue
		}
		if g := s.waiting(runs[id], f); id != "" && g != nil && len(owners) == 0 {
			turns := s.turns[g]
			s.unite(g, f, byTime)
			s.after(g, turns[len(turns)-1].n, f, f.first())
			continue
		}
		if id == "" {
			id = f.traces[0]
		}
		if g := latestBefore(prompts[id], f); g != nil && len(owners) == 0 {
			s.unite(g, f, byTime)
		}
	}
	for _, f := range asked {
		if g := latestBefore(prompts[f.says(session)], f); g != nil && f.says(session) != "" && f.wasSent(g.prompt()) {
			s.unite(g, f, byTime)
		}
	}
}

// waiting returns the run of a session if it has one alone, which asked for tools at last, and the part in a trace of its own seems to have begun before it:
// the clock of that trace is behind.
func (s *stitcher) waiting(runs []*fragment, part *fragment) *fragment {
	if len(runs) != 1 || len(s.turns[part]) == 0 {
		return nil
	}
	g := runs[0]
	turns := s.turns[g]
	if len(turns) == 0 || s.sameTrace(g, part) || g.first().start < part.first().start || !asksTools(turns[len(turns)-1].n) {
		return nil
	}
	return g
}

// prompt is the prompt of a run of which nothing but the record of it came.
func (f *fragment) prompt() string {
	if f.root == nil || f.root.spans > 0 || len(f.heads) != 1 || f.heads[0] != f.root {
		return ""
	}
	return strings.TrimSpace(lastUserText(f.root.obs.Input))
}

// latestBefore finds the last of these that began before f.
func latestBefore(prompts []*fragment, f *fragment) (latest *fragment) {
	for _, g := range prompts {
		if g != f && g.first().start <= f.first().start && (latest == nil || g.first().start >= latest.first().start) {
			latest = g
		}
	}
	return latest
}

// wasSent reports that a part of the last user message of the first request is the prompt.
func (f *fragment) wasSent(prompt string) bool {
	models := f.models()
	if len(models) == 0 {
		return false
	}
	for _, m := range slices.Backward(models[0].request()) {
		if m.tape.Role == tape.RoleUser {
			return slices.ContainsFunc(m.parts, func(p genai.Part) bool { return strings.TrimSpace(p.Text) == prompt })
		}
	}
	return false
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
	return start + f.behind, end + f.behind
}
