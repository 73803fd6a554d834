// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "time"

// wheelSlots times the tick is the horizon of a wheel. Later deadlines are looked at once per horizon.
const wheelSlots = 512

// wheel is a timing wheel: deadlines are slots of a ring, and one ticker turns it. It belongs to one goroutine.
//
// A deadline that moves to a later time is not moved in the wheel. When its slot comes, the trace is checked and put into a later slot. So
// new evidence costs nothing here. A trace is in one slot at most, that of openTrace.wheelTick, and in none when that is 0.
type wheel struct {
	tick  time.Duration
	now   int64 // the last tick whose slot was emptied
	slots [wheelSlots]traceList
}

func newWheel(tick time.Duration) *wheel {
	w := &wheel{tick: tick}
	for i := range w.slots {
		w.slots[i].order = bySlot
	}
	return w
}

// schedule makes sure that the trace is looked at no later than at due (nanoseconds since the wheel began), or at the horizon.
func (w *wheel) schedule(t *openTrace, due int64) {
	// Rounded up: a trace is not looked at before its deadline.
	tick := (due + int64(w.tick) - 1) / int64(w.tick)
	tick = min(max(tick, w.now+1), w.now+wheelSlots-1)
	if t.wheelTick != 0 {
		if t.wheelTick <= tick {
			return
		}
		w.remove(t)
	}
	t.wheelTick = tick
	w.slots[tick%wheelSlots].pushBack(t)
}

// remove forgets a trace.
func (w *wheel) remove(t *openTrace) {
	if t.wheelTick != 0 {
		w.slots[t.wheelTick%wheelSlots].remove(t)
		t.wheelTick = 0
	}
}

// advance calls look for every trace whose slot has come; now is in nanoseconds since the wheel began. look may schedule the trace, or
// remove it.
func (w *wheel) advance(now int64, look func(*openTrace)) {
	target := now / int64(w.tick)
	// After a jump longer than the horizon one turn sees every slot.
	if target-w.now > wheelSlots {
		w.now = target - wheelSlots
	}
	for w.now < target {
		w.now++
		// schedule never picks the slot that is being emptied: it is a whole turn away.
		for slot := &w.slots[w.now%wheelSlots]; slot.front != nil; {
			t := slot.front
			w.remove(t)
			look(t)
		}
	}
}
