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
	"sync"
)

const (
	// floor is up to where a heap grows before it is collected, however little of it is alive: bytes. The default pipeline has 60 to 80 MB alive, and 250 MB in all.
	floor = 144 << 20
	// percent is how much of what is alive a larger heap may grow by, and growth the bytes from which on it is less, down to half of it: a large heap holds reels, and
	// evidence without a spool, which cost little to collect.
	percent = 50
	growth  = 80 << 20
	// slack is what the memory of the runtime may be over the goal and what lies beside the heap, in bytes, and a quarter of what is alive more: gaps between objects.
	slack = 24 << 20
)

// Start sets the goal of the heap after each collection, unless the operator has chosen by GOGC or GOMEMLIMIT. It goes on until the
// process ends, and is started once.
func Start() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		start()
	}
}

var start = sync.OnceFunc(again)

// percentFor is the GOGC for a heap of which live bytes are alive.
func percentFor(live uint64) int {
	const most = 2000
	if live == 0 {
		return most
	}
	if live >= floor {
		return int(max(percent/2, min(percent, growth*100/live)))
	}
	return int(min(most, max(percent, (floor-live)*100/live)))
}

// limitFor is the limit of the memory for a heap of which live bytes are alive, and so many bytes of the runtime's that are no heap: stacks of goroutines above all, which no collection frees. The percentage holds for what was alive at the last collection: where the next one finds more, the heap may grow to
// many times that before the percentage is set again, and a busy machine takes its time. The limit holds then.
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
