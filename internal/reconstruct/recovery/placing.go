// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// placeByTools returns a function that tells when answers after that of a model call were there, given one
// after the other: when the first of the tools that they ask for began, by name and arguments, else when
// those before had ended.
func placeByTools(c *ledger.Ledger, last *ledger.Call) func(said *chat.Message) uint64 {
	place := placeSince(c, last.Agent, last.Start, last.End)
	if len(last.Obs.Response) > 0 {
		place(chat.NewMessage(last.Obs.Response[0]))
	}
	return place
}

// placeSince does so for answers given to an agent since a time, of which the first was there at another.
func placeSince(c *ledger.Ledger, agent *ledger.Call, since, at uint64) func(said *chat.Message) uint64 {
	open := slices.Clone(c.Tools) // in order of time
	return func(said *chat.Message) uint64 {
		began, ended := uint64(0), at
		for p := range chat.EachCall(said.Parts) {
			i := slices.IndexFunc(open, func(t *ledger.Call) bool {
				return t.Agent == agent && t.Start >= since && ledger.NameOf(t) == p.Name && (t.Obs.CallID == p.ID || t.Obs.CallID == "" || p.ID == "") && chat.EqualArgs(t.Obs.Args.Value, p.Args, chat.SameValue)
			})
			if i < 0 {
				continue
			}
			if t := open[i]; began == 0 || t.Start < began {
				began = t.Start
			}
			ended = max(ended, open[i].End)
			open = slices.Delete(open, i, i+1)
		}
		if began == 0 {
			began = at
		}
		at = ended
		return began
	}
}
