// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// link hangs every node below its parent and returns the local roots. A node whose parent never came hangs below the innermost call or
// agent whose time encloses it, if there is exactly one such. Spans that are no evidence (HTTP clients, the application's own) are the
// usual reason for the gap. In a trace of which no span names a parent, all of them are placed so, see lies.
func link(nodes []*node) []*node {
	byID := make(map[pcommon.SpanID]*node, len(nodes))
	for _, n := range nodes {
		byID[n.id] = n
	}
	var first *node
	tops := 0
	for _, n := range nodes {
		if n.parent.IsEmpty() {
			if n.spans > 0 {
				first, tops = n, tops+1
			}
			continue
		}
		if p := byID[n.parent]; p != nil && p != n {
			n.up = p
		} else {
			n.missing = true
		}
	}
	if tops == 1 {
		first.sole = true
	}
	cutCycles(nodes)
	signRequests(nodes)
	turnOver(nodes)
	for _, n := range nodes {
		if n.up != nil {
			n.up.kids = append(n.up.kids, n)
		}
	}
	var orphans []*node
	for _, n := range nodes {
		if n.up == nil && n.missing {
			orphans = append(orphans, n)
		}
	}
	if nameNoParents(nodes) {
		orphans = slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.up != nil })
	}
	place(orphans, nodes, maxPlacing)
	for _, n := range nodes {
		n.releaseAttempts()
	}
	giveHeld(nodes)
	var roots []*node
	for _, n := range nodes {
		if n.up == nil {
			roots = append(roots, n)
		}
	}
	for _, n := range nodes {
		if n.obs.Class == genai.Structure && n.obs.Summary && n.obs.Model != "" {
			handModel(n)
		}
		dropEarlierReason(n)
		takeWhole(n)
		loop, said := loopCalledBy(n)
		if loop != nil {
			handBack(n, loop, said)
		}
		if loop != nil || isStepAround(n) {
			n.obs.Class = genai.Structure
		}
	}
	return roots
}

// turnOver hangs a model call below the agent that says it lies below the call, where the call is the first of its trace, the agent goes on after it, and both were asked the same: an agent runs
// in no call of a model that is over (LangSmith's package for the Claude Agent SDK in JavaScript, which begins the span of a run when the first answer has come). One that was asked something
// else may be an agent that a tool of the run called where the span of the model was left open.
func turnOver(nodes []*node) {
	for _, n := range nodes {
		p := n.up
		if p == nil || p.up != nil || p.obs.Class != genai.Model || n.obs.Class != genai.Agent || p.spans == 0 || p.end >= n.end || p.start > n.start {
			continue
		}
		if asked := lastUserText(n.obs.Input); asked != "" && slices.ContainsFunc(p.obs.Request, func(m genai.Message) bool { return lastUserText([]genai.Message{m}) == asked }) {
			n.up, p.up = nil, n
			n.sole, p.sole = n.sole || p.sole, false
		}
	}
}

// isStepAround reports a span that was taken for a model call for the messages in it alone: it says nothing of what it is, of a model or of an answer, and the call that does lies in it. It is
// the step that makes that call (Microsoft Agent 365's package for LangChain).
func isStepAround(n *node) bool {
	o := n.obs
	if o.Class != genai.Model || n.spans == 0 || o.Operation != "" || o.Model != "" || o.ResponseModel != "" || o.ResponseID != "" || o.Failed || o.StatusError ||
		len(o.Request) == 0 || len(o.Response) > 0 || len(o.FinishReasons) > 0 || usageKnown(o.Usage) {
		return false
	}
	found := false
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			found = found || m.obs.Class == genai.Model && m.obs.Operation != "" && (m.obs.Model != "" || m.obs.ResponseModel != "") && len(m.obs.Request) > 0
			return !found && !isCall(m)
		})
	}
	return found
}

// takeWhole gives a model span that tells the new results of tools alone the request of the span in it, which tells the conversation that they end.
func takeWhole(n *node) {
	if n.obs.Class != genai.Model || len(n.obs.Request) == 0 || slices.ContainsFunc(n.obs.Request, func(m genai.Message) bool { return m.Role != tape.RoleTool && m.Role != tape.RoleSystem }) {
		return
	}
	var inner []*node
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			if m.obs.Class == genai.Model {
				inner = append(inner, m)
			}
			return !isCall(m)
		})
	}
	if len(inner) != 1 || len(inner[0].obs.Request) <= len(n.obs.Request) || lastUserText(inner[0].obs.Request) == "" || inner[0].obs.Request[len(inner[0].obs.Request)-1].Role != tape.RoleTool {
		return
	}
	n.obs.Request, n.obs.RequestLabel, n.messages = inner[0].obs.Request, inner[0].obs.RequestLabel, nil
}

// dropEarlierReason takes from a model span that lasts for a loop the reason why an answer before its last ended. The request shows the results
// of the tools below the span, all of them, so the recorded answer came after them; it asks for none.
func dropEarlierReason(n *node) {
	if n.obs.Class != genai.Model || len(n.obs.Response) == 0 || !losesCalls(n) {
		return
	}
	ran := false
	for _, k := range n.kids {
		if k.obs.Class == genai.Tool {
			if ran = showsResult(n.obs.Request, k.obs.CallID); !ran {
				return
			}
		}
	}
	if ran {
		n.obs.FinishReasons = slices.DeleteFunc(slices.Clone(n.obs.FinishReasons), tape.AsksForTools)
	}
}

// handModel gives the model that a span around several calls names to the calls that name none.
func handModel(n *node) {
	walk(n, func(m *node) bool {
		if m.obs.Class == genai.Model && m.obs.Model == "" && m.obs.ResponseModel == "" {
			m.obs.Model = n.obs.Model
		}
		return true
	})
}

// place hangs orphans below the nodes that enclose them, with so many steps at most, and returns how many are left.
func place(orphans, nodes []*node, steps int) (left int) {
	agent := onlyAgent(nodes)
	for _, n := range orphans {
		p := enclosing(n, nodes, agent, 0, &steps)
		if p == nil && n.parent.IsEmpty() {
			p = enclosing(n, nodes, agent, rounding, &steps)
		}
		if p != nil {
			n.up, n.adopted = p, true
			p.kids = append(p.kids, n)
		}
		if steps < 0 {
			break
		}
	}
	return steps
}

// cutCycles makes every parent chain end: the earliest node of a cycle loses its parent.
func cutCycles(nodes []*node) {
	state := make(map[*node]int, len(nodes)) // 1 on the path, 2 done
	var path []*node
	for _, n := range nodes {
		path = path[:0]
		m := n
		for m != nil && state[m] == 0 {
			state[m] = 1
			path = append(path, m)
			m = m.up
		}
		if m != nil && state[m] == 1 {
			first := m
			for k := m.up; k != m; k = k.up {
				if compareNodes(k, first) < 0 {
					first = k
				}
			}
			first.up, first.missing = nil, true
		}
		for _, k := range path {
			state[k] = 2
		}
	}
}

// maxPlacing bounds the work of placing orphans by time; what is left then stays where it is.
const maxPlacing = 20_000_000

// onlyAgent returns the agent of a trace that has one.
func onlyAgent(nodes []*node) (agent *node) {
	for _, n := range nodes {
		if n.obs.Class == genai.Agent {
			if agent != nil {
				return nil
			}
			agent = n
		}
	}
	return agent
}

// enclosing finds the node below which an orphan belongs by its times. It may end so much later, in ns. Steps of streams end after the agent around
// them: where both enclose the orphan, and there is no other agent, it belongs to the agent.
func enclosing(n *node, nodes []*node, agent *node, slack uint64, steps *int) *node {
	var best *node
	for _, c := range nodes {
		if c.start > n.start || c == n && n.parent.IsEmpty() {
			break // nodes are in order of their start, the longer one first
		}
		if *steps--; *steps < 0 {
			return nil
		}
		if c == n || !n.within(c) && !n.overruns(c, slack) || !canEnclose(c, n) || below(c, n) {
			continue
		}
		*steps -= c.height() // what the walks below cost
		switch {
		case best == nil || below(c, best):
			best = c
		case below(best, c):
		case best == agent && c.obs.Class == genai.Structure:
		case c == agent && best.obs.Class == genai.Structure:
			best = c
		default: // two branches enclose it: what they have in common does
			best = common(best, c)
			if best == nil {
				return nil
			}
		}
	}
	return best
}

// overruns reports a span that began in the time of c and ended a little later: producers round starts to milliseconds. Of two layers of one model
// call the inner one often does.
func (n *node) overruns(c *node, slack uint64) bool {
	if c.obs.Class == genai.Model && n.obs.Class == genai.Model && n.parent.IsEmpty() {
		slack = rounding
	}
	return n.start < c.end && n.end <= c.end+slack
}

// nameNoParents reports a trace of several spans of which none names a parent: who wrote it records none.
func nameNoParents(nodes []*node) bool {
	spans := 0
	for _, n := range nodes {
		if n.spans == 0 {
			continue
		}
		if spans++; !n.parent.IsEmpty() {
			return false
		}
	}
	return spans > 1
}

// lies reports whether a span that names no parent can belong to c by what both say. Runs that took place at the same time lie in each other's
// time as well, so content has to agree: a call was given what the agent around it was asked, or what the tool around it was called with.
// Nor does an agent hold one of its own name that was given the same: these are attempts beside each other.
func lies(n, c *node) bool {
	if c.obs.Class == genai.Model {
		return n.obs.Class == genai.Model && (layers(c, n) || sameAnswer(c, n) && loopsOver(c, n))
	}
	var told []genai.Message
	switch n.obs.Class {
	case genai.Agent:
		told = n.obs.Input
		if c.obs.Class == genai.Agent && c.span.Name() == n.span.Name() && lastUserText(told) != "" && lastUserText(told) == lastUserText(c.obs.Input) {
			return false
		}
	case genai.Model:
		told = n.obs.Request
	}
	if lastUserText(told) == "" {
		return true
	}
	return slices.ContainsFunc(told, func(m genai.Message) bool {
		text := strings.TrimSpace(partsText(m.Parts))
		if m.Role != tape.RoleUser || text == "" {
			return false
		}
		if c.obs.Class == genai.Tool {
			return !c.obs.Args.Present() || mentions(c.obs.Args.Value, text)
		}
		asked := strings.TrimSpace(lastUserText(c.obs.Input))
		return strings.Contains(text, asked) || strings.Contains(asked, text)
	})
}

// releaseAttempts takes the calls from an agent again that its time alone gave it, if two of its model calls overlap that were told the same.
// They are of several attempts beside each other, and only one of these can be its own.
func (n *node) releaseAttempts() {
	var models []*node
	for _, k := range n.kids {
		if k.adopted && k.parent.IsEmpty() && k.obs.Class == genai.Model {
			models = append(models, k)
		}
	}
	slices.SortFunc(models, compareNodes)
	several := false
	for i, m := range models {
		for _, other := range models[i+1:] {
			if other.start+rounding >= m.end {
				break
			}
			told := lastUserText(m.obs.Request)
			several = several || told != "" && told == lastUserText(other.obs.Request) && !(sameAnswer(m, other) && loopsOver(m, other))
		}
	}
	if !several || n.obs.Class != genai.Agent {
		return
	}
	n.kids = slices.DeleteFunc(n.kids, func(k *node) bool {
		if k.adopted && k.parent.IsEmpty() && isCall(k) {
			k.up, k.adopted = nil, false
			return true
		}
		return false
	})
}

// layers reports two spans of one model call, of a package and of what it is built on: under different names, and nothing in them differs.
func layers(outer, inner *node) bool {
	a, b := outer.obs, inner.obs
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	if outer.scope == inner.scope && outer.span.Name() == inner.span.Name() || differ(a.ResponseID, b.ResponseID) || differ(a.Model, b.Model) {
		return false
	}
	x, y := outer.request(), inner.request()
	if len(x) > 0 && len(y) > 0 && (len(x) != len(y) || commonPrefix(x, y) < len(x)) {
		return false
	}
	if len(a.Response) == 0 || len(b.Response) == 0 {
		return true
	}
	p, q := newMessage(a.Response[0]), newMessage(b.Response[0])
	return !differ(textOf(p), textOf(q)) && (!hasToolCall(p) || !hasToolCall(q) || repeatsCalls(p, []*message{q}))
}

// mentions reports a text in a value that stands in the other text, or the other way round.
func mentions(v exactjson.Value, text string) bool {
	if said := strings.TrimSpace(v.Str()); said != "" && (strings.Contains(text, said) || strings.Contains(said, text)) {
		return true
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return mentions(m.Value, text) })
}

// canEnclose reports whether an orphan can belong to c. Siblings that miss the same parent are not in each other. An agent belongs
// to a call that delegated to it, or to an agent that is known to be the root of the trace.
func canEnclose(c, n *node) bool {
	if c.missing && c.parent == n.parent || n.parent.IsEmpty() && !lies(n, c) {
		return false
	}
	switch c.obs.Class {
	case genai.Tool:
		return true
	case genai.Agent, genai.Structure, genai.Entry:
		return !holdsAgent(n) || rootOf(c).parent.IsEmpty() && c.obs.Class != genai.Structure
	case genai.Model:
		return n.parent.IsEmpty() || c.sole // what hangs below something hangs below the top of its trace
	default:
		return false
	}
}

// height is how many nodes stand above n.
func (n *node) height() int {
	h := 0
	for n = n.up; n != nil; n = n.up {
		h++
	}
	return h
}

func common(a, b *node) *node {
	for ; a != nil; a = a.up {
		if a == b || below(b, a) {
			return a
		}
	}
	return nil
}
