// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentredactionprocessor // import "github.com/tapedeck/tapedeck/processor/agentredactionprocessor"

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor/internal/metadata"
)

// agentRedaction rewrites what passes. It has no state but its counters: the same telemetry becomes the same telemetry in every
// collector with the same profile and key.
type agentRedaction struct {
	cfg       *Config
	log       *zap.Logger
	telemetry *metadata.TelemetryBuilder
	redactor  *redact.Redactor
	seal      string   // of the marker
	counters  sync.Map // rule and signal → metric.MeasurementOption
	withdraw  func()   // nil but for spans
}

func newAgentRedaction(set processor.Settings, cfg *Config) (*agentRedaction, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &agentRedaction{cfg: cfg, log: set.Logger, telemetry: telemetry}, nil
}

// Start reads the key: a collector without it does not start.
func (p *agentRedaction) Start(context.Context, component.Host) error {
	profile, err := p.cfg.profile()
	if err != nil {
		return err
	}
	key, err := p.cfg.Key.load()
	if err != nil {
		return err
	}
	if p.redactor, err = redact.New(profile.WithKey(key)); err != nil {
		return err
	}
	marker := p.redactor.Marker()
	p.seal = p.redactor.Seal()
	p.log.Info("redaction is on", zap.String("policy", marker.Policy), zap.String("profile_digest", marker.ProfileDigest), zap.String("key_id", marker.KeyID))
	if concern := key.Concern(); concern != "" {
		p.log.Warn(concern)
	}
	if p.cfg.Key.GenerateIn != "" {
		p.log.Warn("the redaction key is generated: another collector of the same deck would make other tokens")
	}
	return nil
}

func (p *agentRedaction) Shutdown(context.Context) error {
	if p.withdraw != nil {
		p.withdraw()
	}
	p.telemetry.Shutdown()
	return nil
}

func (*agentRedaction) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// stamp strips what a sender has written into the reserved namespace and marks the resource.
func (p *agentRedaction) stamp(resource pcommon.Map) (stripped int) {
	stripped = handover.Strip(resource)
	resource.PutStr(handover.Redaction, p.seal)
	return stripped
}

func (p *agentRedaction) count(ctx context.Context, signal string, rep *redact.Report, stripped int) {
	of := p.option("", signal)
	p.telemetry.ProcessorAgentredactionLeaves.Add(ctx, rep.Leaves, of)
	p.telemetry.ProcessorAgentredactionBytes.Add(ctx, rep.Bytes, of)
	p.telemetry.ProcessorAgentredactionNumbers.Add(ctx, rep.Numbers, of)
	p.telemetry.ProcessorAgentredactionStrippedAttributes.Add(ctx, int64(stripped))
	for rule, n := range rep.Hits {
		p.telemetry.ProcessorAgentredactionHits.Add(ctx, n, p.option(rule, signal))
	}
}

func (p *agentRedaction) option(rule, signal string) metric.MeasurementOption {
	type key struct{ rule, signal string }
	if o, ok := p.counters.Load(key{rule, signal}); ok {
		return o.(metric.MeasurementOption)
	}
	attrs := []attribute.KeyValue{attribute.String("signal", signal)}
	if rule != "" {
		attrs = append(attrs, attribute.String("rule", rule))
	}
	o, _ := p.counters.LoadOrStore(key{rule, signal}, metric.WithAttributeSet(attribute.NewSet(attrs...)))
	return o.(metric.MeasurementOption)
}

type traces struct {
	*agentRedaction
	next consumer.Traces
}

// ConsumeTraces redacts and passes on.
func (p *traces) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	stripped := 0
	for _, rs := range td.ResourceSpans().All() {
		stripped += handover.Strip(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			stripped += handover.Strip(ss.Scope().Attributes())
			for _, s := range ss.Spans().All() {
				stripped += handover.Strip(s.Attributes())
				for _, e := range s.Events().All() {
					stripped += handover.Strip(e.Attributes())
				}
				for _, l := range s.Links().All() {
					stripped += handover.Strip(l.Attributes())
				}
			}
		}
	}
	rep := &redact.Report{}
	p.redactor.Traces(td, rep)
	for _, rs := range td.ResourceSpans().All() {
		p.stamp(rs.Resource().Attributes())
	}
	p.count(ctx, "traces", rep, stripped)
	return p.next.ConsumeTraces(ctx, td)
}

type logs struct {
	*agentRedaction
	next consumer.Logs
}

// ConsumeLogs redacts and passes on.
func (p *logs) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	rep, stripped := &redact.Report{}, 0
	p.redactor.Logs(ld, rep)
	for _, rl := range ld.ResourceLogs().All() {
		stripped += p.stamp(rl.Resource().Attributes())
	}
	p.count(ctx, "logs", rep, stripped)
	return p.next.ConsumeLogs(ctx, ld)
}

type metrics struct {
	*agentRedaction
	next consumer.Metrics
}

// ConsumeMetrics redacts and passes on. Metrics carry no marker: nothing asks for it, and it would be an attribute of every series.
func (p *metrics) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	rep, stripped := &redact.Report{}, 0
	p.redactor.Metrics(md, rep)
	for _, rm := range md.ResourceMetrics().All() {
		stripped += handover.Strip(rm.Resource().Attributes())
	}
	p.count(ctx, "metrics", rep, stripped)
	return p.next.ConsumeMetrics(ctx, md)
}
