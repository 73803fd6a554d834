// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

// generated are ids that programs make: of calls, responses, sessions.
var generated = regexp.MustCompile(`[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]{8,}|(call|toolu)_[A-Za-z0-9]{8,}`)

// anew is what generated ids of a text are in another run.
func anew(text string) string {
	return generated.ReplaceAllStringFunc(text, func(id string) string {
		if !strings.ContainsAny(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz") {
			return id // a number
		}
		sum := sha256.Sum256([]byte(id))
		return id[:1] + hex.EncodeToString(sum[:8]) + id[len(id)-1:]
	})
}

func anewValue(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		v.SetStr(anew(v.Str()))
	case pcommon.ValueTypeSlice:
		for i := range v.Slice().Len() {
			anewValue(v.Slice().At(i))
		}
	case pcommon.ValueTypeMap:
		anewMap(v.Map())
	}
}

func anewMap(m pcommon.Map) {
	for _, v := range m.All() {
		anewValue(v)
	}
}

func other(id []byte) {
	for i := range id {
		if id[i] != 0 {
			id[i] ^= 0x55
			if id[i] == 0 {
				id[i] = 0xaa
			}
		}
	}
}

// besideItself is the evidence of a run and of another one that did the same a moment later: all ids differ.
func besideItself(t *testing.T, run groundtruth.Run) *evidence.Set {
	t.Helper()
	set := evidence.NewSet()
	const later = 1000 // ns
	for _, path := range run.Files {
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			traces, logs := ptrace.NewTraces(), plog.NewLogs()
			document.Traces.CopyTo(traces)
			document.Logs.CopyTo(logs)
			for _, rs := range traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						trace, span, parent := s.TraceID(), s.SpanID(), s.ParentSpanID()
						other(trace[:])
						other(span[:])
						other(parent[:])
						s.SetTraceID(trace)
						s.SetSpanID(span)
						s.SetParentSpanID(parent)
						s.SetStartTimestamp(s.StartTimestamp() + later)
						s.SetEndTimestamp(s.EndTimestamp() + later)
						anewMap(s.Attributes())
						for _, e := range s.Events().All() {
							anewMap(e.Attributes())
						}
						for _, l := range s.Links().All() {
							trace, span := l.TraceID(), l.SpanID()
							other(trace[:])
							other(span[:])
							l.SetTraceID(trace)
							l.SetSpanID(span)
						}
					}
				}
			}
			for _, rl := range logs.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, l := range sl.LogRecords().All() {
						trace, span := l.TraceID(), l.SpanID()
						other(trace[:])
						other(span[:])
						l.SetTraceID(trace)
						l.SetSpanID(span)
						l.SetTimestamp(l.Timestamp() + later)
						anewMap(l.Attributes())
						anewValue(l.Body())
					}
				}
			}
			set.AddTraces(traces)
			set.AddLogs(logs)
			set.AddTraces(document.Traces)
			set.AddLogs(document.Logs)
		}
	}
	return set
}

// Each recorded run takes place twice at the same time, with the same words and ids of its own: at least twice as many tapes,
// none with spans of both.
func TestRunsThatSayTheSameAtTheSameTimeAreNotMixed(t *testing.T) {
	for _, run := range runs(t) {
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			alone, err := run.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			want := reconstruct.All(alone.Split(), options)
			own := map[string]bool{}
			for _, tr := range alone.Split() {
				own[tr.TraceID] = true
			}
			got := reconstruct.All(besideItself(t, run).Split(), options)
			if len(got) < 2*len(want) { // more where parts stay apart because nothing tells the runs apart
				t.Errorf("%d tapes, want %d", len(got), 2*len(want))
			}
			for _, tp := range got {
				first := own[tp.Run.TraceID]
				for _, id := range tp.Sources.TraceIDs {
					if own[id] != first {
						t.Errorf("a tape is made of both: %s", strings.Join(tp.Sources.TraceIDs, " "))
					}
				}
			}
		})
	}
}
