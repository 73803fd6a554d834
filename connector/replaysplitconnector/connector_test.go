// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tapedeck/tapedeck/connector/replaysplitconnector/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// rig is a traces connector with a sink on each side.
type rig struct {
	connector.Traces
	sink      [sides]*consumertest.TracesSink
	telemetry *componenttest.Telemetry
}

func settings(t *testing.T) (connector.Settings, *componenttest.Telemetry) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	set := connectortest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	return set, tel
}

func config(edit func(*Config)) *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Production = ids("traces/p", "logs/p", "metrics/p")
	cfg.Replay = ids("traces/r", "logs/r", "metrics/r")
	cfg.Undecided = ids("traces/u")
	if edit != nil {
		edit(cfg)
	}
	return cfg
}

func newRig(t *testing.T, host component.Host, edit func(*Config)) *rig {
	t.Helper()
	r := &rig{}
	for s := range r.sink {
		r.sink[s] = new(consumertest.TracesSink)
	}
	cfg := config(edit)
	require.NoError(t, cfg.Validate())
	var set connector.Settings
	set, r.telemetry = settings(t)
	var err error
	r.Traces, err = NewFactory().CreateTracesToTraces(t.Context(), set, cfg, connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{
		ids("traces/p")[0]: r.sink[production], ids("traces/r")[0]: r.sink[replay], ids("traces/u")[0]: r.sink[undecided],
	}))
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), host))
	return r
}

// take returns the number of spans on each side since the last call.
func (r *rig) take() (n [sides]int) {
	for s, sink := range r.sink {
		n[s] = sink.SpanCount()
		sink.Reset()
	}
	return n
}

func counted(t *testing.T, tel *componenttest.Telemetry, name string, attributes ...string) (n int64) {
	t.Helper()
	m, err := tel.GetMetric("otelcol_connector_replaysplit_" + name)
	if err != nil {
		return 0
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		matches := true
		for i := 0; i < len(attributes); i += 2 {
			v, _ := p.Attributes.Value(attribute.Key(attributes[i]))
			matches = matches && v.AsString() == attributes[i+1]
		}
		if matches {
			n += p.Value
		}
	}
	return n
}

// emission is what agentrun passes on of one run.
type emission struct {
	run      int
	spans    int
	items    int
	complete bool
	tag      string // on the last span here
}

func (e emission) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	id := pcommon.TraceID{1}
	binary.BigEndian.PutUint64(id[8:], uint64(e.run))
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	rs.Resource().Attributes().PutStr(handover.RunKey, fmt.Sprintf("default/%x", id))
	rs.Resource().Attributes().PutInt(handover.RunItems, int64(e.items))
	rs.Resource().Attributes().PutBool(handover.RunComplete, e.complete)
	for i := range e.spans {
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID(id)
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
		if i == e.spans-1 && e.tag != "" {
			span.Attributes().PutStr("replay_run_id", e.tag)
		}
	}
	return td
}

func TestDecisionsFailClosed(t *testing.T) {
	type step struct {
		emission
		want side
	}
	for name, steps := range map[string][]step{
		"whole, no tag":            {{emission{spans: 3, items: 3, complete: true}, production}},
		"whole, tag":               {{emission{spans: 3, items: 3, complete: true, tag: "r"}, replay}},
		"no root":                  {{emission{spans: 3, items: 3}, undecided}},
		"no root, but a tag":       {{emission{spans: 3, items: 3, tag: "r"}, replay}},
		"late, nothing is known":   {{emission{spans: 1, items: 4, complete: true}, undecided}},
		"late span of production":  {{emission{spans: 3, items: 3, complete: true}, production}, {emission{spans: 1, items: 4, complete: true}, production}},
		"late span of a replay":    {{emission{spans: 3, items: 3, complete: true, tag: "r"}, replay}, {emission{spans: 1, items: 4, complete: true}, replay}},
		"root after the rest":      {{emission{spans: 3, items: 3}, undecided}, {emission{spans: 1, items: 4, complete: true}, production}},
		"a piece is missing":       {{emission{spans: 3, items: 3}, undecided}, {emission{spans: 1, items: 9, complete: true}, undecided}},
		"tag after the rest":       {{emission{spans: 3, items: 3}, undecided}, {emission{spans: 1, items: 4, complete: true, tag: "r"}, replay}},
		"tag after production":     {{emission{spans: 3, items: 3, complete: true}, production}, {emission{spans: 1, items: 4, complete: true, tag: "r"}, replay}, {emission{spans: 1, items: 5, complete: true}, replay}},
		"empty tag":                {{emission{spans: 3, items: 3, complete: true, tag: " "}, replay}},
		"no items, as of somebody": {{emission{spans: 3, complete: true}, production}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, componenttest.NewNopHost(), nil)
			for i, s := range steps {
				require.NoError(t, r.ConsumeTraces(t.Context(), s.traces()))
				var want [sides]int
				want[s.want] = s.spans
				require.Equal(t, want, r.take(), "step %d", i)
			}
			require.NoError(t, r.Shutdown(t.Context()))
		})
	}
}

// noted adds a note of a tag to what agentrun passes on of a run, as a span.
func noted(td ptrace.Traces, tag string) ptrace.Traces {
	rs := td.ResourceSpans().At(0)
	var note segregation.Notes
	run := handover.ReadRun(rs.Resource().Attributes())
	note.Add(pcommon.TraceID{1}, segregation.Tags{IDs: []string{tag}}, rs.Resource().Attributes())
	with := ptrace.NewTraces()
	note.Append(with)
	run.Write(with.ResourceSpans().At(0).Resource().Attributes())
	with.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	return td
}

// A tag that comes alone has no span: agentrun says it on a resource.
func tagAlone(run int, tag string) ptrace.Traces {
	td := emission{run: run, complete: true}.traces()
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.RunReplay, segregation.Tags{IDs: []string{tag}}.String())
	return td
}

func TestNotesOfTagsAreNoSpansOfABackend(t *testing.T) {
	for name, c := range map[string]struct {
		calls       []ptrace.Traces
		spans       map[side]int
		alone       int // resources without spans on the replay side
		runs, leaks int64
	}{
		"with its run":           {[]ptrace.Traces{noted(emission{run: 1, spans: 2, items: 3, complete: true}.traces(), "r")}, map[side]int{replay: 2}, 0, 1, 0},
		"alone, as a span":       {[]ptrace.Traces{noted(emission{run: 1, complete: true}.traces(), "r")}, nil, 1, 0, 0},
		"alone":                  {[]ptrace.Traces{tagAlone(1, "r"), tagAlone(2, "r"), tagAlone(1, "r")}, nil, 3, 0, 0},
		"before its run":         {[]ptrace.Traces{tagAlone(1, "r"), emission{run: 1, spans: 2, items: 2, complete: true}.traces()}, map[side]int{replay: 2}, 1, 1, 0},
		"after its run":          {[]ptrace.Traces{emission{run: 1, spans: 2, items: 2, complete: true}.traces(), tagAlone(1, "r"), emission{run: 1, spans: 1, items: 3, complete: true}.traces()}, map[side]int{production: 2, replay: 1}, 1, 1, 1},
		"beside another run":     {[]ptrace.Traces{together(tagAlone(1, "r"), emission{run: 2, spans: 2, items: 2, complete: true}.traces())}, map[side]int{production: 2}, 1, 0, 0},
		"beside another replay":  {[]ptrace.Traces{together(noted(emission{run: 1, spans: 1, items: 2, complete: true}.traces(), "r"), emission{run: 2, spans: 2, items: 2, complete: true, tag: "q"}.traces())}, map[side]int{replay: 3}, 0, 2, 0},
		"a resource without tag": {[]ptrace.Traces{emission{run: 1, complete: true}.traces()}, nil, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, componenttest.NewNopHost(), nil)
			for _, td := range c.calls {
				require.NoError(t, r.ConsumeTraces(t.Context(), td))
			}
			spans, alone := map[side]int{}, 0
			for s, sink := range r.sink {
				for _, td := range sink.AllTraces() {
					require.Zero(t, segregation.CountNotes(td))
					for _, rs := range td.ResourceSpans().All() {
						run := handover.ReadRun(rs.Resource().Attributes())
						if rs.ScopeSpans().Len() == 0 {
							require.Equal(t, replay, side(s))
							require.Equal(t, []string{"r"}, segregation.ParseTags(run.Replay).IDs)
							alone++
						}
					}
					if n := td.SpanCount(); n > 0 {
						spans[side(s)] += n
					}
				}
			}
			if c.spans == nil {
				c.spans = map[side]int{}
			}
			require.Equal(t, c.spans, spans)
			require.Equal(t, c.alone, alone)
			require.Equal(t, c.runs, counted(t, r.telemetry, "runs", "side", "replay"))
			require.Equal(t, c.leaks, counted(t, r.telemetry, "leaked_runs"))
		})
	}
}

func together(all ...ptrace.Traces) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, one := range all {
		one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	return td
}

func TestLeaksAndBadTagsAreCounted(t *testing.T) {
	r := newRig(t, componenttest.NewNopHost(), nil)
	td := emission{run: 2, spans: 2, items: 2, complete: true, tag: "b"}.traces()
	td.ResourceSpans().At(0).Resource().Attributes().PutStr("replay_run_id", "a")
	for _, td := range []ptrace.Traces{
		emission{run: 1, spans: 2, items: 2, complete: true}.traces(),
		emission{run: 1, spans: 1, items: 3, complete: true, tag: "r"}.traces(),
		emission{run: 1, spans: 1, items: 4, complete: true, tag: "r"}.traces(),
		td,
		emission{run: 3, spans: 1, items: 1, complete: true, tag: "\x00"}.traces(),
		emission{run: 4, spans: 5, items: 5}.traces(),
	} {
		require.NoError(t, r.ConsumeTraces(t.Context(), td))
	}
	require.Equal(t, [sides]int{2, 5, 5}, r.take())
	require.EqualValues(t, 1, counted(t, r.telemetry, "leaked_runs"))
	require.EqualValues(t, 1, counted(t, r.telemetry, "bad_tags", "cause", "conflicting"))
	require.EqualValues(t, 1, counted(t, r.telemetry, "bad_tags", "cause", "malformed"))
	require.EqualValues(t, 1, counted(t, r.telemetry, "runs", "side", "production"))
	require.EqualValues(t, 3, counted(t, r.telemetry, "runs", "side", "replay"))
	require.EqualValues(t, 1, counted(t, r.telemetry, "runs", "side", "undecided"))
	require.EqualValues(t, 5, counted(t, r.telemetry, "items", "side", "replay", "signal", "traces"))
	require.NoError(t, r.Shutdown(t.Context()))
}

// TestEveryRunIsWhollyOnItsSide cuts runs into pieces as shutdown, bounds and late spans do, mixes the pieces of many runs in calls of several, lets
// calls fail, and tags runs in one piece only.
func TestEveryRunIsWhollyOnItsSide(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := newRig(t, componenttest.NewNopHost(), nil)
		const runs, spans = 100, 6
		tagAt := map[int]int{} // run → piece with the tag
		pieces := [runs][]emission{}
		for run := range runs {
			left := spans
			for left > 0 {
				n := 1 + rng.IntN(left)
				left -= n
				pieces[run] = append(pieces[run], emission{run: run, spans: n, items: spans - left, complete: left == 0})
			}
			if run%2 == 0 {
				at := rng.IntN(len(pieces[run]))
				tagAt[run] = at
				pieces[run][at].tag = "r"
			}
		}
		for {
			td, any := ptrace.NewTraces(), false
			for run := range runs {
				if len(pieces[run]) > 0 && rng.IntN(10) == 0 {
					pieces[run][0].traces().ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
					pieces[run] = pieces[run][1:]
				}
				any = any || len(pieces[run]) > 0
			}
			require.NoError(t, r.ConsumeTraces(t.Context(), td))
			if !any {
				break
			}
		}
		seen := [sides]map[int]int{}
		for s, sink := range r.sink {
			seen[s] = map[int]int{}
			for _, td := range sink.AllTraces() {
				for _, rs := range td.ResourceSpans().All() {
					for _, ss := range rs.ScopeSpans().All() {
						id := ss.Spans().At(0).TraceID()
						seen[s][int(binary.BigEndian.Uint64(id[8:]))] += ss.Spans().Len()
					}
				}
			}
		}
		for run := range runs {
			_, tagged := tagAt[run]
			if tagged && seen[production][run] > 0 || !tagged && seen[replay][run] > 0 {
				t.Errorf("seed %d: run %d (tagged: %v) has %d spans in production and %d among the replays", seed, run, tagged, seen[production][run], seen[replay][run])
			}
			if n := seen[production][run] + seen[replay][run] + seen[undecided][run]; n != spans {
				t.Errorf("seed %d: %d of %d spans of run %d", seed, n, spans, run)
			}
		}
		require.NoError(t, r.Shutdown(t.Context()))
	}
}

func TestACallThatFailsIsRepeatedAndCountsOnce(t *testing.T) {
	away := errors.New("away")
	var fail error
	sink := new(consumertest.TracesSink)
	flaky, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		if fail != nil {
			return fail
		}
		return sink.ConsumeTraces(ctx, td)
	})
	require.NoError(t, err)
	set, tel := settings(t)
	c, err := NewFactory().CreateTracesToTraces(t.Context(), set, config(nil), connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{
		ids("traces/p")[0]: flaky, ids("traces/r")[0]: flaky, ids("traces/u")[0]: consumertest.NewNop(),
	}))
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	for _, e := range []emission{{run: 1, spans: 2, items: 2, complete: true}, {run: 2, spans: 2, items: 2, complete: true, tag: "r"}} {
		fail = away
		require.ErrorIs(t, c.ConsumeTraces(t.Context(), e.traces()), away)
		fail = nil
		require.NoError(t, c.ConsumeTraces(t.Context(), e.traces()))
	}
	require.Equal(t, 4, sink.SpanCount())
	require.EqualValues(t, 1, counted(t, tel, "runs", "side", "production"))
	require.EqualValues(t, 1, counted(t, tel, "runs", "side", "replay"))
	require.EqualValues(t, 4, counted(t, tel, "items"))
	require.NoError(t, c.Shutdown(t.Context()))
}

func unassembled(tagged bool) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	if tagged {
		rs.Resource().Attributes().PutStr("replay_run_id", "r")
	}
	rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutStr("a", "b")
	return td
}

func TestSpansThatNobodyAssembled(t *testing.T) {
	for name, test := range map[string]struct {
		by   string
		want [sides]int
	}{"run": {byRun, [sides]int{0, 1, 1}}, "resource": {byResource, [sides]int{1, 1, 0}}} {
		r := newRig(t, componenttest.NewNopHost(), func(c *Config) { c.DecideBy = test.by })
		td := unassembled(true)
		unassembled(false).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		require.NoError(t, r.ConsumeTraces(t.Context(), td), name)
		require.Equal(t, test.want, r.take(), name)
		require.EqualValues(t, test.want[undecided], counted(t, r.telemetry, "unassembled_spans"))
		require.NoError(t, r.Shutdown(t.Context()))
	}
}

// What was emitted again out of a deck is neither production nor a replay, unless it carries a tag.
func TestWhatWasEmittedAgainIsOfNoSide(t *testing.T) {
	for _, by := range []string{byRun, byResource} {
		r := newRig(t, componenttest.NewNopHost(), func(c *Config) { c.DecideBy = by })
		td := unassembled(true)
		unassembled(false).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(segregation.ReemittedKey, "mem://deck")
		}
		require.NoError(t, r.ConsumeTraces(t.Context(), td), by)
		require.Equal(t, [sides]int{0, 1, 1}, r.take(), by)
		require.NoError(t, r.Shutdown(t.Context()))
	}
}

func TestWithoutUndecidedPipelinesTheReplaySideTakesIt(t *testing.T) {
	set, _ := settings(t)
	sink := new(consumertest.TracesSink)
	c, err := NewFactory().CreateTracesToTraces(t.Context(), set, config(func(c *Config) { c.Undecided = nil }), connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{
		ids("traces/p")[0]: consumertest.NewErr(errors.New("nothing belongs here")), ids("traces/r")[0]: sink,
	}))
	require.NoError(t, err)
	require.NoError(t, c.ConsumeTraces(t.Context(), emission{spans: 2, items: 2}.traces()))
	require.Equal(t, 2, sink.SpanCount())
	require.NoError(t, c.Shutdown(t.Context()))
}

func TestPipelinesAreCheckedWhenTheConnectorIsBuilt(t *testing.T) {
	nop := consumertest.NewNop()
	for name, test := range map[string]struct {
		edit  func(*Config)
		there []string
		want  string
	}{
		"missing":       {nil, []string{"traces/p", "traces/r"}, `undecided names pipeline "traces/u", which does not have this connector as a receiver`},
		"not named":     {nil, []string{"traces/p", "traces/r", "traces/u", "traces/x"}, `pipeline "traces/x" has this connector as a receiver and is named under no side`},
		"no production": {func(c *Config) { c.Production = ids("logs/p") }, []string{"traces/r", "traces/u"}, "production names no pipeline for traces"},
	} {
		set, _ := settings(t)
		there := map[pipeline.ID]consumer.Traces{}
		for _, id := range ids(test.there...) {
			there[id] = nop
		}
		_, err := NewFactory().CreateTracesToTraces(t.Context(), set, config(test.edit), connector.NewTracesRouter(there))
		require.ErrorContains(t, err, test.want, name)
	}
	set, _ := settings(t)
	_, err := NewFactory().CreateTracesToTraces(t.Context(), set, config(nil), nop)
	require.ErrorContains(t, err, "needs a router")
}
