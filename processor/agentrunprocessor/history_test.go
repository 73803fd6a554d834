// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
	"github.com/tapedeck/tapedeck/tape"
)

// notes keeps what the next component takes, unless the store is down. It is written into a deck when all is over: compression has
// goroutines of its own, which live outside of the bubble that time is made in.
type notes struct {
	mu    sync.Mutex
	taken []derive.Request
	down  bool
}

var errDown = errors.New("store is down")

func (s *notes) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *notes) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	// A call of a backlog brings several traces, each resource with the key of its own.
	last := ""
	for _, rs := range td.ResourceSpans().All() {
		attributes := rs.Resource().Attributes()
		key, ok := attributes.Get(handover.RunKey)
		if !ok {
			return nil // not an emission
		}
		if key.Str() != last {
			last = key.Str()
			complete, _ := attributes.Get(handover.RunComplete)
			id := rs.ScopeSpans().At(0).Spans().At(0).TraceID()
			s.taken = append(s.taken, derive.Request{Tenant: "default", TraceID: hex.EncodeToString(id[:]), Set: evidence.NewSet(), Complete: complete.Bool()})
		}
		own := ptrace.NewTraces() // the set takes what it gets
		rs.CopyTo(own.ResourceSpans().AppendEmpty())
		s.taken[len(s.taken)-1].Set.AddTraces(own)
	}
	return nil
}

func (s *notes) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// tapes writes what was taken into a deck, as the tape exporter does, and returns the files of the current generations below runs/.
func (s *notes) tapes(t *testing.T) map[string]string {
	t.Helper()
	defer mem.Drop("history")
	d, err := deck.Open(t.Context(), "mem://history")
	require.NoError(t, err)
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}})
	for _, request := range s.taken {
		if _, err := w.Write(t.Context(), request); !errors.Is(err, generation.ErrNoRun) {
			require.NoError(t, err)
		}
	}
	files := map[string]string{}
	for place, err := range d.Locations(t.Context(), deck.AreaRuns) {
		require.NoError(t, err)
		state, ok, err := d.Current(t.Context(), place)
		require.NoError(t, err)
		if !ok {
			continue
		}
		for _, run := range state.Runs {
			for _, file := range run.Files {
				body, err := d.ReadFile(t.Context(), place, state.Generation, run.Root, file)
				require.NoError(t, err)
				files[filepath.Join(place.TraceID, run.Root, file)] = string(body)
			}
		}
	}
	return files
}

// history is what happens to a collector and its senders. One seed is one history.
type history struct {
	t         *testing.T
	r         *rand.Rand
	sink      *notes
	spool     string
	collector *agentRun
	configure func(*Config)
	log       []string
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) start() {
	h.t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Redaction = redactionNone
	cfg.Spool.Directory = h.spool
	cfg.MaxAge = 2 * time.Hour
	cfg.Spool.MaxBytes = minSpoolBytes // small segments, which are copied whole at each crash
	cfg.Spool.Sync = "none"            // a copy of the directory sees what was written; the tests of the spool cut the power
	h.configure(cfg)
	require.NoError(h.t, cfg.Validate())
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, h.sink)
	require.NoError(h.t, err)
	require.NoError(h.t, p.Start(h.t.Context(), componenttest.NewNopHost()))
	h.collector = p
}

func (h *history) stop() {
	h.t.Helper()
	require.NoError(h.t, h.collector.Shutdown(context.Background()))
}

// crash leaves the collector as kill -9 leaves it: what is in files stays, the rest is gone. The files are copied; then the old collector,
// which cannot reach the store any more, is put away.
func (h *history) crash() {
	h.t.Helper()
	h.sink.set(true)
	synctest.Wait() // a copy of files that change is nothing that a kill could leave
	after := h.t.TempDir()
	require.NoError(h.t, copyTree(after, h.spool))
	h.stop()
	h.sink.set(false)
	h.spool = after
	h.start()
}

func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, strings.TrimPrefix(path, from)), body, 0o600)
	})
}

// deliver sends a request until it is acknowledged, as senders do.
func (h *history) deliver(td ptrace.Traces) {
	h.t.Helper()
	for range 1000 {
		request := ptrace.NewTraces()
		td.CopyTo(request)
		if h.collector.ConsumeTraces(h.t.Context(), request) == nil {
			return
		}
		h.sink.set(false)
		time.Sleep(time.Second)
	}
	h.t.Fatal("a request is refused for ever")
}

// TestAnyHistoryEndsInTheSameTapes is metamorphic: whatever happens on the way, and however the processor is configured, the tapes at
// the end are those of a collector to which nothing happened.
func TestAnyHistoryEndsInTheSameTapes(t *testing.T) {
	runs, err := groundtruth.Corpus("../../testdata/corpus")
	require.NoError(t, err)
	configurations := map[string]func(*Config){
		"roomy": func(*Config) {},
		"tight": func(c *Config) {
			c.MaxMemoryBytes, c.MaxTraceBytes, c.MaxTraceSpans, c.MaxTraces, c.EmitConcurrency = 600_000, 400_000, 40, 5, 1
			c.Spool.Compression, c.OnShutdown = "zstd", onShutdownEmit
		},
	}
	// The codec is made once for the process, and must not be made inside of a bubble.
	warm, err := spool.Open(t.TempDir(), spool.Options{Compression: spool.CompressionZstd}, nil)
	require.NoError(t, err)
	names := make([]spool.ID, 1)
	require.NoError(t, warm.Append(t.Context(), []spool.Entry{{Payload: make([]byte, 1000)}}, names))
	require.NoError(t, warm.Read(names, func(int, []byte, []byte) error { return nil }))
	require.NoError(t, warm.Close())

	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		var requests []ptrace.Traces
		for range 6 {
			set, err := runs[r.IntN(len(runs))].Evidence()
			require.NoError(t, err)
			requests = append(requests, deal(r, set)...)
		}
		r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		want := undisturbed(t, requests)
		require.NotEmpty(t, want)
		for name, configure := range configurations {
			t.Run(fmt.Sprintf("seed %d %s", seed, name), func(t *testing.T) {
				h := &history{r: rand.New(rand.NewPCG(seed, 2)), spool: t.TempDir(), configure: configure, sink: &notes{}}
				synctest.Test(t, func(t *testing.T) {
					h.t = t
					h.run(requests)
				})
				if diff := cmp.Diff(want, h.sink.tapes(t)); diff != "" {
					t.Errorf("other tapes after %s:\n%.3000s", strings.Join(h.log, ", "), diff)
				}
			})
		}
	}
}

func (h *history) run(requests []ptrace.Traces) {
	h.start()
	for i, td := range requests {
		h.deliver(td)
		switch h.r.IntN(8) {
		case 0:
			again := h.r.IntN(i + 1)
			h.note("%d again", again)
			h.deliver(requests[again])
		case 1:
			d := time.Duration(h.r.IntN(600)) * time.Second
			h.note("%s pass", d)
			time.Sleep(d)
		case 2:
			h.note("crash at %d", i)
			h.crash()
		case 3:
			h.note("restart at %d", i)
			h.stop()
			h.start()
		case 4:
			h.note("store down at %d", i)
			h.sink.set(true)
		case 5:
			h.sink.set(false)
		}
	}
	h.sink.set(false)
	time.Sleep(3 * time.Hour)
	synctest.Wait()
	stats := h.collector.assembler.Stats()
	if stats.Held != 0 || stats.Accepted+stats.Recovered != stats.Emitted+stats.Duplicates {
		h.t.Errorf("after everything was emitted: %+v", stats)
	}
	h.stop()
}

// deal makes requests of the evidence of a run: each span in one, some in several.
func deal(r *rand.Rand, set *evidence.Set) []ptrace.Traces {
	var requests []ptrace.Traces
	for _, item := range set.Items() {
		if len(requests) == 0 || r.IntN(3) == 0 {
			requests = append(requests, ptrace.NewTraces())
		}
		for range 1 + r.IntN(2) {
			rs := requests[r.IntN(len(requests))].ResourceSpans().AppendEmpty()
			item.Resource.Resource().CopyTo(rs.Resource())
			rs.SetSchemaUrl(item.Resource.SchemaUrl())
			ss := rs.ScopeSpans().AppendEmpty()
			item.Scope.Scope().CopyTo(ss.Scope())
			ss.SetSchemaUrl(item.Scope.SchemaUrl())
			item.Span.CopyTo(ss.Spans().AppendEmpty())
		}
	}
	return requests
}

// undisturbed are the tapes of a collector without a spool that gets everything at once.
func undisturbed(t *testing.T, requests []ptrace.Traces) map[string]string {
	t.Helper()
	h := &history{configure: func(c *Config) { c.Spool.Directory = "" }, sink: &notes{}}
	synctest.Test(t, func(t *testing.T) {
		h.t = t
		h.start()
		for _, td := range requests {
			h.deliver(td)
		}
		h.stop()
	})
	return h.sink.tapes(t)
}
