// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaytagprocessor // import "github.com/tapedeck/tapedeck/processor/replaytagprocessor"

import (
	"context"
	"slices"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"

	"github.com/tapedeck/tapedeck/processor/replaytagprocessor/internal/metadata"
)

type tagger struct {
	key       string
	tags      []Tag
	telemetry *metadata.TelemetryBuilder
}

func newTagger(set processor.Settings, cfg *Config) (*tagger, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &tagger{key: cfg.Key, tags: cfg.Tags, telemetry: telemetry}, nil
}

func (t *tagger) start(context.Context, component.Host) error { return nil }

func (t *tagger) shutdown(context.Context) error {
	t.telemetry.Shutdown()
	return nil
}

func (t *tagger) traces(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	request := client.FromContext(ctx).Metadata
	for _, rs := range td.ResourceSpans().All() {
		t.resource(ctx, request, rs.Resource())
	}
	return td, nil
}

func (t *tagger) logs(ctx context.Context, ld plog.Logs) (plog.Logs, error) {
	request := client.FromContext(ctx).Metadata
	for _, rl := range ld.ResourceLogs().All() {
		t.resource(ctx, request, rl.Resource())
	}
	return ld, nil
}

func (t *tagger) metrics(ctx context.Context, md pmetric.Metrics) (pmetric.Metrics, error) {
	request := client.FromContext(ctx).Metadata
	for _, rm := range md.ResourceMetrics().All() {
		t.resource(ctx, request, rm.Resource())
	}
	return md, nil
}

// resource tags a resource by the first setting that has an id for it. A tag that is there stays: a replay
// knows itself best.
func (t *tagger) resource(ctx context.Context, request client.Metadata, r pcommon.Resource) {
	if _, there := r.Attributes().Get(t.key); there {
		return
	}
	for _, tag := range t.tags {
		if !tag.applies(r) {
			continue
		}
		if tag.FromMetadata == "" {
			r.Attributes().PutStr(t.key, tag.ReplayRunID)
		} else if values := request.Get(tag.FromMetadata); len(values) == 1 {
			r.Attributes().PutStr(t.key, values[0])
		} else if len(values) > 1 {
			// A header that comes twice is no id: what follows takes a list for a malformed tag, and the request for a replay.
			list := r.Attributes().PutEmptySlice(t.key)
			for _, v := range values {
				list.AppendEmpty().SetStr(v)
			}
		} else {
			continue
		}
		t.telemetry.ProcessorReplaytagTaggedResources.Add(ctx, 1)
		return
	}
}

func (t Tag) applies(resource pcommon.Resource) bool {
	if len(t.Services) == 0 {
		return true
	}
	name, ok := resource.Attributes().Get("service.name")
	return ok && slices.Contains(t.Services, name.AsString())
}
