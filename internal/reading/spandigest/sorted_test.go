// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spandigest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestEqualKeysStayInTheirOrder: maps of any size are sorted as a stable sort does it.
func TestEqualKeysStayInTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var list []Entry
		for i := range random.IntN(3 * insertedEntries) {
			list = append(list, Entry{strings.Repeat("k", random.IntN(9)), pcommon.NewValueInt(int64(i))})
		}
		got := pcommon.NewMap()
		for i, e := range list { // PutEmpty would take one of equal keys
			e.Value.CopyTo(got.PutEmpty(e.Key + "\x00" + string(rune(i))))
		}
		sorted := SortedEntries(got)
		if !slices.IsSortedFunc(sorted, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) }) || len(sorted) != len(list) {
			t.Fatalf("%d of %d entries, or not in order", len(sorted), len(list))
		}
		for i := range list {
			insertLast(list[:i+1])
		}
		for i := 1; i < len(list); i++ {
			if a, b := list[i-1], list[i]; a.Key > b.Key || a.Key == b.Key && a.Value.Int() > b.Value.Int() {
				t.Fatalf("%q %d before %q %d", a.Key, a.Value.Int(), b.Key, b.Value.Int())
			}
		}
	}
}
