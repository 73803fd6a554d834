// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector"
	"github.com/tapedeck/tapedeck/connector/replaysplitconnector"
	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor"
	"github.com/tapedeck/tapedeck/processor/replaytagprocessor"
)

// The keys and markers that the configured pipelines look for beside the default.
var configured = segregation.Config{Keys: []string{segregation.Key, "eval.run"}, Markers: []segregation.Marker{{Key: "is_eval"}}}

// way is one way to tag a replay, as the table of docs/segregation.md lists them.
type way struct {
	row   string // what its row in the first column begins with
	says  string // what it is called in the row
	tag   func(*telemetry)
	id    string // under which replay it lies
	rules segregation.Config
	// metadata of the request.
	metadata map[string][]string
}

func onSpan(put func(ptrace.Span)) func(*telemetry) {
	return func(l *telemetry) { put(l.span()) }
}

func attribute(key string) func(*telemetry) {
	return onSpan(func(s ptrace.Span) { s.Attributes().PutStr(key, "r1") })
}

var ways = []way{
	{row: "resource attribute", says: "`replay_run_id`", tag: func(l *telemetry) { l.resource().PutStr("replay_run_id", "r1") }},
	{row: "attribute of a", says: "span", tag: attribute("replay_run_id")},
	{row: "attribute of a", says: "event", tag: onSpan(func(s ptrace.Span) { s.Events().AppendEmpty().Attributes().PutStr("replay_run_id", "r1") })},
	{row: "attribute of a", says: "link", tag: onSpan(func(s ptrace.Span) { s.Links().AppendEmpty().Attributes().PutStr("replay_run_id", "r1") })},
	{row: "attribute of a", says: "scope", tag: func(l *telemetry) { l.scope().PutStr("replay_run_id", "r1") }},
	{row: "attribute of a", says: "log record", tag: func(l *telemetry) { l.record().PutStr("replay_run_id", "r1") }},
	{row: "baggage", says: "`baggage.`", tag: attribute("baggage.replay_run_id")},
	{row: "baggage", says: "as it is", tag: attribute("replay_run_id")},
	{row: "baggage", says: "`baggage`", tag: onSpan(func(s ptrace.Span) { s.Attributes().PutStr("baggage", "user=7,replay_run_id=r1") })},
	{row: "baggage", says: "`http.request.header.baggage`", tag: onSpan(func(s ptrace.Span) {
		s.Attributes().PutEmptySlice("http.request.header.baggage").AppendEmpty().SetStr("replay_run_id=r1")
	})},
	{row: "request header", says: "[replaytag]", metadata: map[string][]string{"x-replay-run-id": {"r1"}}},
	{row: "other keys", says: "`keys`", rules: configured, tag: attribute("eval.run")},
	{row: "other keys", says: "`keys`", rules: configured, tag: attribute("baggage.eval.run")},
	{row: "other keys", says: "`markers`", rules: configured, id: segregation.Unnamed, tag: onSpan(func(s ptrace.Span) { s.Attributes().PutBool("is_eval", true) })},
}

// TestEveryWayOfTheTaggingTableIsTested keeps table and test together: a row or a name in it that nobody tests fails, and so does a way
// that the table does not have.
func TestEveryWayOfTheTaggingTableIsTested(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "segregation.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Tagging\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for line := range strings.SplitSeq(section, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| how ") && !strings.HasPrefix(line, "| ---") {
			rows = append(rows, strings.TrimPrefix(line, "| "))
		}
	}
	require.NotEmpty(t, rows)
	for _, row := range rows {
		var said []string
		for _, w := range ways {
			if strings.HasPrefix(row, w.row) {
				require.Contains(t, row, w.says, "the row does not say what is tested")
				said = append(said, w.says)
			}
		}
		require.NotEmpty(t, said, "no way of this row is tested: %s", row)
		// Components and options are no ways.
		named := regexp.MustCompile("`[^`]+`").FindAllString(row, -1)
		for _, name := range slices.DeleteFunc(named, func(n string) bool {
			return slices.Contains([]string{"`replay`", "`OTEL_RESOURCE_ATTRIBUTES=replay_run_id=…`"}, n)
		}) {
			require.Contains(t, said, name, "not tested: %s", row)
		}
		if list, ok := strings.CutPrefix(row, "attribute of a "); ok {
			list, _, _ = strings.Cut(list, " | ")
			for _, name := range regexp.MustCompile(`, | or `).Split(list, -1) {
				require.Contains(t, said, name)
			}
		}
	}
	for _, w := range ways {
		require.True(t, slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, w.row) }), "the table has no row %q", w.row)
	}
}

// telemetry is what one run sends: a web request, and below it an agent with a call, and a log record. The tag stands on the request, which is no
// evidence of a run, or on the call.
type telemetry struct {
	traces   ptrace.Traces
	logs     plog.Logs
	evidence bool
}

var traceID = pcommon.TraceID{0: 7, 15: 1}

func newTelemetry(evidence bool) *telemetry {
	l := &telemetry{ptrace.NewTraces(), plog.NewLogs(), evidence}
	add := func(service, scope string) ptrace.SpanSlice {
		rs := l.traces.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", service)
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		return ss.Spans()
	}
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	span := func(to ptrace.SpanSlice, id, parent byte, name string, attributes ...string) {
		s := to.AppendEmpty()
		s.SetTraceID(traceID)
		s.SetSpanID(pcommon.SpanID{7: id})
		s.SetParentSpanID(pcommon.SpanID{7: parent})
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(id) * time.Second)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(20-id) * time.Second)))
		for i := 0; i < len(attributes); i += 2 {
			s.Attributes().PutStr(attributes[i], attributes[i+1])
		}
	}
	span(add("web", "net/http"), 1, 0, "POST /chat", "http.request.method", "POST")
	agent := add("agent", "opentelemetry.instrumentation.openai_v2")
	span(agent, 2, 1, "invoke_agent clerk", "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "clerk")
	span(agent, 3, 2, "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Where is my parcel?"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"In Leipzig."}],"finish_reason":"stop"}]`)
	rl := l.logs.ResourceLogs().AppendEmpty()
	sl := rl.ScopeLogs().AppendEmpty()
	record := sl.LogRecords().AppendEmpty()
	record.SetTraceID(traceID)
	record.SetTimestamp(pcommon.NewTimestampFromTime(begin))
	if evidence {
		record.SetSpanID(pcommon.SpanID{7: 3})
		record.SetEventName("gen_ai.user.message")
		record.Attributes().PutStr("gen_ai.system", "openai")
	} else {
		record.SetSpanID(pcommon.SpanID{7: 1})
		record.Body().SetStr("the nightly evaluation begins")
	}
	return l
}

func (l *telemetry) part() ptrace.ResourceSpans {
	if l.evidence {
		return l.traces.ResourceSpans().At(1)
	}
	return l.traces.ResourceSpans().At(0)
}

func (l *telemetry) resource() pcommon.Map { return l.part().Resource().Attributes() }
func (l *telemetry) scope() pcommon.Map    { return l.part().ScopeSpans().At(0).Scope().Attributes() }

func (l *telemetry) span() ptrace.Span {
	spans := l.part().ScopeSpans().At(0).Spans()
	return spans.At(spans.Len() - 1)
}

func (l *telemetry) record() pcommon.Map {
	return l.logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
}

// collector is the pipeline of examples/replaysplit in one process, on a spool and a deck.
type collector struct {
	t      *testing.T
	traces consumer.Traces
	logs   consumer.Logs
	parts  []component.Component // in the order in which they start
	spool  string

	mu   sync.Mutex
	took map[string]int // spans of runs by side
}

// options of a collector.
type options struct {
	nonAgent, rootless, onShutdown, deck, spool string
	rules                                       segregation.Config
}

// tap counts what a side gets and passes it on.
type tap struct {
	consumer.Traces
	side string
	of   *collector
}

func (s tap) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	s.of.mu.Lock()
	s.of.took[s.side] += td.SpanCount()
	s.of.mu.Unlock()
	return s.Traces.ConsumeTraces(ctx, td)
}

// warm makes what package deck keeps for the life of the process (compressors), which must not belong to a bubble of synctest.
var warm = sync.OnceValue(func() error {
	mem.Drop("warm")
	d, err := deck.Open(context.Background(), "mem://warm")
	if err != nil {
		return err
	}
	place := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: traceID.String()}
	digest, _, err := d.PutPart(context.Background(), place, []byte("part"))
	if err == nil {
		_, err = d.ReadPart(context.Background(), place, digest)
	}
	return errors.Join(err, d.Close())
})

// freshDeck empties the deck that all tests use one after the other.
func freshDeck() string {
	mem.Drop("segregation")
	return "mem://segregation"
}

// bubble runs a test on a clock of its own.
func bubble(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	require.NoError(t, warm())
	synctest.Test(t, body)
}

func newCollector(t *testing.T, o options) *collector {
	t.Helper()
	c := &collector{t: t, spool: o.spool, took: map[string]int{}}
	sides := map[pipeline.ID]consumer.Traces{}
	split := replaysplitconnector.NewFactory().CreateDefaultConfig().(*replaysplitconnector.Config)
	split.Tags = o.rules
	for _, side := range []string{"production", "replay", "undecided"} {
		cfg := tapeexporter.NewFactory().CreateDefaultConfig().(*tapeexporter.Config)
		cfg.Deck, cfg.Accept, cfg.Replay = o.deck, side, o.rules
		e, err := tapeexporter.NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(tapeexporter.NewFactory().Type()), cfg)
		require.NoError(t, err)
		c.parts = append(c.parts, e)
		id := pipeline.NewIDWithName(pipeline.SignalTraces, side)
		sides[id] = tap{e, side, c}
		list := map[string]*[]pipeline.ID{"production": &split.Production, "replay": &split.Replay, "undecided": &split.Undecided}[side]
		*list = []pipeline.ID{id}
	}
	require.NoError(t, split.Validate())
	splitter, err := replaysplitconnector.NewFactory().CreateTracesToTraces(t.Context(), connectortest.NewNopSettings(replaysplitconnector.NewFactory().Type()), split, connector.NewTracesRouter(sides))
	require.NoError(t, err)

	cfg := agentrunprocessor.NewFactory().CreateDefaultConfig().(*agentrunprocessor.Config)
	cfg.Redaction, cfg.NonAgent, cfg.OnShutdown, cfg.Replay, cfg.Spool.Directory = "none", o.nonAgent, o.onShutdown, o.rules, o.spool
	cfg.Spool.Sync = "none"
	cfg.Spool.MaxBytes = 64 << 20 // small segments: kill copies the files of the spool, and a start scans the open one
	if o.rootless != "" {
		cfg.Rootless = o.rootless
	}
	require.NoError(t, cfg.Validate())
	agentrun, err := agentrunprocessor.NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(agentrunprocessor.NewFactory().Type()), cfg, splitter)
	require.NoError(t, err)

	tagging := replaytagprocessor.NewFactory().CreateDefaultConfig().(*replaytagprocessor.Config)
	tagging.Tags = []replaytagprocessor.Tag{{FromMetadata: "x-replay-run-id"}}
	require.NoError(t, tagging.Validate())
	tagSettings := processortest.NewNopSettings(replaytagprocessor.NewFactory().Type())
	tagTraces, err := replaytagprocessor.NewFactory().CreateTraces(t.Context(), tagSettings, tagging, agentrun)
	require.NoError(t, err)
	logsConfig := genailogsconnector.NewFactory().CreateDefaultConfig().(*genailogsconnector.Config)
	logsConfig.Replay = o.rules
	genailogs, err := genailogsconnector.NewFactory().CreateLogsToTraces(t.Context(), connectortest.NewNopSettings(genailogsconnector.NewFactory().Type()), logsConfig, agentrun)
	require.NoError(t, err)
	tagLogs, err := replaytagprocessor.NewFactory().CreateLogs(t.Context(), tagSettings, tagging, genailogs)
	require.NoError(t, err)
	c.traces, c.logs = tagTraces, tagLogs
	c.parts = append(c.parts, splitter, agentrun, tagTraces, genailogs, tagLogs)
	for _, p := range c.parts {
		require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	}
	return c
}

func (c *collector) stop() {
	for _, p := range slices.Backward(c.parts) {
		require.NoError(c.t, p.Shutdown(context.Background()))
	}
}

// kill leaves the spool as kill -9 does: what the process does when it is put away afterwards goes to another directory.
func (c *collector) kill() (spool string) {
	spool = c.t.TempDir()
	require.NoError(c.t, os.CopyFS(spool, os.DirFS(c.spool)))
	c.stop()
	return spool
}

func (c *collector) send(metadata map[string][]string, l *telemetry) {
	c.t.Helper()
	ctx := client.NewContext(c.t.Context(), client.Info{Metadata: client.NewMetadata(metadata)})
	require.NoError(c.t, c.logs.ConsumeLogs(ctx, l.logs))
	require.NoError(c.t, c.traces.ConsumeTraces(ctx, l.traces))
	synctest.Wait()
}

// requireOnly checks that of the trace nothing came to the production end, and that its tape lies at one place.
func (c *collector) requireOnly(url, area string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if area != "runs" {
		require.Zero(c.t, c.took["production"], "spans of a replay came to the production end")
	}
	tapes := tapesIn(c.t, url)
	require.Len(c.t, tapes, 1, tapes)
	require.True(c.t, strings.HasPrefix(tapes[0], area+"/"), "want it under %s: %s", area, tapes)
	for _, key := range keysIn(c.t, url) {
		require.False(c.t, area != "runs" && strings.HasPrefix(key, "runs/") && strings.HasSuffix(key, deck.PartSuffix), "evidence of a replay lies at %s", key)
	}
}

func keysIn(t *testing.T, url string) (keys []string) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), url)
	require.NoError(t, err)
	for o, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

func tapesIn(t *testing.T, url string) []string {
	t.Helper()
	return slices.DeleteFunc(keysIn(t, url), func(key string) bool { return !strings.HasSuffix(key, "/tape.json") })
}

func TestEveryWayToTagAReplayReachesTheDeck(t *testing.T) {
	for _, w := range ways {
		for _, mode := range []string{"drop", "forward", "keep"} {
			for _, evidence := range []bool{true, false} {
				for _, killed := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/non_agent=%s/on evidence=%t/killed=%t", w.row, w.says, mode, evidence, killed), func(t *testing.T) {
						bubble(t, func(t *testing.T) {
							o := options{nonAgent: mode, rules: w.rules, deck: freshDeck(), spool: t.TempDir()}
							c := newCollector(t, o)
							defer func() { c.stop() }()
							l := newTelemetry(evidence)
							if w.tag != nil {
								w.tag(l)
							}
							c.send(w.metadata, l)
							if killed {
								o.spool = c.kill()
								c = newCollector(t, o)
							}
							time.Sleep(10 * time.Second)
							synctest.Wait()
							id := w.id
							if id == "" {
								id = "r1"
							}
							c.requireOnly(o.deck, "replays/"+id)
						})
					})
				}
			}
		}
	}
}

func TestRunWithoutATagIsProduction(t *testing.T) {
	for _, mode := range []string{"drop", "forward", "keep"} {
		bubble(t, func(t *testing.T) {
			o := options{nonAgent: mode, deck: freshDeck(), spool: t.TempDir()}
			c := newCollector(t, o)
			defer c.stop()
			c.send(nil, newTelemetry(true))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			c.requireOnly(o.deck, "runs")
		})
	}
}

// TestReplayThatIsSilentForLongStaysOutOfProduction is a replay with the tag on its root alone, which comes long after its calls: into the same
// collector or into another one with the same deck, with every way in which the calls may have left before.
func TestReplayThatIsSilentForLongStaysOutOfProduction(t *testing.T) {
	for _, two := range []bool{false, true} {
		for _, evidence := range []bool{true, false} {
			for _, onShutdown := range []string{"", "emit"} {
				for _, rootless := range []string{"undecided", "production"} {
					t.Run(fmt.Sprintf("two=%t/root is evidence=%t/on_shutdown=%s/rootless=%s", two, evidence, onShutdown, rootless), func(t *testing.T) {
						bubble(t, func(t *testing.T) {
							o := options{nonAgent: "drop", rootless: rootless, onShutdown: onShutdown, deck: freshDeck(), spool: t.TempDir()}
							c := newCollector(t, o)
							root, calls := apart(newTelemetry(true), evidence)
							c.send(nil, calls)
							if onShutdown == "" {
								time.Sleep(6 * time.Minute)
								synctest.Wait()
							} else {
								c.stop()
							}
							leaked := rootless == "production"
							if leaked {
								require.Positive(t, c.took["production"])
							} else {
								require.Zero(t, c.took["production"])
							}
							if two || onShutdown != "" {
								other := newCollector(t, options{nonAgent: "drop", deck: o.deck, spool: t.TempDir()})
								other.send(nil, root)
								time.Sleep(10 * time.Second)
								synctest.Wait()
								other.requireOnly(o.deck, "replays/r1")
								other.stop()
							} else {
								c.send(nil, root)
								time.Sleep(10 * time.Second)
								synctest.Wait()
								if leaked {
									c.took = map[string]int{}
								}
								c.requireOnly(o.deck, "replays/r1")
							}
							if onShutdown == "" {
								c.stop()
							}
						})
					})
				}
			}
		}
	}
}

// apart parts a run into its tagged root, which is the agent or the web request around it, and what lies below.
func apart(l *telemetry, evidence bool) (root, calls *telemetry) {
	root, calls = newTelemetry(true), l
	for _, side := range []*telemetry{root, calls} {
		side.logs = plog.NewLogs()
	}
	rootID := pcommon.SpanID{7: 1}
	if evidence {
		rootID = pcommon.SpanID{7: 2}
	}
	take := func(l *telemetry, isRoot bool) {
		for _, rs := range l.traces.ResourceSpans().All() {
			rs.ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool {
				return (s.SpanID() == rootID) != isRoot || evidence && s.SpanID() == pcommon.SpanID{7: 1}
			})
			for _, s := range rs.ScopeSpans().At(0).Spans().All() {
				if isRoot {
					s.SetParentSpanID(pcommon.SpanID{})
					s.Attributes().PutStr("replay_run_id", "r1")
				}
			}
		}
	}
	take(root, true)
	take(calls, false)
	return root, calls
}
