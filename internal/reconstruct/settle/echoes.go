// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// classCall ends the name of a span that is named after the method by which Python calls an object of a
// class. Nothing says what the object is called.
const classCall = ".__call__"

func NamesClass(t *ledger.Call) bool { return strings.HasSuffix(t.Obs.Name, classCall) }

// DropEchoes leaves out the call by which an agent answers, where its span names a class alone and no model
// call shows that it is no tool.
//
// Needs: the last tool call right below an agent, whose only argument is what it returned and what the agent
// answered.
// Refuses: a call with an id; a span with anything below it.
// Seen in: smolagents' FinalAnswerTool under MLflow.
func DropEchoes(c *ledger.Ledger) {
	last := map[*spantree.Node]*ledger.Call{}
	for _, t := range c.Tools {
		if n := parentAgent(t); n != nil && (last[n] == nil || last[n].Start < t.Start) {
			last[n] = t
		}
	}
	c.Tools = slices.DeleteFunc(c.Tools, func(t *ledger.Call) bool {
		n := parentAgent(t)
		if n == nil || last[n] != t || !echoes(t, n.Obs) {
			return false
		}
		c.Ignore(t, "call by which the agent answers")
		return true
	})
}

// parentAgent is the agent right above the only span of a call, nil if there is none.
func parentAgent(t *ledger.Call) *spantree.Node {
	if len(t.Nodes) != 1 || len(t.Nodes[0].Kids) > 0 || t.Nodes[0].Up == nil || t.Nodes[0].Up.Obs.Class != genai.Agent {
		return nil
	}
	return t.Nodes[0].Up
}

// echoes reports the call of a class that was handed, returned, and had the agent answer one and the same
// value.
func echoes(t *ledger.Call, agent *genai.Report) bool {
	args, result := t.Obs.Args.Value, t.Obs.Result
	if t.Obs.CallID != "" || !NamesClass(t) || args.Len() != 1 || !result.Present() {
		return false
	}
	said, out := args.Members()[0].Value, agent.OutputData.Value
	if k := len(agent.Output); k > 0 {
		out = exactjson.StringValue(chat.PartsText(agent.Output[k-1].Parts))
	}
	return chat.SameValue(said, result.Value) && chat.SameValue(said, out)
}
