// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file attaches reports to calls. The conversation says how many calls took place and with which arguments. Some tool spans and
// log records were asked for by no response, but say what another report says of a call that a response did ask for. Each of them is
// one more report of that call. Two instrumentations in one process, and a framework beside its own event log, are the usual reasons.

// dropSecondReports makes one call of several reports. Three conditions make a report a second one. No response asked for it.
// Another instrumentation (or a log record) reports a call with equal arguments, or a span inside the span of that call does and brings the same.
// Neither ids nor time say that they are two.
func (c *collector) dropSecondReports() {
	mayDiffer := c.idsMayDiffer()
	known := c.knownNames()
	taken := map[*call][]reporter{}
	kept := c.tools[:0:0]
	for _, t := range c.tools {
		p := c.firstReport(t, known, taken, mayDiffer)
		if p == nil {
			kept = append(kept, t)
			continue
		}
		taken[p] = append(taken[p], t.reporter())
		second := *t.obs
		second.Notes = nil
		if p.obs.Name != second.Name && !known[p.obs.Name] {
			o := *p.obs
			o.Name = second.Name
			p.obs = &o
		}
		p.obs = genai.Merge(p.obs, &second)
		p.nodes = append(slices.Clip(p.nodes), t.nodes...)
		p.notes = append(append(slices.Clone(p.notes), t.notes...), genai.Note{Code: tape.CodeDuplicateReport, Detail: "several spans report this call"})
		if p.holds == nil {
			p.holds = t.holds
		}
	}
	c.tools = slices.DeleteFunc(kept, func(t *call) bool { return c.nobodyAsked(t, known) })
}

// nobodyAsked reports a tool span without arguments, under a name that the conversation does not know, that puts the results of others together, or whose turn has
// nothing left to answer. Such a span sums up other calls, or speaks of a step of the framework. It counts as noise.
func (c *collector) nobodyAsked(t *call, known map[string]bool) bool {
	if t.by != nil || t.obs.Handoff || t.holds != nil || len(t.nodes) == 0 || known[nameOf(t)] {
		return false
	}
	sums := c.sumsUp(t)
	if t.obs.Args.Present() && !sums {
		return false
	}
	for _, m := range slices.Backward(c.models) {
		if m.agent != t.agent || !endedBefore(m, t) {
			continue
		}
		if !sums && (len(m.asked) == 0 || slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil })) {
			return false
		}
		c.noise["tool span that nothing asked for"] += int64(t.nodes[0].spans)
		return true
	}
	return false
}

// sumsUp reports a tool span without a value for an argument, whose result holds several other calls, by their ids or by what later requests show of those that no span
// has: it puts their results together.
func (c *collector) sumsUp(t *call) bool {
	if t.obs.Args.Value.Len() > 0 || t.obs.Args.Value.Kind() == exactjson.String && t.obs.Args.Value.Str() != "{}" || !t.obs.Result.Present() {
		return false
	}
	text, held := textResult(t.obs.Result.Value), 0
	for _, other := range c.tools {
		if id := other.obs.CallID; other != t && len(id) >= minQuoted && strings.Contains(text, id) {
			held++
		}
	}
	if held != 1 {
		return held > 1
	}
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.tool != nil || a.shown == nil {
				continue
			}
			if said := textResult(a.shown.Result); len(said) >= minQuoted && strings.Contains(text, said) {
				return true
			}
		}
	}
	return false
}

// reporter is who wrote a report: the instrumentation, and whether it wrote a span or a log record.
type reporter struct {
	scope scopeKey
	log   bool
}

// reporter returns the writer of the outermost report of a call; the zero value for calls without one.
func (t *call) reporter() reporter {
	if len(t.nodes) == 0 {
		return reporter{}
	}
	return reporter{t.nodes[0].scope, t.nodes[0].spans == 0}
}

// knownNames are the names of tools that a request offers or a response asks for.
func (c *collector) knownNames() map[string]bool {
	names := map[string]bool{}
	for _, m := range c.models {
		for _, t := range m.obs.Tools {
			names[t.Name] = true
		}
		for _, a := range m.asked {
			names[a.part.Name] = true
		}
	}
	return names
}

// firstReport finds the call that t reports once more, nil when t is a call of its own. It prefers calls that overlap t in time, and of several the
// one that ended with t: a record of a call is written at its end.
func (c *collector) firstReport(t *call, known map[string]bool, taken map[*call][]reporter, mayDiffer func(*call, *asked) bool) *call {
	if t.by != nil || t.obs.Handoff || len(t.nodes) == 0 {
		return nil
	}
	var found *call
	for _, p := range c.tools {
		if p == t || len(p.nodes) == 0 || slices.Contains(taken[p], t.reporter()) {
			continue
		}
		if p.by == nil {
			if retells(t, p) && (found == nil || found.by == nil && apart(p.end, t.end) < apart(found.end, t.end)) {
				found = p
			}
			continue
		}
		if p.reporter() == t.reporter() && !inside(t, p) && !elsewhere(t, p) {
			continue
		}
		if p.start > t.end+clockSlack || nameOf(t) != p.by.part.Name && nameOf(t) != nameOf(p) && known[nameOf(t)] || t.obs.CallID != p.by.part.ID && !mayDiffer(t, p.by) {
			continue
		}
		if t.obs.Args.Present() && !sameArgs(t, p.by) {
			continue
		}
		if t.obs.Args.Label == "" && !t.obs.Args.Present() && nameOf(t) != p.by.part.Name {
			continue // neither name nor arguments in common
		}
		if found == nil || found.by == nil || beside(p, t) && !beside(found, t) || beside(p, t) == beside(found, t) && apart(p.end, t.end) <= apart(found.end, t.end) {
			found = p
		}
	}
	return found
}

// retells reports a tool span without an id in the time of another instrumentation's with one, under the same name, with the same arguments and the same outcome: what the program writes of a
// function that a framework calls, where no answer on record asks for either.
func retells(t, p *call) bool {
	return p.obs.CallID != "" && t.obs.CallID == "" && p.reporter() != t.reporter() && nameOf(p) == nameOf(t) && p.start <= t.start+rounding && t.end <= p.end+rounding &&
		sameValue(t.obs.Args.Value, p.obs.Args.Value) && sameOutcome(t, p)
}

// inside reports a tool span right inside that of another call, with arguments, whose result, or error, is what that call came to.
func inside(t, p *call) bool { return slices.Contains(p.nodes, t.nodes[0].up) && sameOutcome(t, p) }

// elsewhere reports a tool span with arguments that took place at the time of that of another call, came to the same and hangs below another span. A handler of a framework's callbacks does
// not make its spans the current ones, so that what the program writes of the function hangs below whatever lies around the run.
func elsewhere(t, p *call) bool {
	return siblingsOf(t.nodes[0]) != siblingsOf(p.nodes[0]) && overlap(t, p) && sameOutcome(t, p)
}

// sameOutcome reports a call that was recorded with arguments, and whose result, or error, is what the other one came to.
func sameOutcome(t, p *call) bool {
	if !t.obs.Args.Present() || failedCall(t) != failedCall(p) {
		return false
	}
	if one, two := t.obs.Error, p.obs.Error; failedCall(t) && one != nil && two != nil && sameWords(one.Message, two.Message) {
		return true
	}
	inner, outer := textResult(t.obs.Result.Value), textResult(p.obs.Result.Value)
	return t.obs.Result.Present() && (inner == outer || failedCall(t) && strings.Contains(outer, inner))
}

// failedCall reports a call whose record says that it failed.
func failedCall(t *call) bool { return t.obs.Failed || t.obs.StatusError }

// beside reports two calls that overlap in time, give or take the slack of clocks.
func beside(a, b *call) bool { return a.start <= b.end+clockSlack && b.start <= a.end+clockSlack }

// apart is the time between two instants, whichever comes first.
func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// restates reports a model span that tells nothing but tokens and the model that used them, and the model call right before it beside it told the same: a step of
// the framework that counts. Where the call itself tells no tokens, or others, the span is a call of its own.
func restates(m *call, before []*call) bool {
	o := m.obs
	if len(m.nodes) == 0 || m.nodes[0].up == nil || !usageKnown(o.Usage) || o.Model != "" || o.ResponseID != "" || o.Failed || o.StatusError ||
		len(o.Request)+len(o.Response)+len(o.FinishReasons)+len(o.Params) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return false
	}
	for _, p := range slices.Backward(before) {
		if len(p.nodes) > 0 && p.nodes[0].up == m.nodes[0].up {
			return p.end <= m.start && answered(p) && o.ResponseModel == p.obs.ResponseModel && sameTokens(o.Usage, p.obs.Usage)
		}
	}
	return false
}

// dropPreparations leaves out model spans that hold neither a request nor anything that only a provider's answer can tell, and stand
// beside the span of the call itself. Such a span is the step that builds the request, or a wrapper that ended before. It also leaves out what tells a call again, or
// a piece of it.
func (c *collector) dropPreparations() {
	kept := c.models[:0:0]
	for i, m := range c.models {
		if c.prepares(i) {
			c.noise["model span that prepares a call"] += int64(m.nodes[0].spans)
			continue
		}
		if restates(m, kept) {
			c.noise["model span that tells the tokens of a call again"] += int64(m.nodes[0].spans)
			continue
		}
		if strayPiece(m, kept) {
			c.noise["model span that tells a piece of an answer"] += int64(m.nodes[0].spans)
			continue
		}
		kept = append(kept, m)
	}
	c.models = kept
}

// maxStray is how many model calls before a stray piece are looked at.
const maxStray = 16

// strayPiece reports a model span of which the parent never came, or is no part of the evidence, and which tells no more than a piece of what the call around it in time, of the
// same instrumentation, answered: a chunk of a stream.
func strayPiece(m *call, before []*call) bool {
	if len(m.nodes) != 1 || !m.nodes[0].missing {
		return false
	}
	for _, whole := range slices.Backward(before[max(0, len(before)-maxStray):]) {
		if len(whole.nodes) > 0 && m.nodes[0].within(whole.nodes[0]) && m.nodes[0].scope == whole.nodes[0].scope && isPiece(m.obs, whole.obs) {
			return true
		}
	}
	return false
}

// prepares reports that the next model span beside the i-th is the call that this one prepares. Several spans one in the other may report either.
func (c *collector) prepares(i int) bool {
	m := c.models[i]
	if !silent(m.obs) || len(m.nodes) == 0 {
		return false
	}
	for _, next := range c.models[i+1:] {
		if siblingsOf(next.nodes[0]) == siblingsOf(m.nodes[0]) {
			return !silent(next.obs) && next.obs.Model == m.obs.Model && !likeCalls(m.nodes[0], next.nodes[0]) && (m.nodes[0].up != nil || !m.nodes[0].parent.IsEmpty())
		}
	}
	return false
}

// likeCalls reports two model spans of one instrumentation that have the same name and the model that was asked for: two calls, of which the first says nothing more, and no step that prepares the other.
func likeCalls(a, b *node) bool {
	return a.scope == b.scope && a.span.Name() == b.span.Name() && a.obs.Model != "" && len(a.obs.Tools) > 0
}

// silent reports a model span without a request and without what a provider's answer brings.
func silent(o *genai.Observation) bool {
	return len(o.Request) == 0 && o.RequestLabel == "" && !usageKnown(o.Usage) && len(o.FinishReasons) == 0 && o.ResponseID == "" && o.ResponseModel == "" && !o.Failed && !o.StatusError
}

// classCall ends the name of a span that is named after the method by which Python calls an object of a class: what the object is called, nothing says.
const classCall = ".__call__"

// dropEchoes leaves out the calls by which an agent answers, where the span names their class alone and no model call shows that they are none of its tools: the
// last call below an agent, whose only argument is what it returned, and what the agent around it answered (smolagents' FinalAnswerTool under MLflow).
func (c *collector) dropEchoes() {
	last := map[*node]*call{}
	agentOf := func(t *call) *node {
		if len(t.nodes) != 1 || len(t.nodes[0].kids) > 0 {
			return nil
		}
		if up := t.nodes[0].up; up != nil && up.obs.Class == genai.Agent {
			return up
		}
		return nil
	}
	for _, t := range c.tools {
		if n := agentOf(t); n != nil && (last[n] == nil || last[n].start < t.start) {
			last[n] = t
		}
	}
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		n := agentOf(t)
		if n == nil || last[n] != t || t.obs.CallID != "" || !strings.HasSuffix(t.obs.Name, classCall) || t.obs.Args.Value.Len() != 1 || !t.obs.Result.Present() {
			return false
		}
		said := t.obs.Args.Value.Members()[0].Value
		out := n.obs.OutputData.Value
		if k := len(n.obs.Output); k > 0 {
			out = exactjson.StringValue(partsText(n.obs.Output[k-1].Parts))
		}
		if !sameValue(said, t.obs.Result.Value) || !sameValue(said, out) {
			return false
		}
		c.noise["call by which the agent answers"] += int64(t.nodes[0].spans)
		return true
	})
}

// nameClasses names the tools whose spans are named after a class, where no response asked for the call. Spans of one instrumentation with one name show it:
// what some of them returned names the tool, and the others, which failed, know no better than the class. Such a call is of the tool that alone has
// arguments of these names under this class; a finding says so. Where no tool has, or several have, the name is labelled missing.
func (c *collector) nameClasses() {
	type class struct {
		scope scopeKey
		span  string
	}
	of := func(t *call) (k class, named bool) {
		if len(t.nodes) == 0 || t.nodes[0].spans == 0 || t.obs.Name == "" {
			return class{}, false
		}
		span := t.nodes[0].source.Span.Name()
		return class{t.nodes[0].scope, span}, !strings.Contains(span, t.obs.Name)
	}
	told := map[class]map[string][]string{} // the names of arguments → the names of tools
	for _, t := range c.tools {
		if k, named := of(t); named && strings.Contains(k.span, " ") {
			if told[k] == nil {
				told[k] = map[string][]string{}
			}
			if names := argumentNames(t); !slices.Contains(told[k][names], t.obs.Name) {
				told[k][names] = append(told[k][names], t.obs.Name)
			}
		}
	}
	for _, t := range c.tools {
		k, named := of(t)
		if t.by == nil && strings.HasSuffix(t.obs.Name, classCall) {
			t.unnamed = true
			t.notes = append(slices.Clone(t.notes), genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: "the span names the class of the tool"})
			continue
		}
		if named || t.by != nil || told[k] == nil || !strings.HasSuffix(k.span, " "+t.obs.Name) {
			continue
		}
		note := genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: "the span names the class of the tool"}
		if names := told[k][argumentNames(t)]; len(names) == 1 && t.obs.Args.Present() {
			o := *t.obs
			o.Name = names[0]
			t.obs = &o
			note.Detail += "; the name is that of the only tool of this class with arguments of these names"
		} else {
			t.unnamed = true
		}
		t.notes = append(slices.Clone(t.notes), note)
	}
}

// argumentNames are the names of the arguments that a call received, in their order.
func argumentNames(t *call) string {
	var names []string
	for _, m := range t.obs.Args.Value.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\x00")
}
