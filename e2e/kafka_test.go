// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

const (
	kafkaGateway   = "examples/kafka/gateway.yaml"
	kafkaCollector = "examples/kafka/collector.yaml"
)

func (b *broker) gateway(t *testing.T) *collectorproc.Process {
	t.Helper()
	return run(t, program(t, full), b.env(), "--config", example(t, kafkaGateway))
}

// member starts a tape collector of the group. Its partitions wait for it for as short a time as a broker grants, so that those of a
// member that is gone go to another one while the test runs; env can say otherwise.
func (b *broker) member(t *testing.T, name, url string, env []string, args ...string) *collectorproc.Process {
	t.Helper()
	return run(t, program(t, full), b.env(append([]string{"KAFKA_MEMBER=" + name, "TAPEDECK_DECK=" + url, "KAFKA_SESSION_TIMEOUT=6s"}, env...)...),
		append([]string{"--config", example(t, kafkaCollector), soon, patient, asItIs}, args...)...)
}

// TestTapesAreWholeWhenTheConsumerGroupChanges lets members join and leave the group while runs are open: the partitions move, and with
// them the runs. It ends with the loss of everything that was written, which the topic brings back.
func TestTapesAreWholeWhenTheConsumerGroupChanges(t *testing.T) {
	groupChanges(t, decktest.FileURL(t), decktest.FileURL(t))
}

func TestTapesAreWholeInReelsWhenTheConsumerGroupChanges(t *testing.T) {
	groupChanges(t, inReels(t, decktest.FileURL(t)), inReels(t, decktest.FileURL(t)))
}

func groupChanges(t *testing.T, url, another string) {
	t.Helper()
	b := kafka(t)
	const seed, requestsPerPhase = 3, 4
	runs := runsOf(seed, 24)
	requests := agentload.Interleave(runs, 3*requestsPerPhase)
	gate := b.gateway(t)
	phase := func(n int) {
		for _, traces := range requests[n*requestsPerPhase : (n+1)*requestsPerPhase] {
			deliver(t, gate, traces)
		}
		// The partitions must have been read before the members change, or all of a run would be read after it.
		until(t, "the group to commit what it read", func() bool { return b.committed(t) == b.records(t) })
	}

	one := b.member(t, "one", url, []string{"TAPEDECK_ON_SHUTDOWN=emit"})
	phase(0)
	two := b.member(t, "two", url, nil)
	until(t, "the second member to get partitions", func() bool { return metrics(t, two)["kafka_receiver_partition_start"] > 0 })
	phase(1)
	stop(t, one)
	phase(2)
	emptied(t, two)
	stop(t, two)

	want := undisturbed(t, runs)
	parts := sameTapes(t, url, want)
	if wanted := int64(len(runs) * len(requests)); b.records(t) > wanted {
		t.Errorf("%d records of one trace and request each, want at most %d", b.records(t), wanted)
	}
	split := 0
	for _, n := range parts {
		if n > 1 {
			split++
		}
	}
	if split == 0 {
		t.Error("no run was split between members: the test shows nothing")
	}

	// All is lost but the topic.
	b.rewind(t)
	three := b.member(t, "three", another, nil)
	until(t, "the group to read the topic again", func() bool { return b.committed(t) == b.records(t) })
	emptied(t, three)
	stop(t, three)
	sameTapes(t, another, want)
	tapedeck(t, "verify", another)
}

// TestOffsetsFollowTheSpool takes the deck away, so that the spool fills and refuses, and kills the tape collector in that state: what was
// committed must be in the spool, and what was refused must come again.
func TestOffsetsFollowTheSpool(t *testing.T) {
	b := kafka(t)
	store := startStore(t)
	const seed, size = 4, 90 // runs of 0.9 MB, more than the smallest quota
	g := agentload.New(seed)
	runs := make([]ptrace.Traces, size)
	for i := range runs {
		runs[i] = g.Trace(agentload.Large)
	}
	gate := b.gateway(t)
	store.kill()
	env := []string{"TAPEDECK_SPOOL=" + t.TempDir(), "KAFKA_SESSION_TIMEOUT=45s"}
	args := []string{smallestQuota, "--set=processors.agentrun.retry_on_failure.initial_interval=100ms", "--set=processors.agentrun.retry_on_failure.max_interval=500ms"}
	p := b.member(t, "one", store.url, env, args...)
	for _, traces := range runs { // each is one record
		deliver(t, gate, traces)
	}
	until(t, "agentrun to refuse", func() bool { return metrics(t, p)["processor_agentrun_refused_requests"] > 0 })
	admitted := metrics(t, p)["processor_agentrun_accepted_items"] / runs[0].SpanCount()
	if n := b.committed(t); admitted == size || n == 0 || n > int64(admitted) {
		t.Errorf("%d records are committed, agentrun has admitted %d of %d", n, admitted, size)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = b.member(t, "one", store.url, env, args...)
	if recovered := metrics(t, p)["processor_agentrun_recovered_items"] / runs[0].SpanCount(); int64(recovered) < b.committed(t) {
		t.Errorf("%d runs are in the spool, %d records are committed", recovered, b.committed(t))
	}
	store.start()
	until(t, "the rest to be committed", func() bool { return b.committed(t) == size })
	emptied(t, p)
	stop(t, p)
	sameTapes(t, store.url, undisturbed(t, runs))
}
