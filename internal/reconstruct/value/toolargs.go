// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// argsFacts is what the records tell of the arguments of a tool call.
type argsFacts struct {
	*Builder
	call     *ledger.Call
	name     string        // of the tool, as it was offered to the model
	received genai.Content // by the tool
	asked    genai.Part    // what the response asked for; the zero value where none did
	paired   bool          // it is known to ask for this very call
}

// argsChoice says which record the arguments of a call are taken from.
type argsChoice struct {
	id   rule.ID
	when func(*argsFacts) bool
	take func(*argsFacts) genai.Content
	// executed says that the tool received something else than was asked for.
	executed bool
	code     tape.Code
	why      string
}

const differ = "the response asked for other arguments than the tool span holds"

// argsChoices are asked in their order; the first that holds counts.
var argsChoices = []argsChoice{
	{id: "value/args-empty-on-both-sides", when: askedWithNothing, take: noArgs},
	{id: "value/args-from-span", when: (*argsFacts).notAsked, take: asReceived},
	{id: "value/args-emptied-alike", when: emptiedAlike, take: asReceived},
	{id: "value/args-emptied-in-answer", when: (*argsFacts).emptied, take: asReceived, code: tape.CodeArgsDiffer, why: differ},
	{id: "value/args-from-answer", when: notReceived, take: askedAlone},
	{id: "value/args-rounded-for-tool", when: roundedForTool, take: recoveredAs(asReceived)},
	{id: "value/args-damaged-on-span", when: receivedDamaged, take: recoveredAs(asAsked)},
	{id: "value/args-received-as-asked", when: receivedAsAsked, take: asAsked},
	{id: "value/args-received-rounded", when: receivedRounded, take: asAsked, executed: true, code: tape.CodeBigInt, why: "the tool received rounded numbers"},
	{id: "value/args-received-changed", when: (*argsFacts).asksForThis, take: asAsked, executed: true, code: tape.CodeArgsDiffer, why: "the tool received other arguments than were asked for"},
	{id: "value/args-of-other-call", when: (*argsFacts).askedWhole, take: asReceived, code: tape.CodeArgsDiffer, why: differ},
	{id: "value/args-damaged-on-both-sides", when: bothDamaged, take: asReceived},
}

// emptyArgs are the reasons for which a call without a record of arguments had none.
var emptyArgs = []argsChoice{
	{id: "value/args-of-tool-without-any", when: takesNothing, why: "no record holds arguments, and the recorded definition of the tool takes none"},
	{id: "value/args-left-out-where-empty", when: emptyLeftOut, why: "no record holds arguments, and the answers of the run lack those of calls alone that had none"},
}

func (b *Builder) toolArgs(k *ledger.Call, e *tape.Event) {
	a := &argsFacts{Builder: b, call: k, name: e.Name, received: k.Obs.Args, paired: len(k.Nodes) == 0 || k.Obs.Handoff}
	if k.Obs.Handoff {
		a.received = genai.Content{} // a hand-off span describes the transfer, not the call
	}
	if k.By != nil {
		a.asked = k.By.Part
		a.paired = a.paired || k.Obs.CallID != "" && k.Obs.CallID == k.By.Part.ID
	}
	masked := a.received.Masked || a.asked.Masked
	if a.received.Label == "" && (a.notAsked() || a.asked.Label != "") {
		a.received.Value, a.received.Label = b.Calls.WithoutOptional(e.Name, a.received.Value)
	}
	choice := argsChoices[slices.IndexFunc(argsChoices, func(c argsChoice) bool { return c.when(a) })]
	decided := b.trail(k, "args")
	b.mark(e, "args", "", choice.code, choice.why)
	if choice.executed {
		e.ExecutedArgs = a.received.Value
	}
	source := choice.take(a)
	decided.add(choice.id, exactjson.Value{}, source.Value)
	for _, empty := range emptyArgs {
		if !source.Present() && source.Label == "" && empty.when(a) {
			source = noArgs(a)
			decided.add(empty.id, exactjson.Value{}, source.Value)
			b.mark(e, "args", "", tape.CodeArgsEmpty, empty.why)
		}
	}
	source.Masked = masked
	b.writeArgs(e, source)
}

// writeArgs writes the arguments, with what is known against them.
func (b *Builder) writeArgs(e *tape.Event, source genai.Content) {
	if !source.Present() {
		b.mark(e, "args", tape.Missing, tape.CodeArgsMissing, "no record holds the arguments")
		return
	}
	if source.Label == tape.Masked { // what stands in its place is no value
		b.mark(e, "args", tape.Masked, tape.CodeMasked, "the producer masked the arguments")
		return
	}
	e.Args = source.Value
	if e.Args.Kind() == exactjson.Null || e.Args.Kind() == exactjson.String && strings.TrimSpace(e.Args.Str()) == "" || source.Text == "None" {
		e.Args = exactjson.ObjectValue()
		b.mark(e, "args", "", tape.CodeArgsEmpty, "the recorded arguments are empty")
	}
	switch {
	case source.Suspected == "" && chat.Undamaged(source.Label):
		b.mark(e, "args", source.Label, "", "")
	case source.Label != "":
		b.markDamage(e, "args", source, "the recorded arguments are not what was sent")
	}
	if e.Args.Kind() == exactjson.String && source.Label == "" {
		b.mark(e, "args", "", tape.CodeArgsNotJSON, "the arguments are text that is not JSON")
	}
	b.markBigInt(e, "args", "arguments", e.Args)
	e.ArgsHash = tape.ArgsHash(e.Args)
}

func asReceived(a *argsFacts) genai.Content { return a.received }

func asAsked(a *argsFacts) genai.Content { return genai.Content{Value: a.asked.Args} }

func noArgs(*argsFacts) genai.Content {
	return genai.Content{Value: exactjson.ObjectValue(), Label: tape.Recovered}
}

func recoveredAs(take func(*argsFacts) genai.Content) func(*argsFacts) genai.Content {
	return func(a *argsFacts) genai.Content {
		c := take(a)
		c.Label = tape.Recovered
		return c
	}
}

// askedAlone is what was asked for where nothing tells what the tool received. A span of its own that tells
// nothing makes it recovered, as does a response of which a later request shows the rest.
func askedAlone(a *argsFacts) genai.Content {
	c := genai.Content{Value: a.asked.Args, Label: a.asked.Label}
	switch {
	case c.Label != "":
	case a.asked.Emptied:
		c.Label = tape.Lossy
	case len(a.call.Nodes) > 0 && !a.call.Obs.Handoff || a.call.By.Model.Enriched:
		c.Label = tape.Recovered
	}
	return c
}

// notAsked reports a call of which no response tells the arguments: the span decides.
//
// Needs: no response that asks for the call, or one without arguments.
// Refuses: nothing.
// Seen in: packages that record no answers.
func (a *argsFacts) notAsked() bool { return a.asked.Args.IsAbsent() }

// askedWithNothing reports a response without arguments for a call whose tool received as good as none: {}
// was left out.
//
// Needs: a response that asks for the call.
// Refuses: a response with arguments.
// Seen in: packages that leave {} out of an answer.
func askedWithNothing(a *argsFacts) bool {
	return a.notAsked() && a.call.By != nil && a.received.Label == "" && a.received.Value.Len() > 0 && ledger.SameArgs(a.call, a.call.By)
}

// emptied reports a response in which nulls stand where a text may have been. What the tool received decides.
//
// Needs: a whole record of what the tool received.
// Refuses: nothing.
// Seen in: packages that write an empty text as null.
func (a *argsFacts) emptied() bool {
	return a.asked.Emptied && a.received.Present() && a.received.Label == ""
}

// emptiedAlike reports such a response that asks for what the tool received.
//
// Needs: a whole record of what the tool received, with the same arguments.
// Refuses: other arguments.
// Seen in: packages that write an empty text as null.
func emptiedAlike(a *argsFacts) bool {
	return a.emptied() && chat.EqualArgs(a.received.Value, a.asked.Args, chat.SameValue)
}

// notReceived reports a call of which only the response tells the arguments.
//
// Needs: a response that asks for the call.
// Refuses: nothing.
// Seen in: packages that record no arguments on tools.
func notReceived(a *argsFacts) bool { return !a.received.Present() }

// roundedForTool reports numbers that were rounded before the tool was called: two records of them are
// rounded alike.
//
// Needs: large integers that stand on both sides, rounded alike; a span of the SDK for Go.
// Refuses: integers below 2^53.
// Seen in: frameworks for Go.
func roundedForTool(a *argsFacts) bool {
	return a.received.Label == tape.Lossy && len(a.call.Nodes) > 0 && inGo(a.call.Nodes[0]) && sameBigInts(a.received.Value, a.asked.Args)
}

// askedWhole reports a whole record of what was asked for. A call that nothing proves to be that one keeps
// its own arguments.
//
// Needs: a response that asks for a call of this name.
// Refuses: nothing.
// Seen in: tools whose spans have no ids.
func (a *argsFacts) askedWhole() bool { return a.asked.Label == "" }

// receivedDamaged reports arguments that were cut or masked on the span, and are whole in the response.
//
// Needs: a whole record of what was asked for.
// Refuses: nothing.
// Seen in: instrumentations that limit the length of attributes.
func receivedDamaged(a *argsFacts) bool { return a.received.Label != "" && a.askedWhole() }

// asksForThis reports that the response asked for this very call, by its id or by the same arguments.
//
// Needs: a whole record of what was asked for.
// Refuses: a pair that neither the id nor the arguments prove.
// Seen in: tools that change their arguments before they record them.
func (a *argsFacts) asksForThis() bool {
	return a.askedWhole() && (a.paired || ledger.SameArgs(a.call, a.call.By))
}

// receivedAsAsked reports a tool that received what was asked for.
//
// Needs: a response that asks for this very call.
// Refuses: a number that was rounded.
// Seen in: every package that records both.
func receivedAsAsked(a *argsFacts) bool {
	return a.asksForThis() && (chat.EqualArgs(a.received.Value, a.asked.Args, exactjson.Value.Equal) ||
		a.received.Value.Kind() == exactjson.String && a.received.Value.Str() == "" && a.asked.Args.Len() == 0)
}

// receivedRounded reports a tool that received what was asked for, with rounded numbers.
//
// Needs: a response that asks for this very call.
// Refuses: a value that differs in anything else.
// Seen in: programs that hold numbers as doubles.
func receivedRounded(a *argsFacts) bool {
	return a.asksForThis() && chat.SameValue(a.asked.Args, a.received.Value)
}

// bothDamaged is every other call: no record of its arguments is whole.
//
// Needs: a record on both sides.
// Refuses: nothing.
// Seen in: instrumentations that limit the length of attributes.
func bothDamaged(*argsFacts) bool { return true }

// takesNothing reports a tool whose definition takes no arguments.
//
// Needs: a recorded definition, and no record of arguments.
// Refuses: nothing.
// Seen in: packages that record no empty arguments.
func takesNothing(a *argsFacts) bool { return a.Calls.Signature(a.name).Nothing }

// emptyLeftOut reports a reporter that leaves out empty arguments.
//
// Needs: answers of the run that lack the arguments of those calls alone that had none.
// Refuses: a call with arguments on any record.
// Seen in: packages that record no empty arguments.
func emptyLeftOut(a *argsFacts) bool { return a.Calls.LeavesOutEmpty(a.call) }

// inGo reports a span of the SDK for Go. Frameworks there decode what the model asked for into a map of
// values, in which every number is a double, before they write it or hand it to a tool.
func inGo(n *spantree.Node) bool {
	language, _ := n.Resource.Get("telemetry.sdk.language")
	return language.Str() == "go"
}

// sameBigInts reports values that hold the same integers of 2^53 or more, to the last digit, and at least
// one.
func sameBigInts(a, b exactjson.Value) bool {
	of := bigInts(nil, a)
	slices.Sort(of)
	others := bigInts(nil, b)
	slices.Sort(others)
	return len(of) > 0 && slices.Equal(of, others)
}

func bigInts(of []string, v exactjson.Value) []string {
	if v.Kind() == exactjson.Number && v.HasBigInt() {
		return append(of, v.Text())
	}
	for _, m := range v.Members() {
		of = bigInts(of, m.Value)
	}
	return of
}
