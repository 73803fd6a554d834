// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// call is one real call, reported by one or more spans, or recovered without one.
type call struct {
	kind  tape.EventType
	nodes []*node // outermost first
	obs   *genai.Observation
	start uint64
	end   uint64
	agent *call // the enclosing nested agent, nil at the run's own level
	seq   int
	rank  uint64 // what order goes by: the start, or that of an equal call
	// shift was added to start and end, because the clock of the part is behind.
	shift uint64

	// model calls
	request   []*message
	response  *message
	recovered bool     // the response was seen only in a later request
	completed bool     // the request shows messages of which only the place was recorded
	enriched  bool     // the response was recorded in part, a later request shows it whole
	asked     []*asked // tool calls that the response asks for

	// tool calls
	by    *asked
	holds *call // the nested agent that a delegation runs
	// unnamed says that the name is that of a class, see nameClasses.
	unnamed bool
	// others are the results that other payloads of the span hold, where nothing decides between them.
	others []exactjson.Value

	// agent calls
	relation tape.Relation
	via      *call

	notes []genai.Note
}

// asked is one tool call that a response asks for, and what later requests show of its result.
type asked struct {
	model *call
	index int
	part  genai.Part
	tool  *call
	shown *genai.Part // the result in a later request
	by    *call       // the model call whose request shows it
}

// collector gathers the calls of one run from its spans.
type collector struct {
	models, tools, agents, retrievals []*call
	noise                             map[string]int64
	states                            []*node // agents and steps that recorded what came out
	unfinished                        []*node // agents and steps that recorded what went in alone
	transcripts                       map[*call]transcript
	functions                         []*call            // steps of the program that may be tools, see pairFunctions
	recovered                         *messages          // of model calls that no span reports
	returned                          map[*call]*message // what agents answered whose calls no span reports
	nothing                           map[string]bool    // see takesNothing
}

func collect(f *fragment) *collector {
	c := &collector{noise: map[string]int64{}, recovered: newMessages(), returned: map[*call]*message{}}
	part := map[*call]int{}
	for i, one := range f.leaves() {
		lists := []*[]*call{&c.models, &c.tools, &c.agents, &c.retrievals, &c.functions}
		before := make([]int, len(lists))
		for k, l := range lists {
			before[k] = len(*l)
		}
		for _, head := range one.heads {
			c.collectStates(head)
			if one.root == nil {
				c.node(head, nil, nil)
				continue
			}
			// the run's own span, and any wrapper above it, is the run and no event
			walk(head, func(n *node) bool {
				if n == one.root {
					c.agentBody(n, nil, nil)
					return false
				}
				return true
			})
		}
		for k, l := range lists {
			for _, x := range (*l)[before[k]:] {
				part[x] = i
				x.start, x.end, x.shift = x.start+one.behind, x.end+one.behind, one.behind
			}
		}
	}
	c.recoverModels()
	for _, list := range [][]*call{c.models, c.tools, c.agents, c.retrievals, c.functions} {
		slices.SortStableFunc(list, compareCalls)
	}
	c.dropDuplicates()
	c.joinRecords(part)
	c.dropPreparations()
	c.dropWaits(part)
	return c
}

// collectStates remembers the agents and steps that hold what came out, and those that hold only what went in: they failed.
func (c *collector) collectStates(head *node) {
	walk(head, func(n *node) bool {
		switch class := n.obs.Class; {
		case class != genai.Agent && class != genai.Structure && class != genai.Entry:
		case n.obs.OutputData.Present():
			c.states = append(c.states, n)
		case n.obs.InputData.Present():
			c.unfinished = append(c.unfinished, n)
		}
		return true
	})
}

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

func compareCalls(a, b *call) int {
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c
	}
	if c := cmp.Compare(len(a.request), len(b.request)); c != 0 && a.kind == tape.EventModelCall && b.kind == tape.EventModelCall {
		return c
	}
	if len(a.nodes) > 0 && len(b.nodes) > 0 {
		if c := cmp.Compare(a.end, b.end); c != 0 {
			return c
		}
		return compareNodes(a.nodes[0], b.nodes[0])
	}
	return cmp.Compare(a.end, b.end)
}

// node takes one span and what lies below it. agent is the nested agent around it, around the model or tool call around it within
// that agent.
func (c *collector) node(n *node, agent, around *call) {
	switch n.obs.Class {
	case genai.Model:
		if isWrapper(n) {
			c.kids(n, agent, around)
			return
		}
		if around != nil && around.kind == tape.EventModelCall && isPiece(n.obs, around.obs) {
			c.kids(n, agent, around)
			return
		}
		if inner := summedUp(n); inner != nil {
			for _, m := range inner {
				set(&m.obs.Model, n.obs.Model) // what was asked for may stand here alone
			}
			handContent(n, inner)
			c.kids(n, agent, around)
			return
		}
		if around != nil && around.kind == tape.EventModelCall && loopsOver(around.nodes[0], n) { // the answer is that of the last of them
			around.hide(n)
		} else if around != nil && around.kind == tape.EventModelCall {
			c.nestedModel(n, around)
			return
		}
		m := newCall(tape.EventModelCall, n, agent)
		c.models = append(c.models, m)
		c.kids(n, agent, m)
	case genai.Tool:
		if around != nil && around.kind == tape.EventToolCall && sameTool(around.obs, n.obs) {
			around.join(n)
			c.kids(n, agent, around)
			return
		}
		t := newCall(tape.EventToolCall, n, agent)
		c.tools = append(c.tools, t)
		c.kids(n, agent, t)
	case genai.Retrieval:
		c.retrievals = append(c.retrievals, newCall(tape.EventRetrieval, n, agent))
		c.kids(n, agent, around)
	case genai.Agent:
		c.nestedAgent(n, agent, around)
	case genai.Noise:
		c.noise[n.obs.NoiseReason] += int64(n.spans + n.logs)
		c.kids(n, agent, around)
	case genai.Structure:
		if n.obs.Summary && len(n.obs.Request) > 0 {
			first := firstModel(n)
			if first == nil {
				c.models = append(c.models, newCall(tape.EventModelCall, n, agent))
			} else if len(first.obs.Request) == 0 {
				first.obs.Request, first.obs.RequestLabel = n.obs.Request, tape.Recovered
				list(&first.obs.System, n.obs.System)
				list(&first.obs.Tools, n.obs.Tools)
			}
		}
		c.function(n, agent, around)
		c.kids(n, agent, around)
	default:
		c.kids(n, agent, around)
	}
}

// function remembers the step of a program that may be a tool. What holds calls itself is more than that, and what lies in a tool or in a model call
// is a part of it.
func (c *collector) function(n *node, agent, around *call) {
	if n.obs.Called != nil && around == nil && !holdsCall(n) {
		c.functions = append(c.functions, newCall(tape.EventToolCall, n, agent))
	}
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
				return p.Type == q.Type && (p.Type == tape.PartText && strings.Contains(q.Text, p.Text) || p.Type == tape.PartToolCall && p.ID == q.ID && p.Name == q.Name)
			})
		})
	})
}

// summedUp returns the model calls below a model span that took place one after the other: the span around them is none of them. It returns nil
// where there is at most one.
func summedUp(n *node) []*node {
	var inner []*node
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			switch m.obs.Class {
			case genai.Model:
				if !m.obs.Failed && !m.obs.StatusError && !isPiece(m.obs, n.obs) {
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
	for i := 1; i < len(inner); i++ {
		if inner[i].start >= inner[i-1].end && inner[i-1].end > inner[i-1].start {
			return inner
		}
	}
	return nil
}

// handContent gives what a span around several model calls recorded to them, if they recorded nothing of it themselves: the answer is that of the last of
// them. So is the request, if it shows what a tool between them answered; then it shows the turns before as well.
func handContent(n *node, inner []*node) {
	if slices.ContainsFunc(inner, func(m *node) bool { return len(m.obs.Request)+len(m.obs.Response) > 0 }) {
		return
	}
	give := func(m *node, request []genai.Message, label tape.Label) {
		m.obs.Request, m.obs.RequestLabel, m.messages = request, label, nil
		list(&m.obs.System, n.obs.System)
		list(&m.obs.Tools, n.obs.Tools)
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

func list[T any](dst *[]T, src []T) {
	if len(*dst) == 0 {
		*dst = src
	}
}

// firstModel is the earliest model call below n.
func firstModel(n *node) *node {
	var first *node
	walk(n, func(m *node) bool {
		if m.obs.Class == genai.Model && (first == nil || compareNodes(m, first) < 0) {
			first = m
		}
		return true
	})
	return first
}

func (c *collector) kids(n *node, agent, around *call) {
	for _, k := range n.kids {
		c.node(k, agent, around)
	}
}

func newCall(kind tape.EventType, n *node, agent *call) *call {
	return &call{kind: kind, nodes: []*node{n}, obs: n.obs, start: n.start, end: n.end, agent: agent, notes: n.obs.Notes}
}

// nestedAgent decides whether an agent span is a sub-agent, the run's own agent said twice, or a step of a graph.
func (c *collector) nestedAgent(n *node, agent, around *call) {
	delegated := around != nil && around.kind == tape.EventToolCall
	if n.obs.WeakAgent && !(delegated && around.holds == nil) || !holdsCall(n) {
		c.function(n, agent, around)
		c.kids(n, agent, around)
		return
	}
	a := newCall(tape.EventAgentCall, n, agent)
	a.relation = tape.RelationSubAgent
	if delegated {
		a.via = around
		around.holds = a
	}
	c.agents = append(c.agents, a)
	c.agentBody(n, a, a)
}

// agentBody takes what lies below an agent span. An agent whose only content is one agent, or which has no name of its own and
// starts with one, is the same agent said twice.
func (c *collector) agentBody(n *node, agent, self *call) {
	inner := sameAgent(n)
	for _, k := range n.kids {
		c.agentKid(k, agent, self, inner)
	}
}

func (c *collector) agentKid(k *node, agent, self *call, inner *node) {
	switch {
	case k == inner:
		if self != nil {
			self.nodes = append(self.nodes, k)
		}
		c.agentBody(k, agent, self)
	case inner != nil && below(inner, k) && !isCall(k) && (k.obs.Class != genai.Agent || k.obs.WeakAgent):
		for _, kk := range k.kids {
			c.agentKid(kk, agent, self, inner)
		}
	default:
		c.node(k, agent, nil)
	}
}

// sameAgent returns the agent span inside n that stands for the same agent.
func sameAgent(n *node) *node {
	var agents []*node
	calls := false
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			switch {
			case m.obs.Class == genai.Agent && !m.obs.WeakAgent && holdsCall(m):
				agents = append(agents, m)
				return false
			case isCall(m):
				calls = true
				return false
			}
			return true
		})
	}
	if len(agents) == 0 || calls {
		return nil
	}
	slices.SortFunc(agents, compareNodes)
	name, first := n.obs.Agent.Name, agents[0].obs.Agent.Name
	if len(agents) == 1 || name == "" || name == first {
		return agents[0]
	}
	return nil
}

func holdsCall(n *node) bool {
	found := false
	walk(n, func(m *node) bool {
		if m != n && (m.obs.Class == genai.Model || m.obs.Class == genai.Tool) {
			found = true
		}
		return !found
	})
	return found
}

// sameTool reports whether a tool span inside another one reports the same call: the framework's span, the MCP client's and the
// MCP server's.
func sameTool(outer, inner *genai.Observation) bool {
	if outer.CallID != "" && inner.CallID != "" {
		if outer.CallID != inner.CallID && (inner.Name != "" || inner.Args.Present()) {
			return false // what says nothing but its id is a part of the call around it, whoever numbered it
		}
	} else if outer.Name != inner.Name && !(inner.MCPLeg && strings.HasSuffix(outer.Name, inner.Name)) {
		return false
	}
	if !outer.Args.Present() || !inner.Args.Present() || inner.MCPLeg || outer.MCPLeg {
		return true
	}
	return sameValue(outer.Args.Value, inner.Args.Value)
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
	return len(sent) > 0 && len(again) > len(sent) && commonPrefix(sent, again) == len(sent) && again[len(sent)].tape.Role == tape.RoleAssistant
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
	c.tools = joinEqual(c.tools, func(a, b *call) bool {
		return a.obs.CallID != "" && a.obs.CallID == b.obs.CallID && (a.obs.Name == b.obs.Name || a.obs.Name == "" || b.obs.Name == "") && overlap(a, b) &&
			a.agent == b.agent && sameTool(a.obs, b.obs) // ids such as call_0 come back in every agent
	}, func(a, b *call) {
		a.obs = genai.Merge(a.obs, b.obs)
		if a.holds == nil {
			a.holds = b.holds
		}
	})
}

// dropTold joins model calls that were reported once more in a trace of their own, see byTwin.
func (c *collector) dropTold() {
	by := map[*node]*call{}
	for _, m := range c.models {
		for _, n := range m.nodes {
			by[n] = m
		}
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool {
		if len(m.nodes) != 1 || m.nodes[0].reports == nil {
			return false
		}
		of := by[m.nodes[0].reports]
		if of != nil && of != m {
			of.join(m.nodes[0])
		}
		return of != nil && of != m
	})
}

// dropClients joins the span of a provider's own client, which tells the model and the tokens and no messages, with the span of the call that lies
// around it in time. Both hang under the same span where an instrumentation does not make its span the current one. Where its span begins after the
// client's, as around a stream that is read later, each of the two has to be the only one that the other may report.
func (c *collector) dropClients() {
	all := slices.Clone(c.models)
	clients := slices.DeleteFunc(slices.Clone(all), func(m *call) bool {
		o := m.obs
		return len(m.nodes) != 1 || len(o.Request) > 0 || len(o.Response) > 0 || !usageKnown(o.Usage) || o.Failed || o.StatusError
	})
	may := func(outer, inner *call) bool {
		a, b := outer.obs, inner.obs
		return outer != inner && len(outer.nodes) > 0 && siblingsOf(outer.nodes[0]) == siblingsOf(inner.nodes[0]) && outer.nodes[0].source.ScopeName != inner.nodes[0].source.ScopeName &&
			(len(a.Request) > 0 || len(a.Response) > 0) && (a.ResponseID == "" || b.ResponseID == "") && sameModel(a, b) && sameTokens(a.Usage, b.Usage) && overlap(outer, inner)
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

func count[T any](list []T, is func(T) bool) (n int) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

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
