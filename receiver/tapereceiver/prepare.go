// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"

import (
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// prepare makes the telemetry of a trace. Log records stand among the spans, as in the deck, where no pipeline takes logs.
func (r *tapeReceiver) prepare(d *deck.Deck, t recorded, set *evidence.Set) (ptrace.Traces, plog.Logs) {
	td := set.Traces()
	if by := r.shift(td); by != 0 {
		shift(td, by)
	}
	for _, rs := range td.ResourceSpans().All() {
		switch r.cfg.Mark {
		case byAttribute:
			rs.Resource().Attributes().PutStr(segregation.ReemittedKey, d.String())
		case asReplay:
			rs.Resource().Attributes().PutStr(segregation.Key, r.cfg.ReplayRunID)
		}
	}
	if r.logs == nil {
		return td, plog.NewLogs()
	}
	return evidence.SplitLogs(td)
}

// shift is by how much the times of a trace are moved.
func (r *tapeReceiver) shift(td ptrace.Traces) time.Duration {
	switch r.cfg.Timestamps {
	case shifted:
		return r.cfg.Shift
	case nowStarting:
		first := pcommon.Timestamp(0)
		for span := range spans(td) {
			if at := span.StartTimestamp(); at != 0 && (first == 0 || at < first) {
				first = at
			}
		}
		if first != 0 {
			return time.Since(first.AsTime())
		}
	}
	return 0
}

func spans(td ptrace.Traces) func(yield func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if !yield(span) {
						return
					}
				}
			}
		}
	}
}

// shift moves all times, and makes it another trace: what happened at another time is another run.
func shift(td ptrace.Traces, by time.Duration) {
	at := func(t pcommon.Timestamp) pcommon.Timestamp {
		if t == 0 {
			return 0
		}
		return pcommon.NewTimestampFromTime(t.AsTime().Add(by))
	}
	for span := range spans(td) {
		span.SetTraceID(another(span.TraceID(), by))
		span.SetStartTimestamp(at(span.StartTimestamp()))
		span.SetEndTimestamp(at(span.EndTimestamp()))
		for _, e := range span.Events().All() {
			e.SetTimestamp(at(e.Timestamp()))
		}
		for _, l := range span.Links().All() {
			if !l.TraceID().IsEmpty() {
				l.SetTraceID(another(l.TraceID(), by))
			}
		}
		if v, ok := span.Attributes().Get(genai.LogObservedTime); ok && v.Type() == pcommon.ValueTypeInt {
			v.SetInt(int64(at(pcommon.Timestamp(v.Int())))) //nolint:gosec // nanoseconds of Unix time, as they were written
		}
	}
}

// another is the id of a trace that was moved, the same each time.
func another(id pcommon.TraceID, by time.Duration) pcommon.TraceID {
	sum := sha256.Sum256([]byte("reemitted\x00" + id.String() + "\x00" + by.String()))
	return pcommon.TraceID(sum[:16])
}
