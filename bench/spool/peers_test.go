// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package benchspool

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tapedeck/tapedeck/internal/assembly/spool"
	"github.com/tidwall/wal"
	"go.etcd.io/bbolt"
)

// store keeps batches of records until they are removed. put returns when the batch is on the disk.
type store interface {
	put(records [][]byte, key uint64) (handle any, err error)
	remove(handle any) error
	close() error
}

// BenchmarkPeers: an op is one record of 2,172 bytes that cannot be compressed, in batches of 20 that 8 goroutines hand over and remove
// again. Every batch is on the disk before put returns.
func BenchmarkPeers(b *testing.B) {
	const goroutines, batch, size = 8, 20, 2172
	for _, peer := range []struct {
		name string
		open func(dir string) (store, error)
	}{
		{"file,sync-each-batch", openFloor(1)},
		{"file,sync-each-8th-batch", openFloor(8)},
		{"spool", openSpool},
		{"tidwall-wal", openWAL},
		{"pebble", openPebble},
		{"bbolt", openBolt},
	} {
		b.Run(peer.name, func(b *testing.B) {
			s, err := peer.open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			b.ResetTimer()
			cpu, written := usage(b)
			var next atomic.Uint64
			var wg sync.WaitGroup
			for g := range uint64(goroutines) {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(g, 1))
					records := make([][]byte, batch)
					for i := range records {
						records[i] = make([]byte, size)
						for k := range records[i] {
							records[i][k] = byte(rng.Uint32())
						}
					}
					for {
						n := next.Add(batch)
						if n > uint64(b.N+batch-1) {
							return
						}
						h, err := s.put(records, n)
						if err == nil {
							err = s.remove(h)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			after, writtenAfter := usage(b)
			b.ReportMetric((after-cpu)*1e6/float64(b.N), "cpu-s/M")
			b.ReportMetric((writtenAfter-written)/float64(b.N)/size, "x-written")
			if err := s.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// usage is the CPU time of the process in seconds, and the bytes that it made the disk write.
func usage(b *testing.B) (cpu, written float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, 0
	}
	var n float64
	for line := range lines(data) {
		if _, err := fmt.Sscanf(line, "write_bytes: %g", &n); err == nil {
			break
		}
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, n
}

func lines(data []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for start, i := 0, 0; i < len(data); i++ {
			if data[i] == '\n' {
				if !yield(string(data[start:i])) {
					return
				}
				start = i + 1
			}
		}
	}
}

// floor is what no log can do without: the bytes, and a sync for each batch, or for as many as goroutines wait. The second does not
// keep the promise of put; it has the work of a group commit that is always full.
type floor struct {
	mu   sync.Mutex
	f    *os.File
	n    int
	each int
}

func openFloor(each int) func(string) (store, error) {
	return func(dir string) (store, error) {
		f, err := os.Create(filepath.Join(dir, "floor"))
		return &floor{f: f, each: each}, err
	}
}

func (s *floor) put(records [][]byte, _ uint64) (any, error) {
	var buf []byte
	for _, r := range records {
		buf = append(buf, r...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.f.Write(buf); err != nil {
		return nil, err
	}
	if s.n++; s.n%s.each > 0 {
		return nil, nil
	}
	return nil, syscall.Fdatasync(int(s.f.Fd()))
}

func (s *floor) remove(any) error { return nil }
func (s *floor) close() error     { return s.f.Close() }

type spoolStore struct{ log *spool.Log }

func openSpool(dir string) (store, error) {
	log, err := spool.Open(dir, spool.Options{}, nil)
	return spoolStore{log}, err
}

func (s spoolStore) put(records [][]byte, _ uint64) (any, error) {
	entries, ids := make([]spool.Entry, len(records)), make([]spool.ID, len(records))
	for i, r := range records {
		entries[i] = spool.Entry{Key: []byte("acme/4bf92f3577b34da6a3ce929d0e0e4736"), Payload: r}
	}
	return ids, s.log.Append(context.Background(), entries, ids)
}

func (s spoolStore) remove(h any) error { return s.log.Release(h.([]spool.ID)) }
func (s spoolStore) close() error       { return s.log.Close() }

// walStore: that log has no group commit and is cut at its front only, so one record that stays keeps all that came after it. Here the
// front is cut 1,000 records behind the end, which real runs would not allow.
type walStore struct {
	mu   sync.Mutex
	log  *wal.Log
	last uint64
}

func openWAL(dir string) (store, error) {
	log, err := wal.Open(dir, &wal.Options{SegmentSize: 64 << 20, NoCopy: true, LogFormat: wal.Binary})
	return &walStore{log: log}, err
}

func (s *walStore) put(records [][]byte, _ uint64) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch wal.Batch
	for _, r := range records {
		s.last++
		batch.Write(s.last, r)
	}
	return s.last, s.log.WriteBatch(&batch)
}

func (s *walStore) remove(h any) error {
	last := h.(uint64)
	if last%20_000 > 0 || last <= 1000 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.TruncateFront(last - 1000)
}

func (s *walStore) close() error { return s.log.Close() }

type pebbleStore struct{ db *pebble.DB }

func openPebble(dir string) (store, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: silent{}})
	return pebbleStore{db}, err
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (s pebbleStore) put(records [][]byte, key uint64) (any, error) {
	batch := s.db.NewBatch()
	keys := make([][]byte, len(records))
	for i, r := range records {
		keys[i] = binary.BigEndian.AppendUint64([]byte("acme/4bf92f3577b34da6/"), key+uint64(i))
		if err := batch.Set(keys[i], r, nil); err != nil {
			return nil, err
		}
	}
	return keys, batch.Commit(pebble.Sync)
}

func (s pebbleStore) remove(h any) error {
	batch := s.db.NewBatch()
	for _, k := range h.([][]byte) {
		if err := batch.Delete(k, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.NoSync)
}

func (s pebbleStore) close() error { return s.db.Close() }

type boltStore struct{ db *bbolt.DB }

var bucket = []byte("spans")

// openBolt is how file_storage of the collector keeps its records, with its fsync option.
func openBolt(dir string) (store, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	return boltStore{db}, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	})
}

func (s boltStore) put(records [][]byte, key uint64) (any, error) {
	keys := make([][]byte, len(records))
	return keys, s.db.Batch(func(tx *bbolt.Tx) error {
		for i, r := range records {
			keys[i] = binary.BigEndian.AppendUint64([]byte("acme/4bf92f3577b34da6/"), key+uint64(i))
			if err := tx.Bucket(bucket).Put(keys[i], r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s boltStore) remove(h any) error {
	return s.db.Batch(func(tx *bbolt.Tx) error {
		for _, k := range h.([][]byte) {
			if err := tx.Bucket(bucket).Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s boltStore) close() error { return s.db.Close() }
