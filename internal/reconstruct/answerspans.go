// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// dropAnswers drops the spans of tools by which the model of the same agent answers.
//
// Needs: the name of such a tool on a model call of the agent; no arguments, or a result that is the arguments.
// Refuses: a tool that runs an agent.
// Seen in: DSPy, whose agents end with a tool.
func (c *collector) dropAnswers() {
	by := map[*call][]string{} // agent → tools by which its models answer
	for _, m := range c.models {
		by[m.agent] = append(by[m.agent], m.obs.OutputTools...)
	}
	c.dropAnswerSpans(func(t *call) bool {
		return slices.Contains(by[t.agent], nameOf(t)) && len(t.nodes) > 0 && t.holds == nil &&
			(t.obs.Args.Value.Len() == 0 || sameContent(t.obs.Args.Value, t.obs.Result.Value))
	})
}

// dropAnswerSpans drops the tool calls that are answers of a model, and counts their spans as noise.
func (c *collector) dropAnswerSpans(answers func(*call) bool) {
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		if !answers(t) {
			return false
		}
		c.noise["tool by which the model answers"] += int64(t.nodes[0].spans)
		return true
	})
}
