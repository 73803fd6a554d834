// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadatatest"
)

// tagsSaid is what an emission says on each of its resources.
func tagsSaid(t *testing.T, td ptrace.Traces) segregation.Tags {
	t.Helper()
	var said segregation.Tags
	for i, rs := range td.ResourceSpans().All() {
		v, ok := rs.Resource().Attributes().Get(handover.RunReplay)
		if !ok {
			require.True(t, i == 0 || said.IsEmpty(), "the resources of an emission disagree")
			continue
		}
		tags := segregation.ParseTags(v.Str())
		require.True(t, i == 0 || tags.String() == said.String(), "the resources of an emission disagree")
		said = tags
	}
	return said
}

func TestTagOfANonAgentSpanTravelsWithItsRun(t *testing.T) {
	for _, mode := range []string{nonAgentDrop, nonAgentForward, nonAgentKeep} {
		s := &sink{}
		run(t, func(c *Config) {
			c.NonAgent = mode
			c.Replay = segregation.Config{Keys: []string{"eval.run"}, Markers: []segregation.Marker{{Key: "shadow"}}}
		}, s, func(r *rig) {
			td := twoRuns()
			web := td.ResourceSpans().At(0).ScopeSpans().At(1).Spans()
			web.At(0).Attributes().PutStr("baggage", "eval.run=r%201,user=7")
			web.At(0).Attributes().PutBool("shadow", true)
			web.At(1).Attributes().PutStr("replay_run_id", "of nobody")
			r.send(t, t.Context(), td)
			pass(10 * time.Second)
			require.Len(t, s.emitted(), 2, mode)
			for _, e := range s.emitted() {
				want := segregation.Tags{}
				if attr(t, e, handover.RunKey).Str() == "default/00000000000000000000000000000001" {
					want = segregation.Tags{IDs: []string{"r 1"}, Marked: true}
				}
				require.Equal(t, want.String(), tagsSaid(t, e).String(), mode)
				require.True(t, attr(t, e, handover.RunComplete).Bool(), mode)
				require.EqualValues(t, e.SpanCount(), attr(t, e, handover.RunItems).Int(), mode)
			}
		})
	}
}

func TestTagThatComesBeforeOrAfterItsRunTravelsAlone(t *testing.T) {
	tag := func() ptrace.Traces {
		td := ptrace.NewTraces()
		addSpan(scope(td, "web", "net/http"), 1, 1, 0, "").Attributes().PutStr("replay_run_id", "r1")
		return td
	}
	calls := func() ptrace.Traces {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		addSpan(spans, 1, 2, 1, "invoke_agent")
		addSpan(spans, 1, 3, 2, "chat")
		return td
	}
	for name, order := range map[string][]ptrace.Traces{"before": {tag(), calls()}, "after": {calls(), tag(), tag()}} {
		s := &sink{}
		run(t, func(c *Config) { c.NonAgent = nonAgentDrop }, s, func(r *rig) {
			for _, td := range order {
				r.send(t, t.Context(), td)
				pass(6 * time.Minute)
			}
			var said segregation.Tags
			for _, e := range s.emitted() {
				said.Merge(tagsSaid(t, e))
			}
			require.Equal(t, []string{"r1"}, said.IDs, name)
		})
	}
}

// What leaves may go to any backend, and a note there is a span of 1970 that nobody has made.
func TestNotesLeaveAsNoSpans(t *testing.T) {
	web := func(trace byte) ptrace.Traces {
		td := ptrace.NewTraces()
		addSpan(scope(td, "web", "net/http"), trace, 1, 0, "").Attributes().PutStr("replay_run_id", "r1")
		return td
	}
	for _, directory := range []string{"", t.TempDir()} {
		fails := 2
		s := &sink{fail: func(ptrace.Traces) error {
			if fails--; fails >= 0 {
				return errors.New("away")
			}
			return nil
		}}
		run(t, func(c *Config) { c.NonAgent, c.Spool.Directory = nonAgentDrop, directory }, s, func(r *rig) {
			r.send(t, t.Context(), web(9)) // of no run
			td := twoRuns()
			web(1).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
			r.send(t, t.Context(), td)
			pass(10 * time.Minute)
			r.send(t, t.Context(), web(2)) // after its run
			pass(10 * time.Minute)
			items := map[string][]int64{}
			for _, e := range s.emitted() {
				require.Zero(t, segregation.CountNotes(e))
				require.Positive(t, e.ResourceSpans().Len())
				key := attr(t, e, handover.RunKey).Str()
				items[key[len(key)-1:]] = append(items[key[len(key)-1:]], int64(e.SpanCount()), attr(t, e, handover.RunItems).Int())
				if e.SpanCount() == 0 || key[len(key)-1:] == "1" {
					require.Equal(t, []string{"r1"}, tagsSaid(t, e).IDs)
				}
			}
			require.Equal(t, map[string][]int64{"9": {0, 0}, "1": {2, 2}, "2": {2, 2, 0, 2}}, items)
		})
	}
}

func TestNoteSurvivesTheSpool(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	durable := func(c *Config) { c.Spool.Directory, c.NonAgent = dir, nonAgentDrop }
	td := twoRuns()
	td.ResourceSpans().At(0).ScopeSpans().At(1).Spans().At(0).Events().AppendEmpty().Attributes().PutStr("replay_run_id", "r1")
	run(t, durable, s, func(r *rig) { r.send(t, t.Context(), td) })
	require.Empty(t, s.emitted())
	run(t, durable, s, func(r *rig) {
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		var said segregation.Tags
		for _, e := range s.emitted() {
			said.Merge(tagsSaid(t, e))
		}
		require.Equal(t, []string{"r1"}, said.IDs)
	})
}

func TestSenderCannotForgeAVerdict(t *testing.T) {
	for _, mode := range []string{nonAgentDrop, nonAgentKeep} {
		s := &sink{}
		run(t, func(c *Config) { c.NonAgent = mode }, s, func(r *rig) {
			td := twoRuns()
			rs := td.ResourceSpans().At(0)
			rs.Resource().Attributes().PutStr(handover.RunReplay, "replay_run_id=forged")
			rs.Resource().Attributes().PutBool(handover.RunComplete, true)
			for _, ss := range rs.ScopeSpans().All() {
				ss.Scope().Attributes().PutStr(handover.RunReplay, "replay_run_id=forged")
				for _, span := range ss.Spans().All() {
					span.Attributes().PutStr(handover.RunReplay, "replay_run_id=forged")
				}
			}
			r.send(t, t.Context(), td)
			pass(10 * time.Second)
			require.Len(t, s.emitted(), 2)
			for _, e := range s.emitted() {
				require.True(t, tagsSaid(t, e).IsEmpty(), mode)
			}
		})
	}
}

func TestTagsOfNonAgentSpansAreEvidenceThatMustBeRedacted(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.Redaction = redactionRequired }, s, func(r *rig) {
		td := ptrace.NewTraces()
		addSpan(scope(td, "web", "net/http"), 1, 1, 0, "").Attributes().PutStr("replay_run_id", "r1")
		require.ErrorContains(t, r.ConsumeTraces(t.Context(), td), "not redacted")
	})
}

func TestRequestWithANoteThatIsRefusedIsGivenBackAsItCame(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := twoRuns()
		td.ResourceSpans().At(0).ScopeSpans().At(1).Spans().At(0).Attributes().PutStr("replay_run_id", "r1")
		sp := r.splitters.get()
		sp.inspect(t.Context(), td, r.assembler)
		require.Equal(t, 5, sp.size.Items, "two calls, two run spans, one note")
		taken := sp.take(td)
		giveBack(td, taken, sp.chunks)
		require.Equal(t, 8, td.SpanCount())
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				require.NotEqual(t, segregation.NoteScope, ss.Scope().Name())
			}
		}
	})
}

// TestTraceWithoutItsRootLeavesAsRootlessSays is a trace whose calls came and whose root never comes, with each way out.
func TestTraceWithoutItsRootLeavesAsRootlessSays(t *testing.T) {
	for _, rootless := range []string{rootlessUndecided, rootlessProduction} {
		for name, out := range map[string]struct {
			edit func(*Config)
			wait time.Duration
		}{
			"silent for longer than idle_timeout": {func(*Config) {}, 6 * time.Minute},
			"on_shutdown: emit":                   {func(c *Config) { c.OnShutdown = onShutdownEmit }, 0},
			"max_trace_spans":                     {func(c *Config) { c.MaxTraceSpans = 2 }, 0},
		} {
			t.Run(rootless+", "+name, func(t *testing.T) {
				s := &sink{}
				run(t, func(c *Config) { c.Rootless = rootless; out.edit(c) }, s, func(r *rig) {
					td := ptrace.NewTraces()
					spans := scope(td, "shop", agentScope)
					addSpan(spans, 1, 3, 2, "chat")
					addSpan(spans, 1, 4, 2, "chat")
					r.send(t, t.Context(), td)
					pass(out.wait)
					if len(s.emitted()) > 0 {
						metadatatest.AssertEqualProcessorAgentrunRootlessTraces(t, r.telemetry,
							[]metricdata.DataPoint[int64]{{Value: 1, Attributes: attribute.NewSet(attribute.String("side", rootless))}},
							metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
					}
				})
				require.Len(t, s.emitted(), 1)
				require.Equal(t, rootless == rootlessProduction, attr(t, s.emitted()[0], handover.RunComplete).Bool())
			})
		}
	}
}

func TestRunOfAnotherProcessesCallLeavesAfterTheQuietPeriod(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.NonAgent = nonAgentDrop }, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		addSpan(spans, 1, 2, 1, "invoke_agent").SetFlags(0x100)
		addSpan(spans, 1, 3, 2, "chat").SetFlags(0x100)
		addSpan(scope(td, "shop", "net/http"), 1, 1, 9, "").SetFlags(0x300)
		addSpan(spans, 2, 2, 1, "invoke_agent").SetFlags(0x301)
		addSpan(spans, 3, 2, 1, "invoke_agent") // an SDK that says nothing
		r.send(t, t.Context(), td)
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		for _, e := range s.emitted() {
			require.True(t, attr(t, e, handover.RunComplete).Bool())
		}
	})
}
