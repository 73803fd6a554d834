// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// TakeUnnamed makes tool calls of the functions that a program ran between its model calls, where no record
// says which tools the model asked for: who records no content names no calls.
//
// Needs: a model call before the function, below the same span, that ended by asking for tools, or that was
// offered a tool of the name. The span of a function that says that it is a tool is a call wherever it lies,
// if no answer of the run is on record.
// Refuses: a turn whose calls are on record.
// Seen in: Langfuse 3.2 (streams of responses); decorated functions under instrumentations that record no
// content.
func TakeUnnamed(c *ledger.Ledger) {
	before := len(c.Tools)
	takeHolders(c)
	unheard := len(c.Models) > 0 && !slices.ContainsFunc(c.Models, func(m *ledger.Call) bool { return m.Response != nil })
	for _, t := range c.Functions {
		if t.By != nil || len(t.Nodes) == 0 || t.Nodes[0].Up == nil {
			continue
		}
		if told := t.Nodes[0].Obs.Called; told != nil && told.Tool && unheard {
			takeFunction(c, t, "")
		} else if last := modelBeside(c, t); last == nil || len(last.Asked) > 0 {
			continue
		} else if slices.ContainsFunc(last.Obs.FinishReasons, tape.AsksForTools) {
			takeFunction(c, t, "no record says which tools the model asked for; the function ran after it had asked for some")
		} else if offeredUnheard(last, t) {
			takeFunction(c, t, offeredByName)
		}
	}
	if len(c.Tools) > before {
		slices.SortStableFunc(c.Tools, ledger.CompareCalls)
	}
}

// takeHolders makes tool calls of functions that hold calls themselves: agents that are tools.
//
// Needs: a model call before the function, below the same span, that was offered a tool of the name.
// Refuses: a model call of which any answer is on record.
// Seen in: agents as decorated functions, under instrumentations that record no content.
func takeHolders(c *ledger.Ledger) {
	for _, t := range c.Holders {
		if last := modelBeside(c, t); last != nil && offeredUnheard(last, t) {
			takeFunction(c, t, offeredByName)
		}
	}
}

const offeredByName = "no record says what the model answered; the function has the name of a tool that it was offered"

// takeFunction makes a tool call of a function, with the reason why its name is not known for certain.
func takeFunction(c *ledger.Ledger, t *ledger.Call, why string) {
	becomeTool(t)
	if why != "" {
		t.Notes = append(slices.Clone(t.Notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: why})
	}
	c.Tools = append(c.Tools, t)
}

// modelBeside is the model call before a function, if it hangs below the same span.
func modelBeside(c *ledger.Ledger, t *ledger.Call) *ledger.Call {
	last := c.ModelBefore(t)
	if last == nil || len(last.Nodes) == 0 || last.Nodes[0].Up != t.Nodes[0].Up {
		return nil
	}
	return last
}

// offeredUnheard reports a model call of whose answer nothing is recorded, and that was offered a tool of the
// name of a function.
func offeredUnheard(m, function *ledger.Call) bool {
	return m.Response == nil && !m.Obs.Failed && len(m.Obs.FinishReasons) == 0 && ledger.MayCall(m, function.Nodes[0].Obs.Called.Name)
}
