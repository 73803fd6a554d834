// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package heapgoal

import (
	"runtime"
	"runtime/debug"
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
	await("large", func(p int) bool { return p == percent/2 })
	runtime.KeepAlive(held)
}
