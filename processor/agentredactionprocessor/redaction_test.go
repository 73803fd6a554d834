// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentredactionprocessor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor/internal/metadata"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor/internal/metadatatest"
)

const secret = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"

func config() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Key.File = filepath.Join("testdata", "redaction.key")
	return cfg
}

// fill puts the secret into every string of a span.
func fill(td ptrace.Traces) {
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("https://u:" + secret + "@example.com")
	rs.Resource().Attributes().PutStr("r", secret)
	rs.Resource().Attributes().PutStr(handover.Redaction, "forged")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl(secret)
	ss.Scope().SetName(secret)
	ss.Scope().SetVersion(secret)
	ss.Scope().Attributes().PutStr("s", secret)
	s := ss.Spans().AppendEmpty()
	s.SetName("x " + secret)
	s.TraceState().FromRaw("a=" + secret)
	s.Status().SetMessage("failed: " + secret)
	s.Attributes().PutStr("tapedeck.forged", secret)
	s.Attributes().PutStr("k "+secret, "v")
	deep := s.Attributes().PutEmptyMap("m")
	for range 20 {
		deep = deep.PutEmptySlice("l").AppendEmpty().SetEmptyMap()
	}
	deep.PutEmptyBytes("b").FromRaw([]byte("\xff" + secret))
	e := s.Events().AppendEmpty()
	e.SetName(secret)
	e.Attributes().PutStr("exception.message", `{"a":"{\"b\":\"`+secret+`\"}"}`)
	l := s.Links().AppendEmpty()
	l.TraceState().FromRaw("b=" + secret)
	l.Attributes().PutStr("l", secret)
}

func TestNoStringOfATracePasses(t *testing.T) {
	sink := &consumertest.TracesSink{}
	telemetry := componenttest.NewTelemetry()
	set := processortest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	p, err := createTraces(t.Context(), set, config(), sink)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	require.True(t, p.Capabilities().MutatesData)

	td := ptrace.NewTraces()
	fill(td)
	require.NoError(t, p.ConsumeTraces(t.Context(), td))
	got := sink.AllTraces()[0]
	text, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	require.NotContains(t, string(text), "forged")

	marker, ok := handover.OpenMarker(got.ResourceSpans().At(0).Resource().Attributes())
	require.True(t, ok)
	require.Equal(t, "default", marker.Policy)
	require.Equal(t, redact.Default().Digest(), marker.ProfileDigest)

	stripped, err := telemetry.GetMetric("otelcol_processor_agentredaction_stripped_attributes")
	require.NoError(t, err)
	metricdatatest.AssertEqual(t, metricdata.Metrics{
		Name:        "otelcol_processor_agentredaction_stripped_attributes",
		Description: stripped.Description, Unit: "{attribute}",
		Data: metricdata.Sum[int64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[int64]{{Value: 2}},
		},
	}, stripped, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualProcessorAgentredactionHits(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 15, Attributes: attribute.NewSet(attribute.String("rule", "github-token"), attribute.String("signal", "traces"))},
	}, metricdatatest.IgnoreTimestamp())
	require.NoError(t, p.Shutdown(t.Context()))
	require.NoError(t, telemetry.Shutdown(t.Context()))
}

func TestMarkerOfASenderIsNotBelieved(t *testing.T) {
	td := ptrace.NewTraces()
	a := td.ResourceSpans().AppendEmpty().Resource().Attributes()
	m := handover.Marker{Policy: "default", ProfileDigest: redact.Default().Digest(), KeyID: "aaaaaaaaaaaaaaaa"}
	a.PutStr(handover.Redaction, m.String())
	_, ok := handover.OpenMarker(a)
	require.False(t, ok)
	a.PutStr(handover.Redaction, m.String()+";proof="+strings.Repeat("0", 64))
	_, ok = handover.OpenMarker(a)
	require.False(t, ok)
	a.PutStr(handover.Redaction, m.Seal())
	opened, ok := handover.OpenMarker(a)
	require.True(t, ok)
	require.Equal(t, m, opened)
}

func TestLogsAndMetricsAreRedacted(t *testing.T) {
	set := processortest.NewNopSettings(metadata.Type)
	logs := &consumertest.LogsSink{}
	lp, err := createLogs(t.Context(), set, config(), logs)
	require.NoError(t, err)
	require.NoError(t, lp.Start(t.Context(), componenttest.NewNopHost()))
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("r", secret)
	lr := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	lr.SetEventName(secret)
	lr.SetSeverityText(secret)
	lr.Body().SetEmptyMap().PutEmptySlice("parts").AppendEmpty().SetStr(`["` + secret + `"]`)
	lr.Attributes().PutStr("a", secret)
	require.NoError(t, lp.ConsumeLogs(t.Context(), ld))
	text, err := (&plog.ProtoMarshaler{}).MarshalLogs(logs.AllLogs()[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	_, ok := handover.OpenMarker(logs.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes())
	require.True(t, ok)
	require.NoError(t, lp.Shutdown(t.Context()))

	metrics := &consumertest.MetricsSink{}
	mp, err := createMetrics(t.Context(), set, config(), metrics)
	require.NoError(t, err)
	require.NoError(t, mp.Start(t.Context(), componenttest.NewNopHost()))
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("r", secret)
	ms := rm.ScopeMetrics().AppendEmpty().Metrics()
	for i := range 5 {
		m := ms.AppendEmpty()
		m.SetName(secret)
		m.SetDescription(secret)
		m.SetUnit(secret)
		m.Metadata().PutStr("m", secret)
		switch i {
		case 0:
			d := m.SetEmptyGauge().DataPoints().AppendEmpty()
			d.Attributes().PutStr("a", secret)
			d.Exemplars().AppendEmpty().FilteredAttributes().PutStr("x", secret)
		case 1:
			m.SetEmptySum().DataPoints().AppendEmpty().Attributes().PutStr("a", secret)
		case 2:
			m.SetEmptyHistogram().DataPoints().AppendEmpty().Attributes().PutStr("a", secret)
		case 3:
			m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Attributes().PutStr("a", secret)
		case 4:
			m.SetEmptySummary().DataPoints().AppendEmpty().Attributes().PutStr("a", secret)
		}
	}
	require.NoError(t, mp.ConsumeMetrics(t.Context(), md))
	text, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(metrics.AllMetrics()[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	require.NoError(t, mp.Shutdown(t.Context()))
}

func TestWithoutItsKeyACollectorDoesNotStart(t *testing.T) {
	for name, key := range map[string]KeyConfig{
		"at least 32 are needed": {File: filepath.Join("testdata", "rules.yaml")},
		"is not set":             {Env: "TAPEDECK_TEST_NO_SUCH_KEY"},
	} {
		if name == "at least 32 are needed" {
			key.File = filepath.Join(t.TempDir(), "short")
			require.NoError(t, os.WriteFile(key.File, []byte("too short"), 0o600))
		}
		cfg := config()
		cfg.Key = key
		p, err := createTraces(t.Context(), processortest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
		require.NoError(t, err)
		err = p.Start(t.Context(), componenttest.NewNopHost())
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "too short")
		require.NoError(t, p.Shutdown(t.Context()))
	}
}

func TestAGeneratedKeyIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a, err := redact.GeneratedKey(dir, "")
	require.NoError(t, err)
	b, err := redact.GeneratedKey(dir, "")
	require.NoError(t, err)
	require.Equal(t, a.ID(), b.ID())
	info, err := os.Stat(filepath.Join(dir, "redaction.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Chmod(filepath.Join(dir, "redaction.key"), 0o644))
	_, err = redact.GeneratedKey(dir, "")
	require.ErrorContains(t, err, "must be 0600")
}

// TestARedactorOfSpansIsKnownFromItsCreation: agentrun, which starts before, asks for it.
func TestARedactorOfSpansIsKnownFromItsCreation(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	f := NewFactory()
	l, err := f.CreateLogs(t.Context(), processortest.NewNopSettings(f.Type()), cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.False(t, redact.Announced())
	p, err := f.CreateTraces(t.Context(), processortest.NewNopSettings(f.Type()), cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.True(t, redact.Announced())
	require.NoError(t, p.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
	require.False(t, redact.Announced())
}
