// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Layer is what answered a tool call of the replay.
type Layer string

// The layers.
const (
	LayerOracle  Layer = "oracle" // over HTTP
	LayerMCP     Layer = "mcp"
	LayerModel   Layer = "model"         // the provider ran it: the answer of the model holds the call as done
	LayerLive    Layer = "live"          // the agent ran the tool itself
	LayerCopy    Layer = "replayed-live" // the agent ran it in a copy of the recorded workspace
	LayerUnknown Layer = "unknown"       // the telemetry does not say who ran it
)

// ToolCall is a tool call of the replay.
type ToolCall struct {
	Seq     int    `json:"seq"` // in the replayed run
	Name    string `json:"name"`
	Layer   Layer  `json:"layer"`
	Allowed bool   `json:"allowed,omitempty"` // of a live call: it was declared
	Free    bool   `json:"free,omitempty"`    // of a live call: a policy let it run
	// Outcome is what the oracle answered, where it was asked and had no recorded answer, or Broken: neither
	// is a live call.
	Outcome oracle.Outcome `json:"outcome,omitempty"`
}

// Asked is a call that a session was asked for.
type Asked struct {
	Tool, ArgsHash string
	Outcome        oracle.Outcome
}

// Layers says what answered each tool call of a run, by the calls that the sessions were asked for: those of
// one tool and the same arguments are given away in order. Those under LayerLive were told to run. forkAt is
// the first event that is free, 0 for none.
func Layers(t *tape.Tape, asked map[Layer][]Asked, allowed func(tool string) bool, forkAt int) []ToolCall {
	calls, told := []ToolCall{}, saidBy(t)
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		c := ToolCall{Seq: e.Seq, Name: e.Name, Layer: told.ranBy(e)}
		for _, layer := range []Layer{LayerMCP, LayerOracle, LayerLive} {
			at := slices.IndexFunc(asked[layer], func(a Asked) bool { return a.Tool == e.Name && a.ArgsHash == e.ArgsHash })
			if at >= 0 {
				c.Layer, c.Free = layer, layer == LayerLive
				if o := asked[layer][at].Outcome; o != "" && !o.Served() && o != oracle.Live {
					c.Outcome = o
				}
				asked[layer] = slices.Delete(asked[layer], at, at+1)
				break
			}
		}
		ran := c.Layer == LayerLive || c.Layer == LayerUnknown
		c.Free = c.Free || ran && forkAt > 0 && e.Seq >= forkAt
		c.Allowed = ran && allowed(e.Name)
		calls = append(calls, c)
	}
	return calls
}

// ranBy says who ran a tool that no session was asked for. A tool of a provider is done when the answer of
// the model arrives: that answer holds it as a block of its own, and asks the agent for nothing. What an
// answer asks for as a call the agent ran, whatever kind the telemetry gives the tool: local tools of coding
// agents are called builtin too.
func (a said) ranBy(e *tape.Event) Layer {
	as := a.calls[e.ToolCallID]
	switch {
	case a.inside[e.Seq]:
		return LayerModel
	case as == tape.PartToolCall || e.RequestedBy > 0:
		return LayerLive
	case as == tape.PartData || e.ToolKind == tape.ToolServer:
		return LayerModel
	case e.ToolKind == tape.ToolBuiltin && providerTools[e.Name] && (a.first == 0 || e.Seq < a.first):
		return LayerUnknown
	}
	return LayerLive
}

// said is what the models of a run answered.
type said struct {
	inside map[int]bool             // see tape.InsideAnswers
	calls  map[string]tape.PartType // by the id of a call: PartToolCall where an answer asks for it, PartData where one holds it as done
	first  int                      // the first model call whose answer is recorded, 0 for none
}

func saidBy(t *tape.Tape) said {
	a := said{inside: t.InsideAnswers(), calls: map[string]tape.PartType{}}
	for i := range t.Events {
		of := &t.Events[i]
		if of.Type != tape.EventModelCall || of.Response == nil {
			continue
		}
		m, ok := t.Messages[of.Response.Message]
		if !ok {
			continue
		}
		if a.first == 0 {
			a.first = of.Seq
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case p.Type == tape.PartToolCall && p.ID != "":
				a.calls[p.ID] = tape.PartToolCall
			case p.Type == tape.PartData && !agentRuns[p.Value.Get("type").Str()]:
				if id := blockID(p); id != "" && a.calls[id] == "" {
					a.calls[id] = tape.PartData
				}
			}
		}
	}
	return a
}

// blockID is the id of the call that a block of a provider holds or answers.
func blockID(p *tape.Part) string {
	return p.Value.First("id", "call_id", "tool_call_id", "tool_use_id").Str()
}

// agentRuns are blocks of providers that ask the agent to do something, under names of their own.
var agentRuns = map[string]bool{"local_shell_call": true, "shell_call": true, "computer_call": true, "apply_patch_call": true}

// providerTools are names under which providers run tools themselves. Where the answer of the model is not
// recorded, a tool of such a name may be one of the agent all the same.
var providerTools = map[string]bool{
	"web_search": true, "web_search_preview": true, "web_fetch": true, "code_interpreter": true, "code_execution": true, "file_search": true, "image_generation": true,
	"google_search": true, "url_context": true,
}

// undeclared names the calls that ran, or may have run, and that nobody declared; "" where there are none.
func undeclared(calls []ToolCall) string {
	counts, names := map[Layer]int{}, map[Layer][]string{}
	for _, c := range calls {
		if (c.Layer == LayerLive || c.Layer == LayerUnknown) && !c.Allowed && !c.Free {
			counts[c.Layer]++
			names[c.Layer] = append(names[c.Layer], c.Name)
		}
	}
	var parts []string
	list := func(l Layer) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(names[l]))), ", ")
	}
	if n := counts[LayerLive]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d calls of %s", n, list(LayerLive)))
	}
	if n := counts[LayerUnknown]; n > 0 {
		parts = append(parts, fmt.Sprintf("who ran %d calls of %s is not known", n, list(LayerUnknown)))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append(parts, "--allow-live declares a tool that may"), "; ")
}
