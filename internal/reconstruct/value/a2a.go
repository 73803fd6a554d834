// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// a2a writes the A2A request that started the run, as far as the records give it. Missing names everything
// that no record carries. Some of these values stand in the request all the same: they follow from what the
// agent accepts, and their label says so.
func (b *Builder) a2a() {
	in := b.inbound()
	if in == nil || in.Schedule {
		return
	}
	a := &tape.A2A{Method: in.Method, Headers: map[string]string{}}
	label := func(field string, l tape.Label) {
		if l != "" {
			b.Tape.Input.Provenance["a2a."+field] = l
		}
	}
	miss := func(field string) { a.Missing = append(a.Missing, field) }
	miss("id")
	if label("method", in.MethodLabel); a.Method == "" {
		a.Method = "tasks/send" // the REST route of that name, where the span of the request was lost or is none
		label("method", tape.Inferred)
		miss("method")
	}
	b.params(a, in.Guarded, label, miss)
	headers := make([]string, 0, len(forge.InboundHeaders))
	for _, h := range forge.InboundHeaders {
		headers = append(headers, h.Name)
	}
	if in.Channel {
		headers = append(headers, forge.ChannelHeaders...)
	}
	for _, name := range headers {
		i := slices.IndexFunc(in.Headers, func(h genai.Header) bool { return h.Name == name })
		switch {
		case i >= 0:
			a.Headers[name] = in.Headers[i].Value
			label("headers."+name, in.Headers[i].Label)
		case !slices.Contains(in.Absent, name):
			miss("headers." + name)
		}
	}
	b.Tape.Input.A2A = a
}

// params writes what was asked, by which task. How the message was divided into parts is never recorded: the
// agent flattens them.
func (b *Builder) params(a *tape.A2A, guarded bool, label func(string, tape.Label), miss func(string)) {
	var params []exactjson.Member
	if id := b.Tape.Run.TaskID; id != "" {
		params = append(params, exactjson.Member{Name: "id", Value: exactjson.StringValue(id)})
	} else {
		miss("params.id")
	}
	provenance := b.Tape.Input.Provenance["user_message"]
	if user := b.Tape.Input.UserMessage; user != nil && (chat.Undamaged(provenance) || provenance == tape.Lossy) {
		part := exactjson.ObjectValue(exactjson.Member{Name: "kind", Value: exactjson.StringValue("text")}, exactjson.Member{Name: "text", Value: exactjson.StringValue(*user)})
		message := exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue(string(tape.RoleUser))}, exactjson.Member{Name: "parts", Value: exactjson.ArrayValue(part)})
		params = append(params, exactjson.Member{Name: "message", Value: message})
		for _, field := range []string{"params.message.role", "params.message.parts"} {
			label(field, tape.Inferred)
			miss(field)
		}
		label("params.message.parts.0.text", provenance)
		if guarded {
			label("params.message.parts.0.text", tape.Masked)
			miss("params.message.parts.0.text")
		}
	} else {
		miss("params.message")
	}
	if len(params) > 0 {
		a.Params = exactjson.ObjectValue(params...)
	}
}

// inbound gathers what the run span, the spans above it and their guards say of the request; nil where the
// run did not come that way.
func (b *Builder) inbound() (in *genai.Inbound) {
	var speakers []*spantree.Node
	for _, n := range b.Fragment.Entry {
		speakers = append(speakers, n)
		for _, k := range n.Kids {
			if k.Obs.Class == genai.Noise {
				speakers = append(speakers, k)
			}
		}
	}
	for _, n := range append(speakers, b.Fragment.Root) {
		if said := spantree.Observed(n).Inbound; said != nil {
			if in == nil {
				in = &genai.Inbound{}
			}
			in.Add(said)
		}
	}
	return in
}
