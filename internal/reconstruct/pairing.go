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

// pair says which executed tool call was asked for by which response. The call id decides first. Without it, the latest turn
// before the call is searched: by name, arguments and result, by name and arguments, by name and order, or by a name that occurs
// once. Equal calls of which no result tells them apart are taken in their order before.
func (c *collector) pair() {
	c.dropAnswers()
	c.markAnswers()
	c.markRequired()
	mayDiffer := c.idsMayDiffer()
	known := c.knownNames()
	c.shortenNames(known)
	c.markHandoffs(known)
	c.dropDispatchers(known)
	c.openDispatchers(known)
	type pass func(t *call, a *asked) bool
	pairBy := func(passes ...pass) {
		for _, fits := range passes {
			for _, before := range turnsBefore {
				for _, t := range c.tools {
					if t.by != nil || t.obs.Handoff {
						continue
					}
					if a := c.latestTurn(t, before, fits); a != nil {
						t.by, a.tool = a, t
					}
				}
			}
		}
	}
	pairBy(
		hasID)
	c.pairByAnswer(mayDiffer)
	pairBy(
		func(t *call, a *asked) bool { // of equal calls, the one whose result a later request shows as it is
			return nameOf(t) == a.part.Name && mayDiffer(t, a) && returned(t, a) && sameContent(t.obs.Result.Value, a.shown.Result) && (!t.obs.Args.Present() || sameArgs(t, a))
		},
		func(t *call, a *asked) bool { // or within an envelope
			return nameOf(t) == a.part.Name && mayDiffer(t, a) && returned(t, a) && (!t.obs.Args.Present() || sameArgs(t, a))
		})
	c.pairInOrder(mayDiffer)
	pairBy(
		func(t *call, a *asked) bool { return isDispatch(t, a, known) && returned(t, a) },
		func(t *call, a *asked) bool { return isDispatch(t, a, known) },
		func(t *call, a *asked) bool {
			return nameOf(t) == a.part.Name && mayDiffer(t, a) && t.obs.Args.Present() && sameArgs(t, a)
		},
		func(t *call, a *asked) bool { // a display name or the name of a class in place of the tool's
			return !known[nameOf(t)] && mayDiffer(t, a) && a.part.Args.Len() > 0 && sameArgs(t, a)
		},
		func(t *call, a *asked) bool {
			return nameOf(t) == a.part.Name && mayDiffer(t, a) && argsMayDiffer(t, a)
		},
		func(t *call, a *asked) bool { // a failure under a number of the reporter's own, beside an equal call that no span has
			named := nameOf(t) == a.part.Name || !known[nameOf(t)] && (a.part.Args.Len() > 0 || a.shown != nil && wordsOf(t.obs.Error, a.shown.Result))
			return named && !t.obs.Result.Present() && !c.asksWith(t.obs.CallID) && t.obs.Args.Present() && sameArgs(t, a)
		})
	c.pairAcrossClocks(known, mayDiffer)
	c.pairByTurn(known, mayDiffer)
	c.pairStandIns(known)
	for _, t := range c.tools {
		if t.by != nil && isDispatch(t, t.by, known) {
			t.obs = asDispatched(t.obs, t.by.part, t.by.shown)
		}
	}
	c.openUnasked()
}

// dropAnswers drops the spans of tools by which the model of the same agent answers: they were handed nothing, or return what they were handed.
func (c *collector) dropAnswers() {
	by := map[string]map[*call]bool{}
	for _, m := range c.models {
		for _, name := range m.obs.OutputTools {
			if by[name] == nil {
				by[name] = map[*call]bool{}
			}
			by[name][m.agent] = true
		}
	}
	if len(by) == 0 {
		return
	}
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		if !by[nameOf(t)][t.agent] || len(t.nodes) == 0 || t.holds != nil || t.obs.Args.Value.Len() > 0 && !sameContent(t.obs.Args.Value, t.obs.Result.Value) {
			return false
		}
		c.noise["tool by which the model answers"] += int64(t.nodes[0].spans)
		return true
	})
}

// pairStandIns pairs tools of a framework's own that answer in place of one that there is not: nobody offered them or asked for them, one of their
// arguments is the name that was asked for, and what they returned is what the model was shown of that call.
func (c *collector) pairStandIns(known map[string]bool) {
	for _, t := range c.tools {
		if t.by != nil || t.obs.Handoff || known[nameOf(t)] || len(t.nodes) == 0 || t.obs.Args.Value.Kind() != exactjson.Object {
			continue
		}
		a := c.latestTurn(t, endedBefore, func(t *call, a *asked) bool {
			return a.model.agent == t.agent && returned(t, a) && slices.ContainsFunc(t.obs.Args.Value.Members(), func(m exactjson.Member) bool {
				return m.Value.Kind() == exactjson.String && m.Value.Str() == a.part.Name
			})
		})
		if a == nil {
			continue
		}
		o := *t.obs
		o.Name, o.Args = a.part.Name, genai.Content{}
		t.obs, t.by, a.tool = &o, a, t
	}
}

// callKey tells apart calls of which no id does.
type callKey struct {
	name, args string
	agent      *call
}

func keyOf(name string, args exactjson.Value, agent *call) callKey {
	if inner, ok := decoded(args); ok {
		args = inner
	}
	text, err := args.Canonical()
	if err != nil {
		text = args.JSON()
	}
	return callKey{name, text, agent}
}

// openCalls are the tool calls with arguments that are not paired, and the calls that were asked for and are not, by what they are.
func (c *collector) openCalls() (tools map[callKey][]*call, open map[callKey][]*asked) {
	tools, open = map[callKey][]*call{}, map[callKey][]*asked{}
	for _, t := range c.tools {
		if t.by == nil && !t.obs.Handoff && len(t.nodes) > 0 && t.obs.Args.Present() {
			k := keyOf(nameOf(t), t.obs.Args.Value, t.agent)
			tools[k] = append(tools[k], t)
		}
	}
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.tool == nil {
				k := keyOf(a.part.Name, a.part.Args, m.agent)
				open[k] = append(open[k], a)
			}
		}
	}
	return tools, open
}

// maxEqual bounds how many equal calls are told apart by what came of each.
const maxEqual = 64

// pairByAnswer pairs those of several equal calls of which each has an answer of its own, whatever the clocks say: one span holds what later requests show of one call alone.
func (c *collector) pairByAnswer(mayDiffer func(*call, *asked) bool) {
	tools, open := c.openCalls()
	for k, asks := range open {
		if len(asks) < 2 || len(asks) > maxEqual || len(tools[k]) > maxEqual {
			continue
		}
		fits, claims := map[*call][]*asked{}, map[*asked]int{}
		told := !slices.ContainsFunc(asks, func(a *asked) bool { return a.shown == nil || a.shown.Label != "" }) // of all of them: then a short answer tells as well
		for _, t := range tools[k] {
			for _, a := range asks {
				if mayDiffer(t, a) && (returned(t, a) || failedAs(t, a) || told && returnedJust(t, a)) && !under(a.model, t) {
					fits[t] = append(fits[t], a)
					claims[a]++
				}
			}
		}
		for t, all := range fits {
			if len(all) == 1 && claims[all[0]] == 1 && (told || len(textResult(t.obs.Result.Value)) >= minQuoted || failedAs(t, all[0])) {
				t.by, all[0].tool = all[0], t
			}
		}
	}
}

// pairInOrder pairs calls of one tool with equal arguments in the order in which they began, if as many spans of one reporter are open as calls were
// asked for: a clock that is a little off would give one of them to the turn before.
func (c *collector) pairInOrder(mayDiffer func(*call, *asked) bool) {
	tools, open := c.openCalls()
	for k, equal := range tools {
		asks := open[k]
		if len(equal) < 2 || len(equal) != len(asks) {
			continue
		}
		slices.SortStableFunc(equal, func(a, b *call) int { return cmp.Compare(a.start, b.start) })
		slices.SortStableFunc(asks, func(a, b *asked) int { return cmp.Compare(a.model.start, b.model.start) })
		fit := true
		for i, t := range equal {
			fit = fit && (asks[i].model.start <= t.start || t.shift > 0) && mayDiffer(t, asks[i]) && t.reporter() == equal[0].reporter() && !c.placed(t)
		}
		for i, t := range equal {
			if fit {
				t.by, asks[i].tool = asks[i], t
			}
		}
	}
}

// placed reports the span of a call that hangs below one of a model call: more than its time ties it to a turn.
func (c *collector) placed(t *call) bool {
	return slices.ContainsFunc(c.models, func(m *call) bool { return hangsBelow(m, t) })
}

// dropFunctions drops the spans of functions that no response asked for, where responses asked for tools at all: they are helpers of the program. One of the name
// of a tool that was asked for stays where nothing shows what the model call before it answered, or where the answer on record lost calls.
func (c *collector) dropFunctions() {
	named := map[string]bool{}
	for _, m := range c.models {
		for _, a := range m.asked {
			named[a.part.Name] = true
		}
	}
	if len(named) == 0 {
		return
	}
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		return t.obs.Function && t.by == nil && t.holds == nil && !(named[t.obs.Name] && (c.followsUnheard(t) || c.ranBesideAsked(t)))
	})
}

// ranBesideAsked reports a function that ran once more in a turn that asked for it: the same function beside it was asked for by the last model call before both. Some
// instrumentations keep one call of an answer that holds several.
func (c *collector) ranBesideAsked(t *call) bool {
	if len(t.nodes) == 0 {
		return false
	}
	last := c.modelBefore(t)
	return last != nil && slices.ContainsFunc(c.tools, func(p *call) bool {
		return p != t && p.by != nil && p.by.model == last && p.obs.Function && p.obs.Name == t.obs.Name && len(p.nodes) > 0 && p.reporter() == t.reporter() && p.nodes[0].up == t.nodes[0].up
	})
}

// modelBefore is the last model call of the agent of a tool call that had ended when that began, nil if there is none.
func (c *collector) modelBefore(t *call) *call {
	for _, m := range slices.Backward(c.models) {
		if m.agent == t.agent && endedBefore(m, t) && !under(m, t) {
			return m
		}
	}
	return nil
}

// followsUnheard reports a tool call before which the last model call of its agent has no answer on record.
func (c *collector) followsUnheard(t *call) bool {
	m := c.modelBefore(t)
	return m != nil && (m.response == nil || len(m.response.parts) == 0)
}

// pairFunctions makes tool calls of the steps of a program that are what a response asked for, by name and arguments, and that no span of a tool
// reports: who decorates functions does not always say which of them are tools (Langfuse's and MLflow's decorators, Traceloop's tasks). Of a call
// whose result no request shows, they alone hold it.
func (c *collector) pairFunctions() {
	if len(c.functions) == 0 {
		return
	}
	open, some := map[string]bool{}, false
	for _, m := range c.models {
		for _, a := range m.asked {
			open[a.part.Name] = open[a.part.Name] || a.tool == nil
			some = some || a.tool == nil
		}
	}
	if !some {
		return
	}
	before := len(c.tools)
	known := c.knownNames()
	pairBy := func(t *call, fits func(a *asked) bool) {
		for _, turns := range turnsBefore[1:] {
			a := c.latestTurn(t, turns, func(t *call, a *asked) bool {
				return fits(a) && (a.part.Name == t.obs.Name && t.agent == a.model.agent && t.obs.Args.Present() && sameArgs(t, a) || isDispatch(t, a, known) && mayHaveRun(t, a))
			})
			if a != nil {
				if isDispatch(t, a, known) {
					t.obs = asDispatched(t.obs, a.part, a.shown)
				}
				t.by, a.tool = a, t
				c.tools = append(c.tools, t)
				return
			}
		}
	}
	for _, told := range []bool{true, false} { // of equal calls, first those of which a later request shows just what the function returned
		for _, t := range c.functions {
			if t.by != nil || !open[functionOf(t)] && (told || known[functionOf(t)]) {
				continue
			}
			if t.obs.Class != genai.Tool {
				t.obs = t.obs.AsTool()
			}
			pairBy(t, func(a *asked) bool { return !told || a.shown != nil && a.shown.Label == "" && returnedJust(t, a) })
		}
	}
	if len(c.tools) > before {
		slices.SortStableFunc(c.tools, compareCalls)
	}
}

// functionOf is the name of the function that a step of the program ran.
func functionOf(t *call) string {
	if t.obs.Called != nil {
		return t.obs.Called.Name
	}
	return nameOf(t)
}

// pairAcrossClocks pairs tool calls that seem to have begun before the model call that asked for them, where the clocks of the two are not one: those of
// two traces, and one that is known to be behind. The ids have to be equal, or name and arguments, and nothing else may fit. An id that a provider drew tells
// the call by whatever clock.
func (c *collector) pairAcrossClocks(known map[string]bool, mayDiffer func(*call, *asked) bool) {
	fits := map[*call][]*asked{}
	claims := map[*asked]int{}
	for _, t := range c.tools {
		if t.by != nil || t.obs.Handoff || len(t.nodes) == 0 {
			continue
		}
		for _, m := range c.models {
			if len(m.nodes) == 0 || under(m, t) {
				continue
			}
			apart := t.shift > 0 || m.nodes[0].span.TraceID() != t.nodes[0].span.TraceID()
			for _, a := range m.asked {
				if a.tool != nil {
					continue
				}
				byID := hasID(t, a) && (len(a.part.ID) >= decode.MinDrawnID || apart && a.part.ID != "")
				named := nameOf(t) == a.part.Name || t.shift > 0 && !known[nameOf(t)] && a.part.Args.Len() > 0
				if byID || apart && named && mayDiffer(t, a) && t.obs.Args.Present() && sameArgs(t, a) {
					fits[t] = append(fits[t], a)
					claims[a]++
				}
			}
		}
	}
	for _, t := range c.tools {
		if all := fits[t]; len(all) == 1 && claims[all[0]] == 1 {
			t.by, all[0].tool = all[0], t
		}
	}
}

// asksWith reports an id with which a response of the run asks for a call.
func (c *collector) asksWith(id string) bool {
	return slices.ContainsFunc(c.models, func(m *call) bool {
		return slices.ContainsFunc(m.asked, func(a *asked) bool { return a.part.ID == id })
	})
}

// markHandoffs says of tool spans that they are hand-offs if their name, which the conversation does not know, hands over to an agent that a
// response asked to hand over to. Such a span describes the transfer.
func (c *collector) markHandoffs(known map[string]bool) {
	for _, t := range c.tools {
		target := handoffTarget(t.obs.Name)
		if t.obs.Handoff || known[t.obs.Name] || target == normalName(t.obs.Name) {
			continue
		}
		if slices.ContainsFunc(c.models, func(m *call) bool {
			return slices.ContainsFunc(m.asked, func(a *asked) bool {
				return handoffTarget(a.part.Name) == target && normalName(a.part.Name) != target
			})
		}) {
			o := *t.obs
			o.Handoff = true
			t.obs = &o
		}
	}
}

// pairByTurn pairs the remaining calls by number. Tool calls under names that the conversation does not know belong to the open calls of the turn
// before them, if there are as many. Of several, results that a later request shows say which is which. Without such results their order decides.
func (c *collector) pairByTurn(known map[string]bool, mayDiffer func(*call, *asked) bool) {
	nameless := map[*call][]*call{}
	for _, t := range c.tools {
		if t.by != nil || t.obs.Handoff || known[nameOf(t)] || len(t.nodes) == 0 {
			continue
		}
		for _, m := range slices.Backward(c.models) {
			if endedBefore(m, t) && !under(m, t) && m.agent == t.agent {
				nameless[m] = append(nameless[m], t)
				break
			}
		}
	}
	for _, m := range c.models {
		var open []*asked
		for _, a := range m.asked {
			if a.tool == nil && !slices.Contains(m.obs.OutputTools, a.part.Name) {
				open = append(open, a)
			}
		}
		tools := nameless[m]
		if len(open) == 0 || len(open) != len(tools) {
			continue
		}
		fits := func(t *call, a *asked) bool {
			return mayDiffer(t, a) && (!t.obs.Args.Present() || t.obs.Args.Value.IsEmpty() && a.part.Args.IsEmpty() || sameArgs(t, a))
		}
		inOrder := slices.Clone(open)
		for i, t := range tools {
			for k := i; k < len(inOrder); k++ {
				if a := inOrder[k]; k > i && a.shown != nil && t.obs.Result.Present() && sameValue(t.obs.Result.Value, a.shown.Result) && !returned(t, inOrder[i]) {
					inOrder[i], inOrder[k] = inOrder[k], inOrder[i]
					break
				}
			}
		}
		for i, t := range tools {
			if !fits(t, inOrder[i]) {
				tools = nil
				break
			}
		}
		for i, t := range tools {
			a := inOrder[i]
			t.by, a.tool = a, t
			if len(tools) == 1 || t.obs.Args.Present() && !t.obs.Args.Value.IsEmpty() || !t.obs.Result.Present() || returned(t, a) {
				continue
			}
			// nothing proves that the result is this call's: what the model was shown is, else it may be that of any of these
			o := *t.obs
			if a.shown != nil && a.shown.Label == "" {
				o.Result = genai.Content{}
			} else {
				o.Result.Label = tape.Disputed
				for _, other := range tools {
					if r := other.obs.Result; other != t && r.Present() && !sameValue(r.Value, o.Result.Value) {
						t.others = append(t.others, r.Value)
					}
				}
			}
			t.obs = &o
		}
	}
}

// idsMayDiffer returns a function that says whether a tool call can be an asked call although their ids are not equal. This is so if
// one of them has no id, or if the reporter of the tool call numbers calls in its own way. Such a reporter has no id in the run that
// a response asked with.
func (c *collector) idsMayDiffer() func(t *call, a *asked) bool {
	ids := map[string]bool{}
	for _, m := range c.models {
		for _, a := range m.asked {
			ids[a.part.ID] = true
		}
	}
	meet := map[reporter]bool{}
	for _, t := range c.tools {
		if t.obs.CallID != "" && ids[t.obs.CallID] {
			meet[t.reporter()] = true
		}
	}
	return func(t *call, a *asked) bool {
		return (t.obs.CallID == "" || a.part.ID == "" || a.shared && t.obs.CallID == a.part.ID || !meet[t.reporter()]) && !toldBefore(t, a)
	}
}

// toldBefore reports that a model had been told the answer of the asked call, another than the tool's, and had answered, when the tool began: it is the call of a later turn, whose own span
// is all that is left of it (Traceloop for JavaScript loses the spans of tools that throw).
func toldBefore(t *call, a *asked) bool {
	return a.shown != nil && a.by != nil && a.by != a.model && a.by.end < t.start && t.shift == 0 && t.obs.Result.Present() && undamaged(t.obs.Result.Label) && a.shown.Label == "" && !returned(t, a)
}

// turnsBefore say which turns come before a tool call, the surest first. The order is: the turn that the tool's span hangs below,
// turns that had ended, turns that had begun, turns that had begun give or take the slack of clocks. Some producers round starts
// down to milliseconds, so a turn that had ended may seem to end later.
var turnsBefore = []func(m, t *call) bool{
	hangsBelow,
	func(m, t *call) bool { return m.start <= t.start && m.end <= t.start+rounding }, // a turn that began later asked for nothing before
	func(m, t *call) bool { return m.start <= t.start },
	func(m, t *call) bool { return m.start <= t.start+clockSlack },
}

const rounding = 999_999

// endedBefore reports that the span of t lies below that of the model call m, or that m had ended when t began, rounded starts allowed for. What
// began after t did not.
func endedBefore(m, t *call) bool {
	return m.start <= t.start && m.end <= t.start+rounding || hangsBelow(m, t)
}

// hangsBelow reports that the span of t lies below the span of m.
func hangsBelow(m, t *call) bool {
	return slices.ContainsFunc(t.nodes, func(n *node) bool {
		return slices.ContainsFunc(m.nodes, func(up *node) bool { return below(n, up) })
	})
}

// latestTurn returns the first open request that fits in the latest turn that has one.
func (c *collector) latestTurn(t *call, before func(m, t *call) bool, fits func(*call, *asked) bool) *asked {
	for i := len(c.models) - 1; i >= 0; i-- {
		m := c.models[i]
		if !before(m, t) {
			continue
		}
		for _, a := range m.asked {
			if a.tool == nil && fits(t, a) && !under(m, t) {
				return a
			}
		}
	}
	return nil
}

// under reports whether a model call belongs to an agent that the tool call itself runs.
func under(m, t *call) bool {
	for a := m.agent; a != nil; a = a.agent {
		if a.via == t {
			return true
		}
	}
	return false
}

// clockSlack is how much later than a tool call the model call that asked for it may start. Clocks of two processes differ, and
// some producers round to milliseconds.
const clockSlack = 5_000_000

func nameOf(t *call) string { return t.obs.Name }

// returned reports that a later request shows, for the asked call, what the tool returned.
func returned(t *call, a *asked) bool {
	return a.shown != nil && a.shown.Label == "" && t.obs.Result.Present() && undamaged(t.obs.Result.Label) && !t.obs.Result.Value.IsEmpty() &&
		(sameContent(t.obs.Result.Value, a.shown.Result) || pathTo(a.shown.Result, t.obs.Result.Value, maxEnvelopes, room(t.obs.Result.Value)) != nil ||
			pathTo(t.obs.Result.Value, a.shown.Result, maxEnvelopes, room(a.shown.Result)) != nil)
}

// returnedJust reports that a later request shows just what the tool returned, however little that is.
func returnedJust(t *call, a *asked) bool {
	return t.obs.Result.Present() && undamaged(t.obs.Result.Label) && sameContent(t.obs.Result.Value, a.shown.Result)
}

// failedAs reports that a later request shows, for the asked call, how the tool failed: the first line of its error.
func failedAs(t *call, a *asked) bool {
	if a.shown == nil || a.shown.Label != "" || t.obs.Result.Present() || t.obs.Error == nil {
		return false
	}
	how, _, _ := strings.Cut(strings.TrimSpace(t.obs.Error.Message), "\n")
	told, _, _ := strings.Cut(strings.TrimSpace(a.shown.Result.Str()), "\n")
	return how != "" && sameWords(told, how)
}

// sameArgs compares what a tool received with what was asked for.
func sameArgs(t *call, a *asked) bool { return equalArgs(t.obs.Args.Value, a.part.Args, sameValue) }

// equalArgs compares recorded arguments with those asked for. Some packages record the bare value of a single argument, the values without
// their names, or the arguments inside an envelope. Only its content proves an envelope.
func equalArgs(received, asked exactjson.Value, same func(a, b exactjson.Value) bool) bool {
	if same(received, asked) {
		return true
	}
	members := asked.Members()
	given := withoutDefaults(received, asked)
	if asked.IsAbsent() || asked.Kind() == exactjson.Null || asked.Kind() == exactjson.String && asked.Str() == "" { // recorders leave out {}, and streams write nothing for it, or null (agno with Claude)
		return given.Kind() == exactjson.Object && given.Len() == 0
	}
	if asked.Kind() != exactjson.Object {
		return false
	}
	if received.Kind() == exactjson.Null && len(members) == 0 { // agno's tools that take nothing, of a call whose arguments the provider sent as {}
		return true
	}
	if same(given, asked) {
		return true
	}
	if sparse := withoutNulls(asked); sparse.Len() > 0 && same(given, sparse) { // a runtime may leave out what is null before it calls the tool (Genkit for Go)
		return true
	}
	if len(members) == 1 && same(received, members[0].Value) {
		return true
	}
	if len(members) > 0 && (holds(received, asked, same, maxEnvelopes) || same(withoutAddresses(received), asked) ||
		received.Len() == 1 && same(withoutAddresses(received.Get("kwargs")), asked)) {
		return true
	}
	if received.Len() == 1 && asked.Len() == 0 {
		inner := received.Members()[0].Value
		return inner.Kind() == exactjson.Object && inner.Len() == 0 || inner.Kind() == exactjson.String && same(inner, asked)
	}
	values := received.Get("args")
	if values.Kind() != exactjson.Array || values.Len() != len(members) || received.Len() > 1 && received.Get("kwargs").Len() > 0 {
		return false
	}
	for i, m := range members {
		if !same(values.At(i), m.Value) {
			return false
		}
	}
	return len(members) > 0
}

// objectAddress is what Python writes for an object that has no text of its own.
var objectAddress = regexp.MustCompile(`^<.+ at 0x[0-9a-f]+>$`)

// withoutAddresses leaves out the members that are objects of the program: a framework adds them to the arguments of its own tools.
func withoutAddresses(v exactjson.Value) exactjson.Value {
	if v.Kind() != exactjson.Object {
		return v
	}
	return exactjson.ObjectValue(slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool { return objectAddress.MatchString(m.Value.Str()) })...)
}

// withoutDefaults leaves out the members that are null and that nobody asked for: a function that was called without them has them as the defaults of its parameters,
// and decorators record all parameters.
func withoutDefaults(received, asked exactjson.Value) exactjson.Value {
	if inner, ok := decoded(received); ok {
		received = inner
	}
	if received.Kind() != exactjson.Object {
		return received
	}
	return exactjson.ObjectValue(slices.DeleteFunc(slices.Clone(received.Members()), func(m exactjson.Member) bool {
		return m.Value.Kind() == exactjson.Null && asked.Get(m.Name).IsAbsent()
	})...)
}

// withoutNulls leaves out the members of objects, however deep, that are null.
func withoutNulls(v exactjson.Value) exactjson.Value {
	return v.Map(func(_ int, m exactjson.Member) exactjson.Value {
		if v.Kind() == exactjson.Object && m.Value.Kind() == exactjson.Null {
			return exactjson.Value{}
		}
		return withoutNulls(m.Value)
	})
}

// maxEnvelopes bounds envelopes within envelopes.
const maxEnvelopes = 4

// holds reports that a value stands inside of another one, also of one that is JSON text there.
func holds(outer, inner exactjson.Value, same func(a, b exactjson.Value) bool, depth int) bool {
	if depth == 0 {
		return false
	}
	if outer.Kind() == exactjson.String {
		v, ok := decoded(outer)
		return ok && v.Kind() != exactjson.String && (same(v, inner) || holds(v, inner, same, depth))
	}
	return slices.ContainsFunc(outer.Members(), func(m exactjson.Member) bool {
		return same(m.Value, inner) || holds(m.Value, inner, same, depth-1)
	})
}

// argsMayDiffer guards pairing by order. Arguments that were recorded whole on both sides and have nothing in common belong to
// different calls, unless the tool was asked for only once.
func argsMayDiffer(t *call, a *asked) bool {
	if !t.obs.Args.Present() || t.obs.Args.Label != "" || a.part.Label != "" || a.part.Args.IsAbsent() {
		return true
	}
	open := 0
	for _, other := range a.model.asked {
		if other.tool == nil && other.part.Name == a.part.Name {
			open++
		}
	}
	return open == 1
}
