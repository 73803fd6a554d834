// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// decision is where a run went.
type decision struct {
	side  side
	items int // so far
}

// runHash is a seeded hash of a run key: 128 bits that a sender cannot predict. A map of hashes has no pointers that the garbage collector must follow.
type runHash [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(run string) runHash {
	return runHash{maphash.String(seeds[0], run), maphash.String(seeds[1], run)}
}

// memory knows where the last runs went. It holds between half of its limit and its limit. If there is a store, it also keeps the replays.
type memory struct {
	mu       sync.Mutex
	half     int
	recent   map[runHash]decision
	previous map[runHash]decision

	store storage.Client
	next  uint64 // number of the next entry in the store
}

func newMemory(limit int) *memory {
	return &memory{half: max(1, limit/2), recent: map[runHash]decision{}}
}

func (m *memory) get(run string) (decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookup(hashOf(run))
}

func (m *memory) lookup(run runHash) (decision, bool) {
	d, ok := m.recent[run]
	if !ok {
		d, ok = m.previous[run]
	}
	return d, ok
}

// put remembers where a run went. It is called before the run is acknowledged.
func (m *memory) put(ctx context.Context, run string, d decision) error {
	hash := hashOf(run)
	m.mu.Lock()
	before, known := m.lookup(hash)
	if len(m.recent) >= m.half {
		m.previous, m.recent = m.recent, make(map[runHash]decision, m.half)
	}
	m.recent[hash] = d
	keep := m.store != nil && d.side == replay && (!known || before.side != replay)
	entry := m.next
	if keep {
		m.next++
	}
	m.mu.Unlock()
	if !keep {
		return nil
	}
	value := binary.BigEndian.AppendUint64(nil, entry)
	if err := m.store.Set(ctx, strconv.FormatUint(entry%uint64(2*m.half), 10), append(value, run...)); err != nil {
		return fmt.Errorf("remember a replay: %w", err)
	}
	return nil
}

// open reads the replays in the store.
func (m *memory) open(ctx context.Context, store storage.Client) error {
	walker, ok := store.(storage.Walker)
	if !ok {
		return errors.New("the storage extension cannot list what it keeps; file_storage can")
	}
	err := walker.Walk(ctx, func(_ string, value []byte) ([]*storage.Operation, error) {
		const number = 8
		if len(value) > number {
			m.next = max(m.next, binary.BigEndian.Uint64(value)+1)
			m.recent[hashOf(string(value[number:]))] = decision{side: replay}
		}
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("read the memory of replays: %w", err)
	}
	m.store = store
	return nil
}

func (m *memory) close(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	return m.store.Close(ctx)
}
