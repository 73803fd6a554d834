// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadatatest"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// TestWhatAPolicyKeepsAndDropsIsCounted, in both layouts.
func TestWhatAPolicyKeepsAndDropsIsCounted(t *testing.T) {
	policy := keep.Config{Percent: 40}
	set := func(c *Config) { c.Keep = configoptional.Some(policy) }
	mem.Drop("keep-files")
	files := newRig(t, "mem://keep-files", set)
	files.start(t)
	for name, r := range map[string]*rig{"reels": reelRig(t, "keep-reels", set), "files": files} {
		t.Run(name, func(t *testing.T) {
			td, kept := ptrace.NewTraces(), int64(0)
			const all = 20
			for i := range byte(all) {
				agentTrace(td, i+1, "acme")
				key := td.ResourceSpans().At(int(i)).ScopeSpans().At(0).Spans().At(0).TraceID().String()
				if policy.Decide(nil, key) == keep.Percent {
					kept++
				}
			}
			require.NotZero(t, kept)
			require.NoError(t, r.ConsumeTraces(t.Context(), td))
			metadatatest.AssertEqualExporterTapeKeptTraces(t, r.telemetry, []metricdata.DataPoint[int64]{
				{Value: kept, Attributes: attribute.NewSet(attribute.String("reason", "percent"))},
			}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
			metadatatest.AssertEqualExporterTapeDroppedTraces(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: all - kept}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
			keys := r.objects(t)
			r.stop(t)
			if name == "reels" {
				require.Len(t, runsOf(t, "mem://keep-reels"), int(kept))
			} else {
				require.Equal(t, int(kept), count(keys, "tape.json"), keys)
			}
		})
	}
}
