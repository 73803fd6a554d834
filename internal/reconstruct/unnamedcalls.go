// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// takeUnnamed makes tool calls of the functions that a program ran between its model calls, where the model call before ended by asking for tools and no record says which: who records no
// content names no calls. They lie beside that model call, below the same function. A finding says that nothing names them as tools. A function whose span says that it is one of a tool is a call
// wherever it lies, if no answer of any model call is on record; where answers are, they say which tools were called.
func (c *collector) takeUnnamed() {
	before := len(c.tools)
	unheard := len(c.models) > 0 && !slices.ContainsFunc(c.models, func(m *call) bool { return m.response != nil })
	for _, t := range c.functions {
		if t.by != nil || len(t.nodes) == 0 || t.nodes[0].up == nil {
			continue
		}
		if told := t.nodes[0].obs.Called; told != nil && told.Tool && unheard {
			if t.obs.Class != genai.Tool {
				t.obs = t.obs.AsTool()
			}
			c.tools = append(c.tools, t)
			continue
		}
		last := c.modelBefore(t)
		if last == nil || len(last.asked) > 0 || len(last.nodes) == 0 || last.nodes[0].up != t.nodes[0].up || !slices.ContainsFunc(last.obs.FinishReasons, tape.AsksForTools) {
			continue
		}
		if t.obs.Class != genai.Tool {
			t.obs = t.obs.AsTool()
		}
		t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: "no record says which tools the model asked for; the function ran after it had asked for some"})
		c.tools = append(c.tools, t)
	}
	if len(c.tools) > before {
		slices.SortStableFunc(c.tools, compareCalls)
	}
}
