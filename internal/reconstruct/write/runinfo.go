// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
)

// Identify fills the run's ids, service, agent and times.
func Identify(b *value.Builder, nodes []*spantree.Node, tenant, traceID string) {
	r := &b.Tape.Run
	root := b.Fragment.Root
	first := nodes[0]
	r.Tenant, r.TraceID = tenant, traceID
	r.RootSpanID = b.Fragment.RootID()
	if root != nil {
		first = root
	}
	if traces := len(b.Fragment.Traces); traces > 1 {
		for _, f := range b.Fragment.Pieces() {
			r.Joined = append(r.Joined, f.Traces[0]+"-"+f.RootID())
		}
		b.Finding(tape.CodeJoined, 0, "run.joined", "joined from "+Plural(traces, "trace")+" by "+strings.Join(b.Fragment.Why, ", "))
	} else if len(b.Fragment.Why) > 0 {
		b.Finding(tape.CodeJoined, 0, "run.root_span_id", "joined from parts of the trace by "+strings.Join(b.Fragment.Why, ", "))
	}
	for _, f := range b.Fragment.Leaves() {
		if f.Behind > 0 {
			b.Finding(tape.CodeClockSkew, 0, "run.joined", fmt.Sprintf("the clock of trace %s is at least %d ms behind; its events are ordered by cause", f.Traces[0], f.Behind/1_000_000))
		}
	}
	r.RunID = r.TraceID + "-" + r.RootSpanID
	r.Service = serviceOf(first.Resource)
	r.Agent = runAgent(b)
	b.Agent = r.Agent.Name
	// ids: the run's own span, what stands above it, then the calls in order
	for _, n := range Speakers(b, nodes) {
		o := n.Obs
		set(&r.ConversationID, o.ConversationID)
		set(&r.InvocationID, o.InvocationID)
		set(&r.CorrelationID, o.CorrelationID)
		set(&r.WorkflowID, o.WorkflowID)
		set(&r.TaskID, o.TaskID)
		set(&r.UserID, o.UserID)
	}
	for _, m := range b.Harness {
		if m.Name == "task_id" {
			set(&r.TaskID, m.Value.Str())
		}
	}
}

func set(dst *string, src string) {
	if *dst == "" {
		*dst = src
	}
}

// Speakers lists the nodes in the order in which they may speak for the run.
func Speakers(b *value.Builder, nodes []*spantree.Node) []*spantree.Node {
	var out []*spantree.Node
	if b.Fragment.Root != nil {
		out = append(out, b.Fragment.Root)
	}
	out = append(out, b.Fragment.Entry...)
	for _, n := range nodes {
		if n != b.Fragment.Root && !slices.Contains(b.Fragment.Entry, n) {
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
func runAgent(b *value.Builder) tape.Agent {
	n := b.Fragment.Root
	for n != nil {
		if n.Obs.Agent.Name != "" {
			return n.Obs.Agent
		}
		n = spantree.SameAgent(n)
	}
	if b.Fragment.Root != nil {
		return b.Fragment.Root.Obs.Agent
	}
	for _, h := range b.Fragment.Heads {
		if h.Obs.Agent.Name != "" {
			return h.Obs.Agent
		}
	}
	return tape.Agent{}
}

// Times sets start and end of the run: the minimum and maximum over its own span and events.
func Times(b *value.Builder) {
	var start, end uint64
	take := func(from, to uint64) {
		if from != 0 && (start == 0 || from < start) {
			start = from
		}
		end = max(end, to)
	}
	for _, n := range []*spantree.Node{b.Fragment.Root, b.Fragment.Ending()} {
		if n != nil {
			take(n.Start, n.End)
		}
	}
	for _, k := range b.Ordered {
		if len(k.Nodes) > 0 {
			take(k.Start-k.Shift, k.End-k.Shift)
		}
	}
	if start == 0 {
		return
	}
	r := &b.Tape.Run
	r.StartedAt, r.EndedAt, r.DurationMS = value.Instant(start), value.Instant(max(start, end)), value.Milliseconds(max(start, end)-start)
}
