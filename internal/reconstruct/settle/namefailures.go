// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// NameFailures gives a tool that failed, of which its span tells no more, the error of the agent around it:
// the tool threw, and that ended the agent.
//
// Needs: a span around the tool that failed and tells why.
// Refuses: an agent that asked a model again; several such tools, the others of which may have come to
// something.
// Seen in: ADK for Java, which writes what a tool came to when it has returned.
func NameFailures(c *ledger.Ledger) {
	silent := map[*ledger.Call][]*ledger.Call{} // by agent
	for _, t := range c.Tools {
		if o := t.Obs; o.Failed && o.Error == nil && !o.Result.Present() && len(t.Nodes) > 0 {
			silent[t.Agent] = append(silent[t.Agent], t)
		}
	}
	for agent, tools := range silent {
		ended := slices.MaxFunc(tools, func(a, b *ledger.Call) int { return cmp.Compare(a.End, b.End) }).End
		thrown := thrownAround(tools[0])
		if thrown == nil || slices.ContainsFunc(c.Models, func(m *ledger.Call) bool { return m.Agent == agent && m.Start >= ended }) {
			continue
		}
		if len(tools) == 1 {
			o := tools[0].Obs.Draft()
			o.Error = thrown
			tools[0].Obs = o.Seal()
			continue
		}
		for _, t := range tools {
			t.Maybe = true
		}
	}
}

// thrownAround is the error of the innermost span around a tool, within what called it, that failed and tells
// why.
func thrownAround(tool *ledger.Call) *tape.Error {
	for n := range tool.Above(func(n *spantree.Node) bool { return n.Obs.Class == genai.Tool }) {
		if n.Failed() && n.Obs.Error != nil && n.Obs.Error.Message != "" {
			return n.Obs.Error
		}
	}
	return nil
}
