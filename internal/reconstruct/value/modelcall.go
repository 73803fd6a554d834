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

// ModelCall writes a model call: what was sent, with the tools on offer, and what was answered.
func (b *Builder) ModelCall(k *ledger.Call) tape.Event {
	e, o := b.Event(k), k.Obs
	e.Model, e.Provider, e.Operation, e.Streaming = o.Model, o.Provider, o.Operation, o.Streaming
	params := slices.Clone(o.Params)
	if len(o.OutputTools) > 0 {
		params = append(params, exactjson.Member{Name: "output_tools", Value: texts(o.OutputTools)})
	}
	if len(params) > 0 {
		slices.SortFunc(params, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		e.Params = exactjson.ObjectValue(params...)
	}
	b.writeRequest(k, &e)
	b.writeResponse(k, &e)
	if chat.UsageKnown(o.Usage) {
		u := o.Usage
		e.Usage = &u
	}
	if modelFailed(k) {
		e.Status, e.Error = tape.EventError, o.Error
	} else if o.StatusError {
		b.mark(&e, "status", "", tape.CodeStatusDisputed, "the span says error, the call has an answer")
	}
	return e
}

// modelFailed reports a model call whose span says that it failed, without an answer that says otherwise.
func modelFailed(k *ledger.Call) bool { return k.Obs.Failed || k.Obs.StatusError && k.Response == nil }

func (b *Builder) writeRequest(k *ledger.Call, e *tape.Event) {
	request := &tape.Request{Messages: slices.Grow([]string(nil), len(k.Request))}
	for _, m := range k.Request {
		request.Messages = append(request.Messages, b.pool(m))
		b.external(e, "request.messages", m)
	}
	offered, ofAgent := b.offered(k)
	if ofAgent {
		b.mark(e, "request.tools", tape.Recovered, "", "")
	}
	for _, t := range offered {
		id := t.ID()
		b.Tape.Tools[id] = t
		request.Tools = append(request.Tools, id)
	}
	if len(request.Messages)+len(request.Tools) > 0 {
		e.Request = request
	}
	switch label := k.Obs.RequestLabel; {
	case len(k.Request) == 0:
		b.mark(e, "request.messages", tape.Missing, tape.CodeContentAbsent, "the span does not hold what was sent")
	case label == tape.Recovered || label == "" && k.Completed:
		b.mark(e, "request.messages", tape.Recovered, "", "")
	case label == tape.Truncated:
		b.mark(e, "request.messages", label, tape.CodeTruncated, "the message list was cut; its complete leading messages are kept")
	case label != "":
		b.mark(e, "request.messages", label, codeOf(label), "the recorded messages are not what was sent")
	}
}

// offered returns the tools that a model call was offered. Where its own span tells none, they are those that
// the span of the agent around it says the agent has.
func (b *Builder) offered(k *ledger.Call) (tools []tape.Tool, ofAgent bool) {
	if len(k.Obs.Tools) > 0 {
		return k.Obs.Tools, false
	}
	around := []*spantree.Node{b.Fragment.Root}
	if k.Agent != nil {
		around = k.Agent.Nodes
	}
	for _, n := range around {
		if o := spantree.Observed(n); o.Class == genai.Agent && len(o.Tools) > 0 {
			return o.Tools, true
		}
	}
	return nil, false
}

func (b *Builder) writeResponse(k *ledger.Call, e *tape.Event) {
	o := k.Obs
	response := &tape.Response{FinishReasons: o.FinishReasons, ID: o.ResponseID, Model: o.ResponseModel}
	if k.Response == nil {
		if response.ID != "" || response.Model != "" || len(response.FinishReasons) > 0 {
			e.Response = response
		}
		if !modelFailed(k) {
			b.mark(e, "response.message", tape.Missing, tape.CodeContentAbsent, "neither the span nor a later request holds the answer")
		}
		return
	}
	e.Response = response
	response.Message = b.pool(k.Response)
	b.external(e, "response.message", k.Response)
	switch lost := chat.Damage(k.Response.Parts); {
	case k.Recovered || k.Enriched || o.ResponseLabel == tape.Recovered && lost == "":
		b.mark(e, "response.message", tape.Recovered, "", "")
	case !chat.HasToolCall(k.Response) && ledger.StopsForTools(k):
		b.mark(e, "response.message", tape.Truncated, tape.CodeTruncated, "the finish reason says that tools were asked for, the recorded answer holds no call")
	case !chat.Undamaged(o.ResponseLabel):
		b.mark(e, "response.message", o.ResponseLabel, codeOf(o.ResponseLabel), "the answer is not whole")
	case lost != "":
		masked := slices.ContainsFunc(k.Response.Parts, func(p genai.Part) bool { return p.Masked })
		b.mark(e, "response.message", lost, lossCode(lost, masked), "a part of the answer is not whole")
	}
}

func (b *Builder) external(e *tape.Event, field string, m *chat.Message) {
	if slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartExternal }) {
		b.mark(e, field, "", tape.CodeExternalContent, "the content lies in external storage")
	}
}

func texts(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return exactjson.ArrayValue(values...)
}
