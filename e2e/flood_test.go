// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

// A hundred thousand traces of one span, whose parents never come, are sent to a collector that may hold a
// tenth of the default. What is refused is refused whole and can be sent again. Memory stays within what the
// documents say. A run that comes then does not wait for them.
func TestAFloodOfTracesIsRefusedAndDelaysNoRun(t *testing.T) {
	const traces, each, open = 100_000, 2000, 10_000
	url := decktest.FileURL(t)
	p := collect(t, slim, local, url, soon, "--set=processors.agentrun.max_traces="+strconv.Itoa(open))
	refused := 0
	for n := 0; n < traces; n += each {
		td := ptrace.NewTraces()
		all := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range each {
			span := all.AppendEmpty()
			id := pcommon.TraceID{0: 0xf1}
			binary.BigEndian.PutUint64(id[8:], uint64(n+i+1))
			span.SetTraceID(id)
			span.SetSpanID(pcommon.SpanID(id[8:]))
			span.SetParentSpanID(pcommon.SpanID{0: 1})
			span.SetName("chat")
			span.Attributes().PutStr("gen_ai.operation.name", "chat")
		}
		if otlpsend.GRPC(t.Context(), p.GRPC, td) != nil {
			refused++
		}
	}
	m := metrics(t, p)
	if refused == 0 || m["processor_agentrun_refused_requests"] < refused || m["processor_agentrun_accepted_items"] != traces-each*refused {
		t.Errorf("%d requests were refused: %v", refused, m)
	}
	if m["processor_agentrun_open_traces"] > open || m["processor_agentrun_waiting_traces"] > 2*open+each {
		t.Errorf("more waits than may: %v", m)
	}
	run := another(t, 1)
	until(t, "the run to be taken", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return otlpsend.GRPC(ctx, p.GRPC, run) == nil
	})
	until(t, "its tape", func() bool {
		d := at{t, url}.open()
		defer at{t, url}.close(d)
		for o, err := range d.Store().List(t.Context(), "runs/") {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(o.Key, traceID(run)) && strings.HasSuffix(o.Key, deck.TapeFile) {
				return true
			}
		}
		return false
	})
	m = metrics(t, p)
	t.Logf("%d requests of the flood were refused, %d traces of it waited when the tape was there, %d bytes were resident",
		refused, m["processor_agentrun_waiting_traces"], m["process_memory_rss"])
	if said := 250_000_000 + 600*3*open + int(heapgoal.Floor()) - 144<<20; m["process_memory_rss"] == 0 || m["process_memory_rss"] > said {
		t.Errorf("%d bytes were resident, %d are said", m["process_memory_rss"], said)
	}
}
