// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector"
	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor"
	"github.com/tapedeck/tapedeck/receiver/tapereceiver/internal/metadata"
	"github.com/tapedeck/tapedeck/receiver/tapereceiver/internal/metadatatest"
	"github.com/tapedeck/tapedeck/tape"
)

// collector is agentredaction → agentrun → tape, with genailogs for the logs.
type collector struct {
	t      testing.TB
	traces consumer.Traces
	logs   consumer.Logs
	parts  []component.Component // in the direction of the data from the last
}

func newCollector(t testing.TB, deckURL, layout string, change ...func(*agentrunprocessor.Config)) *collector {
	t.Helper()
	t.Setenv("TAPEDECK_TEST_TAPERECEIVER_KEY", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
	out := tapeexporter.NewFactory().CreateDefaultConfig().(*tapeexporter.Config)
	out.Deck, out.Layout, out.Reel.MaxWait = deckURL, layout, time.Millisecond
	exporter, err := tapeexporter.NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(tapeexporter.NewFactory().Type()), out)
	require.NoError(t, err)
	runs := agentrunprocessor.NewFactory().CreateDefaultConfig().(*agentrunprocessor.Config)
	runs.NonAgent = "drop"
	runs.Tenant.From, runs.Tenant.Key = "metadata", "x-tapedeck-tenant"
	for _, f := range change {
		f(runs)
	}
	require.NoError(t, runs.Validate())
	agentrun, err := agentrunprocessor.NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(agentrunprocessor.NewFactory().Type()), runs, exporter)
	require.NoError(t, err)
	hide := agentredactionprocessor.NewFactory().CreateDefaultConfig().(*agentredactionprocessor.Config)
	hide.Key.Env = "TAPEDECK_TEST_TAPERECEIVER_KEY"
	settings := processortest.NewNopSettings(agentredactionprocessor.NewFactory().Type())
	redactTraces, err := agentredactionprocessor.NewFactory().CreateTraces(t.Context(), settings, hide, agentrun)
	require.NoError(t, err)
	genailogs, err := genailogsconnector.NewFactory().CreateLogsToTraces(t.Context(), connectortest.NewNopSettings(genailogsconnector.NewFactory().Type()), genailogsconnector.NewFactory().CreateDefaultConfig(), agentrun)
	require.NoError(t, err)
	redactLogs, err := agentredactionprocessor.NewFactory().CreateLogs(t.Context(), settings, hide, genailogs)
	require.NoError(t, err)
	c := &collector{t: t, traces: redactTraces, logs: redactLogs, parts: []component.Component{exporter, agentrun, redactTraces, genailogs, redactLogs}}
	for _, p := range c.parts {
		require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	}
	return c
}

// exporter is the last of the components, without those before it.
func (c *collector) exporter() consumer.Traces { return c.parts[0].(consumer.Traces) }

func (c *collector) stop() {
	for _, p := range slices.Backward(c.parts) {
		require.NoError(c.t, p.Shutdown(context.Background()))
	}
}

// corpus sends recorded runs of agents, each as a tenant of its own framework; agents without and with log records, and one with secrets.
func (c *collector) corpus() {
	c.t.Helper()
	for _, agent := range []string{"strands", "codex-cli"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "corpus", "agents", agent, "*.json"))
		require.NoError(c.t, err)
		require.NotEmpty(c.t, files, agent)
		ctx := client.NewContext(c.t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"x-tapedeck-tenant": {agent}})})
		for _, file := range files {
			body, err := os.ReadFile(file)
			require.NoError(c.t, err)
			switch {
			case strings.HasSuffix(file, ".otlp.json"):
				td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
				require.NoError(c.t, err)
				require.NoError(c.t, c.traces.ConsumeTraces(ctx, td))
			case strings.HasSuffix(file, ".logs.json"):
				ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(body)
				require.NoError(c.t, err)
				require.NoError(c.t, c.logs.ConsumeLogs(ctx, ld))
			}
		}
	}
}

// tapes are all tapes of a deck, by where they lie.
func tapes(t testing.TB, url string) map[string]string {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	require.NoError(t, err)
	defer d.Close()
	all := map[string]string{}
	for run, err := range view.Runs(t.Context(), d, nil) {
		require.NoError(t, err)
		body, err := d.ReadFile(t.Context(), run.Ref.Location, run.Ref.Generation, run.Ref.Root, tape.TapeFile)
		require.NoError(t, err)
		all[run.Ref.Location.String()+" "+run.Ref.Root] = string(body)
	}
	return all
}

func settings() Config {
	return *createDefaultConfig().(*Config)
}

// receive runs a receiver until all is emitted.
func receive(t testing.TB, cfg Config, traces consumer.Traces, logs consumer.Logs) {
	t.Helper()
	require.NoError(t, cfg.Validate())
	r := started(t, cfg, componenttest.NewNopHost(), traces, logs)
	<-r.done
	require.NoError(t, r.Shutdown(context.Background()))
}

func started(t testing.TB, cfg Config, host component.Host, traces consumer.Traces, logs consumer.Logs) *tapeReceiver {
	t.Helper()
	f, set := NewFactory(), receivertest.NewNopSettings(metadata.Type)
	var r component.Component
	var err error
	if traces != nil {
		r, err = f.CreateTraces(t.Context(), set, &cfg, traces)
		require.NoError(t, err)
		require.NoError(t, r.Start(t.Context(), host))
	}
	if logs != nil {
		first := r
		r, err = f.CreateLogs(t.Context(), set, &cfg, logs)
		require.NoError(t, err)
		if first != nil {
			require.Same(t, first, r, "what was emitted is remembered for both pipelines")
			require.NoError(t, first.(*tapeReceiver).Shutdown(context.Background()))
			r, err = f.CreateTraces(t.Context(), set, &cfg, traces)
			require.NoError(t, err)
			_, err = f.CreateLogs(t.Context(), set, &cfg, logs)
			require.NoError(t, err)
		}
		require.NoError(t, r.Start(t.Context(), host))
	}
	return r.(*tapeReceiver)
}

// What comes out of a deck and goes through redaction with the same key, agentrun and the exporter again is the same tapes, byte for byte: of both
// layouts, with log records among the spans and with log records as such, tenant by tenant.
func TestADeckThatIsEmittedAgainIsTheSameDeck(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		from := inMemory(t, "from-"+layout)
		source := newCollector(t, from, layout)
		source.corpus()
		source.stop()
		want := tapes(t, from)
		require.Greater(t, len(want), 10)
		for _, withLogs := range []bool{false, true} {
			if withLogs && layout == "reels" {
				continue // how a pipeline takes it does not depend on how it lay
			}
			to := inMemory(t, fmt.Sprint("to-", layout, withLogs))
			// What lies among the runs was decided; the roots that decided it were no evidence, and are not in the deck.
			target := newCollector(t, to, "files", func(c *agentrunprocessor.Config) { c.Rootless = "production" })
			cfg := settings()
			cfg.Deck, cfg.Mark = from, byNone
			var logs consumer.Logs
			if withLogs {
				logs = target.logs
			}
			receive(t, cfg, target.traces, logs)
			target.stop()
			got := tapes(t, to)
			require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "%s, logs %v", layout, withLogs)
			for name := range want {
				require.Equal(t, want[name], got[name], "%s, logs %v: %s", layout, withLogs, name)
			}
		}
	}
}

// sink takes traces, or does not.
type sink struct {
	mu      sync.Mutex
	took    []ptrace.Traces
	at      []time.Time
	tenants []string
	answer  func(n int) error // to the n-th request, from 1
	asked   int
}

func (*sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.answer != nil {
		if err := s.answer(s.asked); err != nil {
			return err
		}
	}
	s.took, s.at = append(s.took, td), append(s.at, time.Now())
	s.tenants = append(s.tenants, client.FromContext(ctx).Metadata.Get("x-tapedeck-tenant")...)
	return nil
}

func (s *sink) names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, td := range s.took {
		names = append(names, td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String()[31:])
	}
	return names
}

// run is the evidence of a run: trace n, with as many model calls.
func run(n, calls int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "clerk")
	ss := rs.ScopeSpans().AppendEmpty()
	start := time.Date(2026, 11, 20, 12, n, 0, 0, time.UTC)
	for i := range calls + 1 {
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{15: byte(n)})
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i) * time.Second)))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(i+1) * time.Second)))
		if i == 0 {
			span.SetName("invoke_agent clerk")
			span.Attributes().PutStr("gen_ai.operation.name", "invoke_agent")
			span.Attributes().PutStr("gen_ai.agent.name", "clerk")
			continue
		}
		span.SetParentSpanID(pcommon.SpanID{7: 1})
		span.SetName("chat m")
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
		span.Attributes().PutStr("gen_ai.request.model", "m")
		span.Events().AppendEmpty().SetTimestamp(span.StartTimestamp())
	}
	return td
}

// deckOf is a deck in memory with runs that came in this order.
func deckOf(t testing.TB, all ...ptrace.Traces) string {
	t.Helper()
	url := inMemory(t, "from")
	add(t, url, all...)
	return url
}

func inMemory(t testing.TB, name string) string {
	name = t.Name() + "-" + name
	t.Cleanup(func() { mem.Drop(name) })
	return "mem://" + name
}

func add(t testing.TB, url string, all ...ptrace.Traces) {
	t.Helper()
	c := newCollector(t, url, "files", func(cfg *agentrunprocessor.Config) { cfg.Tenant.Default = "shop" })
	for _, td := range all {
		require.NoError(t, c.traces.ConsumeTraces(t.Context(), td))
	}
	c.stop()
}

func TestRunsAreEmittedInTheirOrderAndAsTheFiltersSay(t *testing.T) {
	url := deckOf(t, run(3, 1), run(1, 1), run(2, 3))
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(*Config) {}, []string{"1", "2", "3"}},
		{func(c *Config) { c.Where = "model_calls > 2" }, []string{"2"}},
		{func(c *Config) { c.Is = []string{"models=m", "model_calls=1"} }, []string{"1", "3"}},
		{func(c *Config) { c.Since = "2026-11-20T12:02:00Z" }, []string{"2", "3"}},
		{func(c *Config) { c.Until = "2026-11-20T12:02:00Z" }, []string{"1"}},
		{func(c *Config) { c.Runs = []string{pcommon.TraceID{15: 3}.String()} }, []string{"3"}},
		{func(c *Config) { c.Tenant = "other" }, nil},
		{func(c *Config) { c.Area = "replays" }, nil},
	} {
		cfg, s := settings(), &sink{}
		cfg.Deck = url
		c.change(&cfg)
		receive(t, cfg, s, nil)
		require.Equal(t, c.want, s.names(), "%+v", cfg)
		for _, tenant := range s.tenants {
			require.Equal(t, "shop", tenant)
		}
		for _, td := range s.took {
			v, ok := td.ResourceSpans().At(0).Resource().Attributes().Get(segregation.ReemittedKey)
			require.True(t, ok)
			require.Equal(t, url, v.Str())
		}
	}
}

func TestWhatIsEmittedAsAReplayIsOne(t *testing.T) {
	from, to := deckOf(t, run(1, 1)), inMemory(t, "to")
	target := newCollector(t, to, "files")
	cfg := settings()
	cfg.Deck, cfg.Mark, cfg.ReplayRunID = from, asReplay, "again-1"
	receive(t, cfg, target.traces, nil)
	target.stop()
	got := slices.Collect(maps.Keys(tapes(t, to)))
	require.Len(t, got, 1)
	require.Contains(t, got[0], "replays/again-1/")
}

// By default it is neither: agentrun has all of it and its root, and holds it for no side, whatever it is told of traces without a root; and so does an
// exporter that no agentrun stands before. What is emitted without a mark is production, also where the other lies already.
func TestWhatIsEmittedWithItsMarkIsOfNoSide(t *testing.T) {
	from := deckOf(t, run(1, 1))
	areas := func(url string) (all []string) {
		for place := range tapes(t, url) {
			area, _, _ := strings.Cut(place, "/")
			all = append(all, area)
		}
		return all
	}
	for _, layout := range []string{"files", "reels"} {
		to := inMemory(t, "to-"+layout)
		for _, c := range []struct{ mark, rootless, want string }{{byAttribute, "undecided", "undecided"}, {byAttribute, "production", "undecided"}, {byNone, "undecided", "runs"}, {byAttribute, "undecided", "runs"}} {
			target := newCollector(t, to, layout, func(cfg *agentrunprocessor.Config) { cfg.Rootless = c.rootless })
			cfg := settings()
			cfg.Deck, cfg.Mark = from, c.mark
			receive(t, cfg, target.traces, nil)
			target.stop()
			require.Equal(t, []string{c.want}, areas(to), "%s, %+v", layout, c)
		}
		alone := inMemory(t, "alone-"+layout)
		target := newCollector(t, alone, layout)
		cfg := settings()
		cfg.Deck = from
		receive(t, cfg, target.exporter(), nil)
		target.stop()
		require.Equal(t, []string{"undecided"}, areas(alone), layout)
	}
}

func TestTimesAreMovedAndMakeAnotherTrace(t *testing.T) {
	url := deckOf(t, run(1, 2))
	emit := func(change func(*Config)) ptrace.SpanSlice {
		cfg, s := settings(), &sink{}
		cfg.Deck = url
		change(&cfg)
		receive(t, cfg, s, nil)
		require.Len(t, s.took, 1)
		return s.took[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	}
	was := emit(func(*Config) {})
	moved := emit(func(c *Config) { c.Timestamps, c.Shift = shifted, 36*time.Hour })
	again := emit(func(c *Config) { c.Timestamps, c.Shift = shifted, 36*time.Hour })
	for i, span := range was.All() {
		to := moved.At(i)
		require.Equal(t, 36*time.Hour, to.StartTimestamp().AsTime().Sub(span.StartTimestamp().AsTime()))
		require.Equal(t, 36*time.Hour, to.EndTimestamp().AsTime().Sub(span.EndTimestamp().AsTime()))
		for k, e := range span.Events().All() {
			require.Equal(t, 36*time.Hour, to.Events().At(k).Timestamp().AsTime().Sub(e.Timestamp().AsTime()))
		}
		require.NotEqual(t, span.TraceID(), to.TraceID())
		require.Equal(t, moved.At(0).TraceID(), to.TraceID())
		require.Equal(t, again.At(i).TraceID(), to.TraceID())
		require.Equal(t, span.SpanID(), to.SpanID())
		require.Equal(t, span.ParentSpanID(), to.ParentSpanID())
	}
	before := time.Now()
	now := emit(func(c *Config) { c.Timestamps = nowStarting })
	require.WithinRange(t, now.At(0).StartTimestamp().AsTime(), before.Add(-time.Millisecond), time.Now())
	require.Equal(t, was.At(1).StartTimestamp()-was.At(0).StartTimestamp(), now.At(1).StartTimestamp()-now.At(0).StartTimestamp())
}

// inBubble runs a test with a clock of its own. The encoders of the process belong to nobody: they are made before.
func inBubble(t *testing.T, f func(t *testing.T)) {
	url := inMemory(t, "before")
	add(t, url, run(9, 1))
	receive(t, Config{Deck: url, Area: "runs", Timestamps: original, Mark: byNone, TenantKey: "tenant"}, &sink{}, nil)
	synctest.Test(t, f)
}

// What is refused for a while is given again, and nothing overtakes it; what is refused for good is said, and the rest goes on.
func TestNothingIsLostWhenTheNextComponentDoesNotTakeIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		url := deckOf(t, run(1, 1), run(2, 1), run(3, 1))
		s := &sink{answer: func(n int) error {
			switch n {
			case 1, 2, 3:
				return errors.New("full")
			case 5:
				return consumererror.NewPermanent(errors.New("too large"))
			}
			return nil
		}}
		cfg := settings()
		cfg.Deck = url
		begun := time.Now()
		receive(t, cfg, s, nil)
		require.Equal(t, []string{"1", "3"}, s.names())
		require.Equal(t, 3500*time.Millisecond, s.at[0].Sub(begun))
	})
}

// A component that changes what it is given may do so before it refuses it: what it is given again is whole.
func TestWhatIsGivenAgainIsWhole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &sink{}
		cfg := settings()
		cfg.Deck = deckOf(t, run(1, 2))
		asked := 0
		next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
			if asked++; asked == 1 {
				td.ResourceSpans().MoveAndAppendTo(ptrace.NewResourceSpansSlice())
				return errors.New("full")
			}
			return s.ConsumeTraces(ctx, td)
		}, consumer.WithCapabilities(consumer.Capabilities{MutatesData: true}))
		require.NoError(t, err)
		receive(t, cfg, next, nil)
		require.Len(t, s.took, 1)
		require.Equal(t, 3, s.took[0].SpanCount())
	})
}

// What is refused for good is not asked again by this collector, and is by the next.
func TestWhatIsRefusedForGoodIsTriedByTheNextStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		id := component.MustNewID("file_storage")
		h := host{map[component.ID]component.Component{id: &kept{}}}
		cfg, s := settings(), &sink{}
		cfg.Deck, cfg.Storage, cfg.Watch = deckOf(t, run(1, 1), run(2, 1)), &id, time.Minute
		s.answer = func(n int) error {
			if n == 1 {
				return consumererror.NewPermanent(errors.New("too large"))
			}
			return nil
		}
		telemetry := componenttest.NewTelemetry()
		r, err := NewFactory().CreateTraces(t.Context(), metadatatest.NewSettings(telemetry), &cfg, s)
		require.NoError(t, err)
		require.NoError(t, r.Start(t.Context(), h))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Equal(t, 2, s.asked)
		require.Equal(t, []string{"2"}, s.names())
		one := []metricdata.DataPoint[int64]{{Value: 1}}
		metadatatest.AssertEqualReceiverTapeRefusedTraces(t, telemetry, one, metricdatatest.IgnoreTimestamp())
		metadatatest.AssertEqualReceiverTapeEmittedTraces(t, telemetry, one, metricdatatest.IgnoreTimestamp())
		require.NoError(t, r.Shutdown(t.Context()))
		require.NoError(t, telemetry.Shutdown(t.Context()))
		cfg.Watch = 0
		again := started(t, cfg, h, s, nil)
		<-again.done
		require.NoError(t, again.Shutdown(t.Context()))
		require.Equal(t, []string{"2", "1"}, s.names())
	})
}

// A trace of several runs comes when the first of them started.
func TestATraceComesWithTheFirstOfItsRuns(t *testing.T) {
	two, late := run(1, 1), run(7, 1)
	for _, span := range late.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		span.SetTraceID(pcommon.TraceID{15: 1})
		for _, set := range []struct {
			id pcommon.SpanID
			to func(pcommon.SpanID)
		}{{span.SpanID(), span.SetSpanID}, {span.ParentSpanID(), span.SetParentSpanID}} {
			if !set.id.IsEmpty() {
				set.id[0] = 1
				set.to(set.id)
			}
		}
	}
	late.ResourceSpans().MoveAndAppendTo(two.ResourceSpans())
	cfg, s := settings(), &sink{}
	cfg.Deck = deckOf(t, two, run(4, 1))
	require.Len(t, tapes(t, cfg.Deck), 3)
	receive(t, cfg, s, nil)
	require.Equal(t, []string{"1", "4"}, s.names())
}

// Links within a trace lead to where it was moved, and log records that became spans keep the time between event and observation.
func TestLinksAndObservationsAreMovedToo(t *testing.T) {
	td := run(1, 1)
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	was := span.StartTimestamp()
	span.Links().AppendEmpty().SetTraceID(span.TraceID())
	span.Links().AppendEmpty()
	span.Attributes().PutInt(genai.LogObservedTime, int64(was)) //nolint:gosec // nanoseconds of Unix time
	shift(td, time.Hour)
	require.Equal(t, span.TraceID(), span.Links().At(0).TraceID())
	require.True(t, span.Links().At(1).TraceID().IsEmpty())
	observed, _ := span.Attributes().Get(genai.LogObservedTime)
	require.EqualValues(t, span.StartTimestamp(), observed.Int())
	require.Equal(t, time.Hour, span.StartTimestamp().AsTime().Sub(was.AsTime()))
}

func TestTheRateIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg, s := settings(), &sink{}
		cfg.Deck, cfg.TracesPerSecond = deckOf(t, run(1, 1), run(2, 1), run(3, 1)), 0.5
		receive(t, cfg, s, nil)
		require.Len(t, s.at, 3)
		require.Equal(t, 2*time.Second, s.at[1].Sub(s.at[0]))
		require.Equal(t, 2*time.Second, s.at[2].Sub(s.at[1]))
	})
}

func TestNewRunsAndNewPartsOfRunsAreEmittedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		late := run(1, 2)
		early := run(1, 1)
		url := deckOf(t, early)
		cfg, s := settings(), &sink{}
		cfg.Deck, cfg.Watch = url, time.Minute
		r := started(t, cfg, componenttest.NewNopHost(), s, nil)
		synctest.Wait()
		require.Equal(t, []string{"1"}, s.names())
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"1"}, s.names())
		add(t, url, run(2, 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"1", "2"}, s.names())
		late.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(span ptrace.Span) bool { return span.SpanID() != pcommon.SpanID{7: 3} })
		add(t, url, late)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"1", "2", "1"}, s.names())
		require.Equal(t, 1, s.took[2].SpanCount(), "only what is new")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"1", "2", "1"}, s.names(), "all parts are remembered")
		require.NoError(t, r.Shutdown(t.Context()))
	})
}

// kept is a storage that outlives the receiver.
type kept struct {
	component.StartFunc
	component.ShutdownFunc
	memory
}

func (k *kept) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return &k.memory, nil
}

type host struct {
	all map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.all }

func TestARestartGoesOnWhereItWas(t *testing.T) {
	url := deckOf(t, run(1, 1), run(2, 1), run(3, 1))
	id := component.MustNewID("file_storage")
	h := host{map[component.ID]component.Component{id: &kept{}}}
	cfg, s := settings(), &sink{}
	cfg.Deck, cfg.Storage = url, &id
	reached := make(chan struct{})
	s.answer = func(n int) error {
		if n == 2 {
			close(reached)
		}
		if n >= 2 {
			return errors.New("full")
		}
		return nil
	}
	r := started(t, cfg, h, s, nil)
	<-reached
	require.NoError(t, r.Shutdown(t.Context()))
	require.Equal(t, []string{"1"}, s.names())
	s.answer = nil
	r = started(t, cfg, h, s, nil)
	<-r.done
	require.NoError(t, r.Shutdown(t.Context()))
	require.Equal(t, []string{"1", "2", "3"}, s.names())
	for _, missing := range []host{{}, {map[component.ID]component.Component{id: nil}}} {
		r, err := NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(metadata.Type), &cfg, s)
		require.NoError(t, err)
		require.Error(t, r.Start(t.Context(), missing))
		require.NoError(t, r.Shutdown(t.Context()))
	}
}

func TestSettingsThatContradictThemselvesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"deck is required": func(c *Config) { c.Deck = "" }, "area must be": func(c *Config) { c.Area = "joined" }, "where: ": func(c *Config) { c.Where = "nothing = 1" },
		"since: ": func(c *Config) { c.Since = "yesterday" }, "timestamps must": func(c *Config) { c.Timestamps = "later" }, "shift and": func(c *Config) { c.Shift = time.Hour },
		"must not be negative": func(c *Config) { c.Watch = -1 }, "mark must": func(c *Config) { c.Mark = "ink" }, "replay_run_id and": func(c *Config) { c.Mark = asReplay },
		"tenant_key": func(c *Config) { c.TenantKey = "" },
	} {
		cfg := settings()
		cfg.Deck = "file:///var/lib/tapes"
		require.NoError(t, cfg.Validate())
		change(&cfg)
		require.ErrorContains(t, cfg.Validate(), want)
	}
}
