// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"runtime"
	"testing"
	"weak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// TestAWaitingDeliveryHoldsNoEvidence: the rows that wait for a reel are bytes, and the spans behind them are
// garbage.
func TestAWaitingDeliveryHoldsNoEvidence(t *testing.T) {
	mem.Drop("waiting")
	d, err := deck.OpenLayout(t.Context(), "mem://waiting", deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	w := NewReelWriter(d, Options{}, reel.DefaultLimits)
	waits, done := make(chan struct{}), make(chan error, 1)
	r, spans := waitingRequest(func() { close(waits) })
	go func(r Request) {
		_, _, err := w.Deliver(t.Context(), r)
		done <- err
	}(r)
	r = Request{}
	<-waits
	for range 3 {
		runtime.GC()
	}
	if spans.Value() != nil {
		t.Error("the evidence of a run that waits for its reel is held")
	}
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func waitingRequest(idle func()) (Request, weak.Pointer[evidence.Set]) {
	set := evidence.NewSet()
	set.AddTraces(agentload.New(1).Trace(agentload.Short))
	tr := set.Split()[0]
	return Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true, First: true, GoesOn: true, Idle: idle}, weak.Make(tr.Set)
}
