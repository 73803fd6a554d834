// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// recoverThrown makes the model call with which a run failed, behind the calls on record. What was sent is
// not known.
//
// Needs: the run's own span, failed with the error of a client of a model's API; a last call that asked for
// tools.
// Refuses: a call on record that failed, or an agent within the run: the error may be theirs.
// Seen in: packages that drop the span of a call that threw; spans that a sampler dropped.
func (c *collector) recoverThrown() {
	if len(c.models) == 0 || !failedRun(c) || slices.ContainsFunc(slices.Concat(c.models, c.agents), failedCall) {
		return
	}
	last := slices.MaxFunc(c.models, compareCalls).obs
	asked := len(last.Response) > 0 && len(callsOf(last.Response[0].Parts)) > 0
	if !asked && !slices.ContainsFunc(last.FinishReasons, tape.AsksForTools) {
		return
	}
	root := c.run.root
	when := root.end
	for _, k := range slices.Concat(c.models, c.tools) {
		when = max(when, k.end+1) // behind all of them, also where clocks count in seconds
	}
	c.models = append(c.models, thrownBehind(last, root, when))
	c.sortModels()
}
