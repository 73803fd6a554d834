// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// HasRecord reports a tool call that a span and a log record of its own report.
func HasRecord(t *ledger.Call) bool {
	return slices.ContainsFunc(t.Nodes, isRecord) && slices.ContainsFunc(t.Nodes, isSpan)
}

func isRecord(n *spantree.Node) bool { return n.Spans == 0 }

func isSpan(n *spantree.Node) bool { return !isRecord(n) }

// TakeTold takes the result of a log record in place of that of the span, where the model was told the
// former.
//
// Needs: a tool call with a span and a record of its own, and a request that shows the result of the record
// as it is.
// Refuses: a record of which the request shows anything else.
// Seen in: the transcript of Claude Code beside its spans, which hold the file of Read and the patch of Edit.
func TakeTold(c *ledger.Ledger) {
	for _, t := range c.Tools {
		if !HasRecord(t) || t.By == nil || t.By.Shown == nil || t.By.Shown.Label != "" {
			continue
		}
		told := func(r genai.Content) bool {
			return r.Present() && r.Label == "" && chat.SameValue(r.Value, t.By.Shown.Result)
		}
		at := slices.IndexFunc(t.Nodes, func(n *spantree.Node) bool { return isRecord(n) && told(n.Obs.Result) })
		if at < 0 || told(t.Obs.Result) {
			continue
		}
		o := t.Obs.Draft()
		o.Result = t.Nodes[at].Obs.Result
		t.Obs = o.Seal()
	}
}
