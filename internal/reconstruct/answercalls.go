// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markAnswers finds the tools by which agents of frameworks nobody wrote a rule for hand on their answer (BeeAI's final_answer): the last tool below an agent, which the last model
// call below it was offered or asked for, whose only argument, not its result, is what the agent answered, and whose name or definition says that it answers. Such a tool is no call of the
// agent, and its model answers by it, also where the framework refused what it said at first. What a program does with an answer (it sends it to somebody, say) the model was not offered, or it
// is a tool that says so (send_message): that one ran.
func (c *collector) markAnswers() {
	for _, t := range slices.Clone(c.tools) {
		n := answeredBy(t)
		if n == nil || slices.ContainsFunc(c.tools, func(other *call) bool { return other != t && other.end > t.start && liesBelow(other, n) }) {
			continue
		}
		var below []*call
		for _, m := range c.models {
			if liesBelow(m, n) {
				below = append(below, m)
			}
		}
		if len(below) == 0 {
			continue
		}
		name := t.obs.Name
		if last := below[len(below)-1]; last.start >= t.end || !mayCall(last, name) || !saysAnswer(last, name) {
			continue
		}
		for _, m := range below {
			o := *m.obs
			o.OutputTools = append(slices.Clip(o.OutputTools), name)
			m.obs = &o
		}
		c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
			if t.obs.Name != name || !liesBelow(t, n) {
				return false
			}
			c.noise["tool by which the model answers"] += int64(t.nodes[0].spans)
			return true
		})
	}
}

// markRequired finds the tools by which models answer that may not answer in words: the last request of an agent required a call of a tool, its response asks for one alone, and no span
// of the run and no request shows a tool of that name at work (what frameworks make of a schema for the answer). A tool that ran before was cut off by a limit. Where no request says what
// it required, the agent says that the call is what it ended with (isReturned).
func (c *collector) markRequired() {
	last := map[*call]*call{}
	for _, m := range c.models {
		if l := last[m.agent]; l == nil || l.start <= m.start {
			last[m.agent] = m
		}
	}
	ran := map[string]bool{}
	for _, t := range c.tools {
		ran[nameOf(t)] = true
	}
	for _, m := range c.models {
		for _, a := range m.asked {
			ran[a.part.Name] = ran[a.part.Name] || a.by != nil
		}
	}
	for _, m := range c.models {
		l := last[m.agent]
		if len(l.asked) != 1 || ran[l.asked[0].part.Name] || !requiresCall(l.obs) && !isReturned(l) {
			continue
		}
		if args := l.asked[0].part.Args; args.Kind() == exactjson.Object && args.Len() > 0 {
			o := *m.obs
			o.OutputTools = append(slices.Clip(o.OutputTools), l.asked[0].part.Name)
			m.obs = &o
		}
	}
}

// markEchoed finds the tools by which models answer of which the state that the step or the agent around the last model call of an agent ended with says so, see echo. No span reports such a
// tool, nor a model that was asked again.
func (c *collector) markEchoed() {
	last := map[*call]*call{}
	for _, m := range c.models {
		if l := last[m.agent]; l == nil || l.start <= m.start {
			last[m.agent] = m
		}
	}
	named := map[*call]string{} // agent → its tool
	for _, m := range c.models {
		if last[m.agent] == m && len(named) < maxTranscripts {
			named[m.agent] = c.echoed(m)
		}
	}
	for _, m := range c.models {
		if name := named[m.agent]; name != "" {
			o := *m.obs
			o.OutputTools = append(slices.Clip(o.OutputTools), name)
			m.obs = &o
		}
	}
}

// echoed is the tool of the only call that a model asks for, where the state around it ends with an echo of that; "" where it does not.
func (c *collector) echoed(m *call) string {
	if m.response == nil || len(m.nodes) == 0 && m.obs.ResponseLabel != tape.Recovered {
		return ""
	}
	calls := callsOf(m.response.parts)
	if len(calls) != 1 || slices.ContainsFunc(c.tools, func(t *call) bool { return t.agent == m.agent && t.end > m.end }) {
		return ""
	}
	var around *node
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		if len(m.nodes) == 0 { // when such a call was made is not known to the moment: its id tells
			if of := echo(decode.Transcript(n.obs.OutputData.Value)); of != nil && n.obs.OutputData.Label == "" && of.Name == calls[0].Name && of.ID == calls[0].ID && tellsOneCall(of) {
				return of.Name
			}
			continue
		}
		if n.start <= m.start && m.end <= n.end && n.obs.OutputData.Present() && (around == nil || cmp.Or(cmp.Compare(n.end-n.start, around.end-around.start), compareNodes(n, around)) < 0) {
			around = n
		}
	}
	if around == nil || around.obs.OutputData.Label != "" {
		return ""
	}
	if of := echo(decode.Transcript(around.obs.OutputData.Value)); of == nil || of.Name != calls[0].Name || of.ID != calls[0].ID {
		return ""
	}
	return calls[0].Name
}

// echo is the call by which a model answered, where a conversation ends with what a framework makes of it (LangChain's toolStrategy): a result that is what the tool was handed and, in the role
// of the model, a text that calls it the structured response. No model said that.
func echo(state []genai.Message) *genai.Part {
	if len(state) < 3 {
		return nil
	}
	asks, shows, says := state[len(state)-3], state[len(state)-2], state[len(state)-1]
	if asks.Role != tape.RoleAssistant || says.Role != tape.RoleAssistant || len(callsOf(says.Parts)) > 0 || len(shows.Parts) != 1 || shows.Parts[0].Type != tape.PartToolResult {
		return nil
	}
	calls, r := callsOf(asks.Parts), &shows.Parts[0]
	text := partsText(says.Parts)
	at := strings.IndexByte(text, '{')
	if len(calls) != 1 || r.ID != "" && r.ID != calls[0].ID || at < 0 || !saysStructured.MatchString(text[:at]) || calls[0].Args.Kind() != exactjson.Object || !sameContent(r.Result, calls[0].Args) {
		return nil
	}
	if again, ok := decode.ParseStructure(text[at:]); !ok || !sameValue(again, calls[0].Args) {
		return nil
	}
	return calls[0]
}

var saysStructured = regexp.MustCompile(`(?i)\bstructured (response|output)[: ]*$`)

// isReturned reports a model call whose only call is what the agent around it says that it ended with, well: it hands one argument to an offered tool that has the name of an answer.
// What waits for somebody to do or to allow it has another name (the agents of the AI SDK 7 that stop at a tool without a function).
func isReturned(l *call) bool {
	part := l.asked[0].part
	if len(l.nodes) == 0 || part.Args.Kind() != exactjson.Object || part.Args.Len() != 1 || !namesAnswer.MatchString(part.Name) || actsOnAnswer.MatchString(part.Name) ||
		!slices.ContainsFunc(l.obs.Tools, func(t tape.Tool) bool { return t.Name == part.Name }) {
		return false
	}
	n := agentAbove(l.nodes[0])
	if n == nil || n.obs.Failed || n.obs.StatusError || len(n.obs.Output) == 0 {
		return false
	}
	calls := callsOf(n.obs.Output[len(n.obs.Output)-1].Parts)
	return len(calls) > 0 && calls[len(calls)-1].Name == part.Name && calls[len(calls)-1].ID == part.ID && sameValue(calls[len(calls)-1].Args, part.Args)
}

// agentAbove is the agent around a span, nil when there is none.
func agentAbove(n *node) *node {
	n = n.up
	for steps := 0; n != nil && n.obs.Class != genai.Agent && steps < maxAbove; steps++ {
		n = n.up
	}
	if n == nil || n.obs.Class != genai.Agent {
		return nil
	}
	return n
}

// requiresCall reports a request that lets the model answer by nothing but the call of a tool: of any one, or of the one that it names.
func requiresCall(o *genai.Observation) bool {
	for _, p := range o.Params {
		if p.Name != "tool_choice" {
			continue
		}
		choice := p.Value.Str()
		if object, ok := decode.Structure(p.Value); ok {
			choice = object.Get("type").Str()
		}
		return slices.Contains([]string{"required", "any", "tool", "function"}, choice)
	}
	return false
}

// answeredBy is the agent around a tool that answered what the tool was handed as its only argument. It is nil when there is none.
func answeredBy(t *call) *node {
	if len(t.nodes) == 0 || t.holds != nil || t.obs.Failed || t.obs.StatusError || t.obs.Args.Label != "" || t.obs.Args.Value.Kind() != exactjson.Object || t.obs.Args.Value.Len() != 1 {
		return nil
	}
	said := strings.TrimSpace(t.obs.Args.Value.Members()[0].Value.Str())
	if said == "" || strings.TrimSpace(textResult(t.obs.Result.Value)) == said { // a tool whose result is the answer
		return nil
	}
	n := agentAbove(t.nodes[0])
	if n == nil {
		return nil
	}
	out := n.obs.OutputData.Value.Str()
	if k := len(n.obs.Output); k > 0 {
		out = partsText(n.obs.Output[k-1].Parts)
	}
	if message, ok := decode.Representation(out); ok && message.Get("content").Kind() == exactjson.String {
		out = message.Get("content").Str() // the message as Python writes it (AgentScope)
	}
	if strings.TrimSpace(out) != said {
		return nil
	}
	return n
}

// liesBelow reports a call of which a span lies below a step.
func liesBelow(k *call, up *node) bool {
	return slices.ContainsFunc(k.nodes, func(n *node) bool { return isAbove(up, n) })
}

// saysAnswer reports a tool that says of itself that it answers: by its name, or by the definition that the model was offered.
func saysAnswer(m *call, name string) bool {
	if actsOnAnswer.MatchString(name) {
		return false
	}
	return tellsAnswer.MatchString(name) || slices.ContainsFunc(m.obs.Tools, func(t tape.Tool) bool { return t.Name == name && tellsAnswer.MatchString(t.Description) })
}

var (
	tellsAnswer  = regexp.MustCompile(`(?i)answer|final|finish|respon[ds]|conclu|^reply$`)
	namesAnswer  = regexp.MustCompile(`(?i)(answer|response|reply|conclusion|output|result)$|^(answer|respond|reply|conclude|finish)$`)
	actsOnAnswer = regexp.MustCompile(`(?i)^(send|post|publish|mail|e_?mail|notify|save|store|write|speak|say|print|submit_(form|order|ticket))`)
)

// mayCall reports that a model was offered a tool, or asked for it.
func mayCall(m *call, name string) bool {
	return slices.ContainsFunc(m.asked, func(a *asked) bool { return a.part.Name == name }) ||
		slices.ContainsFunc(m.obs.Tools, func(t tape.Tool) bool { return t.Name == name }) || slices.Contains(m.obs.Offered, name)
}
