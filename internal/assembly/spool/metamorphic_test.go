// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

// TestConfigurationsAgree runs the same random operations under two configurations that differ in everything that must not matter: after
// each of them both hold the same records, in a model too simple to be wrong.
func TestConfigurationsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	configs := []Options{
		{SegmentBytes: minSegmentBytes, MaxDeadRatio: 0.2, Compression: CompressionZstd},
		{SegmentBytes: 1 << 20, MaxDeadRatio: 3, Sync: SyncNone, MaxBytes: 1 << 30},
	}
	books := make([]*book, len(configs))
	names := make([]map[string]ID, len(configs)) // ID of what is held, by meta
	dirs := []fileSystem{osDirOf(t, t.TempDir()), osDirOf(t, t.TempDir())}
	for i, o := range configs {
		books[i] = openBook(t, dirs[i], o)
		names[i] = map[string]ID{}
	}
	for range 400 {
		op, n, size := rng.IntN(20), 1+rng.IntN(5), rng.IntN(12_000)
		pick := rng.Uint64()
		for i, b := range books {
			held := make([]string, 0, len(names[i]))
			for name := range names[i] {
				held = append(held, name)
			}
			slices.Sort(held)
			chosen := rand.New(rand.NewPCG(pick, 1))
			chosen.Shuffle(len(held), func(x, y int) { held[x], held[y] = held[y], held[x] })
			switch {
			case op < 12:
				entries := make([]Entry, n)
				for k := range entries {
					entries[k] = b.entry(size / (k + 1))
				}
				for k, id := range b.append(entries...) {
					names[i][string(entries[k].Meta)] = id
				}
			case op < 17:
				for _, name := range held[:min(len(held), n*2)] {
					b.release(names[i][name])
					delete(names[i], name)
				}
			case op < 18:
				for _, name := range held[:len(held)*9/10] {
					b.release(names[i][name])
					delete(names[i], name)
				}
			case op < 19:
				b.check()
			default:
				b.close()
				b.open(dirs[i], configs[i])
				clear(names[i])
				for id, e := range b.held {
					names[i][string(e.Meta)] = id
				}
			}
		}
		if a, b := len(names[0]), len(names[1]); a != b {
			t.Fatalf("%d records here, %d there", a, b)
		}
	}
	for i, b := range books {
		for name := range names[0] {
			if _, there := names[1][name]; !there {
				t.Errorf("%s is held here only", name)
			}
		}
		b.check()
		if s := b.log.Stats(); s.CorruptFrames+s.CorruptRecords+s.TruncatedBytes+s.Refused != 0 {
			t.Errorf("%d: %+v", i, s)
		}
		if err := b.log.Append(context.Background(), nil, nil); err != nil {
			t.Error(err)
		}
		b.close()
	}
}
