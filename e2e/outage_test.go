// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// TestNothingIsLostWhenTheStoreDies kills the object store while runs are on their way into it, goes on sending, brings the
// store back on its data and expects the deck that an undisturbed collector leaves.
func TestNothingIsLostWhenTheStoreDies(t *testing.T) {
	const runs, whileDown = 200, 20
	quick := []string{soon, asItIs, "--set=processors.agentrun.retry_on_failure.initial_interval=100ms", "--set=processors.agentrun.retry_on_failure.max_interval=500ms"}
	store := startStore(t)
	p := collect(t, slim, s3, store.url, quick...)

	var sent []ptrace.Traces
	deliver := func(n int) {
		for range n {
			traces := another(t, uint32(len(sent)+1))
			send(t, p, traces)
			sent = append(sent, traces)
		}
	}
	total := func() int { return len(sent) * sent[0].SpanCount() }
	emitted := func() int { return metrics(t, p)["processor_agentrun_emitted_items"] }
	// The kill has to come while runs are being written: after the first, before the last. On a busy machine it may come late.
	for range 10 {
		already := emitted()
		deliver(runs)
		until(t, "the first runs to be written", func() bool { return emitted() > already })
		store.kill()
		if emitted() < total() {
			break
		}
		store.start()
	}
	if emitted() == total() {
		t.Fatal("everything was written whenever the store was killed: the test shows nothing")
	}
	deliver(whileDown)
	store.start()
	drained(t, p, total())
	stop(t, p)

	undisturbed := decktest.FileURL(t)
	q := collect(t, slim, local, undisturbed, soon)
	for _, traces := range sent {
		send(t, q, traces)
	}
	drained(t, q, total())
	stop(t, q)
	if diff := cmp.Diff(at{t, undisturbed}.contents(), at{t, store.url}.contents()); diff != "" {
		t.Errorf("the outage shows in the deck (-undisturbed +after the outage):\n%s", diff)
	}
	tapedeck(t, "verify", store.url)
}
