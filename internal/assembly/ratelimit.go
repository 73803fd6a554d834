// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// event is a kind of log message that must not be written for every request.
type event int

const (
	memoryFull event = iota
	backlogFull
	spoolRefuses
	requestTooLarge
	traceBound
	traceCount
	emissionFails
	traceParked

	events = iota
)

var eventTexts = [events]string{
	memoryFull:      "requests are refused: max_memory_bytes is reached; senders try again",
	backlogFull:     "requests are refused: too many traces wait to be passed on, see max_traces; senders try again",
	spoolRefuses:    "requests are refused: the spool takes nothing; senders try again",
	requestTooLarge: "a request is refused for good: it is larger than all that may be held",
	traceBound:      "a trace reached max_trace_bytes or max_trace_spans, or memory without a spool is short; it is passed on in parts",
	traceCount:      "max_traces is reached; traces are passed on before their end",
	emissionFails:   "emission failed and will be tried again",
	traceParked:     "a run is parked: it fails while others do not; nothing of it is lost, and it is tried rarely",
}

// logInterval is how often each kind of event is logged. All of them are counted.
const logInterval = 10 * time.Second

// rateLimitedLog logs each kind of event at most once per logInterval. Each message says how many were left out before it. The sampler of
// zap does not: it drops silently, and reads the system clock.
type rateLimitedLog struct {
	logger *zap.Logger
	clock  monotonicClock
	kinds  [events]struct{ last, suppressed atomic.Int64 }
}

func (a *rateLimitedLog) warn(e event, fields ...zap.Field)  { a.log(zap.WarnLevel, e, fields) }
func (a *rateLimitedLog) error(e event, fields ...zap.Field) { a.log(zap.ErrorLevel, e, fields) }

func (a *rateLimitedLog) log(level zapcore.Level, e event, fields []zap.Field) {
	k := &a.kinds[e]
	now, last := max(a.clock.now(), 1), k.last.Load()
	if last != 0 && now-last < int64(logInterval) || !k.last.CompareAndSwap(last, now) {
		k.suppressed.Add(1)
		return
	}
	a.logger.Log(level, eventTexts[e], append(fields, zap.Int64("not_logged_before", k.suppressed.Swap(0)))...)
}
