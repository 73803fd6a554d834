// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// mainTrace is the trace with most evidence; of equals, the one with the lowest id.
func mainTrace(held []otlpfile.Document) (main pcommon.TraceID, some bool) {
	counts := map[pcommon.TraceID]int{}
	for _, d := range held {
		switch d.Signal {
		case otlpfile.SignalTraces:
			for _, rs := range d.Traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, span := range ss.Spans().All() {
						if genai.IsEvidence(ss.Scope().Name(), span) {
							counts[span.TraceID()]++
						}
					}
				}
			}
		case otlpfile.SignalLogs:
			for _, rl := range d.Logs.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, record := range sl.LogRecords().All() {
						if name := genai.EventName(sl.Scope().Name(), record.EventName(), record.Attributes(), record.Body()); genai.IsEvidenceLog(name, record) {
							counts[evidence.TraceOfRecord(sl.Scope().Name(), record)]++
						}
					}
				}
			}
		}
	}
	delete(counts, pcommon.TraceID{})
	for id, n := range counts {
		if m := counts[main]; !some || n > m || n == m && bytes.Compare(id[:], main[:]) < 0 {
			main, some = id, true
		}
	}
	return main, some
}
