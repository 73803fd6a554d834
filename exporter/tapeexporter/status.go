// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// health tells the host whether the store takes what is written. It reports changes only, so an outage is one event, however many attempts
// it takes.
type health struct {
	mu   sync.Mutex
	host component.Host // nil before the start
	ill  bool
}

func (h *health) start(host component.Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.host = host
}

// see takes the outcome of an attempt; nil is success. No error is permanent here: what an operator has mended is written at the next attempt.
// It reports whether this is the first success after a failure.
func (h *health) see(err error) (back bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ill := err != nil
	if h.host == nil || ill == h.ill {
		return false
	}
	h.ill = ill
	event := componentstatus.NewEvent(componentstatus.StatusOK)
	if ill {
		event = componentstatus.NewRecoverableErrorEvent(err)
	}
	componentstatus.ReportStatus(h.host, event)
	return !ill
}
