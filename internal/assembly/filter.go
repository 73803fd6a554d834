// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "sync/atomic"

// filterSlots is sized for the traces that are open at once in a busy collector: with 10,000 of them one question in seven is
// answered yes by mistake, which costs one link that nobody wants. 256 KiB.
const filterSlots = 1 << 16

// filter counts open traces by hash. Questions come for every span that is no evidence, so it takes no lock.
type filter struct {
	slots [filterSlots]atomic.Int32
}

func (f *filter) add(hash uint64)    { f.slots[hash%filterSlots].Add(1) }
func (f *filter) remove(hash uint64) { f.slots[hash%filterSlots].Add(-1) }

func (f *filter) mayHold(hash uint64) bool { return f.slots[hash%filterSlots].Load() > 0 }
