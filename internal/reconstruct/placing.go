// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// placeByTools returns a function that tells when answers after that of a model call were there, given one
// after the other: when the first of the tools that they ask for began, by name and arguments, else when
// those before had ended.
func (c *collector) placeByTools(last *call) func(said *message) uint64 {
	place := c.placeSince(last.agent, last.start, last.end)
	if len(last.obs.Response) > 0 {
		place(newMessage(last.obs.Response[0]))
	}
	return place
}

// placeSince does so for answers given to an agent since a time, of which the first was there at another.
func (c *collector) placeSince(agent *call, since, at uint64) func(said *message) uint64 {
	open := slices.Clone(c.tools) // in order of time
	return func(said *message) uint64 {
		began, ended := uint64(0), at
		for _, p := range callsOf(said.parts) {
			i := slices.IndexFunc(open, func(t *call) bool {
				return t.agent == agent && t.start >= since && nameOf(t) == p.Name && (t.obs.CallID == p.ID || t.obs.CallID == "" || p.ID == "") && equalArgs(t.obs.Args.Value, p.Args, sameValue)
			})
			if i < 0 {
				continue
			}
			if t := open[i]; began == 0 || t.start < began {
				began = t.start
			}
			ended = max(ended, open[i].end)
			open = slices.Delete(open, i, i+1)
		}
		if began == 0 {
			began = at
		}
		at = ended
		return began
	}
}
