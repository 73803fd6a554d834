// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// maxMends bounds the places of a conversation for which rules are proposed.
const maxMends = 4

// mend returns the smallest rules with which a live conversation is that of a turn, as lines of a rules file;
// none where rules cannot do it, or only such that take out a whole text.
func (s *Stub) mend(n *turn, live *conversation) (lines []string) {
	var added []normalise.Rule
	for range maxMends {
		rules, err := s.options.Rules.And(added)
		if err != nil {
			return nil
		}
		trial := Stub{tapes: s.tapes, options: s.options, normal: s.normal}
		trial.normal.Rules = rules
		x := comparison{stub: &trial, labels: map[Label]bool{}, names: &normalise.Renaming{}}
		if x.conversations(&n.sent, live) {
			for i := range added {
				lines = append(lines, added[i].YAML())
			}
			return lines
		}
		if x.failed == nil {
			return nil
		}
		more := normalise.Mend(x.failed.Tool, x.failed.Field, x.failed.Recorded, x.failed.Live)
		if more == nil {
			return nil
		}
		added = append(added, more...)
	}
	return nil
}
