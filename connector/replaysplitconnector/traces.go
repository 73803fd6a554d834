// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

type tracesSplit struct {
	*base
	next   [sides]consumer.Traces
	memory *memory
	warn   sync.Once
}

func newTraces(set connector.Settings, cfg *Config, next consumer.Traces) (*tracesSplit, error) {
	b, out, err := newBase[consumer.Traces](set, cfg, next, pipeline.SignalTraces)
	if err != nil {
		return nil, err
	}
	return &tracesSplit{base: b, next: out, memory: newMemory(cfg.Remember)}, nil
}

func (c *tracesSplit) Start(ctx context.Context, host component.Host) error {
	if c.resource {
		c.logger.Warn("replaysplit decides by resource alone: a run whose tag is only on spans, events or links is taken for production. " +
			"Behind an agentrun processor, decide_by: run sees whole runs")
	}
	store, err := c.storageOf(ctx, host)
	if err != nil || store == nil {
		return err
	}
	return c.memory.open(ctx, store)
}

func (c *tracesSplit) Shutdown(ctx context.Context) error {
	return errors.Join(c.memory.close(ctx), c.base.Shutdown(ctx))
}

// run is the part of a call that belongs to one run, or to one resource that no agentrun has assembled.
type run struct {
	key      string // empty: not assembled
	items    int    // of the run so far
	complete bool
	again    bool // one of its resources was emitted again
	spans    int  // here, without notes
	notes    int
	scan     segregation.Scan
	verdict  segregation.Verdict
	side     side
	before   decision
	known    bool
}

// ConsumeTraces returns when the pipelines of all sides have accepted their spans. After an error only the replays of the call are remembered, and
// the sender repeats the call.
func (c *tracesSplit) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	runs, of := c.gather(td)
	var parts [sides]int // spans
	var come [sides]bool // something does, if only the tag of a run
	for _, r := range runs {
		c.decide(r)
		parts[r.side] += r.spans
		come[r.side] = come[r.side] || r.goesOn()
	}
	out := c.split(td, runs, of, come)
	// Replays are remembered first: if the rest fails, no later span of them goes to production.
	for _, r := range runs {
		if r.side == replay {
			if err := c.remember(ctx, r); err != nil {
				return err
			}
		}
	}
	for s, traces := range out {
		if !come[s] {
			continue
		}
		if err := c.next[s].ConsumeTraces(ctx, traces); err != nil {
			return err
		}
	}
	for s, n := range parts {
		c.items(ctx, side(s), n)
	}
	for _, r := range runs {
		if r.side != replay {
			if err := c.remember(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather scans the call and finds its runs. of says for each ResourceSpans which run it belongs to. agentrun
// emits one run in a call, or a batch of tiny ones.
func (c *tracesSplit) gather(td ptrace.Traces) (runs []*run, of []int) {
	n := td.ResourceSpans().Len()
	of = make([]int, n)
	index := map[string]int{}
	for i := range n {
		rs := td.ResourceSpans().At(i)
		said := handover.ReadRun(rs.Resource().Attributes())
		key := said.Key
		at, there := index[key]
		if !there || key == "" { // spans that are not assembled are decided resource by resource
			at = len(runs)
			index[key] = at
			runs = append(runs, &run{key: key, scan: segregation.Scan{Rules: c.rules}})
		}
		r := runs[at]
		of[i] = at
		r.items, r.complete = max(r.items, said.Items), r.complete || said.Complete
		r.again = r.again || segregation.IsReemitted(rs.Resource().Attributes())
		r.scan.Handover(rs.Resource().Attributes())
		r.scan.Attributes(rs.Resource().Attributes())
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			if key != "" && !c.resource && ss.Scope().Name() == segregation.NoteScope {
				r.notes += ss.Spans().Len()
			} else {
				r.spans += ss.Spans().Len()
			}
			if c.resource {
				continue
			}
			r.scan.Attributes(ss.Scope().Attributes())
			if key != "" {
				for k := range ss.Spans().Len() {
					r.scan.Span(ss.Scope().Name(), ss.Spans().At(k))
				}
			}
		}
	}
	return runs, of
}

// goesOn tells whether a run is passed on: what has spans, and a tag that came alone, because the deck may
// hold its run. A tag has no span there.
func (r *run) goesOn() bool { return r.spans > 0 || r.key != "" && r.side == replay }

// decide fails closed: a run is production only if it is known to be complete and has no tag.
func (c *tracesSplit) decide(r *run) {
	r.verdict = r.scan.Verdict()
	if r.key != "" {
		r.before, r.known = c.memory.get(r.key)
	}
	switch {
	case r.verdict.Replay:
		r.side = replay
	case c.resource && !r.again:
		r.side = production
	case r.key == "":
		r.side = undecided
	case r.known && r.before.side != undecided:
		r.side = r.before.side
	case r.complete && r.before.items+r.spans >= r.items:
		r.side = production
	default:
		r.side = undecided
	}
}

// remember stores where a run went, and counts it.
func (c *tracesSplit) remember(ctx context.Context, r *run) error {
	if r.key == "" {
		c.tags(ctx, r.verdict)
		if r.side == undecided && r.spans > 0 && !c.resource {
			c.telemetry.ConnectorReplaysplitUnassembledSpans.Add(ctx, int64(r.spans))
			c.warn.Do(func() {
				c.logger.Warn("spans come that no agentrun processor has assembled; they are undecided. " +
					"Set non_agent: drop there, or decide_by: resource here")
			})
		}
		return nil
	}
	if err := c.memory.put(ctx, r.key, decision{r.side, r.before.items + r.spans}); err != nil {
		return err
	}
	// A tag that came alone is no run. It is remembered for one that may come.
	if r.known && r.before.side == r.side && (r.before.items > 0 || r.spans == 0) || !r.known && r.spans == 0 {
		return nil
	}
	c.telemetry.ConnectorReplaysplitRuns.Add(ctx, 1, c.bySide[r.side])
	c.tags(ctx, r.verdict)
	if r.known && r.before.side == production {
		c.telemetry.ConnectorReplaysplitLeakedRuns.Add(ctx, 1)
		c.logger.Warn("a tag came after its run had been passed to production", zap.String("run_key", r.key), zap.String("replay_run_id", r.verdict.ID))
	}
	return nil
}

// split copies the spans of each side, if the call has more than one side. Notes are taken out: what they say
// stands on the resources of their run.
func (c *tracesSplit) split(td ptrace.Traces, runs []*run, of []int, come [sides]bool) (out [sides]ptrace.Traces) {
	n, last, whole := 0, production, true
	for s, some := range come {
		if some {
			n, last = n+1, side(s)
		}
	}
	for _, r := range runs {
		whole = whole && r.notes == 0 && r.goesOn()
	}
	if n == 1 && whole {
		out[last] = td
		return out
	}
	for s := range out {
		out[s] = ptrace.NewTraces()
	}
	noted := make([][]ptrace.ResourceSpans, len(runs))
	for i, at := range of {
		switch r, rs := runs[at], td.ResourceSpans().At(i); {
		case !r.goesOn():
		case r.notes > 0:
			noted[at] = append(noted[at], rs)
		default:
			rs.CopyTo(out[r.side].ResourceSpans().AppendEmpty())
		}
	}
	for at, list := range noted {
		if len(list) == 0 {
			continue
		}
		to := out[runs[at].side].ResourceSpans()
		first := to.Len()
		segregation.CopyWithoutNotes(slices.All(list), to)
		for i := first; i < to.Len(); i++ {
			to.At(i).Resource().Attributes().PutStr(handover.RunReplay, runs[at].scan.Tags().String())
		}
	}
	return out
}
