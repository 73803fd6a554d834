// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverThrown makes the model call with which a run ended that failed, where calls before it were recorded:
// what the run failed with is the error of a client of a model's API, and none of the recorded calls failed.
// What was sent nobody knows.
//
// Needs:    the run's own span, failed with the error of such a client; a last call that asked for tools
// Refuses:  a call on record that failed, or an agent within the run: the error may be theirs Seen in:
// packages that drop the span of a call that threw; spans that a sampler dropped
func (c *collector) recoverThrown(f *fragment) {
	if len(c.models) == 0 || f.root == nil || !genai.FailedInModelClient(f.root.span) {
		return
	}
	failed := func(k *call) bool { return k.obs.Failed || k.obs.StatusError }
	if slices.ContainsFunc(c.models, failed) || slices.ContainsFunc(c.agents, failed) {
		return
	}
	last := slices.MaxFunc(c.models, compareCalls)
	asked := len(last.obs.Response) > 0 && len(callsOf(last.obs.Response[0].Parts)) > 0
	if !asked && !slices.ContainsFunc(last.obs.FinishReasons, tape.AsksForTools) {
		return
	}
	o, when := f.root.obs, f.root.end
	for _, k := range slices.Concat(c.models, c.tools) {
		when = max(when, k.end+1) // behind all of them, also where clocks count in seconds
	}
	c.models = append(c.models, &call{
		kind:  tape.EventModelCall,
		obs:   &genai.Observation{Class: genai.Model, Model: last.obs.Model, Provider: last.obs.Provider, RequestLabel: tape.Missing, ResponseLabel: tape.Missing, StatusError: true, Error: o.Error},
		start: when, end: when,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the run failed with the error of a client of a model's API"}},
	})
	slices.SortStableFunc(c.models, compareCalls)
}
