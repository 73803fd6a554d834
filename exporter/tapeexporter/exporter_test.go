// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadatatest"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

var errAway = &deck.StoreError{Op: "put", Scheme: "mem", Reason: "connection refused", Err: errors.New("connection refused")}

// agentTrace is one run: an agent, a model call, a tool call.
func agentTrace(td ptrace.Traces, trace byte, tenant string) {
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	id := pcommon.TraceID{15: trace}
	if tenant != "" {
		rs.Resource().Attributes().PutStr(handover.RunKey, tenant+"/"+groupKey{trace: id}.hex())
		rs.Resource().Attributes().PutInt("tapedeck.run.items", 3)
		rs.Resource().Attributes().PutBool(handover.RunComplete, true)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.openai_v2")
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	add := func(n, parent byte, name, operation string, attributes ...string) {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(id)
		s.SetSpanID(pcommon.SpanID{7: n})
		if parent > 0 {
			s.SetParentSpanID(pcommon.SpanID{7: parent})
		}
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(n) * time.Second)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(20-n) * time.Second)))
		s.Attributes().PutStr("gen_ai.operation.name", operation)
		for i := 0; i < len(attributes); i += 2 {
			s.Attributes().PutStr(attributes[i], attributes[i+1])
		}
	}
	add(1, 0, "invoke_agent clerk", "invoke_agent", "gen_ai.agent.name", "clerk")
	add(2, 1, "chat gpt-5", "chat",
		"gen_ai.request.model", "gpt-5",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Where is my parcel?"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"track","arguments":{"n":7}}],"finish_reason":"tool_call"}]`,
	)
	add(3, 1, "execute_tool track", "execute_tool",
		"gen_ai.tool.name", "track", "gen_ai.tool.call.id", "c1",
		"gen_ai.tool.call.arguments", `{"n":7}`, "gen_ai.tool.call.result", `{"at":"Leipzig"}`,
	)
}

func oneTrace(trace byte, tenant string) ptrace.Traces {
	td := ptrace.NewTraces()
	agentTrace(td, trace, tenant)
	return td
}

// rig is an exporter on a deck whose store fails on demand.
type rig struct {
	exporter *tapeExporter
	exporter.Traces
	faults    *decktest.FaultStore
	telemetry *componenttest.Telemetry
}

func newRig(t *testing.T, url string, edit func(*Config)) *rig {
	t.Helper()
	return newRigLogging(t, url, zap.NewNop(), edit)
}

func newRigLogging(t *testing.T, url string, logger *zap.Logger, edit func(*Config)) *rig {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Deck = url
	if edit != nil {
		edit(cfg)
	}
	require.NoError(t, cfg.Validate())
	store, err := deck.OpenStore(t.Context(), url)
	require.NoError(t, err)
	r := &rig{faults: decktest.Wrap(store), telemetry: componenttest.NewTelemetry()}
	set := exportertest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	set.Logger = logger
	e, err := newTapeExporter(set, cfg)
	require.NoError(t, err)
	e.open = func(ctx context.Context, url string) (*deck.Deck, error) { return deck.New(ctx, r.faults, url) }
	r.exporter = e
	r.Traces, err = wrap(t.Context(), set, cfg, e)
	require.NoError(t, err)
	return r
}

func (r *rig) start(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
}

func (r *rig) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Shutdown(context.Background()))
	require.NoError(t, r.telemetry.Shutdown(context.Background()))
}

// objects lists the keys of the deck.
func (r *rig) objects(t *testing.T) []string {
	t.Helper()
	var keys []string
	for o, err := range r.faults.Store.List(context.Background(), "") {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys
}

// count counts the keys that hold all of the texts.
func count(keys []string, texts ...string) int {
	n := 0
	for _, k := range keys {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(k, text) }) {
			n++
		}
	}
	return n
}

func TestCallReturnsWhenTapeAndEvidenceAreInTheDeck(t *testing.T) {
	for name, url := range map[string]string{"memory": "mem://returns", "file": decktest.FileURL(t)} {
		t.Run(name, func(t *testing.T) {
			mem.Drop("returns")
			r := newRig(t, url, nil)
			r.start(t)
			defer r.stop(t)
			td := oneTrace(1, "acme")
			td.MarkReadOnly()
			require.NoError(t, r.ConsumeTraces(t.Context(), td))
			keys := r.objects(t)
			require.Equal(t, 1, count(keys, "runs/acme/00/"+groupKey{trace: pcommon.TraceID{15: 1}}.hex()+"/", deck.PartSuffix), keys)
			require.Equal(t, 1, count(keys, ".0000000000000001/tape.json"), keys)
			require.Equal(t, 1, count(keys, ".0000000000000001/oracle.json"), keys)
		})
	}
}

func TestSecondDeliveryChangesNothing(t *testing.T) {
	mem.Drop("second")
	r := newRig(t, "mem://second", nil)
	r.start(t)
	defer r.stop(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	before := r.objects(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.Equal(t, before, r.objects(t))
}

func TestStoreThatComesBackLosesNothing(t *testing.T) {
	for fails := 1; fails <= 12; fails++ {
		synctest.Test(t, func(t *testing.T) {
			mem.Drop("back")
			r := newRig(t, "mem://back", nil)
			r.start(t)
			defer r.stop(t)
			var calls atomic.Int64
			r.faults.Hook(func(context.Context, decktest.Op) error {
				// Each operation fails a few times, wherever the writer is by then.
				if calls.Add(1)%int64(fails+1) != 0 && calls.Load() < int64(20*fails) {
					return errAway
				}
				return nil
			})
			require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "")))
			r.faults.Reset()
			faulty := r.objects(t)

			mem.Drop("back-clean")
			clean := newRig(t, "mem://back-clean", nil)
			clean.start(t)
			defer clean.stop(t)
			require.NoError(t, clean.ConsumeTraces(t.Context(), oneTrace(1, "")))
			require.Equal(t, clean.objects(t), faulty, "the deck differs from one without faults")
		})
	}
}

func TestRefusalIsTriedAgainUntilTheOperatorMendsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem.Drop("mend")
		r := newRig(t, "mem://mend", nil)
		r.start(t)
		defer r.stop(t)
		mended := time.Now().Add(3 * time.Hour)
		r.faults.Hook(func(context.Context, decktest.Op) error {
			if time.Now().Before(mended) {
				return &deck.StoreError{Op: "put", Scheme: "mem", Reason: "access denied", Permanent: true}
			}
			return nil
		})
		require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "")))
		require.False(t, time.Now().Before(mended))
		require.Equal(t, 1, count(r.objects(t), "tape.json"))
	})
}

// agentrun repeats, and lets other traces pass: a call with what it brings tries once, whatever retry_on_failure says.
func TestWhatAgentrunBringsIsTriedOnceInACall(t *testing.T) {
	t.Cleanup(func() { mem.Drop("once") })
	r := newRig(t, "mem://once", nil)
	r.start(t)
	defer r.stop(t)
	for _, failure := range []error{errAway, &deck.StoreError{Op: "put", Scheme: "mem", Reason: "access denied", Permanent: true}} {
		calls := 0
		r.faults.Hook(func(context.Context, decktest.Op) error { calls++; return failure })
		err := r.ConsumeTraces(t.Context(), oneTrace(1, "acme"))
		require.ErrorIs(t, err, failure)
		require.False(t, consumererror.IsPermanent(err), "agentrun would drop it")
		require.Equal(t, 1, calls)
	}
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.Equal(t, 1, count(r.objects(t), "tape.json"))
}

// What lasts is said once a minute for each kind, as an error and in words of this exporter.
func TestFailuresThatLastAreSaidOnceAMinute(t *testing.T) {
	diskFull := &deck.StoreError{Op: "put", Scheme: "file", Full: true, Err: syscall.ENOSPC}
	denied := &deck.StoreError{Op: "put", Scheme: "mem", Reason: "access denied", Permanent: true}
	for name, tenant := range map[string]string{"agentrun": "acme", "others": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { mem.Drop("said") })
				core, logs := observer.New(zap.DebugLevel)
				r := newRigLogging(t, "mem://said", zap.New(core), func(c *Config) { c.Retry.MaxElapsedTime = time.Second })
				r.start(t)
				defer r.stop(t)
				for f, err := range map[failure]error{full: diskFull, refused: denied, failed: errAway} {
					r.faults.Hook(func(context.Context, decktest.Op) error { return err })
					logs.TakeAll()
					began := time.Now()
					for time.Since(began) < 5*time.Minute {
						require.Error(t, r.ConsumeTraces(t.Context(), oneTrace(1, tenant)))
						time.Sleep(10 * time.Second)
					}
					said := logs.TakeAll()
					require.Len(t, said, 5, "%s: %v", f, said)
					for _, entry := range said {
						require.Equal(t, zap.ErrorLevel, entry.Level)
						require.Equal(t, f.words(), entry.Message)
					}
				}
			})
		})
	}
}

func TestStartSurvivesAnOutage(t *testing.T) {
	for name, outage := range map[string]func(context.Context) error{
		"refused": func(context.Context) error { return errAway },
		"silent": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem.Drop("outage")
				r := newRig(t, "mem://outage", nil)
				down := true
				r.faults.Hook(func(ctx context.Context, _ decktest.Op) error {
					if down {
						return outage(ctx)
					}
					return nil
				})
				r.start(t)
				defer r.stop(t)
				down = false
				require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
				require.Equal(t, 1, count(r.objects(t), "tape.json"))
			})
		})
	}
}

func TestStartFailsOnADeckThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, url := range []string{"vhs://shelf", "mem://", "file://" + filepath.ToSlash(file), "s3://bucket?endpoit=x"} {
		set := exportertest.NewNopSettings(metadata.Type)
		cfg := createDefaultConfig().(*Config)
		cfg.Deck = url
		e, err := NewFactory().CreateTraces(t.Context(), set, cfg)
		require.NoError(t, err)
		require.Error(t, e.Start(t.Context(), componenttest.NewNopHost()), url)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}

func TestRepetitionBringsOnlyWhatIsNotDurable(t *testing.T) {
	mem.Drop("partial")
	r := newRig(t, "mem://partial", func(c *Config) { c.Retry.Enabled = false })
	r.start(t)
	defer r.stop(t)
	bad := groupKey{trace: pcommon.TraceID{15: 2}}.hex()
	r.faults.Hook(func(_ context.Context, op decktest.Op) error {
		if strings.Contains(op.Key, bad) {
			return errAway
		}
		return nil
	})
	td := ptrace.NewTraces()
	for trace := byte(1); trace <= 3; trace++ {
		agentTrace(td, trace, "acme")
	}
	err := r.ConsumeTraces(t.Context(), td)
	var rest consumererror.Traces
	require.ErrorAs(t, err, &rest)
	require.False(t, consumererror.IsPermanent(err))
	require.Equal(t, 3, rest.Data().SpanCount())
	require.Equal(t, 2, count(r.objects(t), "tape.json"))
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), rest.Data()))
	require.Equal(t, 3, count(r.objects(t), deck.PartSuffix))
	require.Equal(t, 3, count(r.objects(t), "tape.json"))
}

func TestRepetitionBringsTagsThatCameAlone(t *testing.T) {
	mem.Drop("partial-tags")
	r := newRig(t, "mem://partial-tags", func(c *Config) { c.Retry.Enabled = false })
	r.start(t)
	defer r.stop(t)
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	tagged := groupKey{trace: pcommon.TraceID{15: 1}}.hex()
	r.faults.Hook(func(_ context.Context, op decktest.Op) error {
		if strings.Contains(op.Key, tagged) {
			return errAway
		}
		return nil
	})
	td := tagAlone(1, "acme", 3)
	tagAlone(2, "acme", 0).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	agentTrace(td, 3, "acme")
	var rest consumererror.Traces
	require.ErrorAs(t, r.ConsumeTraces(t.Context(), td), &rest)
	require.Equal(t, 1, rest.Data().ResourceSpans().Len())
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), rest.Data()))
	keys := r.objects(t)
	require.Positive(t, count(keys, "replays/r-1/acme/", tagged), keys)
}

func TestEvidenceTooLargeForAnObjectIsAPermanentError(t *testing.T) {
	mem.Drop("large")
	r := newRig(t, "mem://large", nil)
	r.start(t)
	defer r.stop(t)
	r.faults.Hook(func(_ context.Context, op decktest.Op) error {
		if strings.HasSuffix(op.Key, deck.PartSuffix) {
			return &deck.StoreError{Op: "put", Scheme: "mem", Permanent: true, Err: deck.ErrTooLarge}
		}
		return nil
	})
	require.True(t, consumererror.IsPermanent(r.ConsumeTraces(t.Context(), oneTrace(1, "acme"))))
}

func TestSpansWithoutAgentrunGoToTheDefaultTenant(t *testing.T) {
	mem.Drop("alone")
	r := newRig(t, "mem://alone", nil)
	r.start(t)
	defer r.stop(t)
	td := oneTrace(1, "")
	other := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	other.SetTraceID(pcommon.TraceID{15: 1})
	other.SetName("GET /")
	lost := ptrace.NewTraces()
	agentTrace(lost, 0, "")
	lost.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	require.NoError(t, r.ConsumeTraces(t.Context(), td))
	keys := r.objects(t)
	require.Equal(t, 1, count(keys, "runs/default/"+"00/"+groupKey{trace: pcommon.TraceID{15: 1}}.hex()+"/", deck.PartSuffix), keys)
	require.Equal(t, 1, count(keys, "tape.json"), keys)
	m, err := r.telemetry.GetMetric("otelcol_exporter_tape_ignored_spans")
	require.NoError(t, err)
	metricdatatest.AssertEqual(t, metricdata.Sum[int64]{
		Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
		DataPoints: []metricdata.DataPoint[int64]{{Value: 4}},
	}, m.Data.(metricdata.Sum[int64]), metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
}

func TestRunKeyOfAnotherTraceNamesOnlyTheTenant(t *testing.T) {
	td := oneTrace(1, "a/b")
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.RunKey, "a/b/ffffffffffffffffffffffffffffffff")
	groups, ignored := split(td, segregation.Default, false)
	require.Zero(t, ignored)
	require.Len(t, groups, 1)
	require.Equal(t, groupKey{"a/b", pcommon.TraceID{15: 1}}, groups[0].key)
}

// TestRunsThatSomethingJoinsAreNamedOnce: agentrun passes them on one by one, or waits for the call.
func TestRunsThatSomethingJoinsAreNamedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		tenant string
		waits  bool
		want   int
	}{
		"joined behind agentrun":   {"acme", false, 1},
		"a batch of agentrun":      {"acme", true, 0},
		"a batch without agentrun": {"", false, 0},
	} {
		mem.Drop("joined")
		r := newRig(t, "mem://joined", nil)
		core, log := observer.New(zap.WarnLevel)
		r.exporter.logger = zap.New(core)
		r.start(t)
		ctx := t.Context()
		if c.waits {
			ctx = handover.OnIdle(ctx, func() {})
		}
		for range 2 {
			td := ptrace.NewTraces()
			agentTrace(td, 1, c.tenant)
			agentTrace(td, 2, c.tenant)
			require.NoError(t, r.ConsumeTraces(ctx, td))
			require.NoError(t, r.ConsumeTraces(ctx, oneTrace(3, c.tenant)))
		}
		require.Equal(t, c.want, log.FilterMessageSnippet("batch").Len(), name)
	}
}

func TestSplitKeepsResourceAndScopeOfEverySpan(t *testing.T) {
	td := ptrace.NewTraces()
	for i := range byte(6) {
		agentTrace(td, 1+i%2, "acme")
	}
	groups, _ := split(td, segregation.Default, false)
	require.Len(t, groups, 2)
	for _, g := range groups {
		require.Equal(t, 3, g.traces.ResourceSpans().Len())
		require.Equal(t, 9, g.traces.SpanCount())
		for _, rs := range g.traces.ResourceSpans().All() {
			v, ok := rs.Resource().Attributes().Get("service.name")
			require.True(t, ok)
			require.Equal(t, "shop", v.Str())
			require.Equal(t, "opentelemetry.instrumentation.openai_v2", rs.ScopeSpans().At(0).Scope().Name())
		}
	}
	require.Equal(t, 18, td.SpanCount(), "what came was changed")
}

// What agentrun passes on is taken as it is: nobody needs it afterwards. What this exporter repeats itself, and what a call brings of several traces or
// beside evidence, is copied.
func TestEvidenceOfOneTraceThatIsGivenAwayIsNotCopied(t *testing.T) {
	web := oneTrace(1, "acme")
	span := web.ResourceSpans().At(0).ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{15: 1})
	several := oneTrace(1, "acme")
	agentTrace(several, 2, "acme")
	for name, c := range map[string]struct {
		td        ptrace.Traces
		own, same bool
	}{
		"given away":                        {oneTrace(1, "acme"), true, true},
		"kept by the caller":                {oneTrace(1, "acme"), false, false},
		"given away, beside other spans":    {web, true, false},
		"given away, one of several traces": {several, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			groups, _ := split(c.td, segregation.Default, c.own)
			require.Equal(t, c.same, groups[0].traces == c.td)
			require.Equal(t, 3, groups[0].traces.SpanCount())
		})
	}
}

// The marker of a redaction with its proof is of the attributes that the writer takes off: a repetition needs it again.
func TestACallThatIsRepeatedHereLeavesWhatItGotAsItWas(t *testing.T) {
	t.Cleanup(func() { mem.Drop("asitwas") })
	r := newRig(t, "mem://asitwas", nil)
	r.start(t)
	defer r.stop(t)
	require.True(t, r.Capabilities().MutatesData, "what agentrun brings is taken")
	marked := func() ptrace.Traces {
		td := oneTrace(1, "")
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, handover.Marker{Policy: "default"}.Seal())
		return td
	}
	td := marked()
	require.NoError(t, r.ConsumeTraces(t.Context(), td))
	require.Equal(t, marked(), td)
}

func TestCompletenessWithoutAgentrunComesFromTheEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(ptrace.SpanSlice)
		want bool
	}{
		"root is there":     {func(ptrace.SpanSlice) {}, true},
		"root is missing":   {func(s ptrace.SpanSlice) { drop(s, 1) }, false},
		"parents are there": {func(s ptrace.SpanSlice) { s.At(0).SetParentSpanID(s.At(0).SpanID()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			td := oneTrace(1, "")
			c.edit(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans())
			groups, _ := split(td, segregation.Default, false)
			require.Equal(t, c.want, groups[0].isComplete())
		})
	}
}

func drop(s ptrace.SpanSlice, id byte) {
	s.RemoveIf(func(span ptrace.Span) bool { return span.SpanID() == pcommon.SpanID{7: id} })
}

func TestQueueThatWaitsStillReportsTheResult(t *testing.T) {
	mem.Drop("queue")
	r := newRig(t, "mem://queue", func(c *Config) {
		c.Retry.Enabled = false
		q := *c.Queue.GetOrInsertDefault()
		c.Queue = configoptional.Some[exporterhelper.QueueBatchConfig](q)
	})
	r.start(t)
	defer r.stop(t)
	r.faults.Hook(func(context.Context, decktest.Op) error { return errAway })
	require.Error(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
	require.Equal(t, 1, count(r.objects(t), "tape.json"))
}

func TestReplacedGenerationThatMayNotBeDeletedFailsNoWrite(t *testing.T) {
	t.Cleanup(func() { mem.Drop("undeletable") })
	r := newRig(t, "mem://undeletable", func(c *Config) { c.Retry.Enabled = false })
	r.start(t)
	late := oneTrace(1, "")
	late.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return s.SpanID()[7] < 3 })
	early := oneTrace(1, "")
	early.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return s.SpanID()[7] == 3 })
	require.NoError(t, r.ConsumeTraces(t.Context(), early))
	r.faults.Hook(func(_ context.Context, op decktest.Op) error {
		if op.Name == "delete" {
			return &deck.StoreError{Op: "delete", Scheme: "mem", Reason: "access denied", Permanent: true, Err: errors.New("access denied")}
		}
		return nil
	})
	require.NoError(t, r.ConsumeTraces(t.Context(), late))
	require.Equal(t, 2, count(r.objects(t), "/tape.json"))
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), late))
	require.Equal(t, 1, count(r.objects(t), "/tape.json"))
	r.stop(t)
}

func TestStartTakesAwayWhatADeadWriterLeft(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "runs", "default", "01", ".tapedeck-tmp-DEAD")
	require.NoError(t, os.MkdirAll(filepath.Dir(left), 0o755))
	require.NoError(t, os.WriteFile(left, []byte("a secret"), 0o644))
	cfg := createDefaultConfig().(*Config)
	cfg.Deck = "file://" + dir + "?sync=false"
	e, err := newTapeExporter(exportertest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	e.sweeping.Wait()
	require.NoFileExists(t, left)
	require.NoError(t, e.shutdown(t.Context()))
}

// TestContentWithoutATapeIsSaid: whoever looks for the run of such a trace would find nothing, and not learn why.
func TestContentWithoutATapeIsSaid(t *testing.T) {
	for output, said := range map[string]bool{`{"text":"the answer"}`: true, "": false} {
		mem.Drop("unread")
		core, log := observer.New(zap.WarnLevel)
		r := newRigLogging(t, "mem://unread", zap.New(core), nil)
		r.start(t)
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetName("haystack.component.run")
		span.SetTraceID(pcommon.TraceID{15: 9})
		span.SetSpanID(pcommon.SpanID{7: 1})
		span.Attributes().PutStr("haystack.component.name", "joiner")
		span.Attributes().PutStr("haystack.component.output", output)
		require.NoError(t, r.ConsumeTraces(t.Context(), td))
		require.Equal(t, said, log.FilterMessageSnippet("gives no tape").Len() == 1)
		metadatatest.AssertEqualExporterTapeEmptyTraces(t, r.telemetry, []metricdata.DataPoint[int64]{
			{Value: 1, Attributes: attribute.NewSet(attribute.Bool("content", said))}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
		r.stop(t)
	}
}

// A queue of exporterhelper drops what it counts as nothing.
func TestAQueueKeepsATagThatCameAlone(t *testing.T) {
	for _, sizer := range []exporterhelper.RequestSizerType{exporterhelper.RequestSizerTypeRequests, exporterhelper.RequestSizerTypeBytes} {
		mem.Drop("queued-tag")
		r := newRig(t, "mem://queued-tag", func(c *Config) {
			q := c.Queue.GetOrInsertDefault()
			q.Sizer, q.QueueSize = sizer, 1<<20
		})
		r.start(t)
		require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "acme")))
		require.NoError(t, r.ConsumeTraces(t.Context(), tagAlone(1, "acme", 3)))
		keys := r.objects(t)
		r.stop(t)
		require.Positive(t, count(keys, "replays/r-1/acme/"), keys)
	}
}
