// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"fmt"
	"strings"
	"testing"
)

func TestTracesWithoutARunAreOneLine(t *testing.T) {
	for n, want := range map[int]string{1: "no run in trace 01: no spans", 2: "no run in 2 traces: no spans of an agent run; the first one is 01", 500: "no run in 500 traces"} {
		b := NewBatch(nil, nil)
		for i := range n {
			b.left[fmt.Sprintf("%02d", i+1)] = fmt.Sprintf("no run in trace %02d: no spans", i+1)
		}
		if got := b.explain(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%d: %q", n, got)
		}
	}
}
