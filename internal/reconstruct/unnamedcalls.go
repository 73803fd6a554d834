// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// takeUnnamed makes tool calls of the functions that a program ran between its model calls, where no record says which
// tools the model asked for: who records no content names no calls.
//
// Needs: a model call before the function, below the same span, that ended by asking for tools, or that was offered a
// tool of the name. The span of a function that says that it is a tool is a call wherever it lies, if no answer of the
// run is on record.
// Refuses: a turn whose calls are on record.
// Seen in: Langfuse 3.2 (streams of responses); decorated functions under instrumentations that record no content.
func (c *collector) takeUnnamed() {
	before := len(c.tools)
	c.takeHolders()
	unheard := len(c.models) > 0 && !slices.ContainsFunc(c.models, func(m *call) bool { return m.response != nil })
	for _, t := range c.functions {
		if t.by != nil || len(t.nodes) == 0 || t.nodes[0].up == nil {
			continue
		}
		if told := t.nodes[0].obs.Called; told != nil && told.Tool && unheard {
			c.takeFunction(t, "")
		} else if last := c.modelBeside(t); last == nil || len(last.asked) > 0 {
			continue
		} else if slices.ContainsFunc(last.obs.FinishReasons, tape.AsksForTools) {
			c.takeFunction(t, "no record says which tools the model asked for; the function ran after it had asked for some")
		} else if offeredUnheard(last, t) {
			c.takeFunction(t, offeredByName)
		}
	}
	if len(c.tools) > before {
		slices.SortStableFunc(c.tools, compareCalls)
	}
}

// takeHolders makes tool calls of functions that hold calls themselves: agents that are tools.
//
// Needs: a model call before the function, below the same span, that was offered a tool of the name.
// Refuses: a model call of which any answer is on record.
// Seen in: agents as decorated functions, under instrumentations that record no content.
func (c *collector) takeHolders() {
	for _, t := range c.holders {
		if last := c.modelBeside(t); last != nil && offeredUnheard(last, t) {
			c.takeFunction(t, offeredByName)
		}
	}
}

const offeredByName = "no record says what the model answered; the function has the name of a tool that it was offered"

// takeFunction makes a tool call of a function, with the reason why its name is not known for certain.
func (c *collector) takeFunction(t *call, why string) {
	t.becomeTool()
	if why != "" {
		t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: why})
	}
	c.tools = append(c.tools, t)
}

// modelBeside is the model call before a function, if it hangs below the same span.
func (c *collector) modelBeside(t *call) *call {
	last := c.modelBefore(t)
	if last == nil || len(last.nodes) == 0 || last.nodes[0].up != t.nodes[0].up {
		return nil
	}
	return last
}

// offeredUnheard reports a model call of whose answer nothing is recorded, and that was offered a tool of the name of a
// function.
func offeredUnheard(m, function *call) bool {
	return m.response == nil && !m.obs.Failed && len(m.obs.FinishReasons) == 0 && mayCall(m, function.nodes[0].obs.Called.Name)
}
