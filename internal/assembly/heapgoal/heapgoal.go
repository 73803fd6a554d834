// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package heapgoal decides when the garbage collector of a collector runs, and of what answers a replay. By default the Go runtime lets the heap grow to twice what is
// alive. Small heaps are collected too often that way, for what a run allocates is garbage soon. Large ones, which hold open runs, take twice
// the memory of their evidence.
package heapgoal

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
)

const (
	// least and most bound the floor, up to where a heap grows before it is collected, however little of it
	// is alive: bytes. The default pipeline has 60 to 80 MB alive.
	least = 144 << 20
	most  = 288 << 20
	// share of the memory of the machine, or of its container, is the floor between the two.
	share = 8
	// percent is how much of what is alive a larger heap may grow by. Above twice the floor it is less, down
	// to lowest: a large heap holds reels, and evidence without a spool, which cost little to collect.
	percent = 50
	// slack is what the memory of the runtime may be over the goal and what lies beside the heap, in bytes,
	// and a quarter of what is alive more: gaps between objects.
	slack = 24 << 20
)

// lowest is the least percentage of a large heap.
var lowest uint64 = percent / 2

// floor is that of this process.
var floor = floorFor(memory())

// Floor is up to where the heap of this process grows before it is collected, in bytes.
func Floor() int64 { return int64(floor) }

// floorFor is the floor of a process that may have so many bytes, 0 if that is not known.
func floorFor(memory uint64) uint64 { return min(most, max(least, memory/share)) }

// memory is what the kernel lets the process have: the memory of the machine, or the limit of its container
// if that is less. It is 0 where neither is told, as on systems without /proc.
func memory() uint64 {
	total := uint64(0)
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		_, behind, _ := strings.Cut(string(info), "MemTotal:")
		if fields := strings.Fields(behind); len(fields) > 0 {
			kib, _ := strconv.ParseUint(fields[0], 10, 54)
			total = kib << 10
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} { // version 2, version 1
		if text, err := os.ReadFile(file); err == nil {
			if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && (total == 0 || limit < total) {
				total = limit
			}
		}
	}
	return total
}

// Start sets the goal of the heap after each collection, unless the operator has chosen by GOGC or GOMEMLIMIT. It goes on until the
// process ends, and is started once.
func Start() { startWith(percent / 2) }

// StartHolding is Start for a program that keeps all it reads until it ends. Its memory matters more than the
// time that collections of a large heap take.
func StartHolding() { startWith(percent / 4) }

func startWith(least uint64) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		started.Do(func() {
			lowest = least
			again()
		})
	}
}

var started sync.Once

// percentFor is the GOGC for a heap of which live bytes are alive.
func percentFor(live uint64) int {
	const highest = 2000
	switch {
	case live == 0:
		return highest
	case live >= floor:
		return int(max(lowest, min(percent, floor/2*100/live)))
	default:
		return int(min(highest, max(percent, (floor-live)*100/live)))
	}
}

// limitFor is the limit of the memory for a heap of which live bytes are alive, and so many bytes of the
// runtime's that are no heap. These are stacks of goroutines above all, which no collection frees. The
// percentage holds for what was alive at the last collection. Where the next one finds more, the heap may
// grow to many times that before the percentage is set again. The limit holds then.
func limitFor(live, beside uint64) int64 {
	return int64(max(floor, live+live*uint64(percentFor(live))/100) + slack + live/4 + beside)
}

// sentinel is garbage as soon as it is made, so that the next collection runs what hangs on it.
type sentinel struct{ _ [16]byte }

func again() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(sample)
	live, beside := sample[0].Value.Uint64(), sample[1].Value.Uint64()
	for _, heap := range sample[2:] {
		beside -= min(beside, heap.Value.Uint64())
	}
	debug.SetGCPercent(percentFor(live))
	debug.SetMemoryLimit(limitFor(live, beside))
	runtime.AddCleanup(new(sentinel), func(struct{}) { again() }, struct{}{})
}
