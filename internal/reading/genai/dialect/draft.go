// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Draft is a report that is being written. It holds every part.
type Draft struct {
	Base
	ModelCall
	ToolCall
	AgentRun
	InOut
	RetrievalCall
	Step

	// Lists are those of the source, for reading.
	Lists *decode.Lists
	// SharesRequest says that the dialect changes no part of the request that it reads.
	SharesRequest bool
}

var drafts = sync.Pool{New: func() any { return new(Draft) }}

// NewDraft returns an empty draft.
func NewDraft() *Draft { return drafts.Get().(*Draft) }

// Discard gives a draft back. It must not be used afterwards.
func (d *Draft) Discard() {
	*d = Draft{}
	drafts.Put(d)
}

// NewReport returns the report of something that no item reports.
func NewReport(class Class, fill func(*Draft)) *Report {
	d := NewDraft()
	d.Class = class
	fill(d)
	return d.Seal()
}

// Draft returns a copy of a report that can be changed and sealed.
func (r *Report) Draft() *Draft {
	d := NewDraft()
	d.Base, d.ModelCall, d.ToolCall, d.AgentRun = r.Base, *r.ModelCall, *r.ToolCall, *r.AgentRun
	d.InOut, d.RetrievalCall, d.Step = *r.InOut, *r.RetrievalCall, *r.Step
	return d
}

// With returns a changed copy of a report.
func (r *Report) With(change func(*Draft)) *Report {
	d := r.Draft()
	change(d)
	return d.Seal()
}

// Seal returns the report of a draft and discards the draft. The report and the part of its kind are one
// allocation.
func (d *Draft) Seal() *Report {
	r := newReport(d.Class)
	r.Base = d.Base
	r.ModelCall = seal(r.ModelCall, &d.ModelCall, &noModelCall)
	r.ToolCall = seal(r.ToolCall, &d.ToolCall, &noToolCall)
	r.AgentRun = seal(r.AgentRun, &d.AgentRun, &noAgentRun)
	r.InOut = seal(r.InOut, &d.InOut, &noInOut)
	r.RetrievalCall = seal(r.RetrievalCall, &d.RetrievalCall, &noRetrievalCall)
	r.Step = seal(r.Step, &d.Step, &noStep)
	d.Discard()
	return r
}

// newReport returns a report with space for the part of its kind.
func newReport(class Class) *Report {
	switch class {
	case Model:
		r := &struct {
			Report
			own ModelCall
		}{}
		r.ModelCall = &r.own
		return &r.Report
	case Tool:
		r := &struct {
			Report
			own ToolCall
		}{}
		r.ToolCall = &r.own
		return &r.Report
	case Agent:
		r := &struct {
			Report
			own   AgentRun
			inOut InOut
		}{}
		r.AgentRun, r.InOut = &r.own, &r.inOut
		return &r.Report
	case Retrieval:
		r := &struct {
			Report
			own RetrievalCall
		}{}
		r.RetrievalCall = &r.own
		return &r.Report
	}
	r := &struct {
		Report
		own Step
	}{}
	r.Step = &r.own
	return &r.Report
}

type part[T any] interface {
	*T
	isEmpty() bool
}

// seal returns what a report holds for a part of its draft: the part itself where there is space for it, else
// a copy, or the empty part where the draft holds nothing.
func seal[T any, P part[T]](space, written, none P) P {
	if space == nil {
		if written.isEmpty() {
			return none
		}
		space = new(T)
	}
	*space = *written
	return space
}

// AddNote records something about a field.
func (d *Draft) AddNote(code tape.Code, field, detail string) {
	d.Notes = append(slices.Clip(d.Notes), Note{Code: code, Field: field, Detail: detail})
}

// AddParam records a request parameter once.
func (d *Draft) AddParam(name string, v exactjson.Value) { d.addParam(name, v) }

// addParam takes no empty value, and none of the objects by which OpenAI's package marks what was not given.
func (m *ModelCall) addParam(name string, v exactjson.Value) {
	if v.IsEmpty() || decode.IsAddress(v) || slices.ContainsFunc(m.Params, func(p exactjson.Member) bool { return p.Name == name }) {
		return
	}
	m.Params = append(m.Params, exactjson.Member{Name: name, Value: v})
}
