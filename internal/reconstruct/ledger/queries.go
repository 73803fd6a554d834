// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"iter"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// AgentName is the first name that a span of an agent tells.
func AgentName(a *Call) string {
	for _, n := range a.Nodes {
		if name := n.Obs.Agent.Name; name != "" {
			return name
		}
	}
	return ""
}

// IdsMayDiffer returns a function that says whether a tool call may be a requested call although their ids
// differ. This is so if one of them has no id, or if the reporter of the tool call numbers calls in its own
// way. Such a reporter writes no id in the run that a response asks with.
func (c *Ledger) IdsMayDiffer() func(t *Call, a *Asked) bool {
	ids := map[string]bool{}
	for a := range c.Asks {
		ids[a.Part.ID] = true
	}
	meet := map[Reporter]bool{}
	for _, t := range c.Tools {
		if t.Obs.CallID != "" && ids[t.Obs.CallID] {
			meet[t.Reporter()] = true
		}
	}
	return func(t *Call, a *Asked) bool {
		differ := t.Obs.CallID != "" && a.Part.ID != "" && !(a.Shared && t.Obs.CallID == a.Part.ID)
		return !(differ && meet[t.Reporter()]) && !toldBefore(t, a)
	}
}

// toldBefore reports a request whose answer, another than the tool's, a model had been told before the tool
// began. The tool call is that of a later turn then, of which nothing but this span is left.
func toldBefore(t *Call, a *Asked) bool {
	return a.Shown != nil && a.By != nil && a.By != a.Model && a.By.End < t.Start && t.Shift == 0 &&
		t.Obs.Result.Present() && chat.Undamaged(t.Obs.Result.Label) && a.Shown.Label == "" && !Returned(t, a)
}

// BelowTool reports a call whose span lies below that of a tool: what it answered is for the tool, and no
// agent need be recorded between them.
func BelowTool(k *Call) bool {
	if k.Within != nil {
		return true
	}
	for n := range k.Above(spantree.IsAgent) {
		if n.Obs.Class == genai.Tool {
			return true
		}
	}
	return false
}

// IsTool reports that an agent, or one around it, was called as a tool and returns to its caller.
func IsTool(agent *Call) bool {
	for ; agent != nil; agent = agent.Agent {
		if agent.Via != nil && agent.Relation != tape.RelationHandoff && !agent.Via.Obs.Handoff && TransferTarget(agent.Via) == "" {
			return true
		}
	}
	return false
}

// FinalAnswer reports that a model call ended the run by answering, not by asking for tools.
func FinalAnswer(k *Call) bool {
	return k != nil && k.Response != nil && !chat.HasToolCall(k.Response) && !StopsForTools(k)
}

// StopsForTools reports a finish reason that tells of calls, whether they were recorded or not.
func StopsForTools(k *Call) bool { return slices.ContainsFunc(k.Obs.FinishReasons, tape.AsksForTools) }

// Answered reports a model call that got an answer: the answer itself, or what only comes with one.
func Answered(k *Call) bool {
	o := k.Obs
	return k.Response != nil && slices.ContainsFunc(k.Response.Parts, chat.IsContent) || o.ResponseLabel != "" || o.ResponseID != "" ||
		slices.ContainsFunc(o.FinishReasons, func(reason string) bool { return strings.TrimSpace(reason) != "" }) ||
		o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0
}

// NameOf is the name of a tool as its span tells it.
func NameOf(t *Call) string { return t.Obs.Name }

// LiesBelow reports a call of which a span hangs below a given one, and not too far.
func LiesBelow(k *Call, up *spantree.Node) bool {
	return slices.ContainsFunc(k.Nodes, func(n *spantree.Node) bool { return spantree.CloseBelow(n, up) })
}

// HangsBelow reports that the span of t hangs below the span of m, however far.
func HangsBelow(m, t *Call) bool {
	return slices.ContainsFunc(m.Nodes, func(up *spantree.Node) bool {
		return slices.ContainsFunc(t.Nodes, func(n *spantree.Node) bool { return spantree.Below(n, up) })
	})
}

// aroundCall reports an agent around a call, however many stand between, that a condition holds for.
func aroundCall(k *Call, is func(agent *Call) bool) bool {
	for a := k.Agent; a != nil; a = a.Agent {
		if is(a) {
			return true
		}
	}
	return false
}

// Under reports that a model call belongs to an agent that the tool call itself runs.
func Under(m, t *Call) bool {
	return aroundCall(m, func(agent *Call) bool { return agent.Via == t })
}

// Within reports that a call was made by an agent, or by one inside it.
func Within(k, agent *Call) bool {
	return aroundCall(k, func(a *Call) bool { return a == agent })
}

// Asks yields the calls that the responses of the run ask for, in the order of its model calls.
func (c *Ledger) Asks(yield func(*Asked) bool) {
	for _, m := range c.Models {
		for _, a := range m.Asked {
			if !yield(a) {
				return
			}
		}
	}
}

// MayCall reports that a model was offered a tool, or asked for it.
func MayCall(m *Call, name string) bool {
	return IsOffered(m, name) || slices.Contains(m.Obs.Offered, name) ||
		slices.ContainsFunc(m.Asked, func(a *Asked) bool { return a.Part.Name == name })
}

// IsOffered reports that a model call was sent the definition of a tool.
func IsOffered(m *Call, name string) bool {
	return slices.ContainsFunc(m.Obs.Tools, func(t tape.Tool) bool { return t.Name == name })
}

// LastModels are the last model calls of the agents of the run.
func (c *Ledger) LastModels() map[*Call]*Call {
	last := map[*Call]*Call{}
	for _, m := range c.Models {
		if l := last[m.Agent]; l == nil || l.Start <= m.Start {
			last[m.Agent] = m
		}
	}
	return last
}

// TurnsBefore say which turns come before a tool call, the surest first: the turn that the tool's span hangs
// below, turns that had ended, turns that had begun, turns that had begun within the slack of clocks. A turn
// that began after the call asked for nothing before.
var TurnsBefore = []func(m, t *Call) bool{
	HangsBelow,
	hadEnded,
	func(m, t *Call) bool { return m.Start <= t.Start },
	func(m, t *Call) bool { return m.Start <= t.Start+spantree.ClockSlack },
}

// hadEnded reports that a model call was over when a tool call began, rounded starts allowed for.
func hadEnded(m, t *Call) bool { return m.Start <= t.Start && m.End <= t.Start+spantree.Rounding }

// EndedBefore reports that a model call had ended when a tool call began, or that the tool's span hangs below
// it.
func EndedBefore(m, t *Call) bool { return hadEnded(m, t) || HangsBelow(m, t) }

// ModelBefore is the last model call of the agent of a tool call that had ended when that began, nil if there
// is none.
func (c *Ledger) ModelBefore(t *Call) *Call {
	for _, m := range slices.Backward(c.Models) {
		if m.Agent == t.Agent && EndedBefore(m, t) && !Under(m, t) {
			return m
		}
	}
	return nil
}

// LatestTurn is the first open request that fits a tool call, in the latest turn before the call that has
// one.
func (c *Ledger) LatestTurn(t *Call, before func(m, t *Call) bool, fits func(*Asked) bool) *Asked {
	for _, m := range slices.Backward(c.Models) {
		if !before(m, t) {
			continue
		}
		for _, a := range m.Asked {
			if a.Tool == nil && fits(a) && !Under(m, t) {
				return a
			}
		}
	}
	return nil
}

// Up is the span above the outermost report of a call, nil where there is none.
func (t *Call) Up() *spantree.Node {
	if len(t.Nodes) == 0 {
		return nil
	}
	return t.Nodes[0].Up
}

// Above yields the spans above the outermost report of a call.
func (t *Call) Above(end func(*spantree.Node) bool) iter.Seq[*spantree.Node] {
	return spantree.Upward(t.Up(), end)
}
