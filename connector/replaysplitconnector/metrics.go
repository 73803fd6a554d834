// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// metricsSplit decides by resource: data points belong to no run.
type metricsSplit struct {
	component.StartFunc
	*base
	next [sides]consumer.Metrics
}

func newMetrics(set connector.Settings, cfg *Config, next consumer.Metrics) (*metricsSplit, error) {
	b, out, err := newBase[consumer.Metrics](set, cfg, next, pipeline.SignalMetrics)
	if err != nil {
		return nil, err
	}
	return &metricsSplit{base: b, next: out}, nil
}

func (c *metricsSplit) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	scan := segregation.Scan{Rules: c.rules}
	of := make([]side, md.ResourceMetrics().Len())
	replays := 0
	for i, rm := range md.ResourceMetrics().All() {
		scan.Reset()
		scan.Attributes(rm.Resource().Attributes())
		if scan.Found() {
			of[i] = replay
			replays++
			c.tags(ctx, scan.Verdict())
		}
	}
	out := [sides]pmetric.Metrics{production: md, replay: md}
	if replays > 0 && replays < len(of) {
		for s := range undecided {
			out[s] = pmetric.NewMetrics()
		}
		for i, s := range of {
			md.ResourceMetrics().At(i).CopyTo(out[s].ResourceMetrics().AppendEmpty())
		}
	}
	for s := range undecided {
		if s == replay && replays == 0 || s == production && replays == len(of) {
			continue
		}
		n := out[s].DataPointCount() // before the next component owns it
		if err := c.next[s].ConsumeMetrics(ctx, out[s]); err != nil {
			return err
		}
		c.items(ctx, s, n)
	}
	return nil
}
