// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// pairFunctions makes tool calls of the steps of a program that are what a response asked for: who decorates
// functions does not always say which of them are tools. Of equal calls, those come first of which a later request
// shows just what the function returned.
//
// Needs: the name, the arguments and the agent of an open request, or the whole call in the arguments, see dispatched.
// Refuses: a step that is paired; a step that only writes down the call that it was handed.
// Seen in: the decorators of Langfuse and MLflow, the tasks of Traceloop.
func (c *collector) pairFunctions() {
	open := map[string]bool{} // name → some request of it is open
	for a := range c.asks {
		if a.tool == nil {
			open[a.part.Name] = true
		}
	}
	if len(c.functions) == 0 || len(open) == 0 {
		return
	}
	before, known := len(c.tools), c.knownNames()
	for _, told := range []bool{true, false} {
		for _, t := range c.functions {
			if t.by == nil && (open[functionOf(t)] || !told && !known[functionOf(t)]) {
				t.becomeTool()
				c.pairFunction(t, known, func(a *asked) bool {
					return !told || a.shown != nil && a.shown.Label == "" && returnedJust(t, a)
				})
			}
		}
	}
	if len(c.tools) > before {
		slices.SortStableFunc(c.tools, compareCalls)
	}
}

// pairFunction pairs a step of the program with the first request that fits it, in the latest turn that has one.
func (c *collector) pairFunction(t *call, known map[string]bool, fits func(*asked) bool) {
	for _, before := range turnsBefore[1:] {
		a := c.latestTurn(t, before, func(a *asked) bool {
			same := a.part.Name == t.obs.Name && t.agent == a.model.agent && t.obs.Args.Present() && sameArgs(t, a)
			return fits(a) && (same || isDispatch(t, a, known) && mayHaveRun(t, a))
		})
		if a == nil {
			continue
		}
		if isDispatch(t, a, known) {
			t.obs = asDispatched(t.obs, a.part, a.shown)
		}
		t.pairWith(a)
		c.tools = append(c.tools, t)
		return
	}
}

// becomeTool reads what the span of a step of the program says as that of a tool.
func (t *call) becomeTool() {
	if t.obs.Class != genai.Tool {
		t.obs = t.obs.AsTool()
	}
}

// functionOf is the name of the function that a step of the program ran.
func functionOf(t *call) string {
	if t.obs.Called != nil {
		return t.obs.Called.Name
	}
	return nameOf(t)
}

// mayHaveRun reports that a step of the program which was handed a call may have run it: it came to what the model was
// told, or to something where nothing tells. A step that only writes the call down returns nothing.
func mayHaveRun(t *call, a *asked) bool {
	if failedCall(t) {
		return true
	}
	result := t.obs.Result.Value
	if a.shown != nil && a.shown.Label == "" {
		return returned(t, a) || sameContent(result, a.shown.Result)
	}
	text := strings.TrimSpace(textResult(result))
	return t.obs.Result.Present() && text != "" && text != "null" && text != "None"
}
