// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverCalls makes tool calls of what responses asked for and no span reports.
//
// Needs: a call in a response without a span.
// Refuses: a call that stands for structured output, which is never executed.
// Seen in: instrumentations of a provider's client alone.
func RecoverCalls(c *ledger.Ledger) {
	for _, m := range c.Models {
		for _, a := range m.Asked {
			if a.Tool != nil || slices.Contains(m.Obs.OutputTools, a.Part.Name) {
				continue
			}
			a.Tool = &ledger.Call{
				Kind:  tape.EventToolCall,
				Obs:   genai.NewReport(genai.Tool, func(o *genai.Draft) { o.Name, o.CallID = a.Part.Name, a.Part.ID }),
				Start: m.End, End: m.End,
				Agent:     m.Agent,
				Execution: ledger.Execution{By: a},
			}
			c.Tools = append(c.Tools, a.Tool)
		}
	}
}
