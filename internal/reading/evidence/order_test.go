// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// fill gives a map entries of all kinds, in a random order at every depth.
func fill(r *rand.Rand, m pcommon.Map, entries, depth int) {
	for _, i := range r.Perm(entries) {
		key := fmt.Sprintf("key.%d", i)
		switch i % 4 {
		case 0:
			m.PutStr(key, "text")
		case 1:
			m.PutInt(key, int64(i))
		case 2:
			if depth > 0 {
				fill(r, m.PutEmptyMap(key), entries, depth-1)
			}
		case 3:
			if depth > 0 {
				fill(r, m.PutEmptySlice(key).AppendEmpty().SetEmptyMap(), entries, depth-1)
			}
		}
	}
}

func TestCanonicalBytesDoNotDependOnTheOrderOfAttributes(t *testing.T) {
	for _, entries := range []int{5, smallMap + 1} {
		var want []byte
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 0))
			td := request()
			rs := td.ResourceSpans().At(0)
			ss := rs.ScopeSpans().At(0)
			s := ss.Spans().At(0)
			depth := 2
			if entries > smallMap {
				depth = 0
			}
			for _, m := range []pcommon.Map{rs.Resource().Attributes(), ss.Scope().Attributes(), s.Attributes(), s.Events().At(0).Attributes(), s.Links().At(0).Attributes()} {
				m.RemoveIf(func(string, pcommon.Value) bool { return true })
				fill(r, m, entries, depth)
			}
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			set := NewSet()
			set.add(td, true)
			got := canonical(t, set)
			if want == nil {
				want = got
			}
			if !bytes.Equal(want, got) {
				t.Fatalf("%d entries, seed %d: the same attributes in another order are other bytes", entries, seed)
			}
			back, err := FromPart(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := set.Items()[0].Digest(); back.Items()[0].Digest() != d {
				t.Fatalf("%d entries, seed %d: the item has another digest when read back", entries, seed)
			}
		}
	}
}

func TestKeyThatComesTwiceKeepsBothValuesInTheirOrder(t *testing.T) {
	list := func(keys ...string) []spandigest.Entry {
		var entries []spandigest.Entry
		for i, key := range keys {
			entries = append(entries, spandigest.Entry{Key: key, Value: pcommon.NewValueInt(int64(i))})
		}
		return entries
	}
	m := assemble(list("b", "a", "c", "a"))
	sortMap(m)
	var keys []string
	var values []int64
	for k, v := range m.All() {
		keys = append(keys, k)
		values = append(values, v.Int())
	}
	if !slices.Equal(keys, []string{"a", "a", "b", "c"}) || !slices.Equal(values, []int64{1, 3, 0, 2}) {
		t.Errorf("%v %v", keys, values)
	}
}

func TestSortingLeavesTheOriginalAlone(t *testing.T) {
	td := request()
	before, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	canonical(t, setOf(td))
	if after, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td); err != nil || !bytes.Equal(before, after) {
		t.Error("the canonical form has changed what it was made from")
	}
}
