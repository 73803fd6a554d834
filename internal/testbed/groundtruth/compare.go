// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

// Compare counts the values of a run that come out better in one score than in another, and those that
// come out worse. Exact is better than absent or wrapped, and those are better than a value that is not
// right. What only one of the scores compares was lost in the other, as the values of a call are, but for
// the order of calls: it is compared where nothing else is missing.
func Compare(score, other []Row) (better, worse int) {
	ours, theirs := ranks(score), ranks(other)
	for of, rank := range ours {
		if before, compared := theirs[of]; rank > before && (compared || !of.ofOrder()) {
			better++
		}
	}
	for of, rank := range theirs {
		if after, compared := ours[of]; rank > after && (compared || !of.ofOrder()) {
			worse++
		}
	}
	return better, worse
}

// valueOf names a value of a run.
type valueOf struct {
	field string
	call  int
}

func (v valueOf) ofOrder() bool { return v.field == "tool.turn" || v.field == "tool.order" }

// ranks orders the outcome of each value: 2 for exact, 1 for another right one, 0 for the rest. The worst
// of several rows about one value counts.
func ranks(rows []Row) map[valueOf]int {
	all := map[valueOf]int{}
	for _, r := range rows {
		rank := 1
		switch {
		case r.Outcome.Bad():
			rank = 0
		case r.Outcome == Exact:
			rank = 2
		}
		of := valueOf{r.Field, r.Call}
		if before, known := all[of]; !known || rank < before {
			all[of] = rank
		}
	}
	return all
}
