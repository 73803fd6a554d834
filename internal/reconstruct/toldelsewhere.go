// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// dropToldElsewhere unites a call with the one that it reports from a trace of its own, see byTwin and
// byToolTwin.
//
// Needs: a span that joining found to report a span of another trace.
// Refuses: nothing; the doubt is settled when traces are joined.
// Seen in: clients of providers that start traces.
func (c *collector) dropToldElsewhere() {
	by := map[*node]*call{}
	for _, k := range slices.Concat(c.models, c.tools) {
		for _, n := range k.nodes {
			by[n] = k
		}
	}
	told := func(k *call) bool {
		of := by[k.reports()]
		if of == nil || of == k {
			return false
		}
		for _, n := range k.nodes {
			of.join(n)
		}
		return true
	}
	c.models, c.tools = slices.DeleteFunc(c.models, told), slices.DeleteFunc(c.tools, told)
}

// reports is the span in another trace that tells the same call, nil if there is none.
func (t *call) reports() *node {
	for _, n := range t.nodes {
		if n.reports != nil {
			return n.reports
		}
	}
	return nil
}
