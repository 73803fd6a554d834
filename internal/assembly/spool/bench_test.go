// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// randomBytes cannot be compressed.
func randomBytes(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// BenchmarkAppend: each op is one record. Every record is released, as those of runs that end are, so the log does not grow.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []SyncMode{SyncAlways, SyncInterval} {
		for _, size := range []int{2 << 10, 10 << 10} {
			for _, goroutines := range []int{1, 8, 64} {
				for _, batch := range []int{1, 20} {
					b.Run(fmt.Sprintf("sync=%s/bytes=%d/goroutines=%d/batch=%d", mode, size, goroutines, batch), func(b *testing.B) {
						benchAppend(b, Options{Sync: mode}, size, goroutines, batch)
					})
				}
			}
		}
	}
}

func benchAppend(b *testing.B, o Options, size, goroutines, batch int) {
	log, err := Open(b.TempDir(), o, nil)
	if err != nil {
		b.Fatal(err)
	}
	payload := randomBytes(size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cputime.Used()
	var done atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			entries := make([]Entry, batch)
			for i := range entries {
				entries[i] = Entry{Key: []byte("acme/4bf92f3577b34da6a3ce929d0e0e4736"), Meta: payload[:16], Payload: payload}
			}
			ids := make([]ID, batch)
			for done.Add(int64(batch)) <= int64(b.N+batch-1) {
				if err := log.Append(context.Background(), entries, ids); err != nil {
					b.Error(err)
					return
				}
				if err := log.Release(ids); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric((cputime.Used()-cpu).Seconds()*1e6/float64(b.N), "cpu-s/M")
	s := log.Stats()
	b.ReportMetric(float64(s.Entries)/float64(max(1, s.Commits)), "records/commit")
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}

// fill appends n records of which every keep-th is not released.
func fill(b *testing.B, log *Log, n, size, keep int) []ID {
	payload := randomBytes(size)
	var held []ID
	const batch = 500
	entries, ids := make([]Entry, batch), make([]ID, batch)
	for i := 0; i < n; i += batch {
		for k := range entries {
			entries[k] = Entry{Key: fmt.Appendf(nil, "acme/4bf92f3577b34da6a3ce929d%08x", (i+k)/20), Meta: payload[:16], Payload: payload}
		}
		if err := log.Append(context.Background(), entries, ids); err != nil {
			b.Fatal(err)
		}
		for k, id := range ids {
			if keep == 0 || (i+k)%keep > 0 {
				if err := log.Release(ids[k : k+1]); err != nil {
					b.Fatal(err)
				}
			} else {
				held = append(held, id)
			}
		}
	}
	return held
}

// BenchmarkRead: an op reads the 20 records of a run, which lie between those of 25 others.
func BenchmarkRead(b *testing.B) {
	log, err := Open(b.TempDir(), Options{Sync: SyncNone}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	ids := fill(b, log, 50_000, 2<<10, 1)
	run := make([]ID, 20)
	b.SetBytes(20 * 2 << 10)
	b.ReportAllocs()
	cpu := cputime.Used()
	for n := 0; b.Loop(); n++ {
		first := n * 500 % (len(ids) - 500)
		for i := range run {
			run[i] = ids[first+i*25]
		}
		if err := log.Read(run, func(int, []byte, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cputime.Used()-cpu).Seconds()*1e6/float64(b.N*20), "cpu-s/M")
}

// BenchmarkOpen: an op is a start with 1 million records. Payloads are not read, so their size does not matter: they are short here.
// records=dead: nothing is held any more.
func BenchmarkOpen(b *testing.B) {
	const n = 1_000_000
	for name, keep := range map[string]int{"held": 1, "dead": 0} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			o := Options{Sync: SyncNone, MaxDeadRatio: 1e9}
			log, err := Open(dir, o, nil)
			if err != nil {
				b.Fatal(err)
			}
			first := make([]ID, 1) // keeps the first segment, and so all of them
			if err := log.Append(context.Background(), []Entry{{}}, first); err != nil {
				b.Fatal(err)
			}
			fill(b, log, n, 64, keep)
			if err := log.Close(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				held := 0
				log, err := Open(dir, o, func(Held) error { held++; return nil })
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if held != 1+n*keep {
					b.Fatal(held)
				}
				b.ReportMetric(float64(log.Stats().DiskBytes)/1e6, "MB")
				if err := log.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkIndex: the memory of 3 million held records, by the heap.
func BenchmarkIndex(b *testing.B) {
	const n = 3_000_000
	for range b.N {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := &Log{}
		for i := range uint32(n) {
			if i%30_000 == 0 {
				l.segments = append(l.segments, &segment{segmentHeader: segmentHeader{number: i/30_000 + 1}})
			}
			s := l.segments[i/30_000]
			s.own(l.index.add(position{s.number, i}, 2000), 2000)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/record")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(l)
	}
}
