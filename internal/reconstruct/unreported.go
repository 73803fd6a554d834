// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverUnreported makes a model call of a run of which no call was recorded, where the span of its agent says that a model was asked: it names the model, or the tokens that it
// wrote (Agno under Traceloop, where nothing instruments the client of the provider). What came of it is the answer, where that was recorded. Of how many calls that is the last nobody knows, nor what each was sent.
func (c *collector) recoverUnreported(f *fragment) {
	if len(c.models)+len(c.tools)+len(c.retrievals) > 0 || f.root == nil {
		return
	}
	o := f.root.obs
	if o.StatusError || o.Failed {
		c.recoverFailed(f)
		return
	}
	if c.recoverKept(f) || o.WeakAgent {
		return
	}
	wrote := o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0
	answer := ownAnswer(f.root)
	if text := given(o.OutputData); len(o.Output) == 0 && text != "" {
		answer = genai.Message{Role: tape.RoleAssistant, Parts: []genai.Part{decode.TextPart(text)}}
	}
	if !wrote && o.Model == "" {
		return
	}
	made := &genai.Observation{Class: genai.Model, Operation: "chat", Model: o.Model, Provider: o.Provider, Usage: o.Usage, RequestLabel: tape.Missing, ResponseLabel: tape.Missing}
	if textOf(newMessage(answer)) != "" {
		answer.Role = tape.RoleAssistant
		made.Response, made.ResponseLabel = []genai.Message{answer}, tape.Recovered
	}
	c.models = append(c.models, &call{
		kind:  tape.EventModelCall,
		obs:   made,
		start: f.root.start, end: f.root.end,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Field: "response", Detail: "no span reports this call; that of the agent says that a model was asked, and holds what came of it"}},
	})
}

// recoverKept makes the one model call of a run that kept what a model was sent, instructions and a question as the last message, and answered with a text: nothing was said in between (a crew of
// CrewAI whose agent has no tools, where nothing instruments the client of the provider).
func (c *collector) recoverKept(f *fragment) bool {
	sent := decode.OnlyTranscript(f.root.obs.OutputData.Value)
	answer := ownAnswer(f.root)
	if len(sent) < 2 || f.root.obs.OutputData.Label != "" || sent[0].Role != tape.RoleSystem || sent[len(sent)-1].Role != tape.RoleUser || decode.HasRole(sent, tape.RoleAssistant) || decode.HasRole(sent, tape.RoleTool) || textOf(newMessage(answer)) == "" {
		return false
	}
	answer.Role = tape.RoleAssistant
	c.models = append(c.models, &call{
		kind: tape.EventModelCall,
		obs: &genai.Observation{
			Class: genai.Model, Operation: "chat", Request: sent, RequestLabel: tape.Recovered, Response: []genai.Message{answer}, ResponseLabel: tape.Recovered, Usage: f.root.obs.Usage,
		},
		start: f.root.start, end: f.root.end,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the state of " + f.root.span.Name() + " holds what was sent, and its answer"}},
	})
	return true
}

// recoverFailed makes the model call with which a run failed of which no call was recorded: what it failed with is the error of a client of a model's API. Some packages drop the span of a call
// that threw (Laminar's for OpenAI in JavaScript). What was sent nobody knows, nor whether there were calls before it.
func (c *collector) recoverFailed(f *fragment) {
	if !genai.FailedInModelClient(f.root.span) {
		return
	}
	o := f.root.obs
	c.models = append(c.models, &call{
		kind:  tape.EventModelCall,
		obs:   &genai.Observation{Class: genai.Model, Model: o.Model, Provider: o.Provider, RequestLabel: tape.Missing, ResponseLabel: tape.Missing, StatusError: true, Error: o.Error},
		start: f.root.end, end: f.root.end,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the run failed with the error of a client of a model's API"}},
	})
}
