// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// modelCall writes a model call: what was sent, with the tools on offer, and what was answered.
func (b *builder) modelCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
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
	if usageKnown(o.Usage) {
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
func modelFailed(k *call) bool { return k.obs.Failed || k.obs.StatusError && k.response == nil }

func (b *builder) writeRequest(k *call, e *tape.Event) {
	request := &tape.Request{Messages: slices.Grow([]string(nil), len(k.request))}
	for _, m := range k.request {
		request.Messages = append(request.Messages, b.pool(m))
		b.external(e, "request.messages", m)
	}
	offered, ofAgent := b.offered(k)
	if ofAgent {
		b.mark(e, "request.tools", tape.Recovered, "", "")
	}
	for _, t := range offered {
		id := t.ID()
		b.tape.Tools[id] = t
		request.Tools = append(request.Tools, id)
	}
	if len(request.Messages)+len(request.Tools) > 0 {
		e.Request = request
	}
	switch label := k.obs.RequestLabel; {
	case len(k.request) == 0:
		b.mark(e, "request.messages", tape.Missing, tape.CodeContentAbsent, "the span does not hold what was sent")
	case label == tape.Recovered || label == "" && k.completed:
		b.mark(e, "request.messages", tape.Recovered, "", "")
	case label == tape.Truncated:
		b.mark(e, "request.messages", label, tape.CodeTruncated, "the message list was cut; its complete leading messages are kept")
	case label != "":
		b.mark(e, "request.messages", label, codeOf(label), "the recorded messages are not what was sent")
	}
}

// offered returns the tools that a model call was offered. Where its own span tells none, they are those that the span of
// the agent around it says the agent has.
func (b *builder) offered(k *call) (tools []tape.Tool, ofAgent bool) {
	if len(k.obs.Tools) > 0 {
		return k.obs.Tools, false
	}
	around := []*node{b.fragment.root}
	if k.agent != nil {
		around = k.agent.nodes
	}
	for _, n := range around {
		if o := observed(n); o.Class == genai.Agent && len(o.Tools) > 0 {
			return o.Tools, true
		}
	}
	return nil, false
}

func (b *builder) writeResponse(k *call, e *tape.Event) {
	o := k.obs
	response := &tape.Response{FinishReasons: o.FinishReasons, ID: o.ResponseID, Model: o.ResponseModel}
	if k.response == nil {
		if response.ID != "" || response.Model != "" || len(response.FinishReasons) > 0 {
			e.Response = response
		}
		if !modelFailed(k) {
			b.mark(e, "response.message", tape.Missing, tape.CodeContentAbsent, "neither the span nor a later request holds the answer")
		}
		return
	}
	e.Response = response
	response.Message = b.pool(k.response)
	b.external(e, "response.message", k.response)
	switch lost := damage(k.response.parts); {
	case k.recovered || k.enriched || o.ResponseLabel == tape.Recovered && lost == "":
		b.mark(e, "response.message", tape.Recovered, "", "")
	case !hasToolCall(k.response) && stopsForTools(k):
		b.mark(e, "response.message", tape.Truncated, tape.CodeTruncated, "the finish reason says that tools were asked for, the recorded answer holds no call")
	case !undamaged(o.ResponseLabel):
		b.mark(e, "response.message", o.ResponseLabel, codeOf(o.ResponseLabel), "the answer is not whole")
	case lost != "":
		masked := slices.ContainsFunc(k.response.parts, func(p genai.Part) bool { return p.Masked })
		b.mark(e, "response.message", lost, lossCode(lost, masked), "a part of the answer is not whole")
	}
}

func (b *builder) external(e *tape.Event, field string, m *message) {
	if slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type == tape.PartExternal }) {
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
