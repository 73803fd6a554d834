// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// classCall ends the name of a span that is named after the method by which Python calls an object of a
// class. Nothing says what the object is called.
const classCall = ".__call__"

func namesClass(t *call) bool { return strings.HasSuffix(t.obs.Name, classCall) }

// dropEchoes leaves out the call by which an agent answers, where its span names a class alone and no model
// call shows that it is no tool.
//
// Needs: the last tool call right below an agent, whose only argument is what it returned and what the agent
// answered.
// Refuses: a call with an id; a span with anything below it.
// Seen in: smolagents' FinalAnswerTool under MLflow.
func (c *collector) dropEchoes() {
	last := map[*node]*call{}
	for _, t := range c.tools {
		if n := parentAgent(t); n != nil && (last[n] == nil || last[n].start < t.start) {
			last[n] = t
		}
	}
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		n := parentAgent(t)
		if n == nil || last[n] != t || !echoes(t, n.obs) {
			return false
		}
		c.ignore(t, "call by which the agent answers")
		return true
	})
}

// parentAgent is the agent right above the only span of a call, nil if there is none.
func parentAgent(t *call) *node {
	if len(t.nodes) != 1 || len(t.nodes[0].kids) > 0 || t.nodes[0].up == nil || t.nodes[0].up.obs.Class != genai.Agent {
		return nil
	}
	return t.nodes[0].up
}

// echoes reports the call of a class that was handed, returned, and had the agent answer one and the same
// value.
func echoes(t *call, agent *genai.Observation) bool {
	args, result := t.obs.Args.Value, t.obs.Result
	if t.obs.CallID != "" || !namesClass(t) || args.Len() != 1 || !result.Present() {
		return false
	}
	said, out := args.Members()[0].Value, agent.OutputData.Value
	if k := len(agent.Output); k > 0 {
		out = exactjson.StringValue(partsText(agent.Output[k-1].Parts))
	}
	return sameValue(said, result.Value) && sameValue(said, out)
}
