// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverThrown makes the model call with which a run failed, behind the calls on record. What was sent is
// not known.
//
// Needs: the run's own span, failed with the error of a client of a model's API; a last call that asked for
// tools.
// Refuses: a call on record that failed, or an agent within the run: the error may be theirs.
// Seen in: packages that drop the span of a call that threw; spans that a sampler dropped.
func RecoverThrown(c *ledger.Ledger) {
	if len(c.Models) == 0 || !ledger.FailedRun(c) || slices.ContainsFunc(slices.Concat(c.Models, c.Agents), ledger.FailedCall) {
		return
	}
	last := slices.MaxFunc(c.Models, ledger.CompareCalls).Obs
	asked := len(last.Response) > 0 && len(chat.CallsOf(last.Response[0].Parts)) > 0
	if !asked && !slices.ContainsFunc(last.FinishReasons, tape.AsksForTools) {
		return
	}
	root := c.Run.Root
	when := root.End
	for _, k := range slices.Concat(c.Models, c.Tools) {
		when = max(when, k.End+1) // behind all of them, also where clocks count in seconds
	}
	c.Models = append(c.Models, thrownBehind(last, root, when))
	c.SortModels()
}
