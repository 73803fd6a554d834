// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

// shelf is a Fetcher of fixed contents that counts what it is asked for.
type shelf struct {
	mu     sync.Mutex
	bodies map[string]string // "" is a location that does not answer
	asked  map[string]int
}

func (s *shelf) Fetch(_ context.Context, t Target, limit int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[t.String()]++
	body, ok := s.bodies[t.String()]
	switch {
	case !ok:
		return nil, errors.New("not there")
	case body == "":
		return nil, fmt.Errorf("%w: silence", ErrUnreachable)
	case int64(len(body)) > limit:
		return nil, errTooLarge
	}
	return []byte(body), nil
}

var limits = Limits{Object: 100, Trace: 400, Timeout: time.Minute}

// set is evidence of chat spans with the given attributes, ids counting from 1.
func set(spans ...map[string]any) *evidence.Set {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("s")
	for i, attrs := range spans {
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(pcommon.SpanID{byte(i + 1)})
		span.SetStartTimestamp(pcommon.Timestamp(i + 1))
		if err := span.Attributes().FromRaw(attrs); err != nil {
			panic(err)
		}
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
	}
	s := evidence.NewSet()
	s.AddTraces(td)
	return s
}

// held are the attributes of the spans of a set.
func held(s *evidence.Set) []map[string]any {
	out := []map[string]any{}
	for _, item := range s.Items() {
		out = append(out, item.Span.Attributes().AsRaw())
	}
	return out
}

func trace(t *testing.T, r *Resolver, s *evidence.Set) Resolution {
	t.Helper()
	res, err := r.Trace(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestContentIsAddedBesideItsReference(t *testing.T) {
	f := &shelf{bodies: map[string]string{"s3://b/in": " [1]\n", "s3://b/sys": `[{"type":"text"}]`}}
	s := set(
		map[string]any{"gen_ai.input.messages_ref": "s3://b/in", "gen_ai.system_instructions_ref": "s3://b/sys"},
		map[string]any{"gen_ai.system_instructions_ref": "s3://b/sys", "gen_ai.input.messages": "[0]", "gen_ai.input.messages_ref": "s3://b/other"},
		map[string]any{"other_ref": "s3://b/in"},
	)
	r := New(policy(t, "s3://b"), f, limits)
	res := trace(t, r, s)
	want := []map[string]any{
		{"gen_ai.operation.name": "chat", "gen_ai.input.messages_ref": "s3://b/in", "gen_ai.input.messages": "[1]", "gen_ai.system_instructions_ref": "s3://b/sys", "gen_ai.system_instructions": `[{"type":"text"}]`},
		{"gen_ai.operation.name": "chat", "gen_ai.system_instructions_ref": "s3://b/sys", "gen_ai.system_instructions": `[{"type":"text"}]`, "gen_ai.input.messages": "[0]", "gen_ai.input.messages_ref": "s3://b/other"},
	}
	if diff := cmp.Diff(want, held(res.Added)); diff != "" || len(res.Failures) != 0 {
		t.Errorf("%v %s", res.Failures, diff)
	}
	s.Merge(res.Added)
	again := trace(t, r, s)
	if again.Added.Len() != 0 || again.Before != 3 {
		t.Errorf("again: %d added, %d before", again.Added.Len(), again.Before)
	}
	if diff := cmp.Diff(map[string]int{"s3://b/in": 1, "s3://b/sys": 1}, f.asked); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeResolvedStaysAndIsSaid(t *testing.T) {
	f := &shelf{bodies: map[string]string{"s3://b/html": "<html>", "s3://b/text": `"x"`, "s3://b/cut": `[{"a":`, "s3://b/big": "[" + strings.Repeat(" ", 200) + "]", "s3://b/ok": "[]"}}
	var spans []map[string]any
	for _, uri := range []string{"s3://b/html", "s3://b/text", "s3://b/cut", "s3://b/big", "s3://b/none", "s3://c/x", "https://u:p@h/x?sig=secret", "s3://b/ok", "s3://c/x"} {
		spans = append(spans, map[string]any{"gen_ai.output.messages_ref": uri})
	}
	res := trace(t, New(policy(t, "s3://b"), f, limits), set(spans...))
	want := []Failure{
		{"s3://b/html", "not a JSON list or object (6 bytes)"},
		{"s3://b/text", "not a JSON list or object (3 bytes)"},
		{"s3://b/cut", "not a JSON list or object (6 bytes)"},
		{"s3://b/big", "larger than allowed"},
		{"s3://b/none", "not there"},
		{"s3://c/x", "not allowed"},
		{"https://h/x", "it carries credentials"},
	}
	if diff := cmp.Diff(want, res.Failures); diff != "" || res.Added.Len() != 1 {
		t.Errorf("%d added, %s", res.Added.Len(), diff)
	}
}

func TestOneTraceTakesABoundedAmount(t *testing.T) {
	body := "[" + strings.Repeat(" ", 97) + "1]"
	f := &shelf{bodies: map[string]string{}}
	var spans []map[string]any
	for i := range 20 {
		uri := fmt.Sprintf("s3://b/%02d", i)
		f.bodies[uri] = body
		spans = append(spans, map[string]any{"gen_ai.input.messages_ref": uri})
	}
	res := trace(t, New(policy(t, "s3://b"), f, limits), set(spans...))
	if res.Added.Len() != 4 || len(res.Failures) != 16 || len(f.asked) > 4+fetchers {
		t.Errorf("%d added, %d failures, %d asked for", res.Added.Len(), len(res.Failures), len(f.asked))
	}
	for i := range spans { // one object in many spans counts as often as it is stored
		spans[i] = map[string]any{"gen_ai.input.messages_ref": "s3://b/00"}
	}
	if res := trace(t, New(policy(t, "s3://b"), f, limits), set(spans...)); res.Added.Len() != 4 {
		t.Errorf("%d copies", res.Added.Len())
	}
}

func TestPlaceThatDoesNotAnswerIsNotAskedForEver(t *testing.T) {
	f := &shelf{bodies: map[string]string{"s3://up/1": "[]"}}
	spans := []map[string]any{{"gen_ai.input.messages_ref": "s3://up/1"}}
	for i := range 50 {
		uri := fmt.Sprintf("s3://down/%d", i)
		f.bodies[uri] = ""
		spans = append(spans, map[string]any{"gen_ai.input.messages_ref": uri})
	}
	res := trace(t, New(policy(t, "s3://up", "s3://down"), f, limits), set(spans...))
	if res.Added.Len() != 1 || len(res.Failures) != 50 || len(f.asked) > 1+2*fetchers {
		t.Errorf("%d added, %d failures, %d asked for", res.Added.Len(), len(res.Failures), len(f.asked))
	}
}

func TestCancelledResolvingAddsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &shelf{bodies: map[string]string{"s3://b/1": "[]"}}
	res, err := New(policy(t, "s3://b"), f, limits).Trace(ctx, set(map[string]any{"gen_ai.input.messages_ref": "s3://b/1"}))
	if !errors.Is(err, context.Canceled) || res.Added != nil {
		t.Errorf("%v %v", res, err)
	}
}
