// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// leavesOutEmpty reports a call of which the answer that asks for it holds no arguments, where the instrumentation of the model leaves out empty ones (OpenInference for the Responses API):
// other answers that it recorded in this run hold those of other calls, and of each call that lacks them there and has a span of its own the tool received none.
func (c *collector) leavesOutEmpty(k *call) bool {
	if k.by == nil || !lacksArgs(k.by) || len(k.by.model.nodes) == 0 {
		return false
	}
	scope := k.by.model.nodes[0].scope
	empty, known := c.leftOut[scope]
	if !known {
		empty = c.emptyWhereLeftOut(scope)
		if c.leftOut == nil {
			c.leftOut = map[scopeKey]bool{}
		}
		c.leftOut[scope] = empty
	}
	return empty
}

func lacksArgs(a *asked) bool {
	return a.part.Args.IsAbsent() && a.part.ArgsText == "" && a.part.Label == ""
}

func (c *collector) emptyWhereLeftOut(scope scopeKey) bool {
	written, none := false, false
	for _, m := range c.models {
		if len(m.nodes) == 0 || m.nodes[0].scope != scope {
			continue
		}
		for _, a := range m.asked {
			switch {
			case !lacksArgs(a):
				written = written || a.part.Args.Len() > 0
			case a.tool == nil || len(a.tool.nodes) == 0:
			case !a.tool.obs.Args.Present() || a.tool.obs.Args.Label != "" || a.tool.obs.Args.Value.Kind() != exactjson.Object || withoutNulls(a.tool.obs.Args.Value).Len() > 0:
				return false
			default:
				none = true
			}
		}
	}
	return written && none
}
