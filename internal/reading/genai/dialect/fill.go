// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Fill takes from another draft the fields that d lacks. Message lists are taken as a whole.
func (d *Draft) Fill(other *Draft) {
	d.fill(&Report{other.Base, &other.ModelCall, &other.ToolCall, &other.AgentRun, &other.InOut, &other.RetrievalCall, &other.Step})
}

// FillFrom takes from a report the fields that d lacks.
func (d *Draft) FillFrom(other *Report) { d.fill(other) }

func (d *Draft) fill(other *Report) {
	if d.Class == Unclassified {
		d.Class, d.NoiseReason = other.Class, other.NoiseReason
		d.RunSpan, d.WeakAgent, d.Body = other.RunSpan, other.WeakAgent, other.Body
	}
	base, call := &other.Base, other.ModelCall
	if base.Quirks.Has(partialRequests) && len(d.Request) > 0 {
		base, call = withoutPartialRequest(*base, *call)
	}
	d.Base.fill(base)
	d.ModelCall.fill(call)
	d.ToolCall.fill(other.ToolCall)
	d.InOut.fill(other.InOut)
	d.Step.fill(other.Step)
	decode.FillContent(&d.Query, other.Query)
	decode.FillList(&d.Documents, other.Documents)
}

// partialRequests are the quirks of producers that record a part of each request.
const partialRequests = RecordsNew | OmitsFirst

// withoutPartialRequest returns a report without its request and what belongs to that alone. A report with a
// request of its own takes neither.
func withoutPartialRequest(b Base, m ModelCall) (*Base, *ModelCall) {
	b.Quirks &^= partialRequests
	m.Request, m.RequestLabel, m.PreviousID = nil, "", ""
	return &b, &m
}

func (b *Base) fill(other *Base) {
	b.Quirks |= other.Quirks
	decode.FillString(&b.Operation, other.Operation)
	b.Identity.fill(&other.Identity)
	b.Failed = b.Failed || other.Failed
	b.StatusError = b.StatusError || other.StatusError
	if b.Error == nil {
		b.Error = other.Error
	}
	b.Waiting = cmp.Or(b.Waiting, other.Waiting)
	if b.Inbound == nil {
		b.Inbound = other.Inbound
	}
	for ns, members := range other.Extra {
		if b.Extra == nil {
			b.Extra = map[string][]exactjson.Member{}
		}
		if _, there := b.Extra[ns]; !there {
			b.Extra[ns] = members
		}
	}
	b.Notes = append(slices.Clip(b.Notes), other.Notes...)
}

func (i *Identity) fill(other *Identity) {
	decode.FillString(&i.Agent.Name, other.Agent.Name)
	decode.FillString(&i.Agent.ID, other.Agent.ID)
	decode.FillString(&i.Agent.Version, other.Agent.Version)
	decode.FillString(&i.Agent.Description, other.Agent.Description)
	decode.FillString(&i.ConversationID, other.ConversationID)
	decode.FillString(&i.InvocationID, other.InvocationID)
	decode.FillString(&i.CorrelationID, other.CorrelationID)
	decode.FillString(&i.WorkflowID, other.WorkflowID)
	decode.FillString(&i.TaskID, other.TaskID)
	decode.FillString(&i.UserID, other.UserID)
}

func (m *ModelCall) fill(other *ModelCall) {
	decode.FillString(&m.Model, other.Model)
	decode.FillString(&m.Provider, other.Provider)
	for _, p := range other.Params {
		m.addParam(p.Name, p.Value)
	}
	decode.FillList(&m.System, other.System)
	decode.FillList(&m.Unsigned, other.Unsigned)
	if len(m.Request) == 0 && m.RequestLabel == "" {
		m.Request, m.RequestLabel = other.Request, other.RequestLabel
	}
	if m.yieldsTo(other) {
		m.Response, m.ResponseLabel = other.Response, other.ResponseLabel
	}
	decode.FillList(&m.Tools, other.Tools)
	decode.FillList(&m.Offered, other.Offered)
	decode.FillList(&m.FinishReasons, other.FinishReasons)
	decode.FillString(&m.ResponseID, other.ResponseID)
	decode.FillString(&m.PreviousID, other.PreviousID)
	decode.FillString(&m.ResponseModel, other.ResponseModel)
	decode.FillUsage(&m.Usage, other.Usage)
	m.Streaming = m.Streaming || other.Streaming
	decode.FillList(&m.OutputTools, other.OutputTools)
	m.Turn = max(m.Turn, other.Turn)
}

// yieldsTo reports that another record of the answer says more than this one.
func (m *ModelCall) yieldsTo(other *ModelCall) bool {
	says := func(m decode.Message) bool { return len(m.Parts) > 0 }
	switch m.ResponseLabel {
	case tape.Missing:
		return len(other.Response) > 0
	case tape.Lossy:
		return other.ResponseLabel == "" && addsCalls(other.Response, m.Response)
	}
	return m.ResponseLabel == "" && !slices.ContainsFunc(m.Response, says) && (len(m.Response) == 0 || slices.ContainsFunc(other.Response, says))
}

// addsCalls reports an answer that has the texts of another record of it, and calls of tools besides.
func addsCalls(whole, part []decode.Message) bool {
	all, alone := textsOf(whole), textsOf(part)
	return all.calls > 0 && alone.calls == 0 && slices.Equal(all.texts, alone.texts)
}

type said struct {
	texts []string
	calls int
}

func textsOf(answer []decode.Message) (s said) {
	for _, m := range answer {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartText:
				s.texts = append(s.texts, p.Text)
			case tape.PartToolCall:
				s.calls++
			}
		}
	}
	return s
}

func (t *ToolCall) fill(other *ToolCall) {
	decode.FillString(&t.Name, other.Name)
	decode.FillString(&t.CallID, other.CallID)
	if t.ToolKind == "" {
		t.ToolKind = other.ToolKind
	}
	if t.Server == nil {
		t.Server = other.Server
	}
	decode.FillContent(&t.Args, other.Args)
	decode.FillContent(&t.Result, other.Result)
	t.Handoff = t.Handoff || other.Handoff
	if t.HandedOver.IsAbsent() {
		t.HandedOver = other.HandedOver
	}
	t.Function = t.Function || other.Function
	t.MCPLeg = t.MCPLeg || other.MCPLeg
}

func (x *InOut) fill(other *InOut) {
	decode.FillList(&x.Input, other.Input)
	decode.FillList(&x.Output, other.Output)
	decode.FillContent(&x.InputData, other.InputData)
	decode.FillContent(&x.OutputData, other.OutputData)
}

func (s *Step) fill(other *Step) {
	s.Relay = s.Relay || other.Relay
	decode.FillList(&s.Posted, other.Posted)
	s.Summary = s.Summary || other.Summary
	s.Guardrail, s.Tripped = s.Guardrail || other.Guardrail, s.Tripped || other.Tripped
	if s.Called == nil {
		s.Called = other.Called
	}
}
