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
	for live, goal := range map[uint64]uint64{
		20 << 20: floor, floor / 2: floor, floor: floor * 3 / 2, floor * 3 / 2: floor * 2, floor * 2: floor * 5 / 2, floor * 8: floor * 10,
	} {
		got := live + live*uint64(percentFor(live))/100
		if got > goal || got < goal-goal/50 {
			t.Errorf("%d MB alive: the goal is %d MB, want %d", live>>20, got>>20, goal>>20)
		}
	}
	for memory, want := range map[uint64]uint64{0: least, 1 << 30: least, 2 << 30: 256 << 20, 1 << 40: most} {
		if got := floorFor(memory); got != want {
			t.Errorf("the floor of %d MB of memory is %d MB, want %d", memory>>20, got>>20, want>>20)
		}
	}
	if m := memory(); runtime.GOOS == "linux" && (m < 64<<20 || m > 1<<46) {
		t.Errorf("the machine has %d bytes of memory", m)
	}
	if percentFor(0) != percentFor(1) {
		t.Error("an empty heap is collected otherwise than a small one")
	}
}

// The percentage of a small heap lets one grow to a multiple of the floor that has become larger since. The limit does not, and leaves room above the goal of each heap.
func TestLimitHoldsWhereThePercentageIsStale(t *testing.T) {
	const small, since = 10 << 20, 40 << 20
	stale := int64(since + since*percentFor(small)/100)
	if limit := limitFor(small, 0); stale <= limit || limit > int64(floor)+60<<20 {
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
	await("large", func(p int) bool { return p == percent/2 && debug.SetMemoryLimit(-1) > 3*int64(floor) })
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
			onStack(deep, func() { // a collection shrinks the stack of a goroutine that has returned
				grown <- struct{}{}
				<-release
			})
		}()
	}
	for range goroutines {
		<-grown
	}
	defer close(release)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	stacks := int64(sample[0].Value.Uint64())
	if stacks < 64<<20 {
		t.Fatalf("%d MB of stacks", stacks>>20)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	for i := 0; ; i++ {
		limit := debug.SetMemoryLimit(-1)
		if limit < math.MaxInt64 && limit >= int64(floor)+stacks {
			break
		}
		if i == 1000 {
			t.Fatalf("%d MB of stacks under a limit of %d MB", stacks>>20, limit>>20)
		}
		runtime.GC()
		runtime.Gosched() // a cleanup runs in a goroutine of the runtime
	}
}

// onStack takes so many bytes of the stack while it calls f.
func onStack(bytes int, f func()) byte {
	var frame [1 << 10]byte
	if bytes > len(frame) {
		frame[0] = onStack(bytes-len(frame), f)
	} else {
		f()
	}
	return frame[bytes%len(frame)]
}
