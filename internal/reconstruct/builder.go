// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// builder writes one run down as a tape. Nothing else writes to the tape.
type builder struct {
	fragment *fragment
	calls    *collector
	ordered  []*call
	tape     *tape.Tape
	agent    string // name of the run's own agent
	harness  []exactjson.Member
	handed   map[string]*node // by the id of a call: the step that begun finds for it
}

func (b *builder) finding(code tape.Code, seq int, field, detail string) {
	b.tape.Fidelity.AddFinding(code, seq, field, detail)
}

func (b *builder) notes(seq int, notes []genai.Note) {
	for _, n := range notes {
		b.finding(n.Code, seq, n.Field, n.Detail)
	}
}

// pool puts a message into the pool and returns its id.
func (b *builder) pool(m *message) string {
	b.tape.Messages[m.id] = m.tape
	return m.id
}

// events writes all calls in order.
func (b *builder) events() {
	b.tape.Events = make([]tape.Event, 0, len(b.ordered))
	for _, k := range b.ordered {
		b.tape.Events = append(b.tape.Events, b.eventOf(k))
	}
}

func (b *builder) eventOf(k *call) tape.Event {
	switch k.kind {
	case tape.EventModelCall:
		return b.modelCall(k)
	case tape.EventToolCall:
		return b.toolCall(k)
	case tape.EventAgentCall:
		return b.agentCall(k)
	}
	return b.retrieval(k)
}

// event is what all events have in common.
func (b *builder) event(k *call) tape.Event {
	e := tape.Event{Seq: k.seq, Type: k.kind, Status: tape.EventOK, Caller: b.caller(k.agent), Provenance: tape.Provenance{}}
	for _, n := range k.nodes {
		e.SpanIDs = append(e.SpanIDs, n.spanID())
	}
	if k.agent != nil {
		e.Parent = k.agent.seq
	}
	if len(k.nodes) > 0 && k.start > 0 {
		e.StartedAt = instant(k.start - k.shift)
		e.DurationMS = milliseconds(k.end - k.start)
	}
	b.notes(k.seq, k.notes)
	return e
}

func instant(ns uint64) time.Time { return time.Unix(0, int64(ns&(1<<63-1))).UTC() }

func milliseconds(ns uint64) int64 { return int64(ns / 1_000_000) }

// caller names the agents from the run's own down to the one that made the call.
func (b *builder) caller(agent *call) string {
	var names []string
	for a := agent; a != nil; a = a.agent {
		names = append(names, agentName(a))
	}
	names = append(names, b.agent)
	slices.Reverse(names)
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), "/")
}

func agentName(a *call) string {
	for _, n := range a.nodes {
		if name := n.obs.Agent.Name; name != "" {
			return name
		}
	}
	return ""
}

func (b *builder) agentCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
	agent := o.Agent
	for _, n := range k.nodes[1:] {
		if agent.Name == "" {
			agent = n.obs.Agent
		}
	}
	e.Agent, e.Relation = &agent, k.relation
	if k.via != nil {
		e.Via = k.via.seq
	}
	e.Input, e.Output = o.InputData.Value, o.OutputData.Value
	if text := lastUserText(o.Input); text != "" {
		e.Input = exactjson.StringValue(text)
	}
	if len(o.Output) > 0 {
		e.Output = exactjson.StringValue(textOf(&message{parts: o.Output[len(o.Output)-1].Parts}))
	}
	if o.Failed || o.StatusError && e.Output.IsEmpty() {
		e.Status, e.Error = tape.EventError, o.Error
	}
	return e
}

func (b *builder) retrieval(k *call) tape.Event {
	e := b.event(k)
	e.Name, e.Query = k.obs.Name, k.obs.Query.Value
	if len(k.obs.Documents) > 0 {
		e.Documents = exactjson.ArrayValue(k.obs.Documents...)
	}
	if failedCall(k) {
		e.Status, e.Error = tape.EventError, k.obs.Error
	}
	return e
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
