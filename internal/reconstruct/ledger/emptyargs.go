// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// LeavesOutEmpty reports a call without arguments whose response was recorded by an instrumentation that
// leaves out empty ones.
//
// Needs: other responses of the run that hold arguments, and calls without, whose tools received none.
// Refuses: a tool that received any, or of which that is not known as a whole.
// Seen in: OpenInference for the Responses API.
func (c *Ledger) LeavesOutEmpty(k *Call) bool {
	if k.By == nil || !lacksArgs(k.By) || len(k.By.Model.Nodes) == 0 {
		return false
	}
	scope := k.By.Model.Nodes[0].Scope
	empty, known := c.leftOut[scope]
	if !known {
		empty = c.emptyWhereLeftOut(scope)
		if c.leftOut == nil {
			c.leftOut = map[spantree.ScopeKey]bool{}
		}
		c.leftOut[scope] = empty
	}
	return empty
}

func lacksArgs(a *Asked) bool {
	return a.Part.Args.IsAbsent() && a.Part.ArgsText == "" && a.Part.Label == ""
}

func (c *Ledger) emptyWhereLeftOut(scope spantree.ScopeKey) bool {
	written, none := false, false
	for _, m := range c.Models {
		if len(m.Nodes) == 0 || m.Nodes[0].Scope != scope {
			continue
		}
		for _, a := range m.Asked {
			if !lacksArgs(a) {
				written = written || a.Part.Args.Len() > 0
			} else if a.Tool != nil && len(a.Tool.Nodes) > 0 {
				if got := a.Tool.Obs.Args; got.Label != "" || got.Value.Kind() != exactjson.Object || chat.WithoutNulls(got.Value).Len() > 0 {
					return false
				}
				none = true
			}
		}
	}
	return written && none
}
