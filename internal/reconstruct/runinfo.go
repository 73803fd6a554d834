// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape"
)

// identify fills the run's ids, service, agent and times.
func (b *builder) identify(nodes []*node, tenant, traceID string) {
	r := &b.tape.Run
	root := b.fragment.root
	first := nodes[0]
	r.Tenant, r.TraceID = tenant, traceID
	r.RootSpanID = b.fragment.rootID()
	if root != nil {
		first = root
	}
	if traces := len(b.fragment.traces); traces > 1 {
		for _, f := range b.fragment.pieces() {
			r.Joined = append(r.Joined, f.traces[0]+"-"+f.rootID())
		}
		b.finding(tape.CodeJoined, 0, "run.joined", "joined from "+plural(traces, "trace")+" by "+strings.Join(b.fragment.why, ", "))
	} else if len(b.fragment.why) > 0 {
		b.finding(tape.CodeJoined, 0, "run.root_span_id", "joined from parts of the trace by "+strings.Join(b.fragment.why, ", "))
	}
	for _, f := range b.fragment.leaves() {
		if f.behind > 0 {
			b.finding(tape.CodeClockSkew, 0, "run.joined", fmt.Sprintf("the clock of trace %s is at least %d ms behind; its events are ordered by cause", f.traces[0], f.behind/1_000_000))
		}
	}
	r.RunID = r.TraceID + "-" + r.RootSpanID
	r.Service = serviceOf(first.resource)
	r.Agent = b.runAgent()
	b.agent = r.Agent.Name
	// ids: the run's own span, what stands above it, then the calls in order
	for _, n := range b.speakers(nodes) {
		o := n.obs
		set(&r.ConversationID, o.ConversationID)
		set(&r.InvocationID, o.InvocationID)
		set(&r.CorrelationID, o.CorrelationID)
		set(&r.WorkflowID, o.WorkflowID)
		set(&r.TaskID, o.TaskID)
		set(&r.UserID, o.UserID)
	}
	for _, m := range b.harness {
		if m.Name == "task_id" {
			set(&r.TaskID, m.Value.Str())
		}
	}
}

// rootID names the fragment: its run span; while that is missing, the parent that its calls name, else the earliest span.
func (f *fragment) rootID() string {
	if f.root != nil {
		return f.root.spanID()
	}
	if len(f.traces) > 1 {
		return f.parts[0].rootID()
	}
	first := f.first()
	if f.own {
		return first.spanID()
	}
	if first.missing && !first.adopted && !first.parent.IsEmpty() {
		return hex.EncodeToString(first.parent[:])
	}
	return rootOf(first).spanID()
}

func set(dst *string, src string) {
	if *dst == "" {
		*dst = src
	}
}

// speakers lists the nodes in the order in which they may speak for the run.
func (b *builder) speakers(nodes []*node) []*node {
	var out []*node
	if b.fragment.root != nil {
		out = append(out, b.fragment.root)
	}
	out = append(out, b.fragment.entry...)
	for _, n := range nodes {
		if n != b.fragment.root && !slices.Contains(b.fragment.entry, n) {
			out = append(out, n)
		}
	}
	return out
}

func serviceOf(m pcommon.Map) tape.Service {
	text := func(keys ...string) string {
		for _, key := range keys {
			if v, ok := m.Get(key); ok && v.AsString() != "" {
				return v.AsString()
			}
		}
		return ""
	}
	return tape.Service{
		Name:        text("service.name"),
		Namespace:   text("service.namespace"),
		Version:     text("service.version"),
		InstanceID:  text("service.instance.id"),
		Environment: text("deployment.environment.name", "deployment.environment"),
	}
}

// runAgent names the run's own agent: its span, or the agent span inside that stands for the same.
func (b *builder) runAgent() tape.Agent {
	n := b.fragment.root
	for n != nil {
		if n.obs.Agent.Name != "" {
			return n.obs.Agent
		}
		n = sameAgent(n)
	}
	if b.fragment.root != nil {
		return b.fragment.root.obs.Agent
	}
	for _, h := range b.fragment.heads {
		if h.obs.Agent.Name != "" {
			return h.obs.Agent
		}
	}
	return tape.Agent{}
}

// times sets start and end of the run: the minimum and maximum over its own span and events.
func (b *builder) times() {
	var start, end uint64
	take := func(from, to uint64) {
		if from != 0 && (start == 0 || from < start) {
			start = from
		}
		end = max(end, to)
	}
	for _, n := range []*node{b.fragment.root, b.fragment.ending()} {
		if n != nil {
			take(n.start, n.end)
		}
	}
	for _, k := range b.ordered {
		if len(k.nodes) > 0 {
			take(k.start-k.shift, k.end-k.shift)
		}
	}
	if start == 0 {
		return
	}
	r := &b.tape.Run
	r.StartedAt, r.EndedAt, r.DurationMS = instant(start), instant(max(start, end)), milliseconds(max(start, end)-start)
}
