// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// DropFunctions drops the spans of functions that no response asked for, where responses asked for tools at
// all: they are helpers of the program.
//
// Needs: a response that asks for a tool.
// Refuses: a function of the name of a tool that was asked for, where the response before it is not on
// record, or lost calls.
// Seen in: the decorators of Langfuse and MLflow.
func DropFunctions(c *ledger.Ledger) {
	named := map[string]bool{}
	for a := range c.Asks {
		named[a.Part.Name] = true
	}
	if len(named) == 0 {
		return
	}
	c.Tools = slices.DeleteFunc(c.Tools, func(t *ledger.Call) bool {
		return t.Obs.Function && t.By == nil && t.Holds == nil && !(named[t.Obs.Name] && lostAsk(c, t))
	})
}

// lostAsk reports a function that a response may have asked for that is not on record, or of which one call
// of several was kept: another span of the function beside it, of the same reporter, was asked for by the
// response before both.
func lostAsk(c *ledger.Ledger, t *ledger.Call) bool {
	last := c.ModelBefore(t)
	if last == nil {
		return false
	}
	unheard := last.Response == nil || len(last.Response.Parts) == 0
	return unheard || len(t.Nodes) > 0 && slices.ContainsFunc(c.Tools, func(p *ledger.Call) bool {
		return p != t && p.By != nil && p.By.Model == last && p.Obs.Function && p.Obs.Name == t.Obs.Name &&
			len(p.Nodes) > 0 && p.Reporter() == t.Reporter() && p.Nodes[0].Up == t.Nodes[0].Up
	})
}
