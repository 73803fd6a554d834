// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
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
	{when: askedWithNothing, take: noArgs},
	{when: (*argsFacts).notAsked, take: asReceived},
	{when: emptiedAlike, take: asReceived},
	{when: (*argsFacts).emptied, take: asReceived, code: tape.CodeArgsDiffer, why: differ},
	{when: notReceived, take: askedAlone},
	{when: roundedForTool, take: recoveredAs(asReceived)},
	{when: receivedDamaged, take: recoveredAs(asAsked)},
	{when: receivedAsAsked, take: asAsked},
	{when: receivedRounded, take: asAsked, executed: true, code: tape.CodeBigInt, why: "the tool received rounded numbers"},
	{when: (*argsFacts).asksForThis, take: asAsked, executed: true, code: tape.CodeArgsDiffer, why: "the tool received other arguments than were asked for"},
	{when: (*argsFacts).askedWhole, take: asReceived, code: tape.CodeArgsDiffer, why: differ},
	{when: func(*argsFacts) bool { return true }, take: asReceived},
}

// emptyArgs are the reasons for which a call without a record of arguments had none.
var emptyArgs = []argsChoice{
	{when: takesNothing, why: "no record holds arguments, and the recorded definition of the tool takes none"},
	{when: emptyLeftOut, why: "no record holds arguments, and the answers of the run lack those of calls alone that had none"},
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
	b.mark(e, "args", "", choice.code, choice.why)
	if choice.executed {
		e.ExecutedArgs = a.received.Value
	}
	source := choice.take(a)
	for _, empty := range emptyArgs {
		if !source.Present() && source.Label == "" && empty.when(a) {
			source = noArgs(a)
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

func (a *argsFacts) notAsked() bool { return a.asked.Args.IsAbsent() }

// askedWithNothing reports a response without arguments for a call whose tool received as good as none: {}
// was left out.
func askedWithNothing(a *argsFacts) bool {
	return a.notAsked() && a.call.By != nil && a.received.Label == "" && a.received.Value.Len() > 0 && ledger.SameArgs(a.call, a.call.By)
}

// emptied reports a response in which nulls stand where a text may have been. What the tool received decides.
func (a *argsFacts) emptied() bool {
	return a.asked.Emptied && a.received.Present() && a.received.Label == ""
}

func emptiedAlike(a *argsFacts) bool {
	return a.emptied() && chat.EqualArgs(a.received.Value, a.asked.Args, chat.SameValue)
}

func notReceived(a *argsFacts) bool { return !a.received.Present() }

// roundedForTool reports numbers that were rounded before the tool was called: two records of them are
// rounded alike.
func roundedForTool(a *argsFacts) bool {
	return a.received.Label == tape.Lossy && len(a.call.Nodes) > 0 && inGo(a.call.Nodes[0]) && sameBigInts(a.received.Value, a.asked.Args)
}

func (a *argsFacts) askedWhole() bool { return a.asked.Label == "" }

func receivedDamaged(a *argsFacts) bool { return a.received.Label != "" && a.askedWhole() }

// asksForThis reports that the response asked for this very call, by its id or by the same arguments.
func (a *argsFacts) asksForThis() bool {
	return a.askedWhole() && (a.paired || ledger.SameArgs(a.call, a.call.By))
}

func receivedAsAsked(a *argsFacts) bool {
	return a.asksForThis() && (chat.EqualArgs(a.received.Value, a.asked.Args, exactjson.Value.Equal) ||
		a.received.Value.Kind() == exactjson.String && a.received.Value.Str() == "" && a.asked.Args.Len() == 0)
}

func receivedRounded(a *argsFacts) bool {
	return a.asksForThis() && chat.SameValue(a.asked.Args, a.received.Value)
}

func takesNothing(a *argsFacts) bool { return a.Calls.Signature(a.name).Nothing }

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
