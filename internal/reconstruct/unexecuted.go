// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverCalls makes tool calls of what responses asked for and no span reports.
//
// Needs: a call in a response without a span.
// Refuses: a call that stands for structured output, which is never executed.
// Seen in: instrumentations of a provider's client alone.
func (c *collector) recoverCalls() {
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.tool != nil || slices.Contains(m.obs.OutputTools, a.part.Name) {
				continue
			}
			a.tool = &call{
				kind:  tape.EventToolCall,
				obs:   &genai.Observation{Class: genai.Tool, Name: a.part.Name, CallID: a.part.ID},
				start: m.end, end: m.end,
				agent: m.agent,
				by:    a,
			}
			c.tools = append(c.tools, a.tool)
		}
	}
}
