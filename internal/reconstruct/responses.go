// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file finds what models answered where that was not recorded, or not all of it: the request that goes on from the answer repeats it.

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
			m.response, m.recovered = c.withCallsApart(i, said, asking), true
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

// withCallsApart is an answer that was not recorded, as the next request shows it, together with the calls that stand alone in further messages behind it, each before its own result: some programs
// keep the calls of one answer so (Pipecat). Had they been those of other answers, model calls of which no span tells would stand between these two, and of this one no answer is on record to tell.
func (c *collector) withCallsApart(i int, said *message, asking map[string]*call) *message {
	m := c.models[i]
	if i+1 == len(c.models) || c.models[i+1].agent != m.agent || len(m.nodes) == 0 || len(c.models[i+1].nodes) == 0 {
		return said
	}
	next := c.models[i+1].request
	at := slices.Index(next, said)
	alone := func(p *genai.Part) bool { return tellsOneCall(p) && asking[p.ID] == nil && resultsOf(p.ID, next) == 1 }
	if at < 0 || len(callsOf(said.parts)) != 1 || !alone(callsOf(said.parts)[0]) {
		return said
	}
	whole := genai.Message{Role: said.tape.Role, Name: said.tape.Name, Parts: slices.Clone(said.parts)}
	for k := at + 1; k < len(next); k++ {
		calls := callsOf(next[k].parts)
		switch {
		case next[k].tape.Role == tape.RoleTool:
			continue
		case next[k].tape.Role != tape.RoleAssistant || len(calls) != 1 || len(next[k].parts) != 1 || next[k-1].tape.Role != tape.RoleTool || !alone(calls[0]):
			return said
		}
		whole.Parts = append(whole.Parts, next[k].parts...)
	}
	if len(whole.Parts) == len(said.parts) {
		return said
	}
	return newMessage(whole)
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
