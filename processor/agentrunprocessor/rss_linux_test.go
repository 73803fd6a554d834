// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector takes several times the memory.

package agentrunprocessor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
)

const memoryVariable = "TAPEDECK_TEST_MAX_MEMORY_BYTES"

// peakOf is what docs/operations.md says of a collector with a spool: the most that is resident for a max_memory_bytes, where no run is larger than 8 MiB.
// Where the machine has memory, the heap is collected less often.
func peakOf(maxMemoryBytes int64) int64 {
	return max(230e6, 150e6+2*min(maxMemoryBytes, 50e6)) + heapgoal.Floor() - 144<<20
}

// Redaction, agentrun with a spool and the tape exporter with a deck of files, as by default, in a process of their own: 260 MB of runs of 50 turns come as
// fast as they are acknowledged.
func TestMemoryOfTheProcessIsWhatTheDocumentsSay(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 260 MB twice")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, bound := range []int64{16 << 20, createDefaultConfig().(*Config).MaxMemoryBytes} {
		t.Run(fmt.Sprint(bound>>20, " MiB"), func(t *testing.T) {
			child := exec.CommandContext(t.Context(), exe, "-test.run=^TestMemoryOfAProcess$", "-test.v")
			child.Env = append(os.Environ(), fmt.Sprint(memoryVariable, "=", bound), "GOGC=", "GOMEMLIMIT=")
			out, err := child.CombinedOutput()
			require.NoError(t, err, string(out))
			found := regexp.MustCompile(`resident at most: (\d+) kB`).FindSubmatch(out)
			require.NotNil(t, found, string(out))
			kB, err := strconv.ParseInt(string(found[1]), 10, 64)
			require.NoError(t, err)
			t.Logf("%d MB, %d MB are said", kB*1024/1e6, peakOf(bound)/1e6)
			require.LessOrEqual(t, kB*1024, peakOf(bound))
		})
	}
}

// TestMemoryOfAProcess is the child of the test above.
func TestMemoryOfAProcess(t *testing.T) {
	bound, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err != nil {
		t.Skip("is run by another test, in a process of its own")
	}
	heapgoal.Start()
	defer redact.Announce()()
	key, err := redact.NewKey([]byte("0123456789abcdefghijklmnopqrstuv"), "")
	require.NoError(t, err)
	redactor, err := redact.New(redact.Default().WithKey(key))
	require.NoError(t, err)
	seal := redactor.Seal()

	tapes := tapeexporter.NewFactory()
	to := tapes.CreateDefaultConfig().(*tapeexporter.Config)
	to.Deck = "file://" + t.TempDir()
	next, err := tapes.CreateTraces(t.Context(), exportertest.NewNopSettings(tapes.Type()), to)
	require.NoError(t, err)
	require.NoError(t, next.Start(t.Context(), componenttest.NewNopHost()))
	cfg := createDefaultConfig().(*Config)
	cfg.Spool.Directory, cfg.MaxMemoryBytes, cfg.MaxTraceBytes = t.TempDir(), bound, min(cfg.MaxTraceBytes, bound)
	cfg.OnShutdown, cfg.ShutdownTimeout = onShutdownEmit, time.Hour
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, next)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))

	const runs = 90
	g := agentload.New(1)
	for range runs {
		body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(g.Trace(agentload.Long))
		require.NoError(t, err)
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		require.NoError(t, err)
		redactor.Traces(td, nil)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, seal)
		err = p.ConsumeTraces(t.Context(), td)
		for errors.Is(err, assembly.ErrFull) { // as a sender does that is refused
			time.Sleep(time.Millisecond)
			err = p.ConsumeTraces(t.Context(), td)
		}
		require.NoError(t, err)
	}
	require.NoError(t, p.Shutdown(context.Background()))
	require.NoError(t, next.Shutdown(context.Background()))
	stats := p.assembler.Stats()
	require.EqualValues(t, []int64{runs * 100, 0}, []int64{stats.Emitted, stats.Held})
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	t.Logf("resident at most: %s kB", regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1])
}

const floodVariable = "TAPEDECK_TEST_FLOOD_OF_TRACES"

// A hundred thousand traces of one span without a root come in requests of two thousand, and what comes next
// takes none of them. The bounds on traces are a tenth of their defaults too.
func TestAFloodOfTracesTakesNoMoreMemoryThanTheDocumentsSay(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), exe, "-test.run=^TestAFloodedProcess$", "-test.v")
	child.Env = append(os.Environ(), floodVariable+"=100000 10000", "GOGC=", "GOMEMLIMIT=")
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	found := regexp.MustCompile(`resident at most: (\d+) kB`).FindSubmatch(out)
	require.NotNil(t, found, string(out))
	kB, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	said := peakOf(createDefaultConfig().(*Config).MaxMemoryBytes)
	t.Logf("%d MB, %d MB are said", kB*1024/1e6, said/1e6)
	require.LessOrEqual(t, kB*1024, said)
}

// TestAFloodedProcess is the child of the test above.
func TestAFloodedProcess(t *testing.T) {
	var traces, open int
	if _, err := fmt.Sscan(os.Getenv(floodVariable), &traces, &open); err != nil {
		t.Skip("is run by another test, in a process of its own")
	}
	heapgoal.Start()
	cfg := createDefaultConfig().(*Config)
	cfg.Redaction, cfg.Spool.Directory, cfg.Spool.Sync, cfg.MaxTraces = redactionNone, t.TempDir(), "none", open
	gate := make(chan struct{})
	next, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	require.NoError(t, err)
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, next)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	const each = 2000
	refused := int64(0)
	for n := 0; n < traces; n += each {
		if err := p.ConsumeTraces(t.Context(), rootless(n, each)); err != nil {
			require.ErrorIs(t, err, assembly.ErrFull)
			require.False(t, consumererror.IsPermanent(err))
			refused++
		}
		p.assembler.OpenTraces(1) // returns when the shards have taken what came
	}
	stats := p.assembler.Stats()
	t.Logf("%d open, %d wait, %d requests refused", stats.OpenTraces, stats.Waiting, refused)
	require.LessOrEqual(t, stats.OpenTraces, int64(open))
	require.LessOrEqual(t, stats.Waiting, 2*int64(open)+each)
	require.Positive(t, refused)
	require.EqualValues(t, []int64{refused, int64(traces) - each*refused, 0}, []int64{stats.RefusedBacklog, stats.Held, stats.RefusedFull})
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	t.Logf("resident at most: %s kB", regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1])
	close(gate)
	require.NoError(t, p.Shutdown(context.Background()))
	stats = p.assembler.Stats()
	require.Equal(t, stats.Accepted, stats.Emitted+stats.Held)
}
