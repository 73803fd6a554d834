// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

func TestLogsAreSplitByResourceAndByTheTraceOfATaggedRecord(t *testing.T) {
	ld := plog.NewLogs()
	add := func(tag string, records ...[2]string) {
		rl := ld.ResourceLogs().AppendEmpty()
		if tag != "" {
			rl.Resource().Attributes().PutStr("replay_run_id", tag)
		}
		sl := rl.ScopeLogs().AppendEmpty()
		for _, r := range records {
			record := sl.LogRecords().AppendEmpty()
			record.Body().SetStr(r[0])
			copyID := pcommon.TraceID{}
			copy(copyID[:], r[0][:1])
			if r[0][0] != '-' {
				record.SetTraceID(copyID)
			}
			if r[1] != "" {
				record.Attributes().PutStr("replay_run_id", r[1])
			}
		}
	}
	add("", [2]string{"a production", ""}, [2]string{"b early", ""}, [2]string{"- no trace", ""}, [2]string{"- no trace, tagged", "r"})
	add("", [2]string{"b late", "r"}, [2]string{"a more", ""})
	add("r", [2]string{"c", ""})
	add("", [2]string{"d emitted again", ""}, [2]string{"e emitted again, tagged", "r"})
	ld.ResourceLogs().At(3).Resource().Attributes().PutStr(segregation.ReemittedKey, "mem://deck")
	var sinks [sides]consumertest.LogsSink
	set, tel := settings(t)
	cfg := config(func(c *Config) { c.Undecided = append(c.Undecided, ids("logs/u")...) })
	c, err := NewFactory().CreateLogsToLogs(t.Context(), set, cfg, connector.NewLogsRouter(map[pipeline.ID]consumer.Logs{
		ids("logs/p")[0]: &sinks[production], ids("logs/r")[0]: &sinks[replay], ids("logs/u")[0]: &sinks[undecided],
	}))
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	ld.MarkReadOnly()
	require.NoError(t, c.ConsumeLogs(t.Context(), ld))
	bodies := func(s *consumertest.LogsSink) (all []string) {
		for _, ld := range s.AllLogs() {
			for _, rl := range ld.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, r := range sl.LogRecords().All() {
						all = append(all, r.Body().Str())
					}
				}
			}
		}
		return all
	}
	require.Equal(t, []string{"a production", "- no trace", "a more"}, bodies(&sinks[production]))
	require.Equal(t, []string{"b early", "- no trace, tagged", "b late", "c", "e emitted again, tagged"}, bodies(&sinks[replay]))
	require.Equal(t, []string{"d emitted again"}, bodies(&sinks[undecided]))
	require.EqualValues(t, 5, counted(t, tel, "items", "side", "replay", "signal", "logs"))
	untagged := plog.NewLogs()
	untagged.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("later")
	require.NoError(t, c.ConsumeLogs(t.Context(), untagged))
	require.Contains(t, bodies(&sinks[production]), "later")
	require.NoError(t, c.Shutdown(t.Context()))
}

func TestMetricsAreSplitByResource(t *testing.T) {
	md := pmetric.NewMetrics()
	for _, tag := range []string{"", "r", "", ""} {
		rm := md.ResourceMetrics().AppendEmpty()
		if tag != "" {
			rm.Resource().Attributes().PutStr("replay_run_id", tag)
		}
		rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	}
	var sinks [2]consumertest.MetricsSink
	set, tel := settings(t)
	c, err := NewFactory().CreateMetricsToMetrics(t.Context(), set, config(nil), connector.NewMetricsRouter(map[pipeline.ID]consumer.Metrics{
		ids("metrics/p")[0]: &sinks[production], ids("metrics/r")[0]: &sinks[replay],
	}))
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	md.MarkReadOnly()
	require.NoError(t, c.ConsumeMetrics(t.Context(), md))
	require.Equal(t, 3, sinks[production].DataPointCount())
	require.Equal(t, 1, sinks[replay].DataPointCount())
	require.EqualValues(t, 3, counted(t, tel, "items", "side", "production", "signal", "metrics"))
	require.NoError(t, c.Shutdown(t.Context()))
}
