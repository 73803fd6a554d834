// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

// judged is a verdict as the page shows it.
type judged struct {
	Text, Explanation, Class string
	Event                    int // that is judged and on the page; 0 for none
}

func verdicts(t *tape.Tape, shown []event) (list []judged) {
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		j := judged{Text: timeline.OneLine(timeline.Judgement(v)), Explanation: timeline.Clean(v.Explanation)}
		if passed, said := v.Passed(); said && passed {
			j.Class = "good"
		} else if said || v.Error != nil {
			j.Class = "bad"
		}
		if slices.ContainsFunc(shown, func(e event) bool { return v.Seq > 0 && e.Seq == v.Seq }) {
			j.Event = v.Seq
		}
		list = append(list, j)
	}
	return list
}
