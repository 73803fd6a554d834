// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// dropFunctions drops the spans of functions that no response asked for, where responses asked for tools at all: they
// are helpers of the program.
//
// Needs: a response that asks for a tool.
// Refuses: a function of the name of a tool that was asked for, where the response before it is not on record, or lost
// calls.
// Seen in: the decorators of Langfuse and MLflow.
func (c *collector) dropFunctions() {
	named := map[string]bool{}
	for a := range c.asks {
		named[a.part.Name] = true
	}
	if len(named) == 0 {
		return
	}
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		return t.obs.Function && t.by == nil && t.holds == nil && !(named[t.obs.Name] && c.lostAsk(t))
	})
}

// lostAsk reports a function that a response may have asked for that is not on record, or of which one call of several
// was kept: another span of the function beside it, of the same reporter, was asked for by the response before both.
func (c *collector) lostAsk(t *call) bool {
	last := c.modelBefore(t)
	if last == nil {
		return false
	}
	unheard := last.response == nil || len(last.response.parts) == 0
	return unheard || len(t.nodes) > 0 && slices.ContainsFunc(c.tools, func(p *call) bool {
		return p != t && p.by != nil && p.by.model == last && p.obs.Function && p.obs.Name == t.obs.Name &&
			len(p.nodes) > 0 && p.reporter() == t.reporter() && p.nodes[0].up == t.nodes[0].up
	})
}
