// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// takeInstructions puts the instructions before a request that holds none, from another span of the same call: MLflow's span of the Agents SDK has
// the messages, and that of OpenAI's package inside it the instructions too.
func (t *call) takeInstructions() {
	if len(t.request) == 0 || len(afterSystem(t.request)) < len(t.request) {
		return
	}
	for _, n := range t.nodes {
		r := n.request()
		if system := len(r) - len(afterSystem(r)); system > 0 && commonPrefix(r[system:], t.request) == len(t.request) {
			t.request = append(slices.Clone(r[:system]), t.request...)
			return
		}
	}
}

// converse reads the conversation of the run. It settles which messages are the same, and recovers responses and results that
// only later requests show. It says which response asked for which tool call.
func (c *collector) converse() {
	c.setClocks()
	for _, m := range c.models {
		for _, n := range m.nodes {
			if r := n.request(); len(r) > 0 && len(m.request) == 0 {
				m.request = slices.Clone(r)
			}
		}
		m.takeInstructions()
		made := (*messages)(nil)
		if len(m.nodes) > 0 {
			made = m.nodes[0].made
		} else {
			for _, sent := range m.obs.Request {
				m.request = append(m.request, c.recovered.message(sent))
			}
			made = c.recovered
		}
		if len(m.obs.Response) > 0 {
			m.response = made.message(m.obs.Response[0])
		}
		if m.response != nil && m.obs.StatusError && saysNothing(m.response) { // what a framework makes of an error
			m.response = nil
		}
	}
	c.readFollowed()
	slices.SortStableFunc(c.models, compareCalls)
	c.recoverBroken()
	c.align()
	c.recoverResponses()
	c.recoverBetween()
	c.readTranscripts()
	for _, m := range c.models {
		if m.response == nil {
			continue
		}
		for _, p := range m.response.parts {
			if p.Type == tape.PartToolCall {
				m.asked = append(m.asked, &asked{model: m, index: len(m.asked), part: p})
			}
		}
	}
	c.findResults()
	c.resultsBehind()
	c.readLoops()
	c.pair()
	c.nameClasses()
	c.pairFunctions()
	c.takeUnnamed()
	c.dropFunctions()
	c.dropSecondReports()
	c.settlePayloads()
	handoffs := c.handoffs()
	c.recoverCalls()
	c.delegateRecovered()
	c.delegations(handoffs)
}

// align gives resent messages the identity of the first. A request is compared, position by position, with the latest earlier
// conversation of the same agent, else of any.
func (c *collector) align() {
	for i, m := range c.models {
		before := c.predecessor(i)
		if before == nil {
			continue
		}
		conversation := before.conversation()
		if k := len(before.request); k < len(m.request) && before.response != nil {
			if named := withCallIDs(before.response, m.request[k]); named != nil {
				before.response, conversation[k] = named, named
			}
		}
		for k := range min(len(m.request), len(conversation)) {
			if m.request[k] == conversation[k] {
				continue // of a list that was resent, most are: they need not be looked at
			}
			same, exact := conversation[k].equal(m.request[k])
			if same && !exact {
				m.notes = append(m.notes, genai.Note{Code: tape.CodeResentChanged, Field: fmt.Sprintf("request.messages.%d", k), Detail: "resent with other ids or spelling"})
			}
			if same && !conversation[k].omitted {
				m.completed = m.completed || m.request[k].omitted
				m.request[k] = conversation[k]
			}
		}
	}
	for _, m := range c.models {
		if slices.ContainsFunc(m.nodes, func(n *node) bool { return n.omits }) {
			m.request = slices.DeleteFunc(m.request, func(sent *message) bool { return sent.omitted })
		}
	}
}

// withCallIDs returns a response whose calls were recorded without ids with those that it has where it was sent again: the results behind it name them,
// in an order of their own. It returns nil where there is nothing to add.
func withCallIDs(response, resent *message) *message {
	if same, exact := response.equal(resent); !same || exact {
		return nil
	}
	ids := make([]string, 0, len(resent.parts))
	for _, p := range resent.parts {
		if p.Type == tape.PartToolCall {
			if p.ID == "" || slices.Contains(ids, p.ID) {
				return nil
			}
			ids = append(ids, p.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	named := genai.Message{Role: response.tape.Role, Name: response.tape.Name, Parts: slices.Clone(response.parts)}
	for i := range named.Parts {
		if p := &named.Parts[i]; p.Type == tape.PartToolCall {
			if p.ID != "" {
				return nil
			}
			p.ID, ids = ids[0], ids[1:]
		}
	}
	return newMessage(named)
}

// maxPredecessors bounds how many earlier calls a request is compared with.
const maxPredecessors = 16

// predecessor finds the call whose conversation a request continues: the one with the longest common beginning, the latest of
// equals, its own agent's first.
func (c *collector) predecessor(i int) *call {
	m := c.models[i]
	var best *call
	bestScore := 0
	tried := 0
	for j := i - 1; j >= 0 && tried < maxPredecessors; j-- {
		p := c.models[j]
		if len(p.request) == 0 {
			continue
		}
		tried++
		score := 2 * commonPrefix(p.request, m.request)
		if score > 0 && p.agent == m.agent {
			score++
		}
		if score > bestScore {
			best, bestScore = p, score
		}
		if bestScore >= 2*len(p.request) && p.agent == m.agent {
			break
		}
	}
	return best
}

func commonPrefix(a, b []*message) int {
	n := min(len(a), len(b))
	for i := range n {
		if same, _ := a[i].equal(b[i]); !same {
			return i
		}
	}
	return n
}

// conversation is the request and, where known, the response of a model call.
func (t *call) conversation() []*message {
	if t.response == nil {
		return t.request
	}
	return append(slices.Clip(t.request), t.response)
}

// recoverResponses takes responses that were not recorded, or recorded without the calls they ask for, from the request that
// continues the conversation.
func (c *collector) recoverResponses() {
	asking := c.askingByID()
	for i, m := range c.models {
		if len(m.request) == 0 {
			continue
		}
		said := c.nextAssistant(i)
		if said == nil || saidByAnother(m, said, asking) {
			continue
		}
		switch {
		case m.response == nil && m.obs.Error == nil && !m.obs.Failed && !m.obs.StatusError:
			m.response, m.recovered = said, true
		case m.response != nil && textOf(m.response) == textOf(said) && (!hasToolCall(m.response) && hasToolCall(said) || completes(said, m.response) || takesApart(said, m.response) || holdsMore(said, m.response)):
			m.response, m.enriched = said, true
		case m.response != nil && textOf(m.response) == "" && takesApart(said, m.response): // without the text beside the calls either
			m.response, m.enriched = said, true
		case m.response != nil && textOf(said) == "" && textOf(m.response) != "" && lacksCalls(m) && hasToolCall(said) && c.answersCalls(i, said):
			spoken := genai.Message{Role: said.tape.Role, Name: said.tape.Name, Parts: append(slices.Clone(m.response.parts), said.parts...)}
			m.response, m.enriched = newMessage(spoken), true
		}
	}
}

// saidByAnother reports a message with a call that another model call asks for, by an id that a provider draws: without content one conversation looks like another.
func saidByAnother(m *call, said *message, asking map[string]*call) bool {
	return slices.ContainsFunc(callsOf(said.parts), func(p *genai.Part) bool { return asking[p.ID] != nil && asking[p.ID] != m })
}

// answersCalls reports that the request that goes on with model call i shows a result of each call that a message asks for, by its id. Some packages record the
// text of an answer without its calls, and resend the calls without the text.
func (c *collector) answersCalls(i int, said *message) bool {
	for _, next := range c.models[i+1 : min(len(c.models), i+1+maxPredecessors)] {
		if slices.Contains(next.request, said) {
			return !slices.ContainsFunc(callsOf(said.parts), func(p *genai.Part) bool {
				return p.ID == "" || !slices.ContainsFunc(next.request, func(m *message) bool {
					return slices.ContainsFunc(m.parts, func(r genai.Part) bool { return r.Type == tape.PartToolResult && r.ID == p.ID })
				})
			})
		}
	}
	return false
}

// completes reports that a resent message holds the arguments that the response was recorded without: some packages close a streamed
// answer before its arguments have come.
func completes(said, response *message) bool {
	if !sameCalls(said, response) {
		return false
	}
	args := func(m *message) (filled int) {
		for _, p := range m.parts {
			if p.Type == tape.PartToolCall && !p.Args.IsEmpty() {
				filled++
			}
		}
		return filled
	}
	return args(said) > args(response)
}

// holdsMore reports that a resent message holds the calls that the response was recorded with, and others: some packages record the first or the last of several.
func holdsMore(said, response *message) bool {
	all, recorded := callsOf(said.parts), callsOf(response.parts)
	if len(recorded) == 0 || len(recorded) >= len(all) {
		return false
	}
	taken := make([]bool, len(all))
	for _, r := range recorded {
		k := slices.IndexFunc(all, func(p *genai.Part) bool { return p.Name == r.Name && p.ID == r.ID && sameValue(p.Args, r.Args) })
		if k < 0 || taken[k] {
			return false
		}
		taken[k] = true
	}
	return true
}

// takesApart reports that a resent message holds apart the calls that a streamed answer was recorded as one with: the texts of their arguments,
// one behind the other.
func takesApart(said, response *message) bool {
	isCall := func(p genai.Part) bool { return p.Type == tape.PartToolCall }
	if n := count(response.parts, isCall); n == 0 || n >= count(said.parts, isCall) {
		return false
	}
	args := func(m *message) (texts []string) {
		for _, p := range m.parts {
			switch {
			case p.Type != tape.PartToolCall:
			case p.ArgsText != "":
				texts = append(texts, p.ArgsText)
			case p.Args.Kind() == exactjson.String:
				texts = append(texts, p.Args.Str())
			default:
				texts = append(texts, p.Args.JSON())
			}
		}
		return texts
	}
	together, apart := args(response), args(said)
	decoder := json.NewDecoder(strings.NewReader(strings.Join(together, "")))
	for _, want := range apart {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return false
		}
		got, err := exactjson.Parse(string(raw))
		value, err2 := exactjson.Parse(want)
		if err != nil || err2 != nil || !sameValue(got, value) {
			return false
		}
	}
	return !decoder.More()
}

// nextAssistant returns what the assistant said right after the request of model call i. The next request that repeats all its
// messages shows it. A request of the same agent is preferred to any other, because another agent may have taken over.
func (c *collector) nextAssistant(i int) *message {
	if c.models[i].obs.RequestLabel == tape.Truncated {
		return nil // where the request ends is not known
	}
	if said := c.nextOf(i, func(j int) bool { return c.models[j].agent == c.models[i].agent }); said != nil {
		return said
	}
	return c.nextOf(i, func(int) bool { return true })
}

func (c *collector) nextOf(i int, may func(j int) bool) *message {
	sent := afterSystem(c.models[i].request)
	for j := i + 1; j < len(c.models) && j <= i+maxPredecessors; j++ {
		if !may(j) {
			continue
		}
		next := afterSystem(c.models[j].request)
		if len(sent) == 0 || len(next) < len(sent) || commonPrefix(sent, next) < len(sent) {
			continue
		}
		if len(next) == len(sent) {
			return nil // the same request once more: what follows answers the last attempt
		}
		return turnAt(next[len(sent):])
	}
	return nil
}

// turnAt is what the assistant said at the beginning of the messages, nil when it said nothing. Some packages resend its text and its calls as
// messages of their own.
func turnAt(messages []*message) *message {
	n := 0
	for n < len(messages) && messages[n].tape.Role == tape.RoleAssistant && !messages[n].omitted && (n == 0 || !hasToolCall(messages[n-1])) {
		n++
	}
	switch n {
	case 0:
		return nil
	case 1:
		return messages[0]
	}
	whole := genai.Message{Role: tape.RoleAssistant, Name: messages[0].tape.Name}
	for _, m := range messages[:n] {
		whole.Parts = append(whole.Parts, m.parts...)
	}
	return newMessage(whole)
}

// afterSystem leaves out the instructions at the beginning of a request: an agent that takes over has its own, and some change with time.
func afterSystem(request []*message) []*message {
	for len(request) > 0 && request[0].tape.Role == tape.RoleSystem {
		request = request[1:]
	}
	return request
}

func hasToolCall(m *message) bool {
	return slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall })
}

// saysNothing reports a message that is empty, or holds empty texts only.
func saysNothing(m *message) bool {
	return !slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" })
}

func textOf(m *message) string {
	var b strings.Builder
	for _, p := range m.parts {
		if p.Type == tape.PartText {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

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

func indexFrom(messages []*message, m *message, from int) int {
	for i := from; i < len(messages); i++ {
		if messages[i] == m || messages[i].id == m.id {
			return i
		}
	}
	return -1
}

// recoverCalls makes events of the calls that were asked for and have no span of their own. Calls that stand for structured output
// are never executed.
func (c *collector) recoverCalls() {
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.tool != nil || slices.Contains(m.obs.OutputTools, a.part.Name) {
				continue
			}
			t := &call{
				kind:  tape.EventToolCall,
				obs:   &genai.Observation{Class: genai.Tool, Name: a.part.Name, CallID: a.part.ID},
				start: m.end, end: m.end,
				agent: m.agent,
				by:    a,
			}
			a.tool = t
			c.tools = append(c.tools, t)
		}
	}
}
