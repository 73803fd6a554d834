// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/assembly/spool"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
)

// agentRun takes the evidence out of requests and emits it trace by trace.
type agentRun struct {
	cfg       *Config
	logger    *zap.Logger
	next      consumer.Traces
	telemetry *metadata.TelemetryBuilder
	tags      *segregation.Rules
	assembler *assembly.Assembler
	log       atomic.Pointer[spool.Log] // nil without a spool, and before the start
	status    *statusServer
	splitters splitterPool
	// copies is set when the next component changes what it gets: an emission that fails must be passed on again as it was. Where there is a spool, a
	// repetition reads it from there, and the next component owns what it gets.
	copies        bool
	nonAgentAttrs metric.MeasurementOption
	rootlessAttrs metric.MeasurementOption
	unredacted    atomic.Int64 // requests that were refused because no redaction had seen them
	tooDeep       atomic.Int64 // requests that were refused because nobody could read them back
}

var _ processor.Traces = (*agentRun)(nil)

func newTracesProcessor(set processor.Settings, cfg *Config, next consumer.Traces) (*agentRun, error) {
	tags, err := cfg.Replay.Rules()
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	p := &agentRun{
		cfg:           cfg,
		logger:        set.Logger,
		next:          next,
		telemetry:     telemetry,
		tags:          tags,
		copies:        next.Capabilities().MutatesData && cfg.Spool.Directory == "",
		rootlessAttrs: metric.WithAttributeSet(attribute.NewSet(attribute.String("side", cfg.Rootless))),
		nonAgentAttrs: metric.WithAttributeSet(attribute.NewSet(attribute.String("action", cfg.NonAgent))),
	}
	rules := splitting{keep: cfg.NonAgent == nonAgentKeep, tenant: cfg.Tenant, redacted: cfg.Redaction == redactionRequired, rules: tags}
	p.splitters = newSplitterPool(rules)
	o := assembly.Options{
		QuietPeriod: cfg.QuietPeriod, IdleTimeout: cfg.IdleTimeout, MaxAge: cfg.MaxAge,
		MaxTraceBytes: cfg.MaxTraceBytes, MaxTraceSpans: cfg.MaxTraceSpans,
		MaxTraces: cfg.MaxTraces, MaxBytes: cfg.MaxMemoryBytes,
		Park: cfg.parks(),
		Emit: p.emit, EmitBatch: p.emitBatch, EmitConcurrency: cfg.EmitConcurrency, EmitTimeout: cfg.EmitTimeout,
		InitialBackoff: cfg.Retry.InitialInterval, MaxBackoff: cfg.Retry.MaxInterval,
		ParkAfter: cfg.Retry.ParkAfter, ParkedInterval: cfg.Retry.ParkedInterval,
		Logger: set.Logger,
	}
	if cfg.Spool.Directory != "" {
		o.OpenSpool = p.openSpool
	}
	p.assembler = assembly.New(o)
	if cfg.StatusEndpoint != "" {
		p.status = newStatusServer(cfg.StatusEndpoint, p.assembler, set.Logger)
	}
	if err := p.registerStats(); err != nil {
		telemetry.Shutdown()
		return nil, err
	}
	return p, nil
}

// Capabilities: evidence is removed from requests.
func (*agentRun) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Start opens the traces in the spool again. Receivers start later.
func (p *agentRun) Start(ctx context.Context, _ component.Host) error {
	if p.cfg.Redaction == redactionRequired && !redact.Announced() {
		return errors.New("redaction is required, and no pipeline for traces of this collector has an agentredaction processor: every request with spans of agents " +
			"would be refused; put agentredaction before agentrun, or set redaction: none")
	}
	if err := p.assembler.Start(ctx); err != nil {
		return err
	}
	if directory := p.cfg.Spool.Directory; directory != "" {
		p.logger.Info("open runs are kept in the spool", zap.String("directory", directory))
	} else {
		p.logger.Info("open runs are kept in memory, and are lost when the process is killed: no spool is configured")
	}
	if p.status != nil {
		return p.status.start()
	}
	return nil
}

func (p *agentRun) openSpool(recovered func(spool.Held) error) (assembly.Spool, error) {
	ctx := context.Background()
	l, err := spool.Open(p.cfg.Spool.Directory, spool.Options{
		MaxBytes: p.cfg.Spool.MaxBytes,
		Sync:     spool.SyncMode(p.cfg.Spool.Sync), SyncInterval: p.cfg.Spool.SyncInterval,
		Compression: spool.Compression(p.cfg.Spool.Compression),
		Logger:      p.logger,
		OnCommit: func(d time.Duration, _ int64, _ int) {
			p.telemetry.ProcessorAgentrunSpoolCommitDuration.Record(ctx, d.Seconds())
		},
	}, recovered)
	if errors.Is(err, spool.ErrLocked) {
		return nil, fmt.Errorf("%w; an agentrun processor needs a directory of its own, and each pipeline that names one has its own processor: %s",
			err, p.cfg.Spool.Directory)
	}
	if err != nil {
		return nil, err
	}
	p.log.Store(l)
	return l, nil
}

// Shutdown emits or parks what is held. The receivers have stopped before, the next component stops after.
func (p *agentRun) Shutdown(ctx context.Context) error {
	defer p.telemetry.Shutdown()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ShutdownTimeout)
	defer cancel()
	var err error
	if p.status != nil {
		err = p.status.shutdown()
	}
	return errors.Join(err, p.assembler.Shutdown(ctx))
}

// ConsumeTraces admits the evidence of a request, or refuses the request whole. Then it passes the rest on in the same call. When the
// next component refuses the rest, the sender repeats the whole request. Evidence that was admitted already is removed as a duplicate.
func (p *agentRun) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	// What went through agentredaction is no deeper than what is stored.
	if p.cfg.Redaction == redactionNone {
		if err := nesting.CheckTraces(td); err != nil {
			p.tooDeep.Add(1)
			return consumererror.NewPermanent(status.Error(codes.InvalidArgument, "agentrun: "+err.Error()))
		}
	}
	evidence.ForwardVerdicts(td)
	s := p.splitters.get()
	defer p.splitters.put(s)
	s.inspect(ctx, td, p.assembler)
	if s.unredacted > 0 {
		if p.unredacted.Add(1) == 1 {
			p.logger.Error("a request is refused: " + unredacted + "; further ones are counted only")
		}
		return consumererror.NewPermanent(fmt.Errorf("agentrun: %d spans are not redacted: %s", s.unredacted, unredacted))
	}

	if s.size.Items > 0 || len(s.links) > 0 {
		var taken assembly.Request
		err := p.assembler.Admit(ctx, s.size, func() assembly.Request { taken = s.take(td); return taken })
		if err != nil {
			giveBack(td, taken, s.chunks)
		}
		if errors.Is(err, assembly.ErrTooLarge) {
			return consumererror.NewPermanent(fmt.Errorf("agentrun: %w", err))
		}
		if err != nil {
			return fmt.Errorf("agentrun: %w", err)
		}
	}
	p.count(ctx, s)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().Remove(handover.Redaction) // of what is no evidence
	}
	if p.cfg.NonAgent == nonAgentDrop || td.ResourceSpans().Len() == 0 {
		return nil
	}
	return p.next.ConsumeTraces(ctx, td)
}

const unredacted = "put an agentredaction processor before agentrun in this collector, or set redaction: none if nothing has to be redacted"

// giveBack puts the evidence of a refused request back: the caller may try again with the same data.
func giveBack(td ptrace.Traces, r assembly.Request, from []chunk) {
	for i, f := range r.Chunks {
		notes := from[i].notes.Len() // they stand before the rest
		f.Traces.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { notes--; return notes >= 0 })
		for _, rs := range f.Traces.ResourceSpans().All() {
			seal(rs.Resource().Attributes())
		}
		f.Traces.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
}

func (p *agentRun) count(ctx context.Context, s *splitter) {
	if s.others > 0 {
		p.telemetry.ProcessorAgentrunNonAgentSpans.Add(ctx, int64(s.others), p.nonAgentAttrs)
	}
	if s.untraceable > 0 {
		p.telemetry.ProcessorAgentrunUntraceableSpans.Add(ctx, int64(s.untraceable))
	}
	if s.stripped > 0 {
		p.telemetry.ProcessorAgentrunStrippedAttributes.Add(ctx, int64(s.stripped))
	}
}

// emit stamps one trace's evidence and passes it on.
func (p *agentRun) emit(ctx context.Context, e *assembly.Emission) error {
	td := e.Traces
	if notes := p.stamp(e); notes || p.copies {
		td = ptrace.NewTraces()
		segregation.CopyWithoutNotes(e.Traces.ResourceSpans().All(), td.ResourceSpans())
	}
	return p.pass(ctx, td, e)
}

// emitBatch passes the evidence of several traces on in one call. They are tiny: each is copied, so that one
// that is passed on again is as it was.
func (p *agentRun) emitBatch(ctx context.Context, es []*assembly.Emission) error {
	td := ptrace.NewTraces()
	for _, e := range es {
		p.stamp(e)
		segregation.CopyWithoutNotes(e.Traces.ResourceSpans().All(), td.ResourceSpans())
	}
	return p.pass(ctx, td, es...)
}

// stamp writes what is known of a run on its evidence, and tells whether there are notes among it.
func (p *agentRun) stamp(e *assembly.Emission) (notes bool) {
	n := segregation.CountNotes(e.Traces)
	// A fan-out behind this processor shares the data between its branches and makes it read-only. Then this is a repetition, and the stamps
	// are there already.
	if !e.Traces.IsReadOnly() {
		decided := !segregation.Reemitted(e.Traces) // what belongs to no side stays undecided, root or not
		stamp(e, e.Items-n, decided && (e.Complete || p.cfg.Rootless == rootlessProduction), p.tags)
	}
	return n > 0
}

// pass calls the next component with the evidence of emissions.
func (p *agentRun) pass(ctx context.Context, td ptrace.Traces, es ...*assembly.Emission) error {
	if err := p.next.ConsumeTraces(handover.OnIdle(ctx, es[0].Idle), td); err != nil {
		return err
	}
	for _, e := range es {
		if !e.Complete {
			p.telemetry.ProcessorAgentrunRootlessTraces.Add(ctx, 1, p.rootlessAttrs)
		}
	}
	return nil
}
