// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// DropToldElsewhere unites a call with the one that it reports from a trace of its own, see byTwin and
// byToolTwin.
//
// Needs: a span that joining found to report a span of another trace.
// Refuses: nothing; the doubt is settled when traces are joined.
// Seen in: clients of providers that start traces.
func DropToldElsewhere(c *ledger.Ledger) {
	by := map[*spantree.Node]*ledger.Call{}
	for _, k := range slices.Concat(c.Models, c.Tools) {
		for _, n := range k.Nodes {
			by[n] = k
		}
	}
	told := func(k *ledger.Call) bool {
		of := by[k.Reports()]
		if of == nil || of == k {
			return false
		}
		for _, n := range k.Nodes {
			of.Join(n)
		}
		return true
	}
	c.Models, c.Tools = slices.DeleteFunc(c.Models, told), slices.DeleteFunc(c.Tools, told)
}
