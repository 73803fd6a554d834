// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Hide takes from the span of a loop what it tells of the last call of the loop.
func (t *Call) Hide(last *spantree.Node) {
	o := t.Obs.Draft()
	if o.ResponseID == last.Obs.ResponseID {
		o.ResponseID, o.FinishReasons, o.Usage = "", nil, tape.Usage{}
	}
	o.Response = nil
	t.Obs, t.End = o.Seal(), min(t.End, last.Start)
	t.Note(tape.CodeModelCallHidden, "", "the span stands for a loop of model calls and holds the answer of the last")
}
