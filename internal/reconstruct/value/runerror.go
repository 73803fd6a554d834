// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// runError is what the run span says went wrong, else the step that failed, else the last model call, else
// the last event that did.
func (o *outputFacts) runError() *tape.Error {
	e := cmp.Or(o.run.Error, spantree.Observed(o.step).Error)
	if e == nil && o.last != nil {
		e = o.last.Obs.Error
	}
	for i := len(o.Tape.Events) - 1; e == nil && i >= 0; i-- {
		e = o.Tape.Events[i].Error
	}
	return cmp.Or(e, &tape.Error{Message: fmt.Sprintf("the run ended with status %s", o.Tape.Run.Status)})
}

// failedAround is the innermost step of the run around its last event that failed, else the agent span around
// that of the run: a runner that has nothing else below it tells how the run ended.
func (o *outputFacts) failedAround() *spantree.Node {
	if len(o.Ordered) == 0 {
		return nil
	}
	k := o.Ordered[len(o.Ordered)-1]
	if len(k.Nodes) == 0 && k.By != nil {
		k = k.By.Model
	}
	if len(k.Nodes) == 0 {
		return nil
	}
	for n := range spantree.Upward(k.Nodes[0], func(n *spantree.Node) bool { return n == o.root }) {
		if n.Failed() && n.Obs.Class != genai.Tool && n.Obs.Class != genai.Retrieval {
			return n
		}
	}
	if o.root == nil || o.root != o.Fragment.Root {
		return nil
	}
	for n := range spantree.Upward(o.root, func(n *spantree.Node) bool { return slices.Contains(o.Fragment.Heads, n) }) {
		if n.Up != nil && n.Up.Failed() && spantree.IsAgent(n.Up) {
			return n.Up
		}
	}
	return nil
}
