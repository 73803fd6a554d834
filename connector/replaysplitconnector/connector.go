// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/connector/replaysplitconnector/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// base is what the connectors of all signals share.
type base struct {
	cfg       *Config
	id        component.ID
	rules     *segregation.Rules
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder

	bySide   [sides]metric.MeasurementOption // runs
	itemsBy  [sides]metric.MeasurementOption // items
	badTags  map[string]metric.MeasurementOption
	resource bool // decide by resource alone
}

// newBase also returns the consumer of each side.
func newBase[C any](set connector.Settings, cfg *Config, next any, signal pipeline.Signal) (*base, [sides]C, error) {
	out, err := consumers[C](next, signal, cfg)
	if err != nil {
		return nil, out, errors.Join(errNoPipelines, err)
	}
	rules, err := cfg.Tags.Rules()
	if err != nil {
		return nil, out, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, out, err
	}
	b := &base{cfg: cfg, id: set.ID, rules: rules, logger: set.Logger, telemetry: telemetry, resource: cfg.DecideBy == byResource, badTags: map[string]metric.MeasurementOption{}}
	for s := range sides {
		name := attribute.String("side", s.String())
		b.bySide[s] = metric.WithAttributeSet(attribute.NewSet(name))
		b.itemsBy[s] = metric.WithAttributeSet(attribute.NewSet(name, attribute.String("signal", signal.String())))
	}
	for _, cause := range []string{"conflicting", "malformed"} {
		b.badTags[cause] = metric.WithAttributeSet(attribute.NewSet(attribute.String("cause", cause)))
	}
	return b, out, nil
}

// Capabilities says that a call is not changed: if it has several sides, they are copies.
func (*base) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (b *base) Shutdown(context.Context) error {
	b.telemetry.Shutdown()
	return nil
}

func (b *base) items(ctx context.Context, s side, n int) {
	if n > 0 {
		b.telemetry.ConnectorReplaysplitItems.Add(ctx, int64(n), b.itemsBy[s])
	}
}

func (b *base) tags(ctx context.Context, v segregation.Verdict) {
	if v.Conflicting {
		b.telemetry.ConnectorReplaysplitBadTags.Add(ctx, 1, b.badTags["conflicting"])
	}
	if v.Malformed {
		b.telemetry.ConnectorReplaysplitBadTags.Add(ctx, 1, b.badTags["malformed"])
	}
}

// storageOf finds the client of the configured storage extension; nil if there is none.
func (b *base) storageOf(ctx context.Context, host component.Host) (storage.Client, error) {
	if b.cfg.Storage == nil {
		return nil, nil
	}
	extension, ok := host.GetExtensions()[*b.cfg.Storage]
	if !ok {
		return nil, fmt.Errorf("storage extension %q is not configured", b.cfg.Storage)
	}
	s, ok := extension.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("extension %q is no storage", b.cfg.Storage)
	}
	return s.GetClient(ctx, component.KindConnector, b.id, "replays")
}

var errNoPipelines = errors.New("set up the pipelines of replaysplit")
