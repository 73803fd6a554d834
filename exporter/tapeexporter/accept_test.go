// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

func tagged(td ptrace.Traces, key, id string) ptrace.Traces {
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	spans.At(spans.Len()-1).Attributes().PutStr(key, id)
	return td
}

// counted is the sum of a counter over the points that have these attributes.
func (r *rig) counted(t *testing.T, name string, attributes ...attribute.KeyValue) (n int64) {
	t.Helper()
	m, err := r.telemetry.GetMetric("otelcol_exporter_tape_" + name)
	if err != nil {
		return 0
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		matches := true
		for _, a := range attributes {
			v, ok := p.Attributes.Value(a.Key)
			matches = matches && ok && v == a.Value
		}
		if matches {
			n += p.Value
		}
	}
	return n
}

func TestProductionExporterKeepsReplaysOutAndLosesNothing(t *testing.T) {
	mem.Drop("lock")
	production := newRig(t, "mem://lock", func(c *Config) { c.Accept = "production" })
	production.start(t)
	defer production.stop(t)
	for range 2 {
		require.NoError(t, production.ConsumeTraces(t.Context(), tagged(oneTrace(1, "acme"), "replay_run_id", "r-1")))
	}
	keys := production.objects(t)
	require.Zero(t, count(keys, "tape.json"), keys)
	require.Equal(t, 1, count(keys, "undecided/acme/00/"), keys)
	require.EqualValues(t, 2, production.counted(t, "refused_traces", attribute.String("side", "replay")))

	replay := newRig(t, "mem://lock", func(c *Config) { c.Accept = "replay" })
	replay.start(t)
	defer replay.stop(t)
	require.NoError(t, replay.ConsumeTraces(t.Context(), tagged(oneTrace(1, "acme"), "replay_run_id", "r-1")))
	keys = replay.objects(t)
	require.Equal(t, 1, count(keys, "replays/r-1/acme/00/"+strings.Repeat("0", 31)+"1/", deck.PartSuffix), keys)
	require.Equal(t, 1, count(keys, "tape.json"), keys)
	for _, key := range keys {
		require.False(t, !deck.IsNote(key) && (strings.HasPrefix(key, "runs/") || strings.HasPrefix(key, "undecided/")), key)
	}
	require.EqualValues(t, 1, replay.counted(t, "promoted_traces"))
	require.EqualValues(t, 0, replay.counted(t, "leaked_traces"))
}

func TestLateTagTakesTheRunOutOfProductionAndIsCounted(t *testing.T) {
	mem.Drop("late")
	r := newRig(t, "mem://late", nil)
	r.start(t)
	defer r.stop(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.Equal(t, 1, count(r.objects(t), "runs/acme/00/"+strings.Repeat("0", 31)+"1/", deck.PartSuffix))
	require.NoError(t, r.ConsumeTraces(t.Context(), tagged(oneTrace(1, "acme"), "replay_run_id", "r-1")))
	keys := r.objects(t)
	require.Equal(t, 1, count(keys, "runs/acme/00/"+strings.Repeat("0", 31)+"1.buried/"), keys)
	for _, key := range keys {
		require.False(t, !deck.IsNote(key) && strings.HasPrefix(key, "runs/"), key)
	}
	require.EqualValues(t, 1, r.counted(t, "leaked_traces"))
}

func TestConfiguredKeysDecideInTheExporterToo(t *testing.T) {
	mem.Drop("keys")
	r := newRig(t, "mem://keys", func(c *Config) {
		c.Replay = segregation.Config{Keys: []string{"experiment.id"}, Markers: []segregation.Marker{{Key: "is_eval"}}}
	})
	r.start(t)
	defer r.stop(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), tagged(oneTrace(1, "acme"), "experiment.id", "x-1")))
	require.NoError(t, r.ConsumeTraces(t.Context(), tagged(oneTrace(2, "acme"), "is_eval", "true")))
	require.NoError(t, r.ConsumeTraces(t.Context(), tagged(oneTrace(3, "acme"), "replay_run_id", "r-1")))
	keys := r.objects(t)
	require.Equal(t, 1, count(keys, "replays/x-1/acme/00/"+strings.Repeat("0", 31)+"1/", deck.PartSuffix), keys)
	require.Equal(t, 1, count(keys, "replays/unnamed/acme/00/"+strings.Repeat("0", 31)+"2/", deck.PartSuffix), keys)
	n := 0
	for _, key := range keys {
		if strings.HasPrefix(key, "runs/acme/00/"+strings.Repeat("0", 31)+"3/") && strings.HasSuffix(key, deck.PartSuffix) {
			n++
		}
	}
	require.Equal(t, 1, n, "a key that is not configured says nothing")
}

func TestDeliveryOfATraceThatWasTakenAwayIsAcknowledgedAndCounted(t *testing.T) {
	mem.Drop("gone")
	r := newRig(t, "mem://gone", nil)
	r.start(t)
	defer r.stop(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	d, err := deck.Open(t.Context(), "mem://gone")
	require.NoError(t, err)
	_, err = d.Bury(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "acme", TraceID: strings.Repeat("0", 31) + "1"}, deck.Burial{Reason: deck.ReasonRetention})
	require.NoError(t, err)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.Zero(t, count(r.objects(t), "tape.json"))
	require.EqualValues(t, 1, r.counted(t, "buried_traces"))
}

func TestTagOfASpanThatIsNoEvidenceDecidesWithoutAgentrunToo(t *testing.T) {
	web := func(td ptrace.Traces, tag bool) ptrace.Traces {
		rs := td.ResourceSpans().AppendEmpty()
		if !tag {
			rs.Resource().Attributes().PutStr("baggage", "replay_run_id=r-1") // says nothing of traces that have no evidence here
		}
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName("net/http")
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: 1})
		span.SetSpanID(pcommon.SpanID{7: 9})
		if tag {
			span.Events().AppendEmpty().Attributes().PutStr("replay_run_id", "r-1")
		}
		return td
	}
	for name, calls := range map[string][]ptrace.Traces{
		"in one call":       {web(oneTrace(1, ""), true)},
		"around it":         {web(oneTrace(1, ""), false)},
		"before":            {web(ptrace.NewTraces(), true), oneTrace(1, "")},
		"after":             {oneTrace(1, ""), web(ptrace.NewTraces(), true)},
		"alone, around it":  {web(ptrace.NewTraces(), false)},
		"the run alone":     {oneTrace(1, "")},
		"the request alone": {web(ptrace.NewTraces(), true)},
	} {
		t.Run(name, func(t *testing.T) {
			mem.Drop("notes")
			r := newRig(t, "mem://notes", nil)
			r.start(t)
			defer r.stop(t)
			for _, td := range calls {
				require.NoError(t, r.ConsumeTraces(t.Context(), td))
			}
			keys := r.objects(t)
			replays, runs := count(keys, "replays/r-1/"), 0
			for _, k := range keys {
				if strings.HasPrefix(k, "runs/") && !deck.IsNote(k) {
					runs++
				}
			}
			switch name {
			case "the run alone":
				require.Zero(t, replays, keys)
				require.Positive(t, runs, keys)
			case "alone, around it":
				require.Zero(t, replays+runs, keys)
			default:
				require.Positive(t, replays, keys)
				require.Zero(t, runs, keys)
			}
		})
	}
}

// tagAlone is what agentrun passes on of a trace of which only a tag has come: a resource without spans.
// items is how many spans of its evidence agentrun knows.
func tagAlone(trace byte, tenant string, items int) ptrace.Traces {
	td := ptrace.NewTraces()
	run := handover.Run{Key: tenant + "/" + groupKey{trace: pcommon.TraceID{15: trace}}.hex(), Items: items, Complete: true, Replay: segregation.Tags{IDs: []string{"r-1"}}.String()}
	run.Write(td.ResourceSpans().AppendEmpty().Resource().Attributes())
	return td
}

// A tag of a span that is no evidence moves a run, whether it comes before or after it, and is nothing by
// itself.
func TestATagAloneMovesARunAndMakesNoLocation(t *testing.T) {
	for _, layout := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
		for name, c := range map[string]struct {
			calls []ptrace.Traces
			want  string
		}{
			"alone":                {[]ptrace.Traces{tagAlone(1, "acme", 0), tagAlone(1, "acme", 0)}, ""},
			"of another tenant":    {[]ptrace.Traces{oneTrace(1, "acme"), tagAlone(1, "other", 0)}, "runs"},
			"before":               {[]ptrace.Traces{tagAlone(1, "acme", 0), oneTrace(1, "acme")}, "replays"},
			"after":                {[]ptrace.Traces{oneTrace(1, "acme"), tagAlone(1, "acme", 3)}, "replays"},
			"twice":                {[]ptrace.Traces{oneTrace(1, "acme"), tagAlone(1, "acme", 3), tagAlone(1, "acme", 3)}, "replays"},
			"after it, repeatedly": {[]ptrace.Traces{tagAlone(1, "acme", 0), oneTrace(1, "acme"), oneTrace(1, "acme")}, "replays"},
		} {
			t.Run(fmt.Sprint(layout, " ", name), func(t *testing.T) {
				mem.Drop("tag-alone")
				var r *rig
				if layout == deck.LayoutReels {
					r = reelRig(t, "tag-alone")
				} else {
					r = newRig(t, "mem://tag-alone", nil)
					r.start(t)
				}
				for _, td := range c.calls {
					require.NoError(t, r.ConsumeTraces(t.Context(), td))
				}
				r.stop(t)
				d, err := deck.Open(t.Context(), "mem://tag-alone")
				require.NoError(t, err)
				defer d.Close()
				var areas []string
				for l, err := range d.Locations(t.Context()) {
					require.NoError(t, err)
					areas = append(areas, string(l.Area))
				}
				if c.want == "" {
					require.Empty(t, areas)
					return
				}
				require.Equal(t, []string{c.want}, areas)
			})
		}
	}
}

// After a restart nobody here knows the tag, but a connector may, and sends the evidence to the replay side.
func TestWhatComesToTheReplaySideWithoutATagWaitsUndecided(t *testing.T) {
	mem.Drop("restarted")
	for _, td := range []ptrace.Traces{tagAlone(1, "acme", 0), oneTrace(1, "acme")} {
		r := newRig(t, "mem://restarted", func(c *Config) { c.Accept = "replay" })
		r.start(t)
		require.NoError(t, r.ConsumeTraces(t.Context(), td))
		keys := r.objects(t)
		r.stop(t)
		require.Zero(t, count(keys, "tape.json"), keys)
		require.Equal(t, td.SpanCount() > 0, count(keys, "undecided/acme/") > 0, keys)
	}
}

// TestATagThatComesWhileItsRunIsWrittenMovesIt: it finds nothing in the deck, and the run learns of it when
// it is written.
func TestATagThatComesWhileItsRunIsWrittenMovesIt(t *testing.T) {
	mem.Drop("tag-meanwhile")
	r := newRig(t, "mem://tag-meanwhile", nil)
	r.start(t)
	tagged := false
	r.faults.Hook(func(_ context.Context, op decktest.Op) error {
		if strings.Contains(op.Key, "tape.json") && !tagged {
			tagged = true
			r.exporter.tags.add(groupKey{"acme", pcommon.TraceID{15: 1}}, segregation.Tags{IDs: []string{"r-1"}})
		}
		return nil
	})
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.True(t, tagged)
	keys := r.objects(t)
	r.stop(t)
	require.Positive(t, count(keys, "replays/r-1/acme/"), keys)
	for _, k := range keys {
		require.False(t, strings.HasPrefix(k, "runs/") && !deck.IsNote(k), k)
	}
}

func TestTagsOfTracesAreForgottenOneDay(t *testing.T) {
	m := newTagMemory()
	for i := range 3 * rememberedTags {
		var id pcommon.TraceID
		binary.BigEndian.PutUint32(id[:], uint32(i+1))
		m.add(groupKey{"a", id}, segregation.Tags{IDs: []string{"r"}})
		m.add(groupKey{"a", pcommon.TraceID{15: 1}}, segregation.Tags{IDs: []string{fmt.Sprint(i % 100)}})
	}
	require.LessOrEqual(t, len(m.recent)+len(m.previous), rememberedTags)
	// A trace that has more tags than can be right is a replay all the same.
	tags := m.tagsOf(groupKey{"a", pcommon.TraceID{15: 1}})
	require.True(t, tags.Malformed)
	require.LessOrEqual(t, len(tags.IDs), maxRememberedIDs)
	require.Equal(t, "0", tags.IDs[0])
}

func TestHandoverNamesTheReplay(t *testing.T) {
	mem.Drop("handover")
	r := newRig(t, "mem://handover", nil)
	r.start(t)
	defer r.stop(t)
	td := oneTrace(1, "acme")
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.RunReplay, segregation.Tags{IDs: []string{"r-1"}}.String())
	require.NoError(t, r.ConsumeTraces(t.Context(), td))
	keys := r.objects(t)
	require.Equal(t, 1, count(keys, "tape.json"), keys)
	require.Positive(t, count(keys, "replays/r-1/acme/"), keys)
}
