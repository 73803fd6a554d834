// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// readStepAround makes a step of a span that was taken for a model call for the messages in it alone: it is
// the step that makes the call.
//
// Needs: a model call inside that says what it is, of which model, and what it was sent.
// Refuses: a span that tells an operation, a model, an answer or a failure.
// Seen in: Microsoft Agent 365's package for LangChain.
func readStepAround(n *spantree.Node) {
	o := n.Obs
	if o.Class != genai.Model || n.Spans == 0 || len(o.Request) == 0 || cmp.Or(o.Operation, o.Model, o.ResponseModel) != "" ||
		len(o.Response) > 0 || tellsEnd(o) || o.Failed || o.StatusError {
		return
	}
	if len(spantree.Search(n.Kids, saysWhatItIs, spantree.IsCall)) > 0 {
		becomeStep(n)
	}
}

// saysWhatItIs reports the span of a model call that tells the operation, a model and a request.
func saysWhatItIs(n *spantree.Node) bool {
	o := n.Obs
	return o.Class == genai.Model && o.Operation != "" && cmp.Or(o.Model, o.ResponseModel) != "" && len(o.Request) > 0
}
