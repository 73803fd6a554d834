// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"encoding/binary"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// nested returns tool spans, each within the time of the one before it, whose parents never came.
func nested(n int) []*spantree.Node {
	nodes := make([]*spantree.Node, n)
	for i := range nodes {
		nodes[i] = &spantree.Node{Start: uint64(i + 1), End: uint64(2*n - i), Place: spantree.Place{Missing: true}, Obs: genai.NewReport(genai.Tool, func(*genai.Draft) {})}
		binary.BigEndian.PutUint32(nodes[i].ID[:], uint32(i+1))
		binary.BigEndian.PutUint32(nodes[i].Parent[:], uint32(n+i+1))
	}
	return nodes
}

func TestPlacingOrphansWithinOrphansTakesABoundedNumberOfSteps(t *testing.T) {
	const enough, few = 1 << 40, 100_000
	nodes := nested(100)
	if used := enough - place(nodes, nodes, enough); used < 100 || used > 100*100*100 {
		t.Errorf("%d steps for 100 orphans", used)
	}
	for i, n := range nodes[1:] {
		if n.Up != nodes[i] {
			t.Fatalf("orphan %d does not hang below the innermost one around it", i+1)
		}
	}
	nodes = nested(2000)
	if left := place(nodes, nodes, few); left >= 0 || left < -2*len(nodes) {
		t.Errorf("%d steps are left of %d", left, few)
	}
	if last := nodes[len(nodes)-1]; last.Up != nil || last.Adopted {
		t.Error("an orphan was placed after the steps were used up")
	}
}
