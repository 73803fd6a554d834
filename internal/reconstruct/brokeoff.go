// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// This file tells what broke a run, and whether a text that was said before is its answer all the same.

// brokeBehind reports that a text is no answer: it is what the model said beside its last calls, which ran, or beside earlier ones, and the agent around them ended with an error then, that of
// the next model call perhaps. A span around that agent which tells the text, and did not fail, tells what the model said last, and not what came of the run.
func (b *builder) brokeBehind(last *call, text string) bool {
	said := last
	for i := len(b.calls.models) - 1; said != nil && said.response == nil && (said.obs.Failed || said.obs.StatusError) && i >= 0; i-- {
		if m := b.calls.models[i]; m.agent == last.agent && m.response != nil {
			said = m
		}
	}
	if said == nil || said.response == nil || finalAnswer(said) {
		return false
	}
	if text != textOf(said.response) && !slices.ContainsFunc(b.calls.models, func(m *call) bool {
		return m.agent == said.agent && m.response != nil && hasToolCall(m.response) && text == textOf(m.response)
	}) {
		return false
	}
	n := b.failedAround()
	if said != last && len(last.nodes) > 0 {
		n = agentAbove(last.nodes[0])
		if n == nil || n == b.fragment.ending() || !n.obs.Failed && !n.obs.StatusError {
			return false
		}
	}
	return n != nil && n.obs.Class == genai.Agent && n.obs.Error != nil && textOf(newMessage(ownAnswer(n))) != text
}

// refusedBelow reports that what the model said last did not become the answer: the program around that call threw, and the same error went up through every span to that of the
// run, which told no answer. An iterator or a task that somebody ended, which throws through all of them too, may have given its answer before.
func refusedBelow(root *node, last *call) bool {
	e := root.obs.Error
	if e == nil || e.Message == "" || len(last.nodes) == 0 || textOf(newMessage(ownAnswer(root))) != "" || root.obs.OutputData.Present() || wasEnded.MatchString(e.Type+" "+e.Message) {
		return false
	}
	n := last.nodes[0].up
	between := 0
	for ; n != nil && n != root && n.obs.Error != nil && n.obs.Error.Message == e.Message; n = n.up {
		between++
	}
	return between > 0 && n == root
}

// threwBehind reports a run that threw when its model had answered already: its own span holds the exception and no answer, and everything below it, the agents and steps that ended with the
// answer among them, ended well before. The exception is none that came up from there, so it is what the caller of the run got in place of the answer.
func threwBehind(root *node, last *call) bool {
	e := root.obs.Error
	if e == nil || e.Message == "" || textOf(newMessage(ownAnswer(root))) != "" || root.obs.OutputData.Present() || wasEnded.MatchString(e.Type+" "+e.Message) || !holdsException(root) {
		return false
	}
	agents := 0
	for _, below := range root.kids {
		if below.obs.Failed || below.obs.StatusError || below.end > root.end {
			return false
		}
		if below.obs.Class == genai.Agent {
			agents++
		}
	}
	return agents > 0 && (len(last.nodes) == 0 || last.nodes[0].up != root)
}

// holdsException reports a span with an exception and where it was thrown.
func holdsException(n *node) bool {
	for _, e := range n.span.Events().All() {
		if trace, there := e.Attributes().Get("exception.stacktrace"); e.Name() == "exception" && there && trace.Str() != "" {
			return true
		}
	}
	return false
}

// wasEnded is what is thrown through a program that is told to stop.
var wasEnded = regexp.MustCompile(`(?i)GeneratorExit|Cancel|Abort|Interrupt|StopIteration|StopAsyncIteration|closed|disconnect`)

// runError is what the root says went wrong, else the step that failed, else the last call that did.
func (b *builder) runError(last *call, failed *node) *tape.Error {
	if root := b.fragment.ending(); root != nil && root.obs.Error != nil {
		return root.obs.Error
	}
	if failed != nil && failed.obs.Error != nil {
		return failed.obs.Error
	}
	if last != nil && last.obs.Error != nil {
		return last.obs.Error
	}
	for i := len(b.tape.Events) - 1; i >= 0; i-- {
		if e := b.tape.Events[i]; e.Error != nil {
			return e.Error
		}
	}
	return &tape.Error{Message: fmt.Sprintf("the run ended with status %s", b.tape.Run.Status)}
}

// failedAround returns the innermost step of the run around its last event that failed, else the span around that of the run: a runner that has nothing else below it tells how the run ended (ADK).
func (b *builder) failedAround() *node {
	if len(b.ordered) == 0 {
		return nil
	}
	k := b.ordered[len(b.ordered)-1]
	if len(k.nodes) == 0 && k.by != nil {
		k = k.by.model
	}
	if len(k.nodes) == 0 {
		return nil
	}
	for n := k.nodes[0]; n != nil && n != b.fragment.ending(); n = n.up {
		if (n.obs.Failed || n.obs.StatusError) && (n.obs.Class != genai.Tool && n.obs.Class != genai.Retrieval) {
			return n
		}
	}
	if root := b.fragment.root; root != nil && root == b.fragment.ending() {
		for n := root; n != nil && !slices.Contains(b.fragment.heads, n); n = n.up {
			if n.up != nil && (n.up.obs.Failed || n.up.obs.StatusError) && n.up.obs.Class == genai.Agent {
				return n.up
			}
		}
	}
	return nil
}

// nameFailures gives a tool that failed, of which its span tells no more, the error of the agent around it: the tool threw, and that ended the agent, which asked no model again (ADK for Java
// writes what a tool came to when it has returned). Of several such tools nobody knows which threw: the others may have come to something.
func (c *collector) nameFailures() {
	silent := map[*call][]*call{} // by agent
	for _, t := range c.tools {
		if o := t.obs; o.Failed && o.Error == nil && !o.Result.Present() && len(t.nodes) > 0 {
			silent[t.agent] = append(silent[t.agent], t)
		}
	}
	for agent, tools := range silent {
		ended := slices.MaxFunc(tools, func(a, b *call) int { return cmp.Compare(a.end, b.end) }).end
		thrown := thrownAround(tools[0].nodes[0])
		if thrown == nil || slices.ContainsFunc(c.models, func(m *call) bool { return m.agent == agent && m.start >= ended }) {
			continue
		}
		for _, t := range tools {
			if t.maybe = len(tools) > 1; !t.maybe {
				o := *t.obs
				o.Error = thrown
				t.obs = &o
			}
		}
	}
}

// thrownAround is the error of the innermost span around a tool, within what called it, that failed and tells why.
func thrownAround(tool *node) *tape.Error {
	for n := tool.up; n != nil && n.obs.Class != genai.Tool; n = n.up {
		if (n.obs.Failed || n.obs.StatusError) && n.obs.Error != nil && n.obs.Error.Message != "" {
			return n.obs.Error
		}
	}
	return nil
}
