// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// request is a request of one span with something in every field.
func request() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("https://schema/1")
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl("https://schema/2")
	ss.Scope().SetName("scope")
	ss.Scope().SetVersion("1.0")
	ss.Scope().Attributes().PutStr("of", "scope")
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{2})
	s.SetParentSpanID(pcommon.SpanID{3})
	s.TraceState().FromRaw("a=b")
	s.SetFlags(1)
	s.SetName("chat")
	s.SetKind(ptrace.SpanKindClient)
	s.SetStartTimestamp(10)
	s.SetEndTimestamp(20)
	s.Status().SetCode(ptrace.StatusCodeOk)
	s.Status().SetMessage("fine")
	a := s.Attributes()
	a.PutStr("gen_ai.system", "openai")
	a.PutStr("str", "1")
	a.PutInt("int", 1)
	a.PutDouble("double", 1)
	a.PutBool("bool", true)
	a.PutEmptyBytes("bytes").FromRaw([]byte("1"))
	list := a.PutEmptySlice("list")
	list.AppendEmpty().SetStr("a")
	list.AppendEmpty().SetStr("b")
	a.PutEmptyMap("map").PutStr("k", "v")
	a.PutEmpty("empty")
	s.SetDroppedAttributesCount(1)
	e := s.Events().AppendEmpty()
	e.SetName("event")
	e.SetTimestamp(11)
	e.Attributes().PutStr("of", "event")
	e.SetDroppedAttributesCount(1)
	s.SetDroppedEventsCount(1)
	l := s.Links().AppendEmpty()
	l.SetTraceID(pcommon.TraceID{4})
	l.SetSpanID(pcommon.SpanID{5})
	l.TraceState().FromRaw("c=d")
	l.SetFlags(1)
	l.Attributes().PutStr("of", "link")
	l.SetDroppedAttributesCount(1)
	s.SetDroppedLinksCount(1)
	return td
}

func setOf(requests ...ptrace.Traces) *Set {
	s := NewSet()
	for _, td := range requests {
		s.AddTraces(td)
	}
	return s
}

func digestOf(t *testing.T, td ptrace.Traces) Digest {
	t.Helper()
	items := setOf(td).Items()
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}
	key, d := items[0].key, items[0].Digest()
	if of, known := keysOf[d]; known && of != key {
		t.Errorf("one digest and two keys: %v and %v", of, key)
	}
	for of, other := range keysOf {
		if other == key && of != d {
			t.Errorf("one key and two digests: %x and %x", of[:4], d[:4])
		}
	}
	keysOf[d] = key
	return d
}

// keysOf are the keys of the items that were digested: they tell items apart as digests do.
var keysOf = map[Digest]itemKey{}

// A long text stands in the key by its sums. It counts in the size as it does in the digest, which bounds go by.
func TestKeyTellsLongTextsApart(t *testing.T) {
	long := strings.Repeat("a", 3*spandigest.LongText)
	set := func(put func(pcommon.Map)) (Digest, int) {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		put(span.Attributes())
		s := NewSet()
		s.add(td, true)
		item := s.Items()[0]
		h := spandigest.NewHasher()
		defer h.Release()
		if d := h.Span(item.scope, item.Span); d != item.Digest() || item.size != h.Len() {
			t.Errorf("the size is %d, and %d bytes are digested", item.size, h.Len())
		}
		return digestOf(t, td), item.size
	}
	seen := map[Digest]bool{}
	for i := 0; i < len(long); i += 7 {
		text := long[:i] + "b" + long[i+1:]
		d, _ := set(func(m pcommon.Map) { m.PutStr("gen_ai.input.messages", text) })
		nested, _ := set(func(m pcommon.Map) {
			m.PutStr("gen_ai.x", "y")
			m.PutEmptyMap("gen_ai.m").PutEmptySlice("s").AppendEmpty().SetStr(text)
		})
		if seen[d] || seen[nested] {
			t.Fatalf("byte %d has no part in the digest", i)
		}
		seen[d], seen[nested] = true, true
	}
	_, short := set(func(m pcommon.Map) { m.PutStr("gen_ai.x", long[:10]) })
	_, size := set(func(m pcommon.Map) { m.PutStr("gen_ai.x", long) })
	if size < short+len(long)-10 {
		t.Errorf("%d bytes for a text of %d", size, len(long))
	}
}

func TestDigestTellsEveryFieldApart(t *testing.T) {
	type place struct {
		rs ptrace.ResourceSpans
		ss ptrace.ScopeSpans
		s  ptrace.Span
		a  pcommon.Map
		e  ptrace.SpanEvent
		l  ptrace.SpanLink
	}
	changes := map[string]func(p place){
		"nothing":                      func(place) {},
		"resource schema":              func(p place) { p.rs.SetSchemaUrl("x") },
		"resource attribute":           func(p place) { p.rs.Resource().Attributes().PutStr("service.name", "x") },
		"resource attribute more":      func(p place) { p.rs.Resource().Attributes().PutStr("more", "") },
		"resource dropped":             func(p place) { p.rs.Resource().SetDroppedAttributesCount(9) },
		"scope schema":                 func(p place) { p.ss.SetSchemaUrl("x") },
		"scope name":                   func(p place) { p.ss.Scope().SetName("x") },
		"scope version":                func(p place) { p.ss.Scope().SetVersion("x") },
		"scope attribute":              func(p place) { p.ss.Scope().Attributes().PutStr("of", "x") },
		"scope dropped":                func(p place) { p.ss.Scope().SetDroppedAttributesCount(9) },
		"name moved to the version":    func(p place) { p.ss.Scope().SetName("scope1"); p.ss.Scope().SetVersion(".0") },
		"trace id":                     func(p place) { p.s.SetTraceID(pcommon.TraceID{9}) },
		"span id":                      func(p place) { p.s.SetSpanID(pcommon.SpanID{9}) },
		"parent":                       func(p place) { p.s.SetParentSpanID(pcommon.SpanID{9}) },
		"no parent":                    func(p place) { p.s.SetParentSpanID(pcommon.SpanID{}) },
		"trace state":                  func(p place) { p.s.TraceState().FromRaw("x=y") },
		"flags":                        func(p place) { p.s.SetFlags(9) },
		"name":                         func(p place) { p.s.SetName("x") },
		"kind":                         func(p place) { p.s.SetKind(ptrace.SpanKindServer) },
		"start":                        func(p place) { p.s.SetStartTimestamp(9) },
		"end":                          func(p place) { p.s.SetEndTimestamp(9) },
		"status code":                  func(p place) { p.s.Status().SetCode(ptrace.StatusCodeError) },
		"status message":               func(p place) { p.s.Status().SetMessage("x") },
		"attribute text":               func(p place) { p.a.PutStr("str", "x") },
		"attribute gone":               func(p place) { p.a.Remove("str") },
		"attribute more":               func(p place) { p.a.PutStr("more", "") },
		"attribute named otherwise":    func(p place) { p.a.Remove("str"); p.a.PutStr("strx", "1") },
		"text instead of a number":     func(p place) { p.a.PutStr("int", "1") },
		"double instead of an integer": func(p place) { p.a.PutDouble("int", 1) },
		"integer instead of a double":  func(p place) { p.a.PutInt("double", 1) },
		"bytes instead of text":        func(p place) { p.a.PutEmptyBytes("str").FromRaw([]byte("1")) },
		"integer":                      func(p place) { p.a.PutInt("int", 2) },
		"negative integer":             func(p place) { p.a.PutInt("int", -1) },
		"double":                       func(p place) { p.a.PutDouble("double", 1.5) },
		"bool":                         func(p place) { p.a.PutBool("bool", false) },
		"bytes":                        func(p place) { p.a.PutEmptyBytes("bytes").FromRaw([]byte("2")) },
		"empty instead of false":       func(p place) { p.a.PutEmpty("bool") },
		"null instead of text":         func(p place) { p.a.PutStr("empty", "") },
		"list order": func(p place) {
			l := p.a.PutEmptySlice("list")
			l.AppendEmpty().SetStr("b")
			l.AppendEmpty().SetStr("a")
		},
		"list joined": func(p place) { p.a.PutEmptySlice("list").AppendEmpty().SetStr("ab") },
		"list nested": func(p place) {
			l := p.a.PutEmptySlice("list").AppendEmpty().SetEmptySlice()
			l.AppendEmpty().SetStr("a")
			l.AppendEmpty().SetStr("b")
		},
		"map value":             func(p place) { p.a.PutEmptyMap("map").PutStr("k", "x") },
		"map key":               func(p place) { p.a.PutEmptyMap("map").PutStr("x", "v") },
		"dropped attributes":    func(p place) { p.s.SetDroppedAttributesCount(9) },
		"event name":            func(p place) { p.e.SetName("x") },
		"event time":            func(p place) { p.e.SetTimestamp(9) },
		"event attribute":       func(p place) { p.e.Attributes().PutStr("of", "x") },
		"event dropped":         func(p place) { p.e.SetDroppedAttributesCount(9) },
		"another event":         func(p place) { p.e.CopyTo(p.s.Events().AppendEmpty()) },
		"no event":              func(p place) { p.s.Events().RemoveIf(func(ptrace.SpanEvent) bool { return true }) },
		"dropped events":        func(p place) { p.s.SetDroppedEventsCount(9) },
		"link trace":            func(p place) { p.l.SetTraceID(pcommon.TraceID{9}) },
		"link span":             func(p place) { p.l.SetSpanID(pcommon.SpanID{9}) },
		"link state":            func(p place) { p.l.TraceState().FromRaw("x=y") },
		"link flags":            func(p place) { p.l.SetFlags(9) },
		"link attribute":        func(p place) { p.l.Attributes().PutStr("of", "x") },
		"link dropped":          func(p place) { p.l.SetDroppedAttributesCount(9) },
		"no link":               func(p place) { p.s.Links().RemoveIf(func(ptrace.SpanLink) bool { return true }) },
		"dropped links":         func(p place) { p.s.SetDroppedLinksCount(9) },
		"counts change places":  func(p place) { p.s.SetDroppedEventsCount(0); p.s.SetDroppedLinksCount(2) },
		"attribute to the link": func(p place) { p.a.Remove("str"); p.l.Attributes().PutStr("str", "1") },
	}
	seen := map[Digest]string{}
	for name, change := range changes {
		td := request()
		rs := td.ResourceSpans().At(0)
		ss := rs.ScopeSpans().At(0)
		s := ss.Spans().At(0)
		change(place{rs, ss, s, s.Attributes(), s.Events().At(0), s.Links().At(0)})
		d := digestOf(t, td)
		if other, there := seen[d]; there {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
	}
}

// many is a request of spans of several resources and scopes.
func many(t *testing.T) []ptrace.Traces {
	t.Helper()
	var out []ptrace.Traces
	for i := range 24 {
		td := request()
		rs := td.ResourceSpans().At(0)
		rs.Resource().Attributes().PutInt("instance", int64(i%3))
		rs.ScopeSpans().At(0).Scope().SetVersion(string(rune('a' + i%4)))
		s := rs.ScopeSpans().At(0).Spans().At(0)
		s.SetSpanID(pcommon.SpanID{byte(i % 20)}) // some ids come twice
		s.SetStartTimestamp(pcommon.Timestamp(i % 5))
		s.Attributes().PutInt("i", int64(i))
		out = append(out, td)
	}
	return out
}

func canonical(t *testing.T, s *Set) []byte {
	t.Helper()
	b, err := s.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCanonicalFormIsTheSameInAnyOrderSplitAndRepetition(t *testing.T) {
	want := canonical(t, setOf(many(t)...))
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		all := many(t)
		whole := NewSet()
		var requests []ptrace.Traces
		for _, i := range append(r.Perm(len(all)), r.Perm(len(all))[:r.IntN(len(all))]...) {
			if len(requests) == 0 || r.IntN(4) == 0 {
				requests = append(requests, ptrace.NewTraces())
			}
			all[i].ResourceSpans().At(0).CopyTo(requests[r.IntN(len(requests))].ResourceSpans().AppendEmpty())
		}
		for _, td := range requests {
			one := setOf(td)
			if r.IntN(2) == 0 {
				whole.Merge(one)
			} else {
				whole.AddTraces(td)
			}
		}
		if whole.Len() != len(all) || !bytes.Equal(want, canonical(t, whole)) {
			t.Fatalf("seed %d: other canonical form, %d items", seed, whole.Len())
		}
	}
}

func TestPartReadsBackToItself(t *testing.T) {
	s := setOf(many(t)...)
	part := canonical(t, s)
	back, err := FromPart(part)
	if err != nil {
		t.Fatal(err)
	}
	if back.Len() != s.Len() || !bytes.Equal(part, canonical(t, back)) {
		t.Error("the part reads back to something else")
	}
	for key, item := range s.items {
		if again, there := back.items[key]; !there || again.Digest() != item.Digest() {
			t.Errorf("%s has another digest when read back", item.Span.Name())
		}
	}
	if _, err := FromPart([]byte("\xff\xff\xff")); err == nil {
		t.Error("garbage is a part")
	}
}

func TestOneResourceAndScopeStandOnceInThePart(t *testing.T) {
	td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(canonical(t, setOf(many(t)...)))
	if err != nil {
		t.Fatal(err)
	}
	scopes := 0
	for _, rs := range td.ResourceSpans().All() {
		scopes += rs.ScopeSpans().Len()
	}
	if td.ResourceSpans().Len() != 3 || scopes != 12 {
		t.Errorf("%d resources and %d scopes, want 3 and 12", td.ResourceSpans().Len(), scopes)
	}
}

func TestHandoverAttributesAreNoEvidence(t *testing.T) {
	plain := digestOf(t, request())
	td := request()
	rs := td.ResourceSpans().At(0)
	s := rs.ScopeSpans().At(0).Spans().At(0)
	for _, m := range []pcommon.Map{rs.Resource().Attributes(), rs.ScopeSpans().At(0).Scope().Attributes(), s.Attributes()} {
		m.PutStr("tapedeck.run.key", "k")
		m.PutInt("tapedeck.run.items", 3)
		m.PutBool("tapedeck.run.complete", true)
	}
	if got := digestOf(t, td); got != plain {
		t.Error("hand-over attributes change the digest")
	}
	part := canonical(t, setOf(td))
	if bytes.Contains(part, []byte("tapedeck.")) {
		t.Error("the part holds hand-over attributes")
	}
	if !bytes.Contains(part, []byte("service.name")) || !bytes.Contains(part, []byte("gen_ai.system")) {
		t.Error("other attributes are gone")
	}
}

func TestOnlySpansOfAgentRunsAreTaken(t *testing.T) {
	s := NewSet()
	add := func(change func(ptrace.Span)) int {
		td := request()
		change(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0))
		before := s.Len()
		s.AddTraces(td)
		return s.Len() - before
	}
	if add(func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) }) != 0 {
		t.Error("a span without trace id was taken")
	}
	if add(func(s ptrace.Span) { s.Attributes().Remove("gen_ai.system") }) != 0 {
		t.Error("a span that no dialect marks was taken")
	}
	if add(func(s ptrace.Span) {
		s.Attributes().Remove("gen_ai.system")
		s.Events().AppendEmpty().SetName("gen_ai.choice")
	}) != 1 {
		t.Error("a span with a GenAI event was not taken")
	}
	if add(func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}) }) != 1 {
		t.Error("a span without its own id was not taken: it still tells of a call")
	}
}

func TestSetIsSplitByTraceInOrder(t *testing.T) {
	s := NewSet()
	for _, id := range []byte{3, 1, 2, 1} {
		td := request()
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		span.SetTraceID(pcommon.TraceID{id})
		span.SetName(strings.Repeat("x", s.Len()))
		s.AddTraces(td)
	}
	got := ""
	total := 0
	for _, tr := range s.Split() {
		got += tr.TraceID[:2] + " "
		total += tr.Set.Len()
	}
	if got != "01 02 03 " || total != s.Len() {
		t.Errorf("traces %s with %d of %d items", got, total, s.Len())
	}
}

func TestEveryTagSpeaksForTheSet(t *testing.T) {
	s := NewSet()
	if s.Verdict(segregation.Default).Replay {
		t.Error("an empty set has a tag")
	}
	for i, tag := range []string{"", "b", "a", "c"} {
		td := request()
		rs := td.ResourceSpans().At(0)
		switch i {
		case 0:
			rs.Resource().Attributes().PutStr("replay_run_id", tag)
		case 1:
			rs.ScopeSpans().At(0).Scope().Attributes().PutStr("replay_run_id", tag)
		default:
			rs.ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("replay_run_id", tag)
		}
		s.AddTraces(td)
	}
	if got := s.Verdict(segregation.Default); got.ID != "a" || !got.Conflicting || !got.Malformed {
		t.Errorf("verdict %+v", got)
	}
}

func TestHostileItemsKeepTheirIdentity(t *testing.T) {
	for name, change := range map[string]func(ptrace.Span){
		"no ids":       func(s ptrace.Span) { s.SetSpanID(pcommon.SpanID{}); s.SetParentSpanID(pcommon.SpanID{}) },
		"invalid text": func(s ptrace.Span) { s.SetName("\xff\xfe"); s.Attributes().PutStr("\xff", "\xed\xa0\x80\x00") },
		"100 deep": func(s ptrace.Span) {
			v := s.Attributes().PutEmpty("deep")
			for range 50 {
				v = v.SetEmptyMap().PutEmpty("a").SetEmptySlice().AppendEmpty()
			}
		},
		"50 MB":          func(s ptrace.Span) { s.Attributes().PutStr("gen_ai.input.messages", strings.Repeat("x", 50<<20)) },
		"a name twice":   func(s ptrace.Span) { twice(s.Attributes()) },
		"all times last": func(s ptrace.Span) { s.SetStartTimestamp(1<<64 - 1); s.SetEndTimestamp(1<<64 - 1) },
	} {
		t.Run(name, func(t *testing.T) {
			td := request()
			change(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0))
			s := setOf(td)
			part := canonical(t, s)
			back, err := FromPart(part)
			if err != nil {
				t.Fatal(err)
			}
			if s.Len() != 1 || back.Len() != 1 || s.Items()[0].Digest() != back.Items()[0].Digest() {
				t.Error("the item is another one when read back")
			}
		})
	}
}

// twice makes a map with one name twice, which the API does not allow but the wire does.
func twice(m pcommon.Map) {
	m.PutStr("twin", "1")
	m.PutStr("twim", "2") // renamed on the wire
	td := ptrace.NewTraces()
	m.CopyTo(td.ResourceSpans().AppendEmpty().Resource().Attributes())
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		panic(err)
	}
	td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(bytes.Replace(b, []byte("twim"), []byte("twin"), 1))
	if err != nil {
		panic(err)
	}
	td.ResourceSpans().At(0).Resource().Attributes().CopyTo(m)
}

// FuzzPartsReadBack: whatever a request holds, its evidence survives being written down.
func FuzzPartsReadBack(f *testing.F) {
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(request())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
		if err != nil {
			return
		}
		s := setOf(td)
		part, err := s.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, byPdata(t, s)) {
			t.Fatal("another form than that of pdata")
		}
		back, err := FromPart(part)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != back.Len() || !bytes.Equal(part, again) {
			t.Fatalf("%d items become %d", s.Len(), back.Len())
		}
	})
}
