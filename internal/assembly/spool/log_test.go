// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// book is what a test knows of a log: what it appended, by ID.
type book struct {
	t    *testing.T
	log  *Log
	held map[ID]Entry
	next int
}

func openBook(t *testing.T, fs fileSystem, o Options) *book {
	t.Helper()
	b := &book{t: t, held: map[ID]Entry{}}
	b.open(fs, o)
	return b
}

// open opens the log; what it recovers has to be in want, if that is not nil, once each.
func (b *book) open(fs fileSystem, o Options) {
	b.t.Helper()
	found := map[ID]Entry{}
	log, err := open(fs, o, func(h Held) error {
		if _, twice := found[h.ID]; twice || h.ID == 0 {
			b.t.Errorf("record %d recovered twice", h.ID)
		}
		found[h.ID] = Entry{Key: bytes.Clone(h.Key), Meta: bytes.Clone(h.Meta)}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.log = log
	want := map[string]Entry{}
	for _, e := range b.held {
		want[string(e.Meta)] = e
	}
	b.held = map[ID]Entry{}
	for id, e := range found {
		w, ok := want[string(e.Meta)]
		if !ok || !bytes.Equal(w.Key, e.Key) {
			b.t.Errorf("recovered a record that is not held: key %q, meta %q", e.Key, e.Meta)
			continue
		}
		delete(want, string(e.Meta))
		b.held[id] = w
	}
	for meta := range want {
		b.t.Errorf("record %q is not recovered", meta)
	}
}

// entry makes an entry whose meta is its name.
func (b *book) entry(size int) Entry {
	b.next++
	meta := fmt.Sprintf("record %d", b.next)
	rng := rand.New(rand.NewPCG(uint64(b.next), 7))
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(rng.Uint32() >> 28) // compressible
	}
	return Entry{Key: fmt.Appendf(nil, "run %d", b.next/3), Meta: []byte(meta), Payload: payload}
}

func (b *book) append(entries ...Entry) []ID {
	b.t.Helper()
	ids := make([]ID, len(entries))
	if err := b.log.Append(context.Background(), withMessages(entries), ids); err != nil {
		b.t.Fatal(err)
	}
	for i, id := range ids {
		if _, twice := b.held[id]; twice || id == 0 {
			b.t.Fatalf("ID %d given twice", id)
		}
		b.held[id] = entries[i]
	}
	return ids
}

// textMessage is a payload that is written into the frame.
type textMessage []byte

func (m textMessage) SizeProto() int              { return len(m) }
func (m textMessage) MarshalProto(buf []byte) int { return copy(buf, m) }

// withMessages has the payloads of some entries as messages: those of odd length, so that a test has both.
func withMessages(entries []Entry) []Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		if e := &entries[i]; len(e.Payload)%2 > 0 {
			e.Message, e.Payload = textMessage(e.Payload), nil
		}
	}
	return entries
}

// A record holds the same bytes, whether its payload came as bytes or as a message, compressed or not.
func TestMessages(t *testing.T) {
	for _, c := range []Compression{CompressionNone, CompressionZstd} {
		b := openBook(t, newFaultDir(1), Options{Compression: c})
		var entries []Entry
		for i := range 40 {
			entries = append(entries, b.entry(i*i))
		}
		b.append(entries...)
		b.append(b.entry(99_999))
		b.check()
		if err := b.log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// liar is a message that changes while it is written.
type liar struct{ textMessage }

func (m liar) SizeProto() int { return len(m.textMessage) + 1 }

// A message that is not as long as it says is refused with its batch; what the buffer had in it stays off the disk.
func TestAMessageThatChanges(t *testing.T) {
	for _, c := range []Compression{CompressionNone, CompressionZstd} {
		b := openBook(t, newFaultDir(1), Options{Compression: c})
		b.append(b.entry(300))
		if err := b.log.Append(t.Context(), []Entry{b.entry(10), {Message: liar{make([]byte, 500)}}}, make([]ID, 2)); err == nil {
			t.Error("accepted")
		}
		b.append(b.entry(301))
		b.check()
		if err := b.log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *book) release(ids ...ID) {
	b.t.Helper()
	if err := b.log.Release(ids); err != nil {
		b.t.Fatal(err)
	}
	for _, id := range ids {
		delete(b.held, id)
	}
}

// check reads everything that is held.
func (b *book) check() {
	b.t.Helper()
	var ids []ID
	for id := range b.held {
		ids = append(ids, id)
	}
	seen := map[int]bool{}
	err := b.log.Read(ids, func(i int, meta, payload []byte) error {
		want := b.held[ids[i]]
		if !bytes.Equal(meta, want.Meta) || !bytes.Equal(payload, want.Payload) {
			b.t.Errorf("record %q reads as %q with other bytes", want.Meta, meta)
		}
		seen[i] = true
		return nil
	})
	if err != nil || len(seen) != len(ids) {
		b.t.Errorf("read %d of %d records: %v", len(seen), len(ids), err)
	}
	if s := b.log.Stats(); s.Held != int64(len(b.held)) {
		b.t.Errorf("%d held, not %d", s.Held, len(b.held))
	}
}

func (b *book) close() {
	b.t.Helper()
	if err := b.log.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func osDirOf(t *testing.T, dir string) fileSystem {
	t.Helper()
	fs, err := newOSDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestRecordsAreReadBackAndRecovered(t *testing.T) {
	for _, o := range []Options{{}, {Sync: SyncInterval, SyncInterval: time.Millisecond}, {Sync: SyncNone}, {Compression: CompressionZstd}} {
		t.Run(fmt.Sprint(o.Sync, o.Compression), func(t *testing.T) {
			fs := osDirOf(t, t.TempDir())
			b := openBook(t, fs, o)
			first := b.append(b.entry(0), b.entry(1), b.entry(2000), b.entry(300_000))
			b.append(b.entry(10), Entry{Meta: []byte("no key")})
			b.check()
			b.release(first[1:3]...)
			b.check()
			if err := b.log.Release(first[:2]); !errors.Is(err, ErrNotHeld) {
				t.Error(err)
			}
			delete(b.held, first[0])
			if err := b.log.Read(first, nil); !errors.Is(err, ErrNotHeld) {
				t.Error(err)
			}
			for range 3 {
				b.close()
				b.open(fs, o)
				b.check()
				b.append(b.entry(100))
			}
			b.close()
			if err := b.log.Append(context.Background(), []Entry{{}}, make([]ID, 1)); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			if err := errors.Join(b.log.Read(nil, nil), b.log.Release(nil), b.log.Close()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
}

func TestSegmentsGoAndCompactionKeepsWhatLives(t *testing.T) {
	for _, o := range []Options{{SegmentBytes: minSegmentBytes}, {SegmentBytes: minSegmentBytes, Sync: SyncNone}} {
		fs := osDirOf(t, t.TempDir())
		b := openBook(t, fs, o)
		keep := b.append(b.entry(100)) // pins the oldest segment
		for range 60 {
			ids := b.append(b.entry(5000), b.entry(5000), b.entry(5000))
			b.append(b.entry(50))
			b.release(ids...)
		}
		waitFor(t, func() bool { return b.log.Stats().Segments < 8 })
		b.check()
		s := b.log.Stats()
		if s.CompactedBytes == 0 || s.Segments > 8 {
			t.Errorf("%+v", s)
		}
		b.close()
		b.open(fs, o)
		b.check()
		if len(keep) != 1 {
			t.Fatal()
		}
		b.close()
	}
}

func TestManyAppendAtOnce(t *testing.T) {
	b := openBook(t, osDirOf(t, t.TempDir()), Options{SegmentBytes: 1 << 20})
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				mu.Lock()
				entries := []Entry{b.entry(1000), b.entry(3000)}
				mu.Unlock()
				ids := make([]ID, 2)
				if err := b.log.Append(context.Background(), entries, ids); err != nil {
					t.Error(err)
					return
				}
				err := b.log.Read(ids[1:], func(_ int, meta, payload []byte) error {
					if !bytes.Equal(payload, entries[1].Payload) {
						return errors.New("other bytes")
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if err := b.log.Release(ids[:1]); err != nil {
					t.Error(err)
				}
				mu.Lock()
				b.held[ids[1]] = entries[1]
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.check()
	if s := b.log.Stats(); s.Commits >= s.Appends {
		t.Errorf("%d commits for %d batches", s.Commits, s.Appends)
	}
	b.close()
}

// waitFor lets the goroutines of a log get to a condition.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that")
		}
		time.Sleep(time.Millisecond)
	}
}
