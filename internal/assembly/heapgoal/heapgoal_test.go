// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package heapgoal

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestGoalIsTheFloorOrAPartMore(t *testing.T) {
	for live, goal := range map[uint64]uint64{10 << 20: floor, 48 << 20: floor, 64 << 20: floor, floor: floor * 3 / 2, 200 << 20: 280 << 20, 300 << 20: 380 << 20, 1 << 30: 5 << 28} {
		got := live + live*uint64(percentFor(live))/100
		if got > goal || got < goal-goal/50 {
			t.Errorf("%d MB alive: the goal is %d MB, want %d", live>>20, got>>20, goal>>20)
		}
	}
	if percentFor(0) != percentFor(1) {
		t.Error("an empty heap is collected otherwise than a small one")
	}
}

// The percentage of a small heap lets one grow to a multiple of the floor that has become larger since. The limit does not, and leaves room above the goal of each heap.
func TestLimitHoldsWhereThePercentageIsStale(t *testing.T) {
	const small, since = 5 << 20, 20 << 20
	stale := int64(since + since*percentFor(small)/100)
	if limit := limitFor(small, 0); stale <= limit || limit > 200<<20 {
		t.Errorf("a heap of %d MB may grow to %d MB by its percentage, and to %d MB by its limit", since>>20, stale>>20, limit>>20)
	}
	for _, live := range []uint64{0, 10 << 20, floor, 300 << 20, 4 << 30} {
		goal := int64(max(floor, live+live*uint64(percentFor(live))/100))
		if limit := limitFor(live, 0); limit < goal+int64(live)/4+slack {
			t.Errorf("%d MB alive: a limit of %d MB leaves no room above the goal of %d MB", live>>20, limit>>20, goal>>20)
		}
	}
}

func gcPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// The goal follows what is alive, and the operator's choice wins.
func TestGoalFollowsTheHeap(t *testing.T) {
	before := gcPercent()
	t.Setenv("GOGC", "100")
	Start()
	if gcPercent() != before {
		t.Fatal("GOGC of the operator is overruled")
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "1GiB")
	Start()
	if gcPercent() != before {
		t.Fatal("GOMEMLIMIT of the operator is overruled")
	}
	t.Setenv("GOMEMLIMIT", "")
	Start()
	await := func(heap string, ok func(percent int) bool) {
		for i := 0; !ok(gcPercent()); i++ {
			if i == 100_000 {
				t.Fatalf("%d percent for a %s heap", gcPercent(), heap)
			}
			runtime.GC()
			runtime.Gosched() // a cleanup runs in a goroutine of the runtime
		}
	}
	await("small", func(p int) bool { return p > percent })
	held := make([]byte, 3*floor)
	await("large", func(p int) bool { return p == percent/2 && debug.SetMemoryLimit(-1) > 3*floor })
	runtime.KeepAlive(held)
}

// Stacks count for the limit, and no collection frees them: a limit below would have the collector run without end.
func TestLimitLeavesRoomForStacks(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	Start()
	grown, release := make(chan struct{}), make(chan struct{})
	const goroutines, deep = 256, 1 << 20
	for range goroutines {
		go func() {
			onStack(deep)
			grown <- struct{}{}
			<-release
		}()
	}
	for range goroutines {
		<-grown
	}
	defer close(release)
	limit := int64(math.MaxInt64)
	debug.SetMemoryLimit(limit)
	for i := 0; limit == math.MaxInt64; i++ {
		if i == 100_000 {
			t.Fatal("no limit is set")
		}
		runtime.GC()
		runtime.Gosched() // a cleanup runs in a goroutine of the runtime
		limit = debug.SetMemoryLimit(-1)
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	if stacks := int64(sample[0].Value.Uint64()); stacks < 64<<20 || limit < floor+stacks {
		t.Errorf("%d MB of stacks under a limit of %d MB", stacks>>20, limit>>20)
	}
}

// onStack takes so many bytes of the stack.
func onStack(bytes int) byte {
	var frame [1 << 10]byte
	if bytes > len(frame) {
		frame[0] = onStack(bytes - len(frame))
	}
	return frame[bytes%len(frame)]
}
