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

// This file tells which spans and records report one call: those that lie in each other, side by side, or in other traces.

// dropWaits makes one event of a tool call that only waited and the same call when it ran. The span says that a call waited, or the
// call waited in an earlier part of a joined run.
func (c *collector) dropWaits(part map[*call]int) {
	type key struct{ id, name string }
	later := map[key]*call{}
	kept := c.tools[:0:0]
	for _, waited := range slices.Backward(c.tools) {
		k := key{waited.obs.CallID, waited.obs.Name}
		t := later[k]
		if k.id == "" || t == nil || part[t] <= part[waited] && !waited.obs.Interrupted || waited.obs.Result.Present() || waited.holds != nil {
			later[k] = waited
			kept = append(kept, waited)
			continue
		}
		t.nodes = append(slices.Clone(waited.nodes), t.nodes...)
		if !t.obs.Args.Present() {
			o := *t.obs
			o.Args = waited.obs.Args
			t.obs = &o
		}
		t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeDuplicateReport, Detail: "it waited, and ran when the run was resumed"})
	}
	slices.Reverse(kept)
	c.tools = kept
}

// joinRecords makes one call of a model call that only log records report and the one that a span reports in another part of a joined run: the
// records lie in a trace of their own. They are of one call if both tell the same tokens at the same time, and no other call does. Where the clocks of the
// traces differ, the tokens alone tell, if no other call of either kind has as many, and a finding says so.
func (c *collector) joinRecords(part map[*call]int) {
	type tokens struct{ in, out int64 }
	told := func(m *call) (tokens, bool) {
		u := m.obs.Usage
		if len(m.nodes) == 0 || u.InputTokens == nil || u.OutputTokens == nil {
			return tokens{}, false
		}
		return tokens{*u.InputTokens, *u.OutputTokens}, true
	}
	spans, records := map[tokens][]*call{}, map[tokens][]*call{}
	for _, m := range c.models {
		switch k, ok := told(m); {
		case !ok:
		case m.nodes[0].spans == 0:
			records[k] = append(records[k], m)
		default:
			spans[k] = append(spans[k], m)
		}
	}
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	// like keeps the calls of a list that may be the one that m reports, those beside it alone if there are any.
	like := func(list []*call, m *call) (some []*call, near bool) {
		for _, of := range list {
			if part[m] == part[of] || differ(m.obs.ResponseModel, of.obs.ResponseModel) || differ(m.obs.ResponseID, of.obs.ResponseID) {
				continue
			}
			switch b := beside(m, of); {
			case b && !near:
				some, near = []*call{of}, true
			case b == near:
				some = append(some, of)
			}
		}
		return some, near
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool {
		k, ok := told(m)
		if !ok || m.nodes[0].spans > 0 {
			return false
		}
		found, near := like(spans[k], m)
		if len(found) != 1 || !near && len(records[k])+len(spans[k]) > 2 {
			return false
		}
		of := found[0]
		if back, _ := like(records[k], of); len(back) != 1 || back[0] != m {
			return false
		}
		of.obs = genai.Merge(of.obs, m.obs)
		of.nodes = append(of.nodes, m.nodes...)
		of.notes = append(slices.Clone(of.notes), m.notes...)
		if !near {
			of.notes = append(of.notes, genai.Note{Code: tape.CodeDuplicateReport, Detail: "a record in another trace tells the same tokens, at another time"})
		}
		return true
	})
}

// isPiece reports a model span inside that of a whole call which tells nothing of a call itself, or a part of the answer alone, as of one chunk of a stream.
func isPiece(o, whole *genai.Observation) bool {
	if len(whole.Request) == 0 || len(whole.Response) == 0 || o.Model != "" || o.ResponseModel != "" || o.ResponseID != "" || len(o.Request) > 0 || o.RequestLabel != "" ||
		usageKnown(o.Usage) || len(o.FinishReasons) > 0 || o.Failed || o.StatusError {
		return false
	}
	answer := whole.Response[len(whole.Response)-1].Parts
	return !slices.ContainsFunc(o.Response, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool {
			return !slices.ContainsFunc(answer, func(q genai.Part) bool {
				if q.Type == tape.PartToolCall && p.Type == tape.PartText {
					return tellsOneCall(&q) && strings.Contains(p.Text, q.ID) // the call, in words of a chunk
				}
				return p.Type == q.Type && (p.Type == tape.PartText && strings.Contains(q.Text, p.Text) || p.Type == tape.PartToolCall && p.ID == q.ID && p.Name == q.Name)
			})
		})
	})
}

// summedUp returns the model calls below a model span that took place one after the other: the span around them is none of them. Nor is one around a
// span that stands for several. It returns nil where there is at most one.
func summedUp(n *node) []*node { return summedUpWithin(n, maxLayers) }

// maxLayers is how many model spans around each other are looked through for the calls that they stand for.
const maxLayers = 4

func summedUpWithin(n *node, layers int) []*node {
	var inner []*node
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			switch m.obs.Class {
			case genai.Model:
				if !isPiece(m.obs, n.obs) {
					inner = append(inner, m)
				}
				return false
			case genai.Tool, genai.Agent:
				return false
			}
			return true
		})
	}
	slices.SortFunc(inner, compareNodes)
	failed := func(m *node) bool { return m.obs.Failed || m.obs.StatusError }
	answered := slices.DeleteFunc(slices.Clone(inner), failed)
	inner = slices.DeleteFunc(inner, func(m *node) bool { // what failed is an attempt of the one call, unless it goes on with what was answered
		return failed(m) && !(len(answered) > 0 && len(m.request()) > 0 && loopsOver(answered[0], m))
	})
	for i := 1; i < len(inner); i++ {
		if inner[i].start >= inner[i-1].end && inner[i-1].end > inner[i-1].start {
			return inner
		}
	}
	if len(inner) == 1 && layers > 0 {
		return summedUpWithin(inner[0], layers-1)
	}
	return nil
}

// handContent gives the model calls below a span what that span alone recorded of them: the model, and the content
// where none of them recorded any. The answer is the last call's. So is the request, where it shows what a tool
// between them returned; it then shows the earlier turns as well.
func handContent(n *node, inner []*node) {
	recorded := slices.ContainsFunc(inner, func(m *node) bool { return len(m.obs.Request)+len(m.obs.Response) > 0 })
	for _, m := range inner {
		o := *m.obs
		decode.FillString(&o.Model, n.obs.Model)
		m.obs = &o
	}
	if recorded {
		return
	}
	give := func(m *node, request []genai.Message, label tape.Label) {
		m.obs.Request, m.obs.RequestLabel, m.messages = request, label, nil
		decode.FillList(&m.obs.System, n.obs.System)
		decode.FillList(&m.obs.Tools, n.obs.Tools)
	}
	sent := n.obs.Request
	last := inner[len(inner)-1]
	last.obs.Response, last.obs.ResponseLabel = n.obs.Response, n.obs.ResponseLabel
	if !slices.ContainsFunc(n.kids, func(k *node) bool { return k.obs.Class == genai.Tool && showsResult(sent, k.obs.CallID) }) {
		give(inner[0], sent, n.obs.RequestLabel)
		return
	}
	give(last, sent, n.obs.RequestLabel)
	var turns []int // where the answers stand, since the user spoke
	for i, m := range sent {
		switch m.Role {
		case tape.RoleUser:
			turns = turns[:0]
		case tape.RoleAssistant:
			turns = append(turns, i)
		}
	}
	switch {
	case len(turns) == len(inner) && len(n.obs.Response) == 0: // the last answer stands there too
		last.obs.Response, last.obs.ResponseLabel = sent[turns[len(turns)-1]:][:1:1], tape.Recovered
	case len(turns) == len(inner)-1:
	default:
		turns = turns[:min(len(turns), 1)]
	}
	for i, at := range turns {
		give(inner[i], sent[:at:at], tape.Recovered)
	}
}

// showsResult reports messages with the result of the call of that id.
func showsResult(messages []genai.Message, id string) bool {
	return id != "" && slices.ContainsFunc(messages, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult && p.ID == id })
	})
}

// sameTool reports whether a tool span inside another one reports the same call: the framework's span, the MCP client's and the
// MCP server's.
func sameTool(outer, inner *genai.Observation) bool {
	if outer.CallID != "" && inner.CallID != "" {
		if outer.CallID != inner.CallID && (inner.Name != "" || inner.Args.Present()) {
			return false // what says nothing but its id is a part of the call around it, whoever numbered it
		}
		if outer.CallID == inner.CallID && outer.Name == inner.Name && len(outer.CallID) >= decode.MinDrawnID && !strings.Contains(outer.CallID, outer.Name) {
			return true // an id that comes once says so, whatever became of the arguments on their way in
		}
	} else if outer.Name != inner.Name && !(inner.MCPLeg && strings.HasSuffix(outer.Name, inner.Name)) {
		return false
	}
	if !outer.Args.Present() || !inner.Args.Present() || inner.MCPLeg || outer.MCPLeg {
		return true
	}
	return sameValue(outer.Args.Value, inner.Args.Value) || inner.CallID == "" && leftOf(outer.Args.Value, inner.Args.Value)
}

// leftOf reports a value that is what attributes written key by key leave of another one: there is no key for null, an empty list or an empty object, or Python's word stands for it.
func leftOf(whole, part exactjson.Value) bool {
	if isNothingInKeys(whole) {
		return part.IsAbsent() || part.Str() == "None"
	}
	switch whole.Kind() {
	case exactjson.Object:
		if part.Kind() != exactjson.Object || part.Len() == 0 {
			return false
		}
		for _, m := range part.Members() {
			if whole.Get(m.Name).IsAbsent() {
				return false
			}
		}
		return !slices.ContainsFunc(whole.Members(), func(m exactjson.Member) bool { return !leftOf(m.Value, part.Get(m.Name)) })
	case exactjson.Array:
		kept := slices.DeleteFunc(slices.Clone(whole.Members()), func(m exactjson.Member) bool { return isNothingInKeys(m.Value) })
		if part.Kind() != exactjson.Array || part.Len() != len(kept) && part.Len() != whole.Len() {
			return false
		}
		if part.Len() == whole.Len() {
			kept = whole.Members()
		}
		for i, m := range kept {
			if !leftOf(m.Value, part.At(i)) {
				return false
			}
		}
		return true
	default:
		return sameValue(whole, part)
	}
}

// isNothingInKeys reports a value of which nothing is written key by key.
func isNothingInKeys(v exactjson.Value) bool {
	return v.Kind() == exactjson.Null || v.Kind() >= exactjson.Array && !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return !isNothingInKeys(m.Value) })
}

// join adds a further report of the same call: the outer span speaks first, the inner one fills what it leaves open.
func (t *call) join(n *node) {
	o := *t.obs
	o.Notes = nil
	inner := *n.obs
	inner.Notes = nil
	merged := genai.Merge(&o, &inner)
	t.obs = merged
	t.nodes = append(t.nodes, n)
	t.notes = append(slices.Clone(t.notes), n.obs.Notes...)
	t.notes = append(t.notes, genai.Note{Code: tape.CodeDuplicateReport, Detail: "several spans report this call"})
}

// nestedModel joins a model span inside another one: an agent framework's span around the provider SDK's. Messages come from the
// outermost; ids, usage, finish and times from the innermost.
func (c *collector) nestedModel(n *node, outer *call) {
	merged := genai.MergeModel(outer.obs, n.obs)
	if len(outer.obs.Request) == 0 && outer.obs.RequestLabel == "" && len(n.obs.Request) > 0 && len(n.obs.Response) > 0 {
		merged.Response, merged.ResponseLabel = n.obs.Response, n.obs.ResponseLabel // the answer to the request that is known
	}
	outer.obs = merged
	outer.nodes = append(outer.nodes, n)
	outer.start, outer.end = n.start, n.end
	outer.notes = append(slices.Clone(outer.notes), n.obs.Notes...)
	outer.notes = append(outer.notes, genai.Note{Code: tape.CodeDuplicateReport, Detail: "several spans report this call"})
	c.kids(n, outer.agent, outer)
}

// loopsOver reports a model call inside the span of another one whose request repeats that of the other, and holds an answer since: the outer span is that
// of a loop, and of the first call in it. Where neither holds a request, two spans of one name that one instrumentation wrote of the same answer say so.
func loopsOver(outer, inner *node) bool {
	sent, again := afterSystem(outer.request()), afterSystem(inner.request())
	if len(sent)+len(again) == 0 {
		return sameAnswer(outer, inner) && outer.scope == inner.scope && outer.source.Span.Name() == inner.source.Span.Name() && below(inner, outer)
	}
	if len(sent) == 0 || len(again) <= len(sent) || commonPrefix(sent, again) != len(sent) || again[len(sent)].tape.Role != tape.RoleAssistant {
		return false
	}
	// what follows may be the answer itself, which the program put into the list that the request was
	return !sameAnswer(outer, inner) || !asksAs(again[len(sent)], outer.obs.Response)
}

// asksAs reports a message with a call of an answer, whose id no other call has.
func asksAs(m *message, answer []genai.Message) bool {
	return slices.ContainsFunc(answer, func(said genai.Message) bool {
		return slices.ContainsFunc(callsOf(said.Parts), func(p *genai.Part) bool {
			return tellsOneCall(p) && slices.ContainsFunc(m.parts, func(q genai.Part) bool { return q.Type == tape.PartToolCall && q.ID == p.ID })
		})
	})
}

// sameAnswer reports two model calls with the id of one answer.
func sameAnswer(a, b *node) bool {
	return a.obs.ResponseID != "" && a.obs.ResponseID == b.obs.ResponseID
}

// hide takes from a model call what its span says of the last call of its loop, which is another one.
func (t *call) hide(last *node) {
	o := *t.obs
	if o.ResponseID == last.obs.ResponseID {
		o.ResponseID, o.FinishReasons, o.Usage = "", nil, tape.Usage{}
	}
	o.Response = nil
	t.obs, t.end = &o, min(t.end, last.start)
	t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeModelCallHidden, Detail: "the span stands for a loop of model calls and holds the answer of the last"})
}

// dropDuplicates joins reports that lie side by side: model calls of one response id, tool calls of one call id and equal
// arguments in overlapping time.
func (c *collector) dropDuplicates() {
	c.models = joinEqual(c.models, func(a, b *call) bool {
		if a.obs.ResponseID == "" || a.obs.ResponseID != b.obs.ResponseID || !overlap(a, b) {
			return false
		}
		if loopsOver(a.nodes[0], b.nodes[0]) {
			a.hide(b.nodes[0])
			return false
		}
		return true
	}, func(a, b *call) {
		a.obs = genai.MergeModel(a.obs, b.obs)
	})
	c.dropTold()
	c.dropClients()
	c.dropRepeats()
	shared := c.sharedIDs()
	c.tools = joinEqual(c.tools, func(a, b *call) bool {
		return a.obs.CallID != "" && !(shared[a.obs.CallID] && a.reporter() == b.reporter()) && a.obs.CallID == b.obs.CallID && (a.obs.Name == b.obs.Name || a.obs.Name == "" || b.obs.Name == "") && overlap(a, b) &&
			a.agent == b.agent && sameTool(a.obs, b.obs) // ids such as call_0 come back in every agent
	}, func(a, b *call) {
		a.obs = genai.Merge(a.obs, b.obs)
		if a.holds == nil {
			a.holds = b.holds
		}
	})
}

// dropTold joins calls that were reported once more in a trace of their own, see byTwin and byToolTwin.
func (c *collector) dropTold() {
	reported := func(k *call) *node {
		for _, n := range k.nodes {
			if n.reports != nil {
				return n.reports
			}
		}
		return nil
	}
	isReport := func(k *call) bool { return reported(k) != nil }
	if !slices.ContainsFunc(c.models, isReport) && !slices.ContainsFunc(c.tools, isReport) {
		return
	}
	by := map[*node]*call{}
	for _, k := range slices.Concat(c.models, c.tools) {
		for _, n := range k.nodes {
			by[n] = k
		}
	}
	told := func(k *call) bool {
		if !isReport(k) {
			return false
		}
		of := by[reported(k)]
		if of != nil && of != k {
			for _, n := range k.nodes {
				of.join(n)
			}
		}
		return of != nil && of != k
	}
	c.models, c.tools = slices.DeleteFunc(c.models, told), slices.DeleteFunc(c.tools, told)
}

// dropClients joins the span of a provider's own client, which tells the model and the tokens and no messages, with the span of the call that lies
// around it in time. Both hang under the same span where an instrumentation does not make its span the current one, or the client's under one further up where
// it makes none of several so. Where its span begins after the client's, as around a stream that is read later, each of the two has to be the only one that the other may report.
func (c *collector) dropClients() {
	all := slices.Clone(c.models)
	clients := slices.DeleteFunc(slices.Clone(all), func(m *call) bool {
		o := m.obs
		return len(m.nodes) != 1 || len(o.Request) > 0 || len(o.Response) > 0 || !usageKnown(o.Usage) || o.Failed || o.StatusError
	})
	may := func(outer, inner *call) bool {
		a, b := outer.obs, inner.obs
		return outer != inner && len(outer.nodes) > 0 && (siblingsOf(outer.nodes[0]) == siblingsOf(inner.nodes[0]) || isAbove(inner.nodes[0].up, outer.nodes[0])) && outer.nodes[0].source.ScopeName != inner.nodes[0].source.ScopeName &&
			(len(a.Request) > 0 || len(a.Response) > 0) && (a.ResponseID == "" || b.ResponseID == "") && sameModel(a, b) && (sameTokens(a.Usage, b.Usage) || lostTokens(outer)) && overlap(outer, inner)
	}
	joined := map[*call]bool{}
	for _, inner := range clients {
		of := slices.IndexFunc(all, func(outer *call) bool {
			return may(outer, inner) && outer.start <= inner.start && inner.end <= outer.end
		})
		if only := func(m *call) bool { return may(m, inner) }; of < 0 && count(all, only) == 1 {
			outer := slices.IndexFunc(all, only)
			if count(clients, func(m *call) bool { return may(all[outer], m) }) == 1 {
				of = outer
			}
		}
		if of >= 0 {
			all[of].join(inner.nodes[0])
			joined[inner] = true
		}
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool { return joined[m] })
}

// lostTokens reports a call of whose span the SDK dropped attributes, the tokens among them for all that is known: long conversations have more than the 128 that it keeps.
func lostTokens(m *call) bool {
	return !usageKnown(m.obs.Usage) && m.nodes[0].source.Span.DroppedAttributesCount() > 0
}

// dropRepeats joins a model span that tells the request of a call once more, and nothing of an answer, with the span of the call that lies around it in time:
// a package and what it is built on, of which neither makes its span the current one. Another scope wrote it, below the same span, of the same model, of as
// many messages and the same question. Calls that were made at the same time have one each.
func (c *collector) dropRepeats() {
	failed := func(m *call) bool { return m.obs.Failed || m.obs.StatusError }
	var open []*call
	repeats := map[*call]bool{}
	taken := map[*call]bool{}
	for _, m := range c.models {
		if len(m.nodes) != 1 || m.nodes[0].spans == 0 {
			continue
		}
		open = slices.DeleteFunc(open, func(outer *call) bool { return outer.end < m.start })
		n := m.nodes[0]
		if o := m.obs; len(o.Response) == 0 && o.ResponseID == "" && !usageKnown(o.Usage) && len(o.Request) > 0 && len(n.kids) == 0 {
			asked := lastUserText(o.Request)
			of := slices.IndexFunc(open, func(outer *call) bool {
				a := outer.obs
				return !taken[outer] && m.end <= outer.end && siblingsOf(outer.nodes[0]) == siblingsOf(n) && outer.nodes[0].source.ScopeName != n.source.ScopeName && (len(a.Response) > 0 || failed(outer)) &&
					a.Model != "" && sameModel(a, o) && failed(outer) == failed(m) && len(a.Request) == len(o.Request) && asked != "" && asked == lastUserText(a.Request)
			})
			if of >= 0 {
				open[of].join(n)
				repeats[m], taken[open[of]] = true, true
				continue
			}
		}
		if len(open) < maxOpenCalls {
			open = append(open, m)
		}
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool { return repeats[m] })
}

// maxOpenCalls bounds how many calls that were made at the same time are compared.
const maxOpenCalls = 64

func count[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// isAbove reports that a span stands somewhere above another one.
func isAbove(up, n *node) bool {
	for steps := 0; up != nil && n != nil && steps < maxAbove; steps++ {
		if n = n.up; n == up {
			return true
		}
	}
	return false
}

// maxAbove bounds how many spans of a framework that are not made current are looked through.
const maxAbove = 16

// sameModel reports that both name the same model: the one that was asked for or, where one of them tells only what answered, that one.
func sameModel(a, b *genai.Observation) bool {
	if a.Model == b.Model {
		return true
	}
	return (a.Model == "" || b.Model == "") && cmp.Or(a.ResponseModel, a.Model) == cmp.Or(b.ResponseModel, b.Model)
}

// sameTokens reports that both tell the tokens of a call, and the same. No request is without tokens: of a stream, 0 is written where the number came too late.
func sameTokens(a, b tape.Usage) bool {
	equal := func(x, y *int64) bool { return x != nil && y != nil && *x == *y }
	none := func(x *int64) bool { return x != nil && *x == 0 }
	sent := equal(a.InputTokens, b.InputTokens) || none(a.InputTokens) != none(b.InputTokens) && a.InputTokens != nil && b.InputTokens != nil
	return sent && equal(a.OutputTokens, b.OutputTokens)
}

func overlap(a, b *call) bool { return a.start <= b.end && b.start <= a.end }

func joinEqual(calls []*call, same func(a, b *call) bool, join func(a, b *call)) []*call {
	type ids struct{ response, call string }
	byKey := map[ids][]*call{}
	out := calls[:0:0]
	for _, b := range calls {
		key := ids{b.obs.ResponseID, b.obs.CallID}
		i := slices.IndexFunc(byKey[key], func(a *call) bool { return same(a, b) })
		if i < 0 {
			byKey[key] = append(byKey[key], b)
			out = append(out, b)
			continue
		}
		a := byKey[key][i]
		join(a, b)
		a.nodes = append(a.nodes, b.nodes...)
		a.notes = append(append(slices.Clone(a.notes), b.notes...), genai.Note{Code: tape.CodeDuplicateReport, Detail: "several spans report this call"})
	}
	return out
}
