// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package forgeaudit reads the audit streams of Forge agents. A stream is NDJSON with one record per line.
// The records are chained by hash and, if so configured, signed. Records become log records, and with them
// evidence. The package above reads what they say of a run.
//
// A stream is a set of records. Records that come in several files, in another order or twice give the same
// result.
package forgeaudit

import (
	"cmp"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
)

// Stream gathers the audit records of one body of evidence. The zero value is not usable; see New.
type Stream struct {
	keys    Keys
	records map[string]*record // by raw
}

// New returns an empty stream. With keys, every signature is checked, and a record without a valid one is not
// used.
func New(keys Keys) *Stream { return &Stream{keys: keys, records: map[string]*record{}} }

// Add adds one line, without its line end; name and line say where it stands. The error wraps ErrMalformed.
func (s *Stream) Add(name string, line int, raw string) error {
	r, err := parse(raw)
	if err != nil {
		return err
	}
	r.name, r.line = name, line
	if there := s.records[raw]; there == nil || compareOrigin(r, there) < 0 {
		s.records[raw] = r
	}
	return nil
}

func compareOrigin(a, b *record) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.line, b.line))
}

// Result is what Stream.Close returns.
type Result struct {
	// Logs are the records of runs, each with the trace it belongs to. The body is the line as it came.
	Logs plog.Logs
	// Problems say which records fail their chain or signature. They stay evidence.
	Problems []Problem
	// Left counts records that belong to no run: startup, keepalive, egress of the exporter.
	Left int
	// Unchecked counts records whose signature was not checked, because no keys were given.
	Unchecked int
}

// Problem is a record that cannot be trusted, or stands where the chain breaks.
type Problem struct {
	Name   string
	Line   int
	Reason string
	// Used says that a valid signature vouches for the record. Other records are not used.
	Used bool
}

func (p Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.Name, p.Line, p.Reason) }

// Close checks the records and returns them as log records. A record without a trace id belongs to the trace
// of the other records of its request (correlation id), if that is one.
func (s *Stream) Close() Result {
	records := make([]*record, 0, len(s.records))
	for _, r := range s.records {
		records = append(records, r)
	}
	slices.SortFunc(records, compareOrigin)
	res := Result{Logs: plog.NewLogs()}
	res.Problems, res.Unchecked = s.check(records)
	traces := map[string]map[pcommon.TraceID]bool{}
	for _, r := range records {
		if r.correlation != "" && !r.trace.IsEmpty() {
			if traces[r.correlation] == nil {
				traces[r.correlation] = map[pcommon.TraceID]bool{}
			}
			traces[r.correlation][r.trace] = true
		}
	}
	scopes := map[string]plog.LogRecordSlice{}
	for _, r := range records {
		trace := r.trace
		if trace.IsEmpty() && len(traces[r.correlation]) == 1 {
			for trace = range traces[r.correlation] {
			}
		}
		if r.correlation == "" || trace.IsEmpty() {
			res.Left++
			continue
		}
		list, there := scopes[r.entity]
		if !there {
			rl := res.Logs.ResourceLogs().AppendEmpty()
			if r.entity != "" {
				rl.Resource().Attributes().PutStr("service.name", r.entity)
			}
			sl := rl.ScopeLogs().AppendEmpty()
			sl.Scope().SetName(forge.Scope)
			list = sl.LogRecords()
			scopes[r.entity] = list
		}
		r.into(list.AppendEmpty(), trace)
	}
	return res
}

func (r *record) into(log plog.LogRecord, trace pcommon.TraceID) {
	log.SetEventName(forge.AuditPrefix + r.event)
	log.SetTimestamp(pcommon.NewTimestampFromTime(r.at))
	log.SetTraceID(trace)
	log.SetSpanID(r.span)
	log.Body().SetStr(r.raw)
	log.Attributes().PutStr(forge.CorrelationID, r.correlation)
	if r.integrity != "" {
		log.Attributes().PutStr(forge.AuditIntegrity, r.integrity)
	}
}
