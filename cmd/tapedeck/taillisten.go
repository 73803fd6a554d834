// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/otlpserver"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// Bounds of what --listen holds: those of agentrun, for one machine.
const (
	listenBytes     = 256 << 20 // of evidence, in all
	listenTrace     = 64 << 20
	listenSpans     = 50_000 // of a trace
	listenTraces    = 10_000 // that are open
	listenAge       = time.Hour
	listenLate      = 256 // traces of which more may come when they were shown
	listenShutdown  = time.Minute
	listenRetry     = time.Second
	listenLastRetry = 30 * time.Second
)

// agentTail is what agents send, run by run. It is safe for concurrent use: two ports may give to it.
type agentTail struct {
	tenant string
	print  *runPrinter
	stderr io.Writer
	wants  func(*reel.Meta) bool // nil: all runs
	stop   func()
	open   *assembly.Assembler
	keep   func(ctx context.Context, set *evidence.Set) error // nil: nothing is kept
	close  func() error
	due    func(*tape.Tape) bool // which of the runs of a trace are shown; nil: all

	mu       sync.Mutex
	redactor ingest.Redactor
	came     int // spans and log records
	refused  int // of them, for which there was no room
	failed   error

	// of the one emission at a time
	sets  map[assembly.Key]*evidence.Set // of traces that were shown
	order []assembly.Key                 // of sets, the oldest first
}

func (f *tailFlags) listen(ctx context.Context, addresses []string, p *runPrinter, stderr io.Writer) (err error) {
	for _, address := range addresses {
		if err := checkListen(address, f.remote); err != nil {
			return err
		}
	}
	t, err := f.agents(ctx, p, concurrent(stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	var listeners []net.Listener
	for _, address := range addresses {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			for _, l := range listeners {
				err = errors.Join(err, l.Close())
			}
			return err
		}
		listeners = append(listeners, listener)
	}
	return t.run(ctx, listeners, f.quiet, f.idle)
}

// agents prepares to show what comes of agents, and to keep it where --to says so.
func (f *tailFlags) agents(ctx context.Context, p *runPrinter, stderr io.Writer) (*agentTail, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(f.keep, "mem:") {
		return nil, replay.ErrMem
	}
	redactor, err := f.open(stderr)
	if err != nil {
		return nil, err
	}
	t := &agentTail{
		tenant: cmp.Or(f.filter.Tenant, "default"), wants: f.filter.Wants(), print: p, stderr: stderr, redactor: ingest.Redactor{Redactor: redactor},
		close: func() error { return nil },
	}
	if f.keep == "" {
		return t, nil
	}
	sign, err := f.sign.signer() // before anything comes
	if err != nil {
		return nil, err
	}
	gate, err := f.gate()
	if err != nil {
		return nil, err
	}
	d, err := deck.Open(ctx, f.keep)
	if err != nil {
		return nil, err
	}
	t.close = d.Close
	guard := f.guard(d, redactor)
	if err := guard.wholeDeck(ctx, t.tenant, sampledTapes); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	w := &ingest.Writer{Options: derive.Options{Options: generation.Options{Sign: sign}, Gate: gate}, Tenant: t.tenant, SameKey: guard.trace, Say: sayer(stderr)}
	t.keep = func(ctx context.Context, set *evidence.Set) error {
		in := ingest.NewBatch(nil, nil)
		in.Set = set
		return w.Write(ctx, d, in)
	}
	return t, nil
}

// run shows runs until the context ends, which is no error.
func (t *agentTail) run(ctx context.Context, listeners []net.Listener, quiet, idle time.Duration) error {
	ctx, t.stop = context.WithCancel(ctx)
	defer t.stop()
	t.open = assembly.New(assembly.Options{
		QuietPeriod: quiet, IdleTimeout: idle, MaxAge: max(listenAge, idle), MaxTraceBytes: listenTrace, MaxTraceSpans: listenSpans, MaxTraces: listenTraces, MaxBytes: listenBytes,
		Emit: t.emit, EmitConcurrency: 1, InitialBackoff: listenRetry, MaxBackoff: listenLastRetry, ParkAfter: listenAge, ParkedInterval: listenAge, Shards: 1,
	})
	if err := t.open.Start(ctx); err != nil {
		return err
	}
	ports, listening := errgroup.WithContext(ctx)
	for _, l := range listeners {
		say(t.stderr, "listening on %s; set OTEL_EXPORTER_OTLP_ENDPOINT=http://%s", l.Addr(), l.Addr())
		ports.Go(func() error {
			refused, err := otlpserver.Listen(listening, l, t, math.MaxInt)
			sayRefused(t.stderr, refused)
			return err
		})
	}
	err := ports.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenShutdown)
	defer cancel()
	err = errors.Join(err, t.open.Shutdown(ending))
	t.mu.Lock()
	defer t.mu.Unlock()
	sayRedacted(t.stderr, &t.redactor)
	if t.refused > 0 {
		say(t.stderr, "%d of %d spans and log records were left out: more was open than is held", t.refused, t.came)
	}
	if t.came == 0 {
		say(t.stderr, "nothing came: is the exporter of the agent switched on, and does it send here?")
	}
	t.print.end(t.stderr)
	return errors.Join(err, t.failed)
}

// AddTraces implements otlpserver.Sink.
func (t *agentTail) AddTraces(td ptrace.Traces) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came += td.SpanCount()
	t.redactor.Traces(td)
	t.admit(td)
}

// AddLogs implements otlpserver.Sink.
func (t *agentTail) AddLogs(ld plog.Logs) {
	own := plog.NewLogs()
	ld.CopyTo(own)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came += own.LogRecordCount()
	t.redactor.Logs(own)
	t.admit(evidence.LogsToTraces(own, segregation.Default))
}

// Len implements otlpserver.Sink.
func (t *agentTail) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.came
}

// admit gives the evidence of a request to the assembler, by traces, and what stands between it.
func (t *agentTail) admit(td ptrace.Traces) {
	set := evidence.NewSet()
	set.AddTraces(td)
	var request assembly.Request
	size := assembly.Size{}
	var sizer ptrace.ProtoMarshaler
	key := func(id pcommon.TraceID) assembly.Key { return assembly.Key{Tenant: t.tenant, TraceID: id} }
	evident := map[pcommon.TraceID]bool{}
	for _, trace := range set.Split() {
		var id pcommon.TraceID
		if _, err := hex.Decode(id[:], []byte(trace.TraceID)); err != nil {
			continue // Split writes 32 digits
		}
		evident[id] = true
		own := trace.Set.Traces()
		items := own.SpanCount()
		chunk := assembly.TraceChunk{Key: key(id), Traces: own, Items: items, Bytes: int64(sizer.TracesSize(own)) + assembly.ChunkOverhead + int64(items)*assembly.ItemOverhead}
		look(own, func(r *genai.Recogniser, _ ptrace.Span) { chunk.RunSpan = chunk.RunSpan || r.IsRunSpan() })
		request.Chunks = append(request.Chunks, chunk)
		size.Items += chunk.Items
		size.Bytes += chunk.Bytes
	}
	look(td, func(r *genai.Recogniser, span ptrace.Span) {
		if id := span.TraceID(); !r.IsEvidence() && !id.IsEmpty() && (evident[id] || t.open.MayHold(id)) {
			request.Links = append(request.Links, assembly.Link{Key: key(id), ID: span.SpanID(), Parent: span.ParentSpanID(), Remote: assembly.HasRemoteParent(span)})
		}
	})
	if len(request.Chunks)+len(request.Links) == 0 {
		return
	}
	if err := t.open.Admit(context.Background(), size, func() assembly.Request { return request }); err != nil {
		t.refused += size.Items
	}
}

// look recognises each span.
func look(td ptrace.Traces, do func(*genai.Recogniser, ptrace.Span)) {
	var r genai.Recogniser
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				r.Look(ss.Scope().Name(), span)
				do(&r, span)
			}
		}
	}
}

// emit shows the runs of a trace that the assembler hands on.
func (t *agentTail) emit(ctx context.Context, e *assembly.Emission) error {
	fresh := evidence.NewSet()
	td := ptrace.NewTraces() // the emission stays as it is
	e.Traces.CopyTo(td)
	fresh.AddTraces(td)
	if err := t.show(ctx, e.Key, fresh, e.Reason == assembly.Shutdown && !e.Complete); err != nil {
		complain(t.stderr, err)
		return err
	}
	return nil
}

// show shows the runs of a trace, with what came of it before, and keeps what is new of it where it is kept.
func (t *agentTail) show(ctx context.Context, key assembly.Key, fresh *evidence.Set, open bool) error {
	if t.keep != nil {
		if err := t.keep(ctx, fresh); err != nil {
			return err
		}
	}
	if t.sets == nil {
		t.sets = map[assembly.Key]*evidence.Set{}
	}
	all := t.sets[key]
	if all == nil {
		all = evidence.NewSet()
		t.sets[key] = all
		if t.order = append(t.order, key); len(t.order) > listenLate {
			delete(t.sets, t.order[0])
			t.order = t.order[1:]
		}
	}
	all.Merge(fresh)
	trace := evidence.Trace{TraceID: hex.EncodeToString(key.TraceID[:]), Set: all}
	tapes, _ := reconstruct.Trace(trace, reconstruct.Options{Producer: generation.Producer(), Tenant: t.tenant, Redaction: tape.Redaction{Policy: "none"}})
	for _, run := range tapes {
		m := reel.Meta{Tenant: t.tenant}
		if m.Describe(run); t.wants != nil && !t.wants(&m) || t.due != nil && !t.due(run) {
			continue
		}
		if err := t.print.print(run, "", "", open); err != nil {
			t.mu.Lock()
			t.failed = err
			t.mu.Unlock()
			t.stop()
		}
	}
	return nil
}
