// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadatatest"
)

func TestKeepHoldsNonAgentSpansWithTheirTrace(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.NonAgent = nonAgentKeep }, s, func(r *rig) {
		r.send(t, t.Context(), twoRuns())
		require.Empty(t, s.forwarded())
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		for _, e := range s.emitted() {
			require.Equal(t, 4, e.SpanCount())
			require.True(t, attr(t, e, handover.RunComplete).Bool())
		}
	})
}

func TestParkedRunsLeaveAfterTheNextStart(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	durable := func(c *Config) { c.Spool.Directory = dir }
	run(t, durable, s, func(r *rig) { r.send(t, t.Context(), twoRuns()) })
	require.Empty(t, s.emitted())
	run(t, durable, s, func(r *rig) {
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		metadatatest.AssertEqualProcessorAgentrunRecoveredItems(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 4}},
			metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
		_, err := r.telemetry.GetMetric("otelcol_processor_agentrun_spool_disk_bytes")
		require.NoError(t, err)
	})
}

func TestRequestThatTheSpoolRefusesIsGivenBackWhole(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	run(t, func(c *Config) { c.Spool.Directory = dir }, s, func(r *rig) {
		require.NoError(t, r.log.Load().Close())
		td := twoRuns()
		err := r.ConsumeTraces(t.Context(), td)
		require.Error(t, err)
		require.False(t, consumererror.IsPermanent(err))
		require.ElementsMatch(t, eachSpan(t, twoRuns()), eachSpan(t, td))
		require.Empty(t, s.forwarded())
		require.Zero(t, r.assembler.Stats().MemoryBytes)
	}, anyShutdown)
}

func TestDirectoryOfAnotherProcessorIsRefusedWithAHint(t *testing.T) {
	dir := t.TempDir()
	run(t, func(c *Config) { c.Spool.Directory = dir }, &sink{}, func(*rig) {
		cfg := createDefaultConfig().(*Config)
		cfg.Redaction = redactionNone
		cfg.Spool.Directory = dir
		p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, &sink{})
		require.NoError(t, err)
		require.ErrorContains(t, p.Start(t.Context(), componenttest.NewNopHost()), "a directory of its own")
		require.NoError(t, p.Shutdown(context.Background()))
	})
}

func TestStatusListsOpenRuns(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Redaction = redactionNone
	cfg.StatusEndpoint = "localhost:0"
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, &sink{})
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	td := ptrace.NewTraces()
	addSpan(scope(td, "shop", "app"), 1, 2, 1, "chat")
	require.NoError(t, p.ConsumeTraces(t.Context(), td))

	get := func(query string) (status int, answer openRuns) {
		client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get("http://" + p.status.addr.String() + "/runs" + query)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		if response.StatusCode == http.StatusOK {
			require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		}
		return response.StatusCode, answer
	}
	status, answer := get("")
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 1, answer.Open)
	require.Len(t, answer.Runs, 1)
	require.Equal(t, "default/00000000000000000000000000000001", answer.Runs[0].Key)
	require.Equal(t, "idle", answer.Runs[0].Reason)
	for _, query := range []string{"?limit=0", "?limit=x", "?limit=1000000000"} {
		status, _ := get(query)
		require.Equal(t, http.StatusBadRequest, status)
	}
	require.NoError(t, p.Shutdown(context.Background()))
}

func TestStatusListsRunsThatFailAndThoseThatAreParked(t *testing.T) {
	poison := func(td ptrace.Traces) error {
		if strings.HasSuffix(attr(t, td, handover.RunKey).Str(), "01") {
			return errors.New("it does not fit")
		}
		return nil
	}
	s, dir := &sink{fail: poison}, t.TempDir()
	edit := func(c *Config) {
		c.OnShutdown, c.Spool.Directory = onShutdownPark, dir
	}
	run(t, edit, s, func(r *rig) {
		status := func() (answer openRuns) {
			w := httptest.NewRecorder()
			newStatusServer("", r.assembler, zap.NewNop()).runs(w, httptest.NewRequest(http.MethodGet, "/runs", nil))
			require.NoError(t, json.NewDecoder(w.Body).Decode(&answer))
			return answer
		}
		require.Empty(t, status().Failing)
		for n := range uint64(90) {
			td := ptrace.NewTraces()
			addSpan(scope(td, "shop", agentScope), byte(n+1), 1, 0, "chat")
			r.send(t, t.Context(), td)
			pass(10 * time.Second)
		}
		answer := status()
		require.EqualValues(t, 1, answer.FailingCount)
		require.EqualValues(t, 1, answer.ParkedCount)
		require.Len(t, answer.Failing, 1)
		f := answer.Failing[0]
		require.Equal(t, "default/00000000000000000000000000000001", f.Key)
		require.True(t, f.Parked)
		require.Equal(t, "it does not fit", f.Error)
		require.Greater(t, f.Attempts, 3)
		require.Greater(t, f.Next, 60.0)
		require.Len(t, s.emitted(), 89)
	})
}

func TestShutdownWaitsForNobodyWhoListsRuns(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.StatusEndpoint = "localhost:0"
	cfg.Redaction = redactionNone
	cfg.ShutdownTimeout = time.Hour
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, &sink{})
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	client, err := net.Dial("tcp", p.status.addr.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	// The rest of the request never comes.
	_, err = client.Write([]byte("GET /runs HTTP/1.1\r\n"))
	require.NoError(t, err)
	require.NoError(t, p.Shutdown(context.Background()))
}

func TestProcessorThatCouldNotStartEnds(t *testing.T) {
	taken, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	cfg := createDefaultConfig().(*Config)
	cfg.StatusEndpoint = taken.Addr().String()
	cfg.Redaction = redactionNone
	cfg.ShutdownTimeout = time.Hour
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, &sink{})
	require.NoError(t, err)
	require.ErrorContains(t, p.Start(t.Context(), componenttest.NewNopHost()), "status_endpoint")
	require.NoError(t, p.Shutdown(context.Background()))
}

func TestEmitOnShutdownEmptiesTheSpool(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	durable := func(c *Config) { c.Spool.Directory = dir }
	run(t, durable, s, func(r *rig) { r.send(t, t.Context(), twoRuns()) })
	require.Empty(t, s.emitted())
	run(t, func(c *Config) { durable(c); c.OnShutdown = onShutdownEmit }, s, func(*rig) {})
	require.Len(t, s.emitted(), 2)
	run(t, durable, s, func(r *rig) { require.Zero(t, r.assembler.Stats().Recovered) })
}

func TestKeepHoldsNonAgentSpansInTheSpool(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	keep := func(c *Config) { c.NonAgent, c.Spool.Directory = nonAgentKeep, dir }
	run(t, keep, s, func(r *rig) { r.send(t, t.Context(), twoRuns()) })
	run(t, keep, s, func(*rig) {
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		for _, e := range s.emitted() {
			require.Equal(t, 4, e.SpanCount())
			require.True(t, attr(t, e, handover.RunComplete).Bool())
		}
	})
}

// eachSpan is every span with its resource and scope, as protobuf.
func eachSpan(t *testing.T, td ptrace.Traces) (all []string) {
	t.Helper()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				one := ptrace.NewTraces()
				r := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(r.Resource())
				r.SetSchemaUrl(rs.SchemaUrl())
				s := r.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(s.Scope())
				s.SetSchemaUrl(ss.SchemaUrl())
				span.CopyTo(s.Spans().AppendEmpty())
				raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(one)
				require.NoError(t, err)
				all = append(all, string(raw))
			}
		}
	}
	return all
}

// TestRequestOfManyTracesIsHeldWhole is a request as a hostile sender writes it: 20,000 traces, spans without ids, a tenant with a name
// of a megabyte, as many non-agent spans again.
func TestRequestOfManyTracesIsHeldWhole(t *testing.T) {
	const traces = 20_000
	s, dir := &sink{}, t.TempDir()
	hostile := func(c *Config) {
		c.Spool.Directory = dir
		c.Tenant = TenantConfig{From: tenantFromResource, Key: "tenant", Default: "default"}
		c.MaxTraces = traces / 10
		c.NonAgent = nonAgentDrop
	}
	run(t, hostile, s, func(r *rig) {
		td := ptrace.NewTraces()
		own := scope(td, "agent", agentScope)
		other := scope(td, "shop", "app")
		for i := range td.ResourceSpans().Len() {
			td.ResourceSpans().At(i).Resource().Attributes().PutStr("tenant", "short")
		}
		large := td.ResourceSpans().AppendEmpty()
		large.Resource().Attributes().PutStr("tenant", strings.Repeat("t", 1<<20))
		addSpan(large.ScopeSpans().AppendEmpty().Spans(), 1, 0, 0, "chat")
		for n := range uint64(traces) {
			var id pcommon.TraceID
			binary.BigEndian.PutUint64(id[:8], n+1)
			addSpan(own, 1, 0, 0, "chat").SetTraceID(id)
			addSpan(other, 1, 0, 0, "").SetTraceID(id)
		}
		r.send(t, t.Context(), td)
		pass(time.Second)
		st := r.assembler.Stats()
		require.EqualValues(t, traces+1, st.Accepted)
		require.LessOrEqual(t, st.OpenTraces, int64(traces/10))
		pass(time.Minute)
		st = r.assembler.Stats()
		require.EqualValues(t, traces+1, st.Emitted)
		require.Zero(t, st.MemoryBytes)
		for _, e := range s.emitted() {
			require.Less(t, len(attr(t, e, handover.RunKey).Str()), 2*maxTenantBytes)
		}
	})
}

// TestLateVerdictsGoWithTheTraceThatTheyJudge stops and starts the processor while the verdict waits.
func TestLateVerdictsGoWithTheTraceThatTheyJudge(t *testing.T) {
	s, dir := &sink{}, t.TempDir()
	durable := func(c *Config) { c.Spool.Directory = dir }
	run(t, durable, s, func(r *rig) {
		td := ptrace.NewTraces()
		carrier := addSpan(scope(td, "judge", "openinference.instrumentation.x"), 7, 1, 0, "")
		carrier.Attributes().PutStr("openinference.span.kind", "EVALUATOR")
		carrier.Attributes().PutStr("evaluations.0.evaluation.name", "tone")
		carrier.Attributes().PutStr("evaluations.0.evaluation.label", "rude")
		link := carrier.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID{15: 1})
		link.SetSpanID(pcommon.SpanID{7: 3})
		r.send(t, t.Context(), td)
	})
	run(t, durable, s, func(*rig) { pass(time.Hour) })
	found := 0
	for _, td := range s.emitted() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if genai.IsVerdict(ss.Scope().Name(), span) {
						found++
						require.Equal(t, pcommon.TraceID{15: 1}, span.TraceID())
						require.Equal(t, pcommon.SpanID{7: 3}, span.ParentSpanID())
					}
				}
			}
		}
	}
	require.Equal(t, 1, found)
}
