// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markEchoed finds the tools by which models answer of which the state says so that the step or the agent around the
// last model call of an agent ended with.
//
// Needs: a response that asks for one call alone; a state that ends with an echo of it, see echo.
// Refuses: a span of a tool of the agent behind the model call.
// Seen in: LangChain's toolStrategy.
func (c *collector) markEchoed() {
	last, named := c.lastModels(), map[*call]string{} // agent → its tool
	for _, m := range c.models {
		if last[m.agent] == m && len(named) < maxTranscripts {
			named[m.agent] = c.echoed(m)
		}
	}
	for _, m := range c.models {
		if name := named[m.agent]; name != "" {
			m.answersBy(name)
		}
	}
}

// echoed is the tool of the only call that a model asks for, where the state around it ends with an echo of that; ""
// where it does not.
func (c *collector) echoed(m *call) string {
	if m.response == nil || len(m.nodes) == 0 && m.obs.ResponseLabel != tape.Recovered {
		return ""
	}
	calls := callsOf(m.response.parts)
	if len(calls) != 1 || slices.ContainsFunc(c.tools, func(t *call) bool { return t.agent == m.agent && t.end > m.end }) {
		return ""
	}
	echoes := func(n *node) bool {
		if n.obs.OutputData.Label != "" {
			return false
		}
		of := echo(decode.Transcript(n.obs.OutputData.Value))
		return of != nil && of.Name == calls[0].Name && of.ID == calls[0].ID
	}
	states := c.states[:min(len(c.states), maxTranscripts)]
	if len(m.nodes) == 0 { // when such a call was made is not known to the moment: its id tells
		if !tellsOneCall(calls[0]) || !slices.ContainsFunc(states, echoes) {
			return ""
		}
		return calls[0].Name
	}
	if around := stateAround(states, m); around == nil || !echoes(around) {
		return ""
	}
	return calls[0].Name
}

// stateAround is the shortest of the spans with a state that last as long as a model call, nil if there is none.
func stateAround(states []*node, m *call) (around *node) {
	for _, n := range states {
		if n.start <= m.start && m.end <= n.end && n.obs.OutputData.Present() &&
			(around == nil || cmp.Or(cmp.Compare(n.end-n.start, around.end-around.start), compareNodes(n, around)) < 0) {
			around = n
		}
	}
	return around
}

// echo is the call by which a model answered, where a conversation ends with what a framework makes of it: a result
// that is what the tool was handed and, in the role of the model, a text that calls it the structured response. No
// model said that.
func echo(state []genai.Message) *genai.Part {
	if len(state) < 3 {
		return nil
	}
	asks, shows, says := state[len(state)-3], state[len(state)-2], state[len(state)-1]
	calls := callsOf(asks.Parts)
	if asks.Role != tape.RoleAssistant || says.Role != tape.RoleAssistant || len(callsOf(says.Parts)) > 0 ||
		len(calls) != 1 || calls[0].Args.Kind() != exactjson.Object ||
		len(shows.Parts) != 1 || shows.Parts[0].Type != tape.PartToolResult || !answersWith(&shows.Parts[0], calls[0]) {
		return nil
	}
	text := partsText(says.Parts)
	at := strings.IndexByte(text, '{')
	if at < 0 || !saysStructured.MatchString(text[:at]) {
		return nil
	}
	if again, ok := decode.ParseStructure(text[at:]); !ok || !sameValue(again, calls[0].Args) {
		return nil
	}
	return calls[0]
}

// answersWith reports a result that is what a call was handed.
func answersWith(r, call *genai.Part) bool {
	return (r.ID == "" || r.ID == call.ID) && sameContent(r.Result, call.Args)
}

var saysStructured = regexp.MustCompile(`(?i)\bstructured (response|output)[: ]*$`)
