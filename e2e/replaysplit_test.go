// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

const replaySplit = "examples/replaysplit/collector.yaml"

// splitSides are the far ends of both sides and the deck that the collectors of a test share.
type splitSides struct {
	t                  *testing.T
	production, replay *farEnd
	deck               string
}

func newSides(t *testing.T) *splitSides {
	return &splitSides{t, newFarEnd(t), newFarEnd(t), decktest.FileURL(t)}
}

// collector starts one with the example; state is the folder of what it remembers.
func (s *splitSides) collector(state string, args ...string) *collectorproc.Process {
	s.t.Helper()
	return s.collectorWith(slim, state, nil, args...)
}

func (s *splitSides) collectorWith(name, state string, env []string, args ...string) *collectorproc.Process {
	s.t.Helper()
	env = append([]string{"TAPEDECK_DECK=" + s.deck, "TAPEDECK_LAYOUT=files", "PRODUCTION_ENDPOINT=" + s.production.address, "REPLAY_ENDPOINT=" + s.replay.address, "TAPEDECK_STATE=" + state, "TAPEDECK_SPOOL=" + filepath.Join(state, "spool")}, env...)
	return run(s.t, program(s.t, name), env, append([]string{"--config", example(s.t, replaySplit)}, args...)...)
}

// requireApart checks both far ends and the deck: nothing of a tagged run in production, nothing of an untagged one among the replays.
func (s *splitSides) requireApart(tagged map[pcommon.TraceID]bool) {
	s.t.Helper()
	wrong := func(end *farEnd, side string, isWrong func(bool) bool) {
		spans := 0
		for id, n := range end.traces() {
			if isWrong(tagged[id]) {
				s.t.Errorf("%d spans of run %s (tagged: %v) came to the %s side", n, id, tagged[id], side)
			}
			spans += n
		}
		if spans == 0 {
			s.t.Errorf("nothing came to the %s side", side)
		}
	}
	wrong(s.production, "production", func(tagged bool) bool { return tagged })
	wrong(s.replay, "replay", func(tagged bool) bool { return !tagged })
	for key := range (at{s.t, s.deck}).contents() {
		area, rest, _ := strings.Cut(key, "/")
		for id := range tagged {
			if strings.Contains(rest, id.String()) && !deck.IsNote(key) && (area == string(deck.AreaRuns) && tagged[id] || area == string(deck.AreaReplays) && !tagged[id]) {
				s.t.Errorf("run %s (tagged: %v) lies at %s", id, tagged[id], key)
			}
		}
	}
}

// piece is a span or a log record on its way, alone in its request.
type piece struct {
	traces ptrace.Traces
	logs   plog.Logs // if it is one
	isLog  bool
}

func (p piece) send(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	if p.isLog {
		exportLogs(t, conn, p.logs)
	} else {
		exportTraces(t, conn, p.traces)
	}
}

// splitRun is the recorded run number n in pieces, with two log records of its model. Every second run is tagged: on its last span, or on its last log
// record alone.
func splitRun(t *testing.T, n int) (pieces []piece, id pcommon.TraceID, tagged bool) {
	t.Helper()
	whole := another(t, uint32(n+1))
	count := whole.SpanCount()
	for i := range count {
		p := piece{traces: pick(whole, func(at int) bool { return at == i })}
		for span := range spans(p.traces) {
			id = span.TraceID()
			if n%4 == 1 && i == count-1 {
				span.Attributes().PutStr("replay_run_id", fmt.Sprintf("r-%d", n))
			}
		}
		pieces = append(pieces, p)
	}
	for i := range 2 {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("service.name", "agent")
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName("openai")
		record := sl.LogRecords().AppendEmpty()
		record.SetEventName("gen_ai.user.message")
		record.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + i))
		record.SetTraceID(id)
		for span := range spans(pieces[0].traces) {
			record.SetSpanID(span.SpanID())
		}
		record.Body().SetEmptyMap().PutStr("content", fmt.Sprintf("message %d", i))
		if n%4 == 3 && i == 1 {
			record.Attributes().PutStr("replay_run_id", fmt.Sprintf("r-%d", n))
		}
		pieces = append(pieces, piece{logs: ld, isLog: true})
	}
	return pieces, id, n%2 == 1
}

func TestReplayExampleKeepsTheSidesApart(t *testing.T) {
	s := newSides(t)
	p := s.collector(t.TempDir(), soon)
	conn := dial(t, p.GRPC)
	tagged := map[pcommon.TraceID]bool{}
	total, production := 0, 0
	for n := range 8 {
		pieces, id, isTagged := splitRun(t, n)
		tagged[id] = isTagged
		total += len(pieces)
		if !isTagged {
			production += len(pieces)
		}
		for _, p := range pieces {
			p.send(t, conn)
		}
	}
	// A replay that cannot tag itself, but its request says so.
	silent := another(t, 1000)
	for span := range spans(silent) {
		tagged[span.TraceID()] = true
	}
	exportTraces(t, conn, silent, "x-replay-run-id", "by-header")
	total += silent.SpanCount()
	md := pmetric.NewMetrics()
	for _, tag := range []string{"", "r-1"} {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("service.name", "service"+tag)
		if tag != "" {
			rm.Resource().Attributes().PutStr("replay_run_id", tag)
		}
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("runs")
		m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md)); err != nil {
		t.Fatal(err)
	}
	drained(t, p, total)
	until(t, "everything to arrive", func() bool {
		return s.production.count() == production && s.replay.count() == total-production && len(s.production.services()) == 1 && len(s.replay.services()) == 1
	})
	s.requireApart(tagged)
	if got := s.production.services()[0] + " " + s.replay.services()[0]; got != "service servicer-1" {
		t.Errorf("metrics: %s", got)
	}
	m := metrics(t, p)
	if m["connector_replaysplit_runs"] != 9 || m["connector_replaysplit_leaked_runs"] != 0 || m["exporter_tape_refused_traces"] != 0 {
		t.Errorf("metrics: %v", m)
	}
	replays := 0
	for key := range (at{t, s.deck}).contents() {
		if strings.HasPrefix(key, "replays/") && strings.HasSuffix(key, "/tape.json") {
			replays++
		}
	}
	if replays != 5 {
		t.Errorf("%d tapes of replays, want 5", replays)
	}
	stop(t, p)
	tapedeck(t, "verify", s.deck)
}

// TestKillWhileTheBackendsAreAway: agentrun has let go of every run, the backends have none of them, and the process is killed.
func TestKillWhileTheBackendsAreAway(t *testing.T) {
	s := newSides(t)
	s.production.setAway(true)
	s.replay.setAway(true)
	state := t.TempDir()
	p := s.collector(state, soon)
	conn := dial(t, p.GRPC)
	tagged := map[pcommon.TraceID]bool{}
	production, replay := 0, 0
	send := func(from, to int) {
		for n := from; n < to; n++ {
			pieces, id, isTagged := splitRun(t, n)
			tagged[id] = isTagged
			if isTagged {
				replay += len(pieces)
			} else {
				production += len(pieces)
			}
			for _, p := range pieces {
				p.send(t, conn)
			}
		}
	}
	send(0, 40)
	drained(t, p, production+replay)
	if n := s.production.count() + s.replay.count(); n != 0 {
		t.Fatalf("%d spans came to backends that are away", n)
	}
	// The second one is killed with runs that are still open.
	send(40, 60)
	for life := range 2 {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		s.replay.setAway(life == 0)
		s.production.setAway(false)
		p = s.collector(state, soon)
	}
	until(t, fmt.Sprintf("%d and %d spans to arrive", production, replay), func() bool {
		return s.production.distinct() == production && s.replay.distinct() == replay
	})
	s.requireApart(tagged)
	t.Logf("%d spans, %d of them twice", production+replay, s.production.count()+s.replay.count()-production-replay)
	stop(t, p)
}

const splitGateway = `
extensions:
  health_check: {endpoint: "${env:HEALTH_ENDPOINT}"}
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "${env:OTLP_GRPC_ENDPOINT}"}
connectors:
  # Before the load balancer, which would send log records to other collectors than the spans of their run.
  genailogs:
exporters:
  load_balancing:
    routing_key: traceID
    protocol:
      otlp:
        tls: {insecure: true}
        # A request is acknowledged when the collector of its runs has it.
        sending_queue: {enabled: false}
    resolver:
      static:
        hostnames: [MEMBERS]
service:
  extensions: [health_check]
  pipelines:
    traces: {receivers: [otlp, genailogs], exporters: [load_balancing]}
    logs: {receivers: [otlp], exporters: [genailogs]}
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: "${env:METRICS_PORT}"}}}}]}}
`

// TestTaggedRunsAndOthersNeverMeet sends 1,000 runs, a few spans and records at a time, in random order, over several connections, through a load balancer to two
// collectors. One span or one log record alone says that a run is a replay.
func TestTaggedRunsAndOthersNeverMeet(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) { testInterleaved(t, restart) })
	}
}

func testInterleaved(t *testing.T, restart bool) {
	const runs, connections, seed = 1000, 6, 11
	s := newSides(t)
	// Long enough that no run ends while its spans are still coming, on any machine; the last shutdown ends all.
	patient := []string{"--set=processors.agentrun.quiet_period=10m", "--set=processors.agentrun.idle_timeout=20m"}
	last := append([]string{"--set=processors.agentrun.on_shutdown=emit"}, patient...)
	if !restart {
		patient = last
	}
	states := []string{t.TempDir(), t.TempDir()}
	members := []*collectorproc.Process{s.collector(states[0], patient...), s.collector(states[1], patient...)}
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	text := strings.Replace(splitGateway, "MEMBERS", `"`+members[0].GRPC+`", "`+members[1].GRPC+`"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := run(t, program(t, full), nil, "--config", file)

	tagged := map[pcommon.TraceID]bool{}
	var first, second []piece
	production, replay := 0, 0
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range runs {
		pieces, id, isTagged := splitRun(t, n)
		tagged[id] = isTagged
		if isTagged {
			replay += len(pieces)
		} else {
			production += len(pieces)
		}
		for _, p := range pieces {
			if restart && r.IntN(2) == 0 {
				second = append(second, p)
			} else {
				first = append(first, p)
			}
		}
	}
	conns := make([]*grpc.ClientConn, connections)
	for i := range conns {
		conns[i] = dial(t, gateway.GRPC)
	}
	deliver := func(pieces []piece) {
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		var wg sync.WaitGroup
		for i, conn := range conns {
			wg.Go(func() {
				share := pieces[i*len(pieces)/connections : (i+1)*len(pieces)/connections]
				for batch := range slices.Chunk(share, 7) {
					td, ld := ptrace.NewTraces(), plog.NewLogs()
					for _, p := range batch {
						if p.isLog {
							p.logs.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
						} else {
							p.traces.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
						}
					}
					exportTraces(t, conn, td)
					exportLogs(t, conn, ld)
				}
			})
		}
		wg.Wait()
	}
	deliver(first)
	if restart {
		// One is stopped, the other is killed.
		stop(t, members[0])
		if err := members[1].Kill(); err != nil {
			t.Fatal(err)
		}
		for i, m := range members {
			members[i] = s.collectorWith(slim, states[i], []string{"OTLP_GRPC_ENDPOINT=" + m.GRPC}, last...)
		}
		deliver(second)
	}
	for _, m := range members {
		stop(t, m)
	}
	// What is in the queue of a backend when a collector stops waits for the next start.
	for _, state := range states {
		s.collector(state)
	}
	until(t, "the queues to be empty", func() bool { return s.production.count() >= production && s.replay.count() >= replay })
	s.requireApart(tagged)
	if s.production.count() != production || s.replay.count() != replay {
		t.Errorf("seed %d: %d of %d items in production, %d of %d among the replays", seed, s.production.count(), production, s.replay.count(), replay)
	}
	// In the deck every run is whole again, and nothing is undecided.
	lies := map[string]int{}
	d := at{t, s.deck}.open()
	for place, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		current, ok, err := d.Current(t.Context(), place)
		if err != nil || !ok {
			t.Fatal(place, ok, err)
		}
		lies[string(place.Area)] += current.Items
	}
	at{t, s.deck}.close(d)
	if lies["runs"] != production || lies["replays"] != replay || lies["undecided"] != 0 {
		t.Errorf("seed %d: the deck has %v, want %d in runs and %d in replays", seed, lies, production, replay)
	}
}

func TestTagThatComesAfterMaxAge(t *testing.T) {
	s := newSides(t)
	early := []string{soon, "--set=processors.agentrun.idle_timeout=400ms", "--set=processors.agentrun.max_age=500ms"}
	p := s.collector(t.TempDir(), early...)
	inDeck := func(prefix, id string) (n int) {
		for key := range (at{t, s.deck}).contents() {
			if strings.HasPrefix(key, prefix) && strings.Contains(key, id) && !deck.IsNote(key) {
				n++
			}
		}
		return n
	}
	tombstones := func(id string) (n int) {
		for key := range (at{t, s.deck}).contents() {
			if strings.HasPrefix(key, "runs/") && strings.HasSuffix(key, id+".buried/trace.json") {
				n++
			}
		}
		return n
	}

	// The root, with the tag, comes when the rest has been passed on as undecided.
	whole := another(t, 1)
	id := traceID(whole)
	root := func(want bool) ptrace.Traces {
		n := -1
		isRoot := map[int]bool{}
		for span := range spans(whole) {
			n++
			isRoot[n] = span.ParentSpanID().IsEmpty()
		}
		return pick(whole, func(at int) bool { return isRoot[at] == want })
	}
	send(t, p, root(false))
	until(t, "the run to be undecided", func() bool { return inDeck("undecided/", id) > 0 })
	tag := root(true)
	for span := range spans(tag) {
		span.Attributes().PutStr("replay_run_id", "late")
	}
	send(t, p, tag)
	until(t, "the run to be a replay", func() bool { return inDeck("replays/late/", id) > 0 && inDeck("undecided/", id) == 0 })
	if n := inDeck("runs/", id); n > 0 {
		t.Errorf("%d objects of it lie in production", n)
	}
	until(t, "the promotion to be counted", func() bool { return metrics(t, p)["exporter_tape_promoted_traces"] == 1 })
	if m := metrics(t, p); m["connector_replaysplit_leaked_runs"] != 0 {
		t.Errorf("metrics: %v", m)
	}

	// The root comes first and the run has been written as production when the tag comes: it is taken back, and leaves a tombstone.
	whole = another(t, 2)
	id = traceID(whole)
	send(t, p, whole)
	until(t, "the run to lie in production", func() bool { return inDeck("runs/", id) > 0 })
	late := another(t, 2)
	for span := range spans(late) {
		spanID := span.SpanID()
		spanID[0] ^= 0xff
		span.SetParentSpanID(span.SpanID())
		span.SetSpanID(spanID)
		span.Attributes().PutStr("replay_run_id", "later")
	}
	send(t, p, pick(late, func(at int) bool { return at == 0 }))
	until(t, "the run to be a replay", func() bool { return inDeck("replays/later/", id) > 0 && inDeck("runs/", id) == 0 })
	if n := tombstones(id); n != 1 {
		t.Errorf("%d tombstones", n)
	}
	until(t, "the leak to be counted", func() bool { // once the call of the exporter has returned
		m := metrics(t, p)
		return m["connector_replaysplit_leaked_runs"] == 1 && m["exporter_tape_leaked_traces"] == 1
	})
	stop(t, p)
	tapedeck(t, "verify", s.deck)
}
