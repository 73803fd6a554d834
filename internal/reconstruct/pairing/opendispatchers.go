// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"regexp"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// runsAnyTool is the name of a function that runs whatever tool it is told to.
var runsAnyTool = regexp.MustCompile(`(?i)^(execute|exec|run|call|invoke|dispatch|handle|do|perform|use|process)[ _-]?(a|the|one|single)?[ _-]?(tool|function)s?([ _-]?(call|use))?$`)

// openDispatchers reads the span of a function that runs any tool as the call that it was handed.
//
// Needs: a name such as execute_tool; arguments that are a call and nothing else.
// Refuses: a run of which a record tells what a model was offered or asked for.
// Seen in: loops written by hand, whose model calls record no content.
func (p *pairing) openDispatchers() {
	if len(p.known) > 0 {
		return
	}
	for _, t := range p.Tools {
		handed := ledger.NameOf(t)
		if len(t.Nodes) > 0 && !t.Obs.Handoff && runsAnyTool.MatchString(handed) && open(t) {
			o := t.Obs.Draft()
			o.Args.Label = tape.Recovered
			t.Obs = o.Seal()
			t.Notes = append(t.Notes, genai.Note{Code: tape.CodeContentAbsent, Field: "name",
				Detail: "no record holds what the model asked for; the call is the one that " + handed + " was handed"})
		}
	}
}

// open reads the span of a call as that of the call that it was handed, and reports whether it was handed
// one.
func open(t *ledger.Call) bool {
	part, ok := chat.OnlyCall(t.Obs.Args.Value)
	if !ok || part.Name == ledger.NameOf(t) {
		return false
	}
	o := asDispatched(t.Obs, part, nil)
	o.Args.Envelope = []string{"call"}
	t.Obs = o
	return true
}

// openUnasked reads the span of such a function as the call that it was handed, though no response asks for
// it: the framework itself had it run.
//
// Needs: another span of the name that was handed a call which a response asks for, or a call in the form of
// an API.
// Refuses: a call that is paired.
// Seen in: AgentScope 1.0.5, whose agent hands what its model said to a tool that makes the answer of it.
func (p *pairing) openUnasked() {
	runs := map[string]bool{}
	for _, t := range p.Tools {
		if t.By != nil && len(t.Nodes) > 0 && t.Obs.Name == t.By.Part.Name && t.Nodes[0].Obs.Name != t.Obs.Name {
			runs[t.Nodes[0].Obs.Name] = true
		}
	}
	opened := false
	for _, t := range p.openCalls()[0].tools {
		args := t.Obs.Args.Value
		inForm := func() bool { return args.Members()[0].Value.Get("type").Str() == chat.ToolUse }
		if args.Len() > 0 && (runs[ledger.NameOf(t)] || inForm()) && open(t) {
			opened = true
		}
	}
	if opened {
		markAnswers(p.Ledger)
	}
}
