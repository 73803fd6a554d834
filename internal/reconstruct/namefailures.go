// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// nameFailures gives a tool that failed, of which its span tells no more, the error of the agent around it: the tool
// threw, and that ended the agent.
//
// Needs: a span around the tool that failed and tells why.
// Refuses: an agent that asked a model again; several such tools, the others of which may have come to something.
// Seen in: ADK for Java, which writes what a tool came to when it has returned.
func (c *collector) nameFailures() {
	silent := map[*call][]*call{} // by agent
	for _, t := range c.tools {
		if o := t.obs; o.Failed && o.Error == nil && !o.Result.Present() && len(t.nodes) > 0 {
			silent[t.agent] = append(silent[t.agent], t)
		}
	}
	for agent, tools := range silent {
		ended := slices.MaxFunc(tools, func(a, b *call) int { return cmp.Compare(a.end, b.end) }).end
		thrown := thrownAround(tools[0])
		if thrown == nil || slices.ContainsFunc(c.models, func(m *call) bool { return m.agent == agent && m.start >= ended }) {
			continue
		}
		if len(tools) == 1 {
			o := *tools[0].obs
			o.Error = thrown
			tools[0].obs = &o
			continue
		}
		for _, t := range tools {
			t.maybe = true
		}
	}
}

// thrownAround is the error of the innermost span around a tool, within what called it, that failed and tells why.
func thrownAround(tool *call) *tape.Error {
	for n := range tool.above(func(n *node) bool { return n.obs.Class == genai.Tool }) {
		if failedSpan(n) && n.obs.Error != nil && n.obs.Error.Message != "" {
			return n.obs.Error
		}
	}
	return nil
}
