// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// HoldsServerCalls reports an answer that shows a call of a tool that the provider ran.
func HoldsServerCalls(m *ledger.Call) bool {
	return m.Response != nil && len(decode.ServerCalls(m.Response.Parts)) > 0
}

// ReadServerCalls makes calls of the tools that the provider ran within a model call. A span of such a tool,
// where there is one, reports the call with its id.
func ReadServerCalls(c *ledger.Ledger) {
	reported := map[string]*ledger.Call{}
	for _, t := range c.Tools {
		if id := t.Obs.CallID; id != "" && t.By == nil && reported[id] == nil {
			reported[id] = t
		}
	}
	for _, m := range c.Models {
		if m.Response == nil {
			continue
		}
		for i, said := range decode.ServerCalls(m.Response.Parts) {
			by := &ledger.Asked{Model: m, Index: len(m.Asked) + i, Part: genai.Part{Part: tape.Part{Type: tape.PartToolCall, ID: said.ID, Name: said.Name}}}
			if t := reported[said.ID]; t != nil {
				t.By, t.Obs = by, t.Obs.With(func(o *genai.Draft) { fillServerCall(o, said) })
				delete(reported, said.ID)
				continue
			}
			o := genai.NewReport(genai.Tool, func(o *genai.Draft) { fillServerCall(o, said) })
			c.Tools = append(c.Tools, &ledger.Call{Kind: tape.EventToolCall, Obs: o, Agent: m.Agent, Start: m.Start, End: m.End, Part: m.Part, Shift: m.Shift, Execution: ledger.Execution{By: by}})
		}
	}
}

// fillServerCall adds what the answer shows of a call.
func fillServerCall(o *genai.Draft, said decode.ServerCall) {
	decode.FillString(&o.Name, said.Name)
	decode.FillString(&o.CallID, said.ID)
	o.ToolKind = tape.ToolServer
	if !said.Args.IsAbsent() {
		decode.FillContent(&o.Args, decode.Args(said.Args))
	}
	if !said.Result.IsAbsent() {
		decode.FillContent(&o.Result, decode.Content{Value: said.Result})
	}
	o.Failed = o.Failed || said.IsError
}
