// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

// Reason says why the evidence of a trace is emitted.
type Reason uint8

// The reasons.
const (
	// RootEnded: the root of the trace came, or the span of an agent run and every parent that is named; then nothing new for the
	// quiet period.
	RootEnded Reason = iota
	// Idle: nothing new for the idle timeout.
	Idle
	// MaxAge: the first item came that long ago.
	MaxAge
	// Bytes: the trace reached its bound, or all open traces together exceeded their part of the memory.
	Bytes
	// Spans: the trace reached its bound.
	Spans
	// Traces: too many traces were open, and this was the oldest of its shard.
	Traces
	// Shutdown: nothing waits longer.
	Shutdown

	reasons = iota
)

var reasonNames = [reasons]string{"root_ended", "idle", "max_age", "bytes", "spans", "traces", "shutdown"}

func (r Reason) String() string { return reasonNames[r] }

// Reasons lists all reasons.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}
