// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// takeUnnamed makes tool calls of the functions that a program ran between its model calls, where the model call before ended by asking for tools and no record says which: who records no
// content names no calls. They lie beside that model call, below the same function. A finding says that nothing names them as tools. A function whose span says that it is one of a tool is a call
// wherever it lies, if no answer of any model call is on record; where answers are, they say which tools were called. One of the name of a tool that the model call before it was offered is a call
// too, where nothing says what that answered: the definitions of tools are known, and a program has no other reason to run the function of one at that place (Langfuse 3.2, streams of responses).
func (c *collector) takeUnnamed() {
	before := len(c.tools)
	c.takeHolders()
	unheard := len(c.models) > 0 && !slices.ContainsFunc(c.models, func(m *call) bool { return m.response != nil })
	for _, t := range c.functions {
		if t.by != nil || len(t.nodes) == 0 || t.nodes[0].up == nil {
			continue
		}
		if told := t.nodes[0].obs.Called; told != nil && told.Tool && unheard {
			if t.obs.Class != genai.Tool {
				t.obs = t.obs.AsTool()
			}
			c.tools = append(c.tools, t)
			continue
		}
		last := c.modelBefore(t)
		if last == nil || len(last.asked) > 0 || len(last.nodes) == 0 || last.nodes[0].up != t.nodes[0].up {
			continue
		}
		why := ""
		switch {
		case slices.ContainsFunc(last.obs.FinishReasons, tape.AsksForTools):
			why = "no record says which tools the model asked for; the function ran after it had asked for some"
		case offeredUnheard(last, t):
			why = offeredByName
		default:
			continue
		}
		if t.obs.Class != genai.Tool {
			t.obs = t.obs.AsTool()
		}
		t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: why})
		c.tools = append(c.tools, t)
	}
	if len(c.tools) > before {
		slices.SortStableFunc(c.tools, compareCalls)
	}
}

const offeredByName = "no record says what the model answered; the function has the name of a tool that it was offered"

// offeredUnheard reports a model call of whose answer nothing is recorded, and that was offered a tool of the name of a function.
func offeredUnheard(m, function *call) bool {
	return m.response == nil && !m.obs.Failed && len(m.obs.FinishReasons) == 0 && mayCall(m, function.nodes[0].obs.Called.Name)
}

// takeHolders makes a tool call of a function that holds calls itself, the agent that is a tool, where nothing says what the model call beside it and before it answered, and that was offered a tool of
// its name.
func (c *collector) takeHolders() {
	for _, t := range c.holders {
		last := c.modelBefore(t)
		if last == nil || len(last.nodes) == 0 || last.nodes[0].up != t.nodes[0].up || !offeredUnheard(last, t) {
			continue
		}
		t.obs = t.obs.AsTool()
		t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: offeredByName})
		c.tools = append(c.tools, t)
	}
}
