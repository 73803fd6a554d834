// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/tapedeck/tapedeck/receiver/tapereceiver/internal/metadata"
)

// NewFactory returns the factory of the tape receiver.
func NewFactory() receiver.Factory {
	f := &factory{made: map[*Config]*tapeReceiver{}}
	return receiver.NewFactory(metadata.Type, createDefaultConfig,
		receiver.WithTraces(f.createTraces, metadata.TracesStability),
		receiver.WithLogs(f.createLogs, metadata.LogsStability))
}

// factory gives the pipelines of one configuration one receiver: what it remembers is for all of them.
type factory struct {
	mu   sync.Mutex
	made map[*Config]*tapeReceiver
}

func (f *factory) of(set receiver.Settings, cfg component.Config) (*tapeReceiver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cfg.(*Config)
	if r := f.made[c]; r != nil {
		return r, nil
	}
	r, err := newReceiver(set, c)
	if err != nil {
		return nil, err
	}
	r.forget = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.made, c)
	}
	f.made[c] = r
	return r, nil
}

func (f *factory) createTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	r, err := f.of(set, cfg)
	if err != nil {
		return nil, err
	}
	r.traces = next
	return r, nil
}

func (f *factory) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	r, err := f.of(set, cfg)
	if err != nil {
		return nil, err
	}
	r.logs = next
	return r, nil
}
