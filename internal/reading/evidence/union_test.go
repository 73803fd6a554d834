// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// crowd is a trace of n spans in several resources, with a tag on one late span.
func crowd(n int) []ptrace.Traces {
	var out []ptrace.Traces
	for i := range n {
		td := request()
		rs := td.ResourceSpans().At(0)
		rs.Resource().Attributes().PutInt("instance", int64(i%5))
		s := rs.ScopeSpans().At(0).Spans().At(0)
		s.SetSpanID(pcommon.SpanID{1, byte(i >> 8), byte(i)})
		s.SetStartTimestamp(pcommon.Timestamp(1000 + i/3))
		s.Attributes().PutStr("gen_ai.operation.name", "chat")
		if i == n-7 {
			s.Attributes().PutStr("replay_run_id", "r1")
		}
		out = append(out, td)
	}
	return out
}

func unite(t *testing.T, b Bounds, sets ...*Set) (*Set, bool) {
	t.Helper()
	u := NewUnion(b, segregation.Default)
	for _, s := range sets {
		u.Add(s)
		if most := 2*b.Items + maxTags; len(u.set.items) > most {
			t.Fatalf("%d items are held, more than %d", len(u.set.items), most)
		}
	}
	return u.Set()
}

func TestUnionKeepsTheSameItemsInAnyOrderAndSplit(t *testing.T) {
	const n = 400
	all := crowd(n)
	whole := setOf(crowd(n)...)
	for name, b := range map[string]Bounds{
		"items": {Items: 60, Bytes: 1 << 30},
		"bytes": {Items: 1 << 30, Bytes: 20_000},
		"one":   {Items: 1, Bytes: 1},
	} {
		kept, cut := unite(t, b, whole)
		if !cut || kept.Len() == 0 || kept.Len() >= n {
			t.Fatalf("%s: %d items of %d, cut: %v", name, kept.Len(), n, cut)
		}
		if !kept.Verdict(segregation.Default).Replay {
			t.Errorf("%s: the tag was cut off", name)
		}
		want := canonical(t, kept)
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 0))
			var sets []*Set
			for _, i := range append(r.Perm(n), r.Perm(n)[:r.IntN(n)]...) {
				td := ptrace.NewTraces()
				all[i].CopyTo(td)
				if len(sets) == 0 || r.IntN(10) == 0 {
					sets = append(sets, NewSet())
				}
				sets[len(sets)-1].AddTraces(td)
			}
			again, _ := unite(t, b, sets...)
			if !bytes.Equal(want, canonical(t, again)) {
				t.Fatalf("%s, seed %d: other items in %d pieces", name, seed, len(sets))
			}
		}
	}
}

func TestUnionWithinItsBoundsIsWhole(t *testing.T) {
	whole := setOf(crowd(50)...)
	kept, cut := unite(t, Bounds{Items: 50, Bytes: 1 << 30}, whole, setOf(crowd(50)...))
	if cut || !bytes.Equal(canonical(t, whole), canonical(t, kept)) {
		t.Errorf("%d items of 50, cut: %v", kept.Len(), cut)
	}
}
