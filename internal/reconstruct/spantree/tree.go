// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// ByID finds the nodes of a trace by their ids.
func ByID(nodes []*Node) map[pcommon.SpanID]*Node {
	found := make(map[pcommon.SpanID]*Node, len(nodes))
	for _, n := range nodes {
		found[n.ID] = n
	}
	return found
}
