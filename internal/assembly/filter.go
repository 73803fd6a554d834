// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"math/bits"
	"sync/atomic"
)

// Slots of the filter. There are eight for each trace that may be open, so less than one question in eight is answered yes by mistake when
// all are open. A mistake costs a link that nobody wants, and a record of the spool with it. The filter takes 256 KiB to 16 MiB.
const (
	slotsPerTrace  = 8
	minFilterSlots = 1 << 16
	maxFilterSlots = 1 << 22
)

// filter counts open traces by hash. Questions come for every span that is no evidence, so it takes no lock.
type filter struct {
	slots []atomic.Int32 // a power of two
}

func newFilter(maxTraces int) *filter {
	n := min(max(maxTraces, 0), maxFilterSlots/slotsPerTrace) * slotsPerTrace
	return &filter{make([]atomic.Int32, max(minFilterSlots, 1<<bits.Len(uint(max(n, 1)-1))))}
}

func (f *filter) slot(hash uint64) *atomic.Int32 { return &f.slots[hash&uint64(len(f.slots)-1)] }

func (f *filter) add(hash uint64)    { f.slot(hash).Add(1) }
func (f *filter) remove(hash uint64) { f.slot(hash).Add(-1) }

func (f *filter) mayHold(hash uint64) bool { return f.slot(hash).Load() > 0 }
