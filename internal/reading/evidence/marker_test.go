// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

var marker = handover.Marker{Policy: "default", ProfileDigest: "sha256:0123", KeyID: "abc"}

func TestMarkerIsEvidence(t *testing.T) {
	td := request()
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, marker.String())
	td.ResourceSpans().At(0).Resource().Attributes().PutStr("tapedeck.run.key", "other")
	part, err := setOf(td).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromPart(part)
	if err != nil {
		t.Fatal(err)
	}
	item := back.Items()[0]
	if got, ok := handover.MarkerOf(item.Resource.Resource().Attributes()); !ok || got != marker {
		t.Errorf("the marker is %v, %t", got, ok)
	}
	if _, ok := item.Resource.Resource().Attributes().Get("tapedeck.run.key"); ok {
		t.Error("the hand-over is evidence")
	}
	if item.Digest() == digestOf(t, request()) {
		t.Error("redacted and unredacted evidence are one item")
	}
}

func TestWhatIsNoMarkerIsNoEvidence(t *testing.T) {
	for _, text := range []string{"", "none", "default", marker.Seal()} {
		td := request()
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, text)
		if digestOf(t, td) != digestOf(t, request()) {
			t.Errorf("%q is evidence", text)
		}
	}
}

// The proof in a marker is of one process; ids that depended on it would differ between collectors.
func TestMarkedLogRecordsKeepMarkerAndID(t *testing.T) {
	marked := records(func(plog.LogRecord) {})
	marked.ResourceLogs().At(0).Resource().Attributes().PutStr(handover.Redaction, marker.Seal())
	got := LogsToTraces(marked, segregation.Default)
	rs := got.ResourceSpans().At(0)
	if m, ok := handover.OpenMarker(rs.Resource().Attributes()); !ok || m != marker {
		t.Errorf("the marker is %v, %t", m, ok)
	}
	plain := LogsToTraces(records(func(plog.LogRecord) {}), segregation.Default).ResourceSpans().At(0)
	if a, b := rs.ScopeSpans().At(0).Spans().At(0).SpanID(), plain.ScopeSpans().At(0).Spans().At(0).SpanID(); a != b {
		t.Errorf("the id of a marked record is %s, of another %s", a, b)
	}
}

func TestRewritingKeepsWhatWasNotChanged(t *testing.T) {
	td := LogsToTraces(records(func(plog.LogRecord) {}), segregation.Default)
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, marker.String())
	request().ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	want, err := setOfAll(td).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Rewrite(td)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("a part that nothing has changed is another one when it is rewritten")
	}
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("more", "content")
	before := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SpanID()
	if _, err := Rewrite(td); err != nil {
		t.Fatal(err)
	}
	if td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SpanID() == before {
		t.Error("a log record keeps the id of other content")
	}
}

func setOfAll(td ptrace.Traces) *Set {
	s := NewSet()
	s.add(td, true)
	return s
}
