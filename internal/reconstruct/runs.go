// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// fragment is what one run is made of: the run span and all below it, or loose calls without a run span.
type fragment struct {
	root   *node   // the run span; nil for loose calls
	heads  []*node // local roots of what belongs to the run, the run span among them
	entry  []*node // entry spans above it, innermost first
	traces []string
	cut    string      // why the evidence of one of these traces is not all of it
	seen   redactions  // what redaction the evidence of these traces went through
	own    bool        // named by its own first span, because another run has the name that it would have, or other runs lie beside it
	parts  []*fragment // what it was united from, in order of time
	why    []string    // what says that these are one run
	behind uint64      // ns that its clock is behind that of the part it goes on with, at least
	within *fragment   // the run that it was gathered into
	asTool bool        // a tool call of another part ran this agent: its span is that of no whole run
	ranBy  *node       // the span of that call; nil: none came, or several fit

	description *node // a span that runs nothing and tells of the run's agent; nil: none, or the run itself tells it
}

// isBody reports the span of a node of a graph that is a trace of its own. It is no run: what it holds, the spans of its graph and of its calls hold too, and
// a join finds whose it is.
func (f *fragment) isBody() bool {
	n := f.root
	return n != nil && n.obs.Body && len(f.parts) == 0 && len(f.heads) == 1 && len(n.kids) == 0 && n.up == nil && n.parent.IsEmpty()
}

// divide finds the runs of a trace. Nested agents stay inside the run around them.
func divide(roots []*node, traceID string) []*fragment {
	var frags []*fragment
	loose := map[*node]bool{}
	for _, r := range roots {
		var entries []*node
		findRuns(r, entries, &frags, loose)
	}
	apart := relays(roots, loose)
	frags = append(gather(append(frags, groupLoose(roots, loose)...)), apart...)
	for _, f := range frags {
		f.traces = []string{traceID}
	}
	return frags
}

// findRuns descends to the outermost agent of each path. Calls that it passes are loose.
func findRuns(n *node, entries []*node, frags *[]*fragment, loose map[*node]bool) {
	if n.obs.Class == genai.Agent {
		root := descendWrappers(n)
		*frags = append(*frags, &fragment{root: root, heads: []*node{n}, entry: reversed(entries)})
		return
	}
	if n.obs.Class == genai.Entry {
		entries = append(slices.Clone(entries), n)
	}
	if isCall(n) && !isWrapper(n) {
		loose[n] = true
		return // an agent below a loose call is part of what the call did
	}
	for _, k := range n.kids {
		findRuns(k, entries, frags, loose)
	}
}

func reversed(nodes []*node) []*node {
	out := slices.Clone(nodes)
	slices.Reverse(out)
	return out
}

// isWrapper reports a span that calls itself a model call and holds a whole agent: it names no model, or was asked what the agent was asked.
func isWrapper(n *node) bool {
	o := n.obs
	if o.Class != genai.Model || len(n.kids) == 0 {
		return false
	}
	return o.Model == "" && o.ResponseModel == "" && o.ResponseID == "" && holdsAgent(n) || asksAgent(n)
}

// asksAgent reports a model span with nothing below it but one agent whose first model call was sent the same question: an instrumentation that wraps the
// function around a loop calls it a chat (OpenLIT with generateText of the AI SDK, which writes spans of its own). Where that failed it tells no question.
func asksAgent(n *node) bool {
	asked := lastUserText(n.obs.Request)
	if asked == "" && len(n.obs.Request)+len(n.obs.Response) > 0 {
		return false
	}
	var agent *node
	only := true
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			switch {
			case isCall(m), m.obs.Class == genai.Agent && agent != nil:
				only = false
			case m.obs.Class == genai.Agent:
				agent = m
				return false
			}
			return only
		})
	}
	if !only || agent == nil || agent.obs.WeakAgent {
		return false
	}
	first := firstModel(agent)
	return first != nil && len(first.obs.Request) > 0 && (asked == "" || lastUserText(first.obs.Request) == asked)
}

// descendWrappers steps from a wrapper without content of its own to the only agent inside it.
func descendWrappers(n *node) *node {
	for isBare(n) {
		var agents []*node
		calls := false
		for _, k := range n.kids {
			walk(k, func(m *node) bool {
				switch {
				case m.obs.Class == genai.Agent:
					agents = append(agents, m)
					return false
				case isCall(m):
					calls = true
				}
				return true
			})
		}
		if len(agents) != 1 || calls {
			return n
		}
		n = agents[0]
	}
	return n
}

// isBare reports an agent span that says nothing about the run but that it took place.
func isBare(n *node) bool {
	o := n.obs
	return len(o.Input) == 0 && len(o.Output) == 0 && !o.InputData.Present() && !o.OutputData.Present() && (o.WeakAgent || o.Agent.Name == "")
}

// groupLoose gathers calls without an agent span. The calls below one local root are one run. So are calls that miss the same
// parent, calls of one conversation, and calls whose requests continue each other.
func groupLoose(roots []*node, loose map[*node]bool) []*fragment {
	frags := byTurn(loose)
	byParent := map[pcommon.SpanID]*fragment{}
	byConversation := map[string]*fragment{}
	for _, r := range roots {
		var heads, functions []*node
		var entries []*node
		walk(r, func(n *node) bool {
			if n.obs.Called != nil && n.obs.Class == genai.Structure && !holdsCall(n) {
				functions = append(functions, n) // one of the calls may have asked for it
			}
			if loose[n] {
				heads = append(heads, n)
				return false
			}
			if n.obs.Class == genai.Entry {
				entries = append(entries, n)
			}
			return n.obs.Class != genai.Agent
		})
		if len(heads) == 0 {
			if f := byParent[r.parent]; r.missing && f != nil {
				f.heads = append(f.heads, functions...)
			}
			continue
		}
		conversation := heads[0].obs.ConversationID
		var f *fragment
		switch {
		case r.missing && byParent[r.parent] != nil:
			f = byParent[r.parent]
		case conversation != "" && byConversation[conversation] != nil && loose[r]:
			f = byConversation[conversation]
		default:
			if f = continued(frags, heads[0]); f == nil || !loose[r] {
				f = &fragment{}
				frags = append(frags, f)
			}
		}
		f.heads = append(append(f.heads, heads...), functions...)
		f.entry = append(f.entry, reversed(entries)...)
		if r.missing && byParent[r.parent] == nil {
			byParent[r.parent] = f
		}
		if conversation != "" && byConversation[conversation] == nil {
			byConversation[conversation] = f
		}
	}
	return frags
}

// byTurn makes runs of the loose calls that number their turns, and takes these from the loose ones. A first turn begins a run. A later
// turn belongs to the run beside it whose first turn encloses it. If the first turn never came, the conversation decides.
func byTurn(loose map[*node]bool) (frags []*fragment) {
	var turns []*node
	for n := range loose {
		if n.obs.Turn > 0 {
			turns = append(turns, n)
			delete(loose, n)
		}
	}
	slices.SortFunc(turns, compareNodes)
	beside := map[siblings][]*fragment{}
	for _, n := range turns {
		runs := beside[siblingsOf(n)]
		i := len(runs) - 1
		for ; i >= 0; i-- {
			first := runs[i].heads[0]
			if n.obs.Turn > 1 && (n.within(first) || first.obs.Turn > 1 && first.obs.ConversationID == n.obs.ConversationID) {
				break
			}
		}
		if i >= 0 {
			runs[i].heads = append(runs[i].heads, n)
			continue
		}
		f := &fragment{heads: []*node{n}, own: true}
		for up := n.up; up != nil; up = up.up {
			if up.obs.Class == genai.Entry {
				f.entry = append(f.entry, up)
			}
		}
		beside[siblingsOf(n)] = append(runs, f)
		frags = append(frags, f)
	}
	return frags
}

// continued finds the run of loose calls that a further call without any ids continues. The request of the call extends the
// request of the run's last model call by its answer, and by assistant and tool messages only.
func continued(frags []*fragment, n *node) *fragment {
	if n.obs.Class != genai.Model || len(n.obs.Request) == 0 {
		return nil
	}
	for i := len(frags) - 1; i >= 0; i-- {
		heads := frags[i].heads
		for j := len(heads) - 1; j >= 0; j-- {
			if heads[j].obs.Class != genai.Model {
				continue
			}
			if extends(heads[j].request(), n.request()) && repeatsAnswer(heads[j], n, afterSystem(n.request())) {
				return frags[i]
			}
			break
		}
	}
	return nil
}

// gather puts runs that were torn apart together. An agent span without a call below it is the run of the calls and steps beside it.
// These name the same parent, lie in its time, and were given the same user message or none. Some instrumentations write runs so:
// they hang every span below the span of the application, which is no evidence.
func gather(frags []*fragment) []*fragment {
	beside := map[siblings][]*fragment{}
	for _, f := range frags {
		key := siblingsOf(f.heads[0])
		beside[key] = append(beside[key], f)
	}
	gathered := map[*fragment]bool{}
	for _, f := range frags {
		var run *fragment
		for _, g := range beside[siblingsOf(f.heads[0])] {
			if g != f && !gathered[g] && g.root != nil && !holdsCall(g.root) && g.around(f) && (run == nil || g.around(run)) {
				run = g
			}
		}
		if run == nil {
			continue
		}
		gathered[f] = true
		for _, n := range f.heads {
			n.up, n.adopted = run.root, true
		}
		f.within = run
	}
	kept := frags[:0:0]
	for _, f := range frags {
		if !gathered[f] {
			kept = append(kept, f)
			continue
		}
		run := f.within
		for gathered[run] {
			run = run.within
		}
		run.entry = append(run.entry, f.entry...)
		for _, n := range f.heads {
			n.up = run.root
			run.root.kids = append(run.root.kids, n)
		}
	}
	for _, f := range kept {
		if f.root != nil {
			slices.SortFunc(f.root.kids, compareNodes)
		}
	}
	return kept
}

// modelSpans lists the model spans of a fragment in order of time.
func (f *fragment) modelSpans() []*node {
	var models []*node
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			if n.obs.Class == genai.Model {
				models = append(models, n)
			}
			return true
		})
	}
	slices.SortFunc(models, compareNodes)
	return models
}

// around reports that a fragment lies in the time of this one and speaks of nothing else than it does.
func (f *fragment) around(inner *fragment) bool {
	for _, n := range inner.heads {
		if n.parent.IsEmpty() || !n.within(f.root) || n.start == f.root.start && n.end == f.root.end && compareNodes(n, f.root) < 0 {
			return false
		}
	}
	asked := inner.userText()
	return asked == "" || asked == f.userText()
}

// userText is the user's message as the fragment's own span or its first model call holds it.
func (f *fragment) userText() string {
	if f.root != nil {
		if text := lastUserText(f.root.obs.Input); text != "" {
			return text
		}
	}
	for _, n := range f.modelSpans() {
		if text := lastUserText(n.obs.Request); text != "" {
			return text
		}
	}
	return ""
}
