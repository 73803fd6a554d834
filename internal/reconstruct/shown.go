// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// This file finds what tools returned in what later requests, and the states of a run, show of their calls.

// findResults looks in later requests for the result of every requested call. It searches the results that follow the assistant
// message that asked, by id, else by position. Some requests do not repeat that message: a compacted history, or a request that
// sends only what is new. There an id that one call alone has finds the result anywhere.
func (c *collector) findResults() {
	ids := map[string]int{}
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.part.ID != "" {
				ids[a.part.ID]++
			}
		}
	}
	byID := map[string]*asked{}
	for i, m := range c.models {
		if len(m.asked) > 0 {
			c.resultsAfter(i, ids)
			c.transcripts[m].resultsIn(m)
			c.resultsAlone(i)
		}
		for _, a := range m.asked {
			if a.shown == nil && a.part.ID != "" && ids[a.part.ID] == 1 {
				byID[a.part.ID] = a
			}
		}
	}
	if len(byID) == 0 {
		return
	}
	position := make(map[*call]int, len(c.models))
	for i, m := range c.models {
		position[m] = i
		for _, msg := range m.request {
			for k := range msg.parts {
				p := &msg.parts[k]
				if p.Type != tape.PartToolResult || p.ID == "" {
					continue
				}
				if a := byID[p.ID]; a != nil && a.shown == nil && a.model != m {
					if at, seen := position[a.model]; seen && at < i {
						a.show(p, m)
					}
				}
			}
		}
	}
	c.resultsInStates(byID)
}

// resultsInStates finds the results that no request shows in what steps of a graph recorded as their state, or in what agents sent each other: the last call of a
// run, or one before a model call that failed. A span of the tool may hold no more than that it was an object (OpenLIT in JavaScript).
func (c *collector) resultsInStates(byID map[string]*asked) {
	maps.DeleteFunc(byID, func(_ string, a *asked) bool { return a.shown != nil })
	if len(byID) == 0 {
		return
	}
	look := func(n *node, state []genai.Message) {
		for _, m := range state {
			for i := range m.Parts {
				p := &m.Parts[i]
				if p.Type != tape.PartToolResult || p.Result.IsAbsent() && p.Label == "" { // what names a call without an answer is a plan for it (LangChain's actions)
					continue
				}
				if byID[p.ID] != nil && byID[p.ID].shown == nil && n.end >= byID[p.ID].model.start {
					byID[p.ID].show(p, nil)
				}
			}
		}
	}
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		look(n, conversationIn(n.obs.OutputData))
	}
	for _, n := range c.unfinished[:min(len(c.unfinished), maxTranscripts)] {
		look(n, conversationIn(n.obs.InputData))
	}
	for _, p := range c.posts {
		look(p.n, []genai.Message{p.Message})
	}
}

func (a *asked) show(p *genai.Part, by *call) { a.shown, a.by = p, by }

// resultsAfter takes the results that follow, in a later request, the assistant message that asked. Results with ids belong to the
// call of that id. Results without ids, or with ids that tell nothing, stand in the order of the calls, if there are as many. asked
// counts the calls of the run by id.
func (c *collector) resultsAfter(i int, asked map[string]int) {
	m := c.models[i]
	for j := i + 1; j < len(c.models) && j <= i+maxPredecessors; j++ {
		next := c.models[j].request
		at := answerIn(next, m)
		if at < 0 {
			continue
		}
		var results []*genai.Part
		for _, msg := range next[at+1:] {
			if msg.tape.Role == tape.RoleAssistant {
				break
			}
			for k := range msg.parts {
				if msg.parts[k].Type == tape.PartToolResult {
					results = append(results, &msg.parts[k])
				}
			}
		}
		ids := c.models[j].resentIDs(at, m, asked)
		if misnumbered(m, ids, results, next, asked) {
			for k, a := range m.asked {
				a.show(results[k], c.models[j])
			}
			return
		}
		for _, r := range results {
			for k, a := range m.asked {
				if r.ID != "" && (r.ID == a.part.ID || r.ID == ids[k]) && a.shown == nil {
					a.show(r, c.models[j])
					break
				}
			}
		}
		showByPosition(m, results, c.models[j])
		return
	}
}

// resentIDs returns the ids that the calls of m have in the request that resends its response, as it was recorded: some packages give them
// others there. Ids that other calls of the run have are theirs. asked counts the calls of the run by id.
func (t *call) resentIDs(at int, m *call, asked map[string]int) []string {
	ids := make([]string, len(m.asked))
	for k, a := range m.asked {
		ids[k] = a.part.ID
	}
	for _, n := range t.nodes {
		recorded := n.request()
		if len(recorded) != len(t.request) {
			continue
		}
		var resent []string
		for _, p := range recorded[at].parts {
			if p.Type == tape.PartToolCall {
				resent = append(resent, p.ID)
			}
		}
		if len(resent) == len(ids) && !slices.ContainsFunc(resent, func(id string) bool { return asked[id] > 0 && !slices.Contains(ids, id) }) {
			return resent
		}
	}
	return ids
}

// misnumbered reports results with numbers of their own. There are as many as calls, with the same names, and their ids differ from the
// calls' only in a number at the end. The number must tell nothing: no call of the run has the id, or it comes back within one request.
// Some packages number calls and results anew, each by its place in a message.
func misnumbered(m *call, resent []string, results []*genai.Part, request []*message, asked map[string]int) bool {
	if len(results) != len(m.asked) {
		return false
	}
	ids := map[string]bool{}
	for k, a := range m.asked {
		if stem(resent[k]) == "" || stem(resent[k]) != stem(results[k].ID) || a.shown != nil || results[k].Name != "" && results[k].Name != a.part.Name {
			return false
		}
		ids[resent[k]] = true
	}
	foreign := false
	for _, r := range results {
		if !ids[r.ID] {
			if asked[r.ID] > 0 && resultsOf(r.ID, request) < 2 {
				return false
			}
			foreign = true
		}
	}
	return foreign
}

// stem is an id without the number at its end.
func stem(id string) string { return strings.TrimRight(id, "0123456789") }

// resultsOf counts the results of one id in a request.
func resultsOf(id string, request []*message) (n int) {
	for _, m := range request {
		for i := range m.parts {
			if m.parts[i].Type == tape.PartToolResult && m.parts[i].ID == id {
				n++
			}
		}
	}
	return n
}

// answerIn finds the response of m in a later request.
func answerIn(request []*message, m *call) int {
	if at := len(m.request); at < len(request) && commonPrefix(m.request, request) == at {
		if whole := turnAt(request[at:]); whole != nil && whole != request[at] && whole.id == m.response.id { // resent in several messages
			for n := 0; n < len(whole.parts); at++ {
				n += len(request[at].parts)
			}
			return at - 1
		}
		if same, _ := request[at].equal(m.response); same || m.recovered || sameCalls(request[at], m.response) || hasToolCall(m.response) && repeatsCalls(m.response, request[at:]) {
			return at
		}
		if n := leftOut(request[at:], m.response); n >= 0 {
			return at + n - 1
		}
	}
	if at := indexFrom(request, m.response, len(m.request)); at >= 0 {
		return at
	}
	return indexFrom(request, m.response, 0)
}

// leftOut counts the messages that stand for the response at the beginning of what follows its request, -1 where they say something else.
// Some packages do not record calls in a message that is resent: nothing stands before the results then, or the text of the response alone, which
// some leave out of a response with calls.
func leftOut(following []*message, response *message) int {
	n := 0
	if following[0].tape.Role == tape.RoleAssistant {
		text := textOf(following[0])
		standIn := strings.HasPrefix(text, "[") // what some write for calls: their results are then written so, too
		if hasToolCall(following[0]) || !saysNothing(following[0]) && text != textOf(response) && (textOf(response) != "" || standIn) {
			return -1
		}
		n = 1
	}
	if !hasToolCall(response) || n == len(following) || following[n].tape.Role != tape.RoleTool {
		return -1
	}
	return n
}

// resultsAlone takes the results of a request that holds nothing else, of the next call of the same agent: the provider keeps the conversation.
func (c *collector) resultsAlone(i int) {
	m := c.models[i]
	for _, next := range c.models[i+1:] {
		if next.agent != m.agent {
			continue
		}
		var results []*genai.Part
		for _, sent := range afterSystem(next.request) {
			for k := range sent.parts {
				if sent.parts[k].Type != tape.PartToolResult {
					return
				}
				results = append(results, &sent.parts[k])
			}
		}
		showByPosition(m, results, next)
		return
	}
}

// otherKind reports two ids that are of different kinds, by what stands before their first underscore: the Responses API gives a call one as an item of the answer, and one that its
// result names, and some packages record the first.
func otherKind(a, b string) bool {
	kindA, _, okA := strings.Cut(a, "_")
	kindB, _, okB := strings.Cut(b, "_")
	return okA && okB && kindA != kindB
}

func showByPosition(m *call, results []*genai.Part, by *call) {
	if len(results) != len(m.asked) {
		return
	}
	for k, a := range m.asked {
		if a.part.ID != "" && results[k].ID != "" && results[k].ID != a.part.ID && !otherKind(a.part.ID, results[k].ID) || results[k].Name != "" && a.part.Name != "" && results[k].Name != a.part.Name {
			return
		}
	}
	for k, a := range m.asked {
		if a.shown == nil && (results[k].ID == "" || a.part.ID == "" || otherKind(a.part.ID, results[k].ID)) {
			a.show(results[k], by)
			if a.part.ID == "" {
				a.part.ID = results[k].ID
			}
		}
	}
}

// showUnasked gives the results that a request shows, under no id that is known, behind an answer of which no record tells calls to the tools that ran in between: as many as there are results, none of
// which tells one itself, in the order in which they began and ended: some programs keep results in the one, and some in the other. No other model was asked between the two but below those tools.
func (c *collector) showUnasked() {
	known := map[string]bool{}
	for _, m := range c.models {
		for _, a := range m.asked {
			known[a.part.ID] = true
		}
	}
	for _, t := range c.tools {
		known[t.obs.CallID] = true
	}
	for i, m := range c.models {
		if len(m.asked) > 0 || len(m.nodes) == 0 {
			continue
		}
		next := c.resumed(i)
		if next == nil {
			continue
		}
		at := len(m.request) - 1 // an answer that was not recorded need not stand in the request either
		if m.response != nil {
			at = answerIn(next.request, m)
		}
		if at < 0 {
			continue
		}
		var results []*genai.Part
		told := true
		for _, msg := range next.request[at+1:] {
			for k := range msg.parts {
				p := &msg.parts[k]
				told = told && msg.tape.Role == tape.RoleTool && p.Type == tape.PartToolResult && (p.ID == "" || !known[p.ID]) && p.Name == "" && p.Label == ""
				results = append(results, p)
			}
		}
		var ran []*call
		first, _ := slices.BinarySearchFunc(c.tools, m.start, func(t *call, at uint64) int { return cmp.Compare(t.start, at) })
		for _, t := range c.tools[first:] {
			if t.start >= next.start {
				break
			}
			if t.agent == m.agent && belowTool(t) {
				continue
			}
			told = told && len(t.nodes) > 0 && t.by == nil && t.end <= next.start+rounding && !t.obs.Result.Present() && t.obs.Result.Label == "" && (len(ran) == 0 || ran[len(ran)-1].start < t.start && ran[len(ran)-1].end < t.end)
			ran = append(ran, t)
		}
		named := slices.ContainsFunc(results, func(p *genai.Part) bool { return p.ID != "" })
		if !told || len(ran) != len(results) || named && slices.ContainsFunc(ran, func(t *call) bool { return t.obs.CallID != "" }) {
			continue
		}
		for k, t := range ran {
			o := *t.obs
			o.Result = genai.Content{Value: results[k].Result, Envelope: results[k].Envelope, Label: tape.Recovered}
			decode.FillString(&o.CallID, results[k].ID)
			t.obs = &o
		}
	}
}

// maxBelow bounds how many model calls below the tools of one turn are passed over.
const maxBelow = 64

// resumed is the model call of the same agent, of those with spans, whose request goes on from that of the call at i: the next one, but for those below a tool.
func (c *collector) resumed(i int) *call {
	m := c.models[i]
	for _, next := range c.models[i+1 : min(len(c.models), i+1+maxBelow)] {
		switch {
		case next.agent == m.agent && commonPrefix(m.request, next.request) == len(m.request):
			return next
		case !belowTool(next):
			return nil
		}
	}
	return nil
}

func indexFrom(messages []*message, m *message, from int) int {
	for i := from; i < len(messages); i++ {
		if messages[i] == m || messages[i].id == m.id {
			return i
		}
	}
	return -1
}
