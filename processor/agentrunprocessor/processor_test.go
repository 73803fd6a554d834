// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadatatest"
)

const agentScope = "opentelemetry.instrumentation.openai_v2"

// sink is the next component. It parts emissions, which carry a run key, from what was passed on.
type sink struct {
	mutates bool

	mu        sync.Mutex
	emissions []ptrace.Traces
	passed    []ptrace.Traces
	fail      func(td ptrace.Traces) error
}

func (s *sink) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: s.mutates}
}

func (s *sink) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(td); err != nil {
			return err
		}
	}
	if td.ResourceSpans().Len() > 0 {
		if _, ok := td.ResourceSpans().At(0).Resource().Attributes().Get(handover.RunKey); ok {
			s.emissions = append(s.emissions, td)
			return nil
		}
	}
	s.passed = append(s.passed, td)
	return nil
}

func (s *sink) emitted() []ptrace.Traces {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.emissions)
}

func (s *sink) forwarded() []ptrace.Traces {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.passed)
}

type rig struct {
	*agentRun
	sink      *sink
	telemetry *componenttest.Telemetry
}

type runOption int

// anyShutdown: the test has broken something that shutdown complains of.
const anyShutdown runOption = 1

// run starts a processor inside a synctest bubble and shuts it down after body. Shutdown emits what is left.
func run(t *testing.T, edit func(*Config), s *sink, body func(*rig), options ...runOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := createDefaultConfig().(*Config)
		cfg.Redaction = redactionNone
		if edit != nil {
			edit(cfg)
		}
		require.NoError(t, cfg.Validate())
		if cfg.Redaction == redactionRequired {
			defer redact.Announce()() // stands for the agentredaction processor of the pipeline
		}
		r := &rig{sink: s, telemetry: componenttest.NewTelemetry()}
		set := metadatatest.NewSettings(r.telemetry)
		var err error
		r.agentRun, err = newTracesProcessor(set, cfg, s)
		require.NoError(t, err)
		require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
		body(r)
		if err := r.Shutdown(context.Background()); !slices.Contains(options, anyShutdown) {
			require.NoError(t, err)
		}
		require.NoError(t, r.telemetry.Shutdown(context.Background()))
	})
}

func (r *rig) send(t *testing.T, ctx context.Context, td ptrace.Traces) {
	t.Helper()
	require.NoError(t, r.ConsumeTraces(ctx, td))
	synctest.Wait()
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func scope(td ptrace.Traces, resource, name string) ptrace.SpanSlice {
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", resource)
	rs.SetSchemaUrl("https://opentelemetry.io/schemas/1.38.0")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(name)
	return ss.Spans()
}

func addSpan(to ptrace.SpanSlice, trace, id, parent byte, agent string) ptrace.Span {
	s := to.AppendEmpty()
	s.SetTraceID(pcommon.TraceID{15: trace})
	s.SetSpanID(pcommon.SpanID{7: id})
	s.SetParentSpanID(pcommon.SpanID{7: parent})
	s.SetName("GET /orders")
	s.Attributes().PutStr("http.request.method", "GET")
	if agent != "" {
		s.SetName(agent)
		s.Attributes().PutStr("gen_ai.operation.name", agent)
		s.Attributes().PutStr("gen_ai.agent.name", "clerk")
	}
	return s
}

// twoRuns is two traces of two runs with a web request around each, in one resource.
func twoRuns() ptrace.Traces {
	td := ptrace.NewTraces()
	spans := scope(td, "shop", "app")
	for trace := byte(1); trace <= 2; trace++ {
		addSpan(spans, trace, 3, 2, "chat")
		addSpan(spans, trace, 9, 8, "")
		addSpan(spans, trace, 2, 1, "invoke_agent")
	}
	web := td.ResourceSpans().At(0).ScopeSpans().AppendEmpty()
	web.Scope().SetName("net/http")
	addSpan(web.Spans(), 1, 1, 0, "")
	addSpan(web.Spans(), 2, 1, 0, "")
	return td
}

func attr(t *testing.T, td ptrace.Traces, key string) pcommon.Value {
	t.Helper()
	v, ok := td.ResourceSpans().At(0).Resource().Attributes().Get(key)
	require.True(t, ok, key)
	return v
}

func TestEvidenceLeavesTraceByTraceAndTheRestAtOnce(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := twoRuns()
		r.send(t, t.Context(), td)
		require.Len(t, s.forwarded(), 1)
		require.Equal(t, 4, s.forwarded()[0].SpanCount())
		require.Equal(t, 1, s.forwarded()[0].ResourceSpans().Len())
		require.Equal(t, 2, s.forwarded()[0].ResourceSpans().At(0).ScopeSpans().Len())
		require.Empty(t, s.emitted())
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		for _, e := range s.emitted() {
			require.Equal(t, 2, e.SpanCount())
			require.Equal(t, 1, e.ResourceSpans().Len())
			require.Equal(t, "https://opentelemetry.io/schemas/1.38.0", e.ResourceSpans().At(0).SchemaUrl())
			require.Equal(t, "app", e.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Name())
			require.Equal(t, "shop", attr(t, e, "service.name").Str())
			require.True(t, strings.HasPrefix(attr(t, e, handover.RunKey).Str(), "default/000000000000000000000000000000"))
			require.EqualValues(t, 2, attr(t, e, handover.RunItems).Int())
			require.True(t, attr(t, e, handover.RunComplete).Bool())
			require.Equal(t, "none", attr(t, e, handover.Redaction).Str())
		}
	})
}

func TestNonAgentTelemetryPassesAsItCame(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		addSpan(scope(td, "web", "net/http"), 1, 1, 0, "")
		td.ResourceSpans().AppendEmpty() // an empty resource is none of our business
		want := ptrace.NewTraces()
		td.CopyTo(want)
		r.send(t, t.Context(), td)
		require.Len(t, s.forwarded(), 1)
		require.Equal(t, want, s.forwarded()[0])
		require.Zero(t, r.assembler.Stats().Accepted)
	})
}

func TestNonAgentTelemetryIsDroppedOnDemand(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.NonAgent = nonAgentDrop }, s, func(r *rig) {
		td := twoRuns()
		r.send(t, t.Context(), td)
		pass(10 * time.Second)
		require.Empty(t, s.forwarded())
		require.Len(t, s.emitted(), 2)
		metadatatest.AssertEqualProcessorAgentrunNonAgentSpans(t, r.telemetry, []metricdata.DataPoint[int64]{
			{Value: 4, Attributes: attribute.NewSet(attribute.String("action", "drop"))},
		}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	})
}

func TestWholeResourceOfOneRunMovesWithoutARest(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		addSpan(spans, 1, 2, 1, "chat")
		addSpan(spans, 1, 1, 0, "invoke_agent")
		r.send(t, t.Context(), td)
		pass(10 * time.Second)
		require.Empty(t, s.forwarded())
		require.Len(t, s.emitted(), 1)
		require.Equal(t, 2, s.emitted()[0].SpanCount())
	})
}

func TestSenderCannotSpeakForAComponent(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		resource := td.ResourceSpans().At(0)
		resource.Resource().Attributes().PutStr(handover.RunKey, "other/1")
		resource.Resource().Attributes().PutStr("tapedeck.redaction", "full")
		resource.ScopeSpans().At(0).Scope().Attributes().PutStr("tapedeck.scope", "x")
		span := addSpan(spans, 1, 1, 0, "invoke_agent")
		span.Attributes().PutStr("tapedeck.span", "x")
		span.Events().AppendEmpty().Attributes().PutStr("tapedeck.event", "x")
		span.Links().AppendEmpty().Attributes().PutStr("tapedeck.link", "x")
		r.send(t, t.Context(), td)
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 1)
		e := s.emitted()[0]
		require.Equal(t, "default/00000000000000000000000000000001", attr(t, e, handover.RunKey).Str())
		require.Equal(t, "none", attr(t, e, handover.Redaction).Str())
		ss := e.ResourceSpans().At(0).ScopeSpans().At(0)
		require.Zero(t, ss.Scope().Attributes().Len())
		out := ss.Spans().At(0)
		_, found := out.Attributes().Get("tapedeck.span")
		require.False(t, found)
		require.Zero(t, out.Events().At(0).Attributes().Len())
		require.Zero(t, out.Links().At(0).Attributes().Len())
		metadatatest.AssertEqualProcessorAgentrunStrippedAttributes(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 6}},
			metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	})
}

func TestTenantComesFromWhereTheOperatorSays(t *testing.T) {
	metadataOf := func(values ...string) context.Context {
		return client.NewContext(context.Background(), client.Info{Metadata: client.NewMetadata(map[string][]string{"X-Tenant": values})})
	}
	for name, c := range map[string]struct {
		tenant TenantConfig
		ctx    context.Context
		want   string
	}{
		"none":                  {TenantConfig{From: "none", Default: "default"}, metadataOf("acme"), "default"},
		"metadata":              {TenantConfig{From: "metadata", Key: "x-tenant", Default: "default"}, metadataOf("acme"), "acme"},
		"metadata sent twice":   {TenantConfig{From: "metadata", Key: "x-tenant", Default: "default"}, metadataOf("acme", "evil"), "default"},
		"metadata not sent":     {TenantConfig{From: "metadata", Key: "x-tenant", Default: "default"}, context.Background(), "default"},
		"resource":              {TenantConfig{From: "resource", Key: "service.name", Default: "default"}, metadataOf("acme"), "shop"},
		"resource has not that": {TenantConfig{From: "resource", Key: "team", Default: "default"}, metadataOf("acme"), "default"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			run(t, func(cfg *Config) { cfg.Tenant = c.tenant }, s, func(r *rig) {
				td := ptrace.NewTraces()
				addSpan(scope(td, "shop", agentScope), 1, 1, 0, "invoke_agent")
				r.send(t, c.ctx, td)
				pass(10 * time.Second)
				require.Equal(t, c.want+"/00000000000000000000000000000001", attr(t, s.emitted()[0], handover.RunKey).Str())
			})
		})
	}
}

func TestSpansWithoutATraceIDAreNonAgent(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		addSpan(scope(td, "shop", agentScope), 0, 1, 0, "invoke_agent")
		r.send(t, t.Context(), td)
		require.Len(t, s.forwarded(), 1)
		metadatatest.AssertEqualProcessorAgentrunUntraceableSpans(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 1}},
			metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	})
}

func TestFullProcessorRefusesTheRequestUntouched(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.MaxMemoryBytes, c.MaxTraceBytes = 5000, 5000 }, s, func(r *rig) {
		s.fail = func(ptrace.Traces) error { return errors.New("store is down") }
		var err error
		for trace := byte(1); err == nil; trace++ {
			td := ptrace.NewTraces()
			spans := scope(td, "shop", "app")
			addSpan(spans, trace, 1, 0, "invoke_agent")
			addSpan(spans, trace, 2, 1, "chat")
			before := td.SpanCount()
			if err = r.ConsumeTraces(t.Context(), td); err != nil {
				require.Equal(t, before, td.SpanCount())
			}
			synctest.Wait()
		}
		require.False(t, consumererror.IsPermanent(err))
		large := ptrace.NewTraces()
		addSpan(scope(large, "shop", "app"), 99, 1, 0, "invoke_agent").Attributes().PutStr("gen_ai.input.messages", strings.Repeat("x", 10_000))
		require.True(t, consumererror.IsPermanent(r.ConsumeTraces(t.Context(), large)))
		metadatatest.AssertEqualProcessorAgentrunRefusedRequests(t, r.telemetry, []metricdata.DataPoint[int64]{
			{Value: 1, Attributes: attribute.NewSet(attribute.String("cause", "full"))},
			{Value: 1, Attributes: attribute.NewSet(attribute.String("cause", "too_large"))},
			{Value: 0, Attributes: attribute.NewSet(attribute.String("cause", "backlog"))},
			{Value: 0, Attributes: attribute.NewSet(attribute.String("cause", "spool"))},
			{Value: 0, Attributes: attribute.NewSet(attribute.String("cause", "unredacted"))},
			{Value: 0, Attributes: attribute.NewSet(attribute.String("cause", "too_deep"))},
		}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
	})
}

func TestSharedResourceCountsForEveryTraceThatGetsACopy(t *testing.T) {
	s := &sink{}
	run(t, func(c *Config) { c.MaxMemoryBytes, c.MaxTraceBytes = 1<<20, 1<<20 }, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", "app")
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("bomb", strings.Repeat("x", 100_000))
		for trace := byte(1); trace <= 20; trace++ {
			addSpan(spans, trace, 1, 0, "invoke_agent")
		}
		require.True(t, consumererror.IsPermanent(r.ConsumeTraces(t.Context(), td)))
	})
}

// Without a spool it gets a copy, with one it owns what it gets, and a repetition is read from the spool.
func TestNextComponentThatChangesWhatItGetsSeesTheSameAgain(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "spool": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			s := &sink{mutates: true}
			var seen [][]string
			s.fail = func(td ptrace.Traces) error {
				seen = append(seen, append(eachSpan(t, td), attr(t, td, handover.RunKey).Str()))
				td.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { return true })
				if len(seen) < 4 {
					return errors.New("store is down")
				}
				return nil
			}
			run(t, func(c *Config) { c.Spool.Directory = dir }, s, func(r *rig) {
				td := ptrace.NewTraces()
				addSpan(scope(td, "shop", agentScope), 1, 1, 0, "invoke_agent")
				r.send(t, t.Context(), td)
				pass(time.Minute)
				require.Len(t, seen, 4)
				for _, s := range seen {
					require.Equal(t, seen[0], s)
				}
				stats := r.assembler.Stats()
				require.EqualValues(t, []int64{1, 0}, []int64{stats.Emitted, stats.Held})
			})
		})
	}
}

func TestEvidenceInASpoolIsGivenAwayWithoutACopy(t *testing.T) {
	for name, c := range map[string]struct {
		dir  string
		same bool
	}{"memory": {"", false}, "spool": {t.TempDir(), true}} {
		t.Run(name, func(t *testing.T) {
			s := &sink{mutates: true}
			run(t, func(cfg *Config) { cfg.Spool.Directory = c.dir }, s, func(r *rig) {
				td := ptrace.NewTraces()
				addSpan(scope(td, "shop", agentScope), 1, 1, 0, "invoke_agent")
				require.NoError(t, r.emit(t.Context(), &assembly.Emission{Key: assembly.Key{Tenant: "default"}, Traces: td}))
				require.Equal(t, c.same, s.emitted()[0] == td)
			})
		})
	}
}

func TestEmissionThatAFanOutHasLockedIsRepeated(t *testing.T) {
	s := &sink{}
	calls := 0
	s.fail = func(td ptrace.Traces) error {
		calls++
		td.MarkReadOnly()
		if calls < 3 {
			return errors.New("store is down")
		}
		return nil
	}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		addSpan(scope(td, "shop", agentScope), 1, 1, 0, "invoke_agent")
		r.send(t, t.Context(), td)
		pass(time.Minute)
		require.Equal(t, 3, calls)
		require.Len(t, s.emitted(), 1)
	})
}

func TestRepeatedRequestAfterAFailedForwardBringsNothingTwice(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		request := func() ptrace.Traces {
			td := twoRuns()
			return td
		}
		s.fail = func(ptrace.Traces) error { return errors.New("next is busy") }
		require.Error(t, r.ConsumeTraces(t.Context(), request()))
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		r.send(t, t.Context(), request())
		pass(10 * time.Second)
		require.Len(t, s.emitted(), 2)
		require.Equal(t, 2, s.emitted()[0].SpanCount())
		require.EqualValues(t, 4, r.assembler.Stats().Duplicates)
	})
}

func TestHostileSpansNeitherPanicNorVanish(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		addSpan(spans, 1, 1, 1, "invoke_agent")
		addSpan(spans, 2, 1, 2, "invoke_agent")
		addSpan(spans, 2, 2, 1, "chat")
		addSpan(spans, 3, 0, 0, "chat")
		backwards := addSpan(spans, 4, 1, 0, "chat")
		backwards.SetStartTimestamp(^pcommon.Timestamp(0))
		backwards.SetEndTimestamp(1)
		huge := addSpan(spans, 5, 1, 0, "chat")
		huge.Attributes().PutStr("gen_ai.input.messages", strings.Repeat("x", 50<<20))
		deep := huge.Attributes().PutEmptyMap("gen_ai.output.messages")
		for range 200 {
			deep = deep.PutEmptyMap("x")
		}
		r.send(t, t.Context(), td)
		pass(time.Hour)
		total := 0
		for _, e := range s.emitted() {
			total += e.SpanCount()
		}
		require.Len(t, s.emitted(), 5)
		require.Equal(t, 6, total)
	})
}

func TestMetricsConserve(t *testing.T) {
	s := &sink{}
	run(t, nil, s, func(r *rig) {
		td := ptrace.NewTraces()
		spans := scope(td, "shop", agentScope)
		addSpan(spans, 1, 1, 0, "invoke_agent")
		addSpan(spans, 2, 2, 1, "chat")
		r.send(t, t.Context(), td)
		pass(10 * time.Second)
		metadatatest.AssertEqualProcessorAgentrunAcceptedItems(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 2}}, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualProcessorAgentrunHeldItems(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualProcessorAgentrunOpenTraces(t, r.telemetry, []metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
		emitted, err := r.telemetry.GetMetric("otelcol_processor_agentrun_emitted_items")
		require.NoError(t, err)
		var sum int64
		for _, p := range emitted.Data.(metricdata.Sum[int64]).DataPoints {
			if reason, _ := p.Attributes.Value("reason"); reason.AsString() == "root_ended" {
				require.EqualValues(t, 1, p.Value)
			}
			sum += p.Value
		}
		require.EqualValues(t, 1, sum)
	})
	require.Len(t, s.emitted(), 2, "shutdown emits what is held")
}

func TestFactoryBuildsTheProcessor(t *testing.T) {
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(metadata.Type), createDefaultConfig(), &sink{})
	require.NoError(t, err)
	require.True(t, p.Capabilities().MutatesData)
}
