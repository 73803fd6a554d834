// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/settle"
)

// PairFunctions makes tool calls of the steps of a program that are what a response asked for: who decorates
// functions does not always say which of them are tools. Of equal calls, those come first of which a later
// request shows just what the function returned.
//
// Needs: the name, the arguments and the agent of an open request, or the whole call in the arguments, see
// dispatched.
// Refuses: a step that is paired; a step that only writes down the call that it was handed.
// Seen in: the decorators of Langfuse and MLflow, the tasks of Traceloop.
func PairFunctions(c *ledger.Ledger) {
	open := map[string]bool{} // name → some request of it is open
	for a := range c.Asks {
		if a.Tool == nil {
			open[a.Part.Name] = true
		}
	}
	if len(c.Functions) == 0 || len(open) == 0 {
		return
	}
	before, known := len(c.Tools), settle.KnownNames(c)
	for _, told := range []bool{true, false} {
		for _, t := range c.Functions {
			if t.By == nil && (open[functionOf(t)] || !told && !known[functionOf(t)]) {
				becomeTool(t)
				pairFunction(c, t, known, func(a *ledger.Asked) bool {
					return !told || a.Shown != nil && a.Shown.Label == "" && ledger.ReturnedJust(t, a)
				})
			}
		}
	}
	if len(c.Tools) > before {
		slices.SortStableFunc(c.Tools, ledger.CompareCalls)
	}
}

// pairFunction pairs a step of the program with the first request that fits it, in the latest turn that has
// one.
func pairFunction(c *ledger.Ledger, t *ledger.Call, known map[string]bool, fits func(*ledger.Asked) bool) {
	for _, before := range ledger.TurnsBefore[1:] {
		a := c.LatestTurn(t, before, func(a *ledger.Asked) bool {
			same := a.Part.Name == t.Obs.Name && t.Agent == a.Model.Agent && t.Obs.Args.Present() && ledger.SameArgs(t, a)
			return fits(a) && (same || isDispatch(t, a, known) && mayHaveRun(t, a))
		})
		if a == nil {
			continue
		}
		if isDispatch(t, a, known) {
			t.Obs = asDispatched(t.Obs, a.Part, a.Shown)
		}
		pairWith(t, a)
		c.Tools = append(c.Tools, t)
		return
	}
}

// becomeTool reads what the span of a step of the program says as that of a tool.
func becomeTool(t *ledger.Call) {
	if t.Obs.Class != genai.Tool {
		t.Obs = t.Obs.AsTool()
	}
}

// functionOf is the name of the function that a step of the program ran.
func functionOf(t *ledger.Call) string {
	if t.Obs.Called != nil {
		return t.Obs.Called.Name
	}
	return ledger.NameOf(t)
}

// mayHaveRun reports that a step of the program which was handed a call may have run it: it came to what the
// model was told, or to something where nothing tells. A step that only writes the call down returns nothing.
func mayHaveRun(t *ledger.Call, a *ledger.Asked) bool {
	if ledger.FailedCall(t) {
		return true
	}
	result := t.Obs.Result.Value
	if a.Shown != nil && a.Shown.Label == "" {
		return ledger.Returned(t, a) || chat.SameContent(result, a.Shown.Result)
	}
	text := strings.TrimSpace(chat.TextResult(result))
	return t.Obs.Result.Present() && text != "" && text != "null" && text != "None"
}
