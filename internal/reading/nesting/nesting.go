// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package nesting bounds how deep telemetry nests, and reads what was stored deeper than a decoder goes.
//
// A level is an array or a map in an attribute or in the body of a log record. The decoders of pdata recurse.
// That of protobuf refuses more than 100 messages in one value (49 arrays, 32 maps). That of JSON has no
// bound, and a stack that runs over cannot be recovered from: package otlpfile checks JSON before it is
// decoded. Stored evidence may be deeper than a request: decoders of former releases took it, and JSON in
// files may be deeper. UnmarshalTraces and UnmarshalLogs read up to Stored levels.
package nesting

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// JSON is how many brackets may be open at once in a request of OTLP/JSON. An attribute of a span begins
	// behind 9 of them, an array takes 3 and a map 4. So a request never nests deeper than the decoder of
	// protobuf reads, also one level further inside: 39 arrays, or 29 maps.
	JSON = 128
	// Stored is how many levels telemetry may have that was stored.
	Stored = 512
)

// ErrTooDeep is wrapped by errors about telemetry that nests deeper than it may.
var ErrTooDeep = errors.New("nested too deep")

// CheckTraces refuses spans that nest deeper than Stored: nobody could read them back. They were decoded by
// someone else.
func CheckTraces(td ptrace.Traces) error {
	var c checker
	eachMap(td, c.entries)
	return c.err
}

// CheckLogs is CheckTraces for log records.
func CheckLogs(ld plog.Logs) error {
	var c checker
	eachOfLogs(ld, c.entries, c.value)
	return c.err
}

type checker struct{ err error }

func (c *checker) entries(m pcommon.Map) {
	if c.err == nil && !mapFits(m, Stored) {
		c.err = tooDeep()
	}
}

func (c *checker) value(v pcommon.Value) {
	if c.err == nil && !valueFits(v, Stored) {
		c.err = tooDeep()
	}
}

func tooDeep() error {
	return fmt.Errorf("%w: more than %d arrays and maps in each other", ErrTooDeep, Stored)
}

// eachMap calls visit with the attributes of everything that has some.
func eachMap(td ptrace.Traces, visit func(pcommon.Map)) {
	for _, rs := range td.ResourceSpans().All() {
		visit(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			visit(ss.Scope().Attributes())
			for _, span := range ss.Spans().All() {
				visit(span.Attributes())
				for _, e := range span.Events().All() {
					visit(e.Attributes())
				}
				for _, l := range span.Links().All() {
					visit(l.Attributes())
				}
			}
		}
	}
}

// eachOfLogs calls entries with the attributes of everything that has some, and value with the bodies of
// records.
func eachOfLogs(ld plog.Logs, entries func(pcommon.Map), value func(pcommon.Value)) {
	for _, rl := range ld.ResourceLogs().All() {
		entries(rl.Resource().Attributes())
		for _, sl := range rl.ScopeLogs().All() {
			entries(sl.Scope().Attributes())
			for _, r := range sl.LogRecords().All() {
				value(r.Body())
				entries(r.Attributes())
			}
		}
	}
}

// mapFits reports whether the values of a map have no more levels than are left.
func mapFits(m pcommon.Map, left int) bool {
	for _, v := range m.All() {
		if !valueFits(v, left) {
			return false
		}
	}
	return true
}

func valueFits(v pcommon.Value, left int) bool {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		return left > 0 && mapFits(v.Map(), left-1)
	case pcommon.ValueTypeSlice:
		if left == 0 {
			return false
		}
		for _, e := range v.Slice().All() {
			if !valueFits(e, left-1) {
				return false
			}
		}
	}
	return true
}
