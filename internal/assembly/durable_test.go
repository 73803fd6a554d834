// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// process is one run of a collector: it starts on a directory, and ends by parking or by a crash.
type process struct {
	*Assembler
	t   *testing.T
	dir string
}

func begin(t *testing.T, o Options, dir string, so spool.Options) *process {
	t.Helper()
	o.Park = true
	o.OpenSpool = func(recovered func(spool.Held) error) (Spool, error) { return spool.Open(dir, so, recovered) }
	l := &process{Assembler: New(o), t: t, dir: dir}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *process) admit(r Request) {
	l.t.Helper()
	admit(l.t, l.Assembler, r)
}

func (l *process) park() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := l.Shutdown(ctx); err != nil {
		l.t.Errorf("shutdown: %v", err)
	}
	conserved(l.t, l.Assembler)
}

// crash returns a copy of the directory as kill -9 leaves it, and puts the process away.
func (l *process) crash() string {
	l.t.Helper()
	after := copyDir(l.t, l.dir)
	l.park()
	return after
}

func copyDir(t *testing.T, dir string) string {
	t.Helper()
	after := t.TempDir()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		body, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(after, f.Name()), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return after
}

func bubble(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, body)
}

func ids(td ptrace.Traces) map[byte]int {
	found := map[byte]int{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				id := span.SpanID()
				found[id[7]]++
			}
		}
	}
	return found
}

func TestOpenTraceGoesOnAfterARestart(t *testing.T) {
	for name, end := range map[string]func(*process) string{
		"parked":  func(l *process) string { l.park(); return l.dir },
		"crashed": (*process).crash,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &downstream{}
				first := begin(t, options(d), t.TempDir(), spool.Options{})
				first.admit(evidence(1, node{id: 2, parent: 1}, node{id: 3, parent: 1}))
				dir := end(first)
				wantNone(t, d, 0)
				time.Sleep(age / 2) // nobody listens

				second := begin(t, options(d), dir, spool.Options{})
				if s := second.Stats(); s.Recovered != 2 || s.Held != 2 || s.OpenTraces != 1 {
					t.Errorf("after the start: %+v", s)
				}
				pass(quiet / 2)
				wantNone(t, d, 0)
				second.admit(evidence(1, node{id: 1, run: true}))
				pass(2 * quiet)
				e := wantOne(t, d, 0, RootEnded)
				if e.Items != 3 || !e.Complete {
					t.Errorf("unexpected emission %+v", e)
				}
				second.park()

				third := begin(t, options(d), dir, spool.Options{})
				if s := third.Stats(); s.Recovered != 0 {
					t.Errorf("what was emitted came back: %+v", s)
				}
				third.park()
			})
		})
	}
}

func TestCrashBetweenEmissionAndReleaseEmitsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		first := begin(t, options(d), t.TempDir(), spool.Options{})
		first.admit(evidence(1, node{id: 1, run: true}))
		pass(2 * quiet) // on its way
		go func() { d.gate <- struct{}{} }()
		dir := first.crash()
		wantOne(t, d, 0, RootEnded)
		d.gate = nil
		second := begin(t, options(d), dir, spool.Options{})
		pass(2 * quiet)
		if e := wantOne(t, d, 1, RootEnded); e.Held != 1 {
			t.Errorf("unexpected emission %+v", e)
		}
		second.park()
	})
}

func TestShortMemorySpillsAndReadsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		o.MaxBytes, o.Shards = 25_000, 1
		l := begin(t, o, t.TempDir(), spool.Options{})
		for i := byte(1); i <= 20; i++ {
			l.admit(evidence(i, node{id: 2, parent: 1, payload: strings.Repeat("x", int(i))}, node{id: 3, parent: 1}))
		}
		wantNone(t, d, 0)
		s := l.Stats()
		if s.Spilled == 0 || s.MemoryBytes > o.MaxBytes || s.Held != 40 || s.HeldBytes != 40_000 || s.RefusedFull != 0 {
			t.Errorf("%+v", s)
		}
		for i := byte(1); i <= 20; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
		}
		pass(2 * quiet)
		got := d.emissions()
		if len(got) != 20 {
			t.Fatalf("%d emissions, want 20", len(got))
		}
		for _, e := range got {
			if e.Held != 3 || e.Items != 3 || !e.Complete || len(ids(e.Traces)) != 3 {
				t.Errorf("unexpected emission of %s: held %d, items %d, complete %t", e.Key, e.Held, e.Items, e.Complete)
			}
		}
		if s := l.Stats(); s.Loaded == 0 || s.Held != 0 || s.HeldBytes != 0 || s.MemoryBytes != 0 {
			t.Errorf("%+v", s)
		}
		l.park()
	})
}

func TestRepetitionsAreFoundWhenTheyAreReadBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1, payload: "a"}))
		l.park()
		l = begin(t, options(d), l.dir, spool.Options{})
		for range 10 {
			l.admit(evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1, payload: "a"}))
		}
		l.admit(evidence(1, node{id: 2, parent: 1, payload: "b"}))
		pass(2 * quiet)
		e := wantOne(t, d, 0, RootEnded)
		if e.Held != 3 || e.Items != 3 || ids(e.Traces)[2] != 2 {
			t.Errorf("held %d, items %d, %v", e.Held, e.Items, ids(e.Traces))
		}
		if s := l.Stats(); s.Duplicates != 20 {
			t.Errorf("%+v", s)
		}
		l.park()
	})
}

func TestRunSpanThatComesToAColdTraceEndsItWhenAllParentsCame(t *testing.T) {
	for name, last := range map[string]node{"whole": {id: 2, parent: 9, run: true}, "a parent is missing": {id: 5, parent: 9, run: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &downstream{}
				l := begin(t, options(d), t.TempDir(), spool.Options{})
				r := evidence(1, node{id: 3, parent: 2})
				r.Links = []Link{{Key: key(1), ID: spanID(9), Parent: spanID(9)}}
				l.admit(r)
				l.admit(Request{Links: []Link{{Key: key(1), ID: spanID(8), Parent: spanID(8)}}})
				l.park()
				l = begin(t, options(d), l.dir, spool.Options{})
				l.admit(evidence(1, last))
				pass(2 * quiet)
				if name != "whole" {
					wantNone(t, d, 0)
					pass(idle)
					wantOne(t, d, 0, Idle)
				} else if e := wantOne(t, d, 0, RootEnded); !e.Complete {
					t.Errorf("unexpected emission %+v", e)
				}
				l.park()
			})
		})
	}
}

func TestNonAgentRootIsRememberedByTheSpool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 3, parent: 2}))
		l.admit(Request{Links: []Link{{Key: key(1), ID: spanID(9)}}})
		l = begin(t, options(d), l.crash(), spool.Options{})
		pass(2 * quiet)
		if e := wantOne(t, d, 0, RootEnded); !e.Complete {
			t.Errorf("unexpected emission %+v", e)
		}
		l.park()
		l = begin(t, options(d), l.dir, spool.Options{})
		if s := l.Stats(); s.OpenTraces != 0 {
			t.Errorf("links without evidence are open: %+v", s)
		}
		l.park()
	})
}

func TestManyLinksOfOneTraceFitIntoRecords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		r := evidence(1, node{id: 3, parent: 2})
		for range 1000 {
			r.Links = append(r.Links, Link{Key: key(1), ID: spanID(9), Parent: spanID(8)})
		}
		l.admit(r)
		l.park()
	})
}

func TestFullSpoolRefusesWholeRequestsAndDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		o := options(d)
		o.MaxBytes = 1 << 30
		l := begin(t, o, t.TempDir(), spool.Options{MaxBytes: 4 << 20, SegmentBytes: 256 << 10})
		payload := strings.Repeat("x", 100_000)
		var err error
		admitted := 0
		for i := byte(1); err == nil; i++ {
			if err = tryAdmit(l.Assembler, evidence(i, node{id: 1, run: true, payload: payload})); err == nil {
				admitted++
			}
		}
		if !errors.Is(err, ErrFull) {
			t.Fatalf("unexpected error %v", err)
		}
		synctest.Wait()
		if s := l.Stats(); s.RefusedSpool != 1 || s.Accepted != int64(admitted) {
			t.Errorf("%+v", s)
		}
		close(d.gate)
		pass(2 * quiet)
		if got := len(d.emissions()); got != admitted {
			t.Errorf("%d emissions of %d traces", got, admitted)
		}
		l.admit(evidence(99, node{id: 1, run: true, payload: payload}))
		l.park()
	})
}

func TestEvidenceThatWaitsForASlowStoreLeavesMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		o := options(d)
		o.MaxBytes = 32_000
		l := begin(t, o, t.TempDir(), spool.Options{})
		for i := byte(1); i <= 100; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
			if i%5 == 0 {
				pass(2 * quiet)
			}
		}
		if s := l.Stats(); s.Held != 100 || s.MemoryBytes > o.MaxBytes/2 {
			t.Errorf("%+v", s)
		}
		close(d.gate)
		pass(quiet)
		if got := len(d.emissions()); got != 100 {
			t.Errorf("%d emissions, want 100", got)
		}
		l.park()
	})
}

func TestParkingLeavesWhatDownstreamRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{fail: func(int, *Emission) error { return errStore }}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		for i := byte(1); i <= 20; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
		}
		pass(2 * quiet)
		began := time.Now()
		l.park()
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("parking waited %s", waited)
		}
		if s := l.Stats(); s.Held != 20 || s.DroppedShutdown != 0 {
			t.Errorf("%+v", s)
		}
		d.fail = nil
		l = begin(t, options(d), l.dir, spool.Options{})
		pass(2 * quiet)
		if got := len(d.emissions()); got != 20 {
			t.Errorf("%d emissions, want 20", got)
		}
		l.park()
	})
}

func TestDamagedRecordIsCountedAndTheRestGoesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true, payload: "whole"}))
		l.admit(evidence(1, node{id: 2, parent: 1, payload: "damaged"}))
		l.admit(evidence(1, node{id: 3, parent: 1, payload: "whole too"}))
		l.park()
		l = begin(t, options(d), l.dir, spool.Options{})
		damage(t, l.dir, "damaged")
		pass(2 * quiet)
		e := wantOne(t, d, 0, RootEnded)
		if e.Held != 2 || ids(e.Traces)[2] != 0 {
			t.Errorf("held %d, %v", e.Held, ids(e.Traces))
		}
		if s := l.Stats(); s.DroppedCorrupt != 1 || s.Held != 0 {
			t.Errorf("%+v", s)
		}
		l.park()
	})
}

// damage changes a byte of the text wherever it stands in the segments.
func damage(t *testing.T, dir, text string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	for _, name := range segments {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(body), text)
		if at < 0 {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte{'D'}, int64(at))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenTracesAreListedOldestFirst(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(a *Assembler) {
		for i := byte(1); i <= 9; i++ {
			admit(t, a, evidence(i, node{id: 2, parent: 1}))
			pass(time.Second)
		}
		got := a.OpenTraces(3)
		if len(got) != 3 {
			t.Fatalf("%d traces are listed, want 3", len(got))
		}
		for i, o := range got {
			if o.Key != key(byte(i+1)) || o.Reason != Idle || o.Items != 1 || o.Age < 6*time.Second {
				t.Errorf("%d: %+v", i, o)
			}
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	h := header{flags: flagRoot, items: 3, bytes: 4000, arrived: time.Unix(1, 2), links: []edge{{spanID(1), spanID(2), false}}}
	f.Add(h.append(nil))
	h.links = append(h.links, edge{spanID(2), spanID(3), true})
	f.Add(h.append(nil))
	f.Add([]byte{})
	f.Add([]byte{recordVersion, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := parseHeader(raw)
		if err != nil {
			return
		}
		again, err := parseHeader(h.append(nil))
		if err != nil || again.items != h.items || again.bytes != h.bytes || !again.arrived.Equal(h.arrived) || len(again.links) != len(h.links) {
			t.Errorf("%+v does not read back: %+v, %v", h, again, err)
		}
	})
}
