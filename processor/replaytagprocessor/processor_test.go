// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaytagprocessor

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck/configchecktest"
	"github.com/tapedeck/tapedeck/processor/replaytagprocessor/internal/metadata"
	"github.com/tapedeck/tapedeck/processor/replaytagprocessor/internal/metadatatest"
)

func load(t *testing.T, name string) (*Config, error) {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(component.NewIDWithName(metadata.Type, name).String())
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, sub.Unmarshal(cfg))
	return cfg, cfg.Validate()
}

func TestConfigTakesEveryOption(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	require.Equal(t, &Config{Key: "experiment.id", Tags: []Tag{
		{Services: []string{"nightly-eval", "shadow"}, ReplayRunID: "nightly"},
		{FromMetadata: "x-replay-run-id"},
		{ReplayRunID: "everything-else"},
	}}, cfg)
	cfg, err = load(t, "")
	require.NoError(t, err)
	require.Equal(t, "replay_run_id", cfg.Key)
}

func TestConfigErrorsNameTheSetting(t *testing.T) {
	for name, want := range map[string]string{
		"no_tags": "tags is empty",
		"nothing": "tags::0 needs either replay_run_id or from_metadata",
		"both":    "tags::0 needs either replay_run_id or from_metadata",
		"service": "tags::0 names an empty service",
		"key":     "reserved namespace",
	} {
		_, err := load(t, name)
		require.ErrorContains(t, err, want, name)
	}
}

func request(headers ...string) context.Context {
	return client.NewContext(context.Background(), client.Info{
		Metadata: client.NewMetadata(map[string][]string{"x-replay-run-id": headers}),
	})
}

func TestFirstTagWithAnIDTagsTheResource(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	cfg.Key = segregation.Key
	withoutRest := &Config{Key: segregation.Key, Tags: cfg.Tags[:2]}
	for name, test := range map[string]struct {
		cfg     *Config
		ctx     context.Context
		service string
		own     string
		want    segregation.Verdict
	}{
		"service":              {cfg, request("r-1"), "shadow", "", segregation.Verdict{Replay: true, ID: "nightly"}},
		"header":               {cfg, request("r-1"), "shop", "", segregation.Verdict{Replay: true, ID: "r-1"}},
		"all that comes":       {cfg, request(), "shop", "", segregation.Verdict{Replay: true, ID: "everything-else"}},
		"its own tag":          {cfg, request("r-1"), "shadow", "own", segregation.Verdict{Replay: true, ID: "own"}},
		"no rule":              {withoutRest, request(), "shop", "", segregation.Verdict{}},
		"empty header":         {withoutRest, request(""), "shop", "", segregation.Verdict{Replay: true, ID: "unnamed", Malformed: true}},
		"header twice":         {withoutRest, request("a", "b"), "shop", "", segregation.Verdict{Replay: true, ID: "unnamed", Malformed: true}},
		"no request to ask":    {withoutRest, context.Background(), "shop", "", segregation.Verdict{}},
		"no service to ask of": {withoutRest, context.Background(), "", "", segregation.Verdict{}},
	} {
		t.Run(name, func(t *testing.T) {
			fill := func(r pcommon.Resource) {
				if test.service != "" {
					r.Attributes().PutStr("service.name", test.service)
				}
				if test.own != "" {
					r.Attributes().PutStr(segregation.Key, test.own)
				}
			}
			tel := componenttest.NewTelemetry()
			set := processortest.NewNopSettings(metadata.Type)
			set.TelemetrySettings = tel.NewTelemetrySettings()
			var got []segregation.Verdict
			verdict := func(r pcommon.Resource) {
				s := segregation.Scan{Rules: segregation.Default}
				s.Attributes(r.Attributes())
				got = append(got, s.Verdict())
			}

			traces := new(consumertest.TracesSink)
			p, err := NewFactory().CreateTraces(t.Context(), set, test.cfg, traces)
			require.NoError(t, err)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			fill(rs.Resource())
			rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			require.NoError(t, p.ConsumeTraces(test.ctx, td))
			verdict(traces.AllTraces()[0].ResourceSpans().At(0).Resource())

			tagged := int64(1)
			if test.own != "" || !test.want.Replay {
				tagged = 0
			}
			if tagged > 0 {
				metadatatest.AssertEqualProcessorReplaytagTaggedResources(t, tel, []metricdata.DataPoint[int64]{{Value: tagged}}, metricdatatest.IgnoreTimestamp())
			}

			logs := new(consumertest.LogsSink)
			l, err := NewFactory().CreateLogs(t.Context(), set, test.cfg, logs)
			require.NoError(t, err)
			ld := plog.NewLogs()
			rl := ld.ResourceLogs().AppendEmpty()
			fill(rl.Resource())
			rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
			require.NoError(t, l.ConsumeLogs(test.ctx, ld))
			verdict(logs.AllLogs()[0].ResourceLogs().At(0).Resource())

			metrics := new(consumertest.MetricsSink)
			m, err := NewFactory().CreateMetrics(t.Context(), set, test.cfg, metrics)
			require.NoError(t, err)
			md := pmetric.NewMetrics()
			rm := md.ResourceMetrics().AppendEmpty()
			fill(rm.Resource())
			rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
			require.NoError(t, m.ConsumeMetrics(test.ctx, md))
			verdict(metrics.AllMetrics()[0].ResourceMetrics().At(0).Resource())

			require.Equal(t, []segregation.Verdict{test.want, test.want, test.want}, got)
			for _, c := range []component.Component{p, l, m} {
				require.NoError(t, c.Shutdown(t.Context()))
			}
			require.NoError(t, tel.Shutdown(t.Context()))
		})
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Empty(t, configchecktest.Overflow(t, createDefaultConfig))
}
