// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// LeavesOutEmpty reports a call of which the answer that asks for it holds no arguments, where the instrumentation of the model leaves out empty ones (OpenInference for the Responses API):
// other answers that it recorded in this run hold those of other calls, and of each call that lacks them there and has a span of its own the tool received none.
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
			switch {
			case !lacksArgs(a):
				written = written || a.Part.Args.Len() > 0
			case a.Tool == nil || len(a.Tool.Nodes) == 0:
			case !a.Tool.Obs.Args.Present() || a.Tool.Obs.Args.Label != "" || a.Tool.Obs.Args.Value.Kind() != exactjson.Object || chat.WithoutNulls(a.Tool.Obs.Args.Value).Len() > 0:
				return false
			default:
				none = true
			}
		}
	}
	return written && none
}
