// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// call is one real call, reported by one or more spans, or recovered without one.
type call struct {
	kind   tape.EventType
	nodes  []*node // outermost first
	obs    *genai.Observation
	start  uint64
	end    uint64
	agent  *call // the enclosing nested agent, nil at the run's own level
	seq    int
	rank   uint64 // what order goes by: the start, or that of an equal call
	within *node  // the tool of another part that made it, where no agent's span stands between the two
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
	// maybe says that the call may not have failed: of several whose spans tell no more than that, one did, and that ended the agent.
	maybe bool
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
	// shared says that another call of the answer has the same id, see markShared.
	shared bool
}

// collector gathers the calls of one run from its spans.
type collector struct {
	models, tools, agents, retrievals []*call
	noise                             map[string]int64
	states                            []*node // agents and steps that recorded what came out
	unfinished                        []*node // agents and steps that recorded what went in alone
	transcripts                       map[*call]transcript
	functions                         []*call              // steps of the program that may be tools, see pairFunctions
	holders                           []*call              // those of them that hold calls, see takeHolders
	recovered                         *messages            // of model calls that no span reports
	returned                          map[*call]*message   // what agents answered whose calls no span reports
	signatures                        map[string]signature // see signature
	leftOut                           map[scopeKey]bool    // see leavesOutEmpty
	posts                             []post               // messages that parts of the program sent each other
	parameters                        map[[2]string]bool   // tool and name of each that a request defined, see takes
	closing                           *message             // what the last of them says, where no model wrote it
	question                          string               // what the span of the run says that a user asked
}

func collect(f *fragment) *collector {
	c := &collector{noise: map[string]int64{}, recovered: newMessages(), returned: map[*call]*message{}, question: questionOf(f.root)}
	part := map[*call]int{}
	for i, one := range f.leaves() {
		lists := []*[]*call{&c.models, &c.tools, &c.agents, &c.retrievals, &c.functions, &c.holders}
		before := make([]int, len(lists))
		for k, l := range lists {
			before[k] = len(*l)
		}
		for _, head := range one.heads {
			c.collectStates(head)
			if one.root == nil || one.asTool {
				c.node(head, nil, c.toolOf(one.ranBy))
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
				if one.root == nil {
					x.within = one.ranBy
				}
			}
		}
	}
	c.recoverModels()
	c.recoverPosted(f)
	c.recoverStepped(f)
	c.recoverUnreported(f)
	for _, list := range [][]*call{c.models, c.tools, c.agents, c.retrievals, c.functions, c.holders} {
		slices.SortStableFunc(list, compareCalls)
	}
	c.dropDuplicates()
	c.joinRecords(part)
	c.dropPreparations()
	c.dropEchoes()
	c.dropWaits(part)
	c.recoverThrown(f)
	return c
}

// toolOf is the tool call that a span tells of, nil if there is none.
func (c *collector) toolOf(n *node) *call {
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(c.tools, func(t *call) bool { return slices.Contains(t.nodes, n) })
	if i < 0 {
		return nil
	}
	return c.tools[i]
}

// collectStates remembers the agents and steps that hold what came out, and those that hold only what went in: they failed.
func (c *collector) collectStates(head *node) {
	walk(head, func(n *node) bool {
		switch class := n.obs.Class; {
		case class != genai.Agent && class != genai.Structure && class != genai.Entry && class != genai.Noise:
		case n.obs.OutputData.Present():
			c.states = append(c.states, n)
		case n.obs.InputData.Present():
			c.unfinished = append(c.unfinished, n)
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
				o := *first.obs
				o.Request, o.RequestLabel = n.obs.Request, tape.Recovered
				decode.FillList(&o.System, n.obs.System)
				decode.FillList(&o.Tools, n.obs.Tools)
				first.obs = &o
			}
		}
		for i := range n.obs.Posted {
			c.posts = append(c.posts, post{n, agent, &n.obs.Posted[i]})
		}
		c.function(n, agent, around)
		c.kids(n, agent, around)
	default:
		c.kids(n, agent, around)
	}
}

// function remembers the step of a program that may be a tool. What holds calls itself may be an agent that is one, and what lies in a tool or in a model call
// is a part of it, unless the span of the model call is that of a loop around the tool as well.
func (c *collector) function(n *node, agent, around *call) {
	switch {
	case n.obs.Called == nil:
	case holdsCall(n):
		if around == nil && n.up != nil {
			c.holders = append(c.holders, newCall(tape.EventToolCall, n, agent))
		}
	case around == nil, n.obs.Called.Tool && around.kind == tape.EventModelCall:
		c.functions = append(c.functions, newCall(tape.EventToolCall, n, agent))
	case around.kind == tape.EventToolCall:
		around.tellsTool(n)
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
