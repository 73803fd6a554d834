// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Reports is the span in another trace that tells the same call, nil if there is none.
func (t *Call) Reports() *spantree.Node {
	for _, n := range t.Nodes {
		if n.Reports != nil {
			return n.Reports
		}
	}
	return nil
}
