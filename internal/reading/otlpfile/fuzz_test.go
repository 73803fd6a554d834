// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// FuzzRead: no input crashes the reader or gets past its limits, and whatever it accepts comes out of a second reading unchanged.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"forge_happy.otlp.json", "openai_plain_answer.otlp.json", "openai_plain_answer.logs.json"} {
		data := fixture(f, name)
		f.Add(data)
		f.Add(compact(f, data))
		f.Add(protobuf(f, data))
		f.Add(frames(protobuf(f, data), zstded(f, data)))
		f.Add(gzipped(f, compact(f, data)))
	}
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AAECAwQFBgcICQoLDA0ODw==","kind":"3","":1,"startTimeUnixNano":1e9,"spanId":null}]}]}]}`))
	f.Add([]byte(`{"ts":"2026-11-20T16:18:56Z","event":"e","schema_version":"1.0"}` + "\n" + `{"ts":"x` + "\n{}"))
	f.Add([]byte("{}\n[]\n{\"resourceLogs\":null}\nx\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for d, err := range Read(bytes.NewReader(data), "in", Options{MaxTotal: 1 << 20, MaxDocument: 1 << 18}) {
			if err != nil {
				_ = err.Error()
				continue
			}
			again(t, d)
		}
	})
}

func again(t *testing.T, d Document) {
	t.Helper()
	switch d.Signal {
	case SignalTraces:
		first, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(d.Traces)
		if err != nil {
			t.Fatal(err)
		}
		if d.Traces.SpanCount() == 0 || len(first) == 0 {
			return // without a span the signal cannot be told
		}
		second, err := decodeProto(first)
		if err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
		if second.Signal != SignalTraces {
			return // spans without trace id, name and times may look like records
		}
		if b, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(second.Traces); !bytes.Equal(first, b) {
			t.Fatal("the second reading differs")
		}
	case SignalLogs:
		first, err := (&plog.ProtoMarshaler{}).MarshalLogs(d.Logs)
		if err != nil {
			t.Fatal(err)
		}
		if len(first) == 0 {
			return
		}
		second, err := decodeProto(first)
		if err != nil {
			t.Fatalf("its own encoding: %v", err)
		}
		if second.Signal != SignalLogs {
			return
		}
		if b, _ := (&plog.ProtoMarshaler{}).MarshalLogs(second.Logs); !bytes.Equal(first, b) {
			t.Fatal("the second reading differs")
		}
	}
}
