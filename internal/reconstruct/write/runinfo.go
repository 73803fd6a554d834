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

// Identify fills the run's ids, service and agent.
func Identify(b *value.Builder, nodes, speakers []*spantree.Node, tenant, traceID string) {
	r := &b.Tape.Run
	r.Tenant, r.TraceID, r.RootSpanID = tenant, traceID, b.Fragment.RootID()
	r.RunID = r.TraceID + "-" + r.RootSpanID
	first := nodes[0]
	if b.Fragment.Root != nil {
		first = b.Fragment.Root
	}
	r.Service = serviceOf(first.Resource)
	r.Agent = runAgent(b)
	b.Agent = r.Agent.Name
	sayJoined(b)
	for _, n := range speakers {
		set(&r.ConversationID, n.Obs.ConversationID)
		set(&r.InvocationID, n.Obs.InvocationID)
		set(&r.CorrelationID, n.Obs.CorrelationID)
		set(&r.WorkflowID, n.Obs.WorkflowID)
		set(&r.TaskID, n.Obs.TaskID)
		set(&r.UserID, n.Obs.UserID)
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

// sayJoined names the parts that a run was joined from, and how far their clocks are apart.
func sayJoined(b *value.Builder) {
	f := b.Fragment
	why := strings.Join(f.Why, ", ")
	if traces := len(f.Traces); traces > 1 {
		for _, part := range f.Pieces() {
			b.Tape.Run.Joined = append(b.Tape.Run.Joined, part.Traces[0]+"-"+part.RootID())
		}
		b.Finding(tape.CodeJoined, 0, "run.joined", "joined from "+Plural(traces, "trace")+" by "+why)
	} else if why != "" {
		b.Finding(tape.CodeJoined, 0, "run.root_span_id", "joined from parts of the trace by "+why)
	}
	for _, part := range f.Leaves() {
		if part.Behind > 0 {
			b.Finding(tape.CodeClockSkew, 0, "run.joined", fmt.Sprintf("the clock of trace %s is at least %d ms behind; its events are ordered by cause", part.Traces[0], part.Behind/1_000_000))
		}
	}
}

// Speakers lists the nodes in the order in which they may speak for the run: its own span, what stands above
// it, then the calls in order.
func Speakers(b *value.Builder, nodes []*spantree.Node) []*spantree.Node {
	speakers := make([]*spantree.Node, 0, 1+len(b.Fragment.Entry)+len(nodes))
	if b.Fragment.Root != nil {
		speakers = append(speakers, b.Fragment.Root)
	}
	speakers = append(speakers, b.Fragment.Entry...)
	first := speakers
	for _, n := range nodes {
		if !slices.Contains(first, n) {
			speakers = append(speakers, n)
		}
	}
	return speakers
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

// runAgent names the run's own agent: its span, or the agent span inside that stands for the same. Loose
// calls take that of the first span that names one.
func runAgent(b *value.Builder) tape.Agent {
	for n := b.Fragment.Root; n != nil; n = spantree.SameAgent(n) {
		if n.Obs.Agent.Name != "" {
			return n.Obs.Agent
		}
	}
	if b.Fragment.Root == nil {
		for _, h := range b.Fragment.Heads {
			if h.Obs.Agent.Name != "" {
				return h.Obs.Agent
			}
		}
	}
	return spantree.Observed(b.Fragment.Root).Agent
}

// Times sets start and end of the run: the minimum and maximum over its own spans and events.
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
	end = max(start, end)
	r.StartedAt, r.EndedAt, r.DurationMS = value.Instant(start), value.Instant(end), value.Milliseconds(end-start)
}
