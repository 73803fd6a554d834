// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
	"github.com/tapedeck/tapedeck/internal/reading/textsum"
)

func proofRequest() (td ptrace.Traces, clean, dirty ptrace.Span) {
	td = ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, text := range []string{"how many units are in stock" + strings.Repeat(" and where", 1000), "ask jane.doe@corp-mail.com"} {
		s := spans.AppendEmpty()
		s.SetSpanID([8]byte{1, byte(spans.Len())})
		s.Attributes().PutStr("gen_ai.prompt", text)
		s.Events().AppendEmpty().Attributes().PutStr("content", "three of them")
	}
	return td, spans.At(0), spans.At(1)
}

func sumOf(span ptrace.Span) textsum.Sum { return spandigest.NewHasher().Sum(span, textsum.Of) }

func TestProofHoldsForSpansInWhichARedactorFoundNothing(t *testing.T) {
	key, err := NewKey([]byte("0123456789abcdefghijklmnopqrstuv"), "")
	if err != nil {
		t.Fatal(err)
	}
	profile := Default()
	profile.Mode = ModeMask // of no matter for what is found
	r, err := New(profile.WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	td, clean, dirty := proofRequest()
	proof := ProofOf(Default())
	if proof.Holds(sumOf(clean)) {
		t.Fatal("a span is proven that nobody has searched")
	}
	r.Traces(td, nil)
	if !proof.Holds(sumOf(clean)) {
		t.Error("a clean span is not proven")
	}
	if proof.Holds(sumOf(dirty)) {
		t.Error("a span is proven in which something was found")
	}
	less := Default()
	less.Disable = []string{"pii"}
	if ProofOf(less).Holds(sumOf(clean)) || ProofOf(Strict()).Holds(sumOf(clean)) {
		t.Error("a span is proven for another profile")
	}
	clean.Attributes().PutInt("retries", 1)
	if proof.Holds(sumOf(clean)) {
		t.Error("a span is proven that was changed since")
	}
	clean.Attributes().Remove("retries")
	prompt, _ := clean.Attributes().Get("gen_ai.prompt")
	long := prompt.Str()
	prompt.SetStr(long[:5000] + "X" + long[5001:])
	if proof.Holds(sumOf(clean)) {
		t.Error("a span is proven whose long text was changed since")
	}
	prompt.SetStr(strings.Clone(long)) // the same text elsewhere in memory
	if !proof.Holds(sumOf(clean)) {
		t.Error("a clean span is not proven")
	}
	clean.Events().At(0).Attributes().PutStr("content", "three of then")
	if proof.Holds(sumOf(clean)) {
		t.Error("a span is proven whose event was changed since")
	}
}

// A redactor notes spans for gates, so where there is none it notes nothing; a gate that comes later searches what was redacted before.
func TestNothingIsNotedWithoutAGate(t *testing.T) {
	profile := Default()
	profile.Disable = []string{"vendor"} // of no other test
	r, err := New(profile)
	if err != nil {
		t.Fatal(err)
	}
	td, clean, _ := proofRequest()
	clean.SetSpanID([8]byte{9})
	r.Traces(td, nil)
	proof := ProofOf(profile)
	if proof.Holds(sumOf(clean)) {
		t.Error("a span was noted although nobody asked")
	}
	r.Traces(td, nil)
	if !proof.Holds(sumOf(clean)) {
		t.Error("a clean span is not proven once somebody asks")
	}
}

// Where the path of a value decides, a span is searched wherever it comes.
func TestProfilesWithPathsProveNothing(t *testing.T) {
	profile := Default()
	profile.Allow.Paths = []string{"$.a.b"}
	r, err := New(profile)
	if err != nil {
		t.Fatal(err)
	}
	td, clean, _ := proofRequest()
	clean.SetTraceID(pcommon.TraceID{7})
	r.Traces(td, nil)
	if ProofOf(profile).Holds(sumOf(clean)) {
		t.Error("a span is proven")
	}
}

func TestProofsTakeNoMoreThanTheirBytes(t *testing.T) {
	s := ptrace.NewSpan()
	proof := ProofOf(Default())
	for i := range ProofBytes / 16 / 4 {
		s.SetStartTimestamp(pcommon.Timestamp(i))
		proof.note(s, textsum.Of)
	}
	n := 0
	for i := range proven.shards {
		n += len(proven.shards[i].buckets) * proofWays * 16
	}
	if n > ProofBytes {
		t.Errorf("%d bytes", n)
	}
	if !proof.Holds(sumOf(s)) {
		t.Error("the last span is forgotten")
	}
}
