// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

// Conflict is an occurrence of which merged runs have different answers.
type Conflict struct {
	ToolName   string `json:"tool_name"`
	ArgsHash   string `json:"args_hash"`
	Caller     string `json:"caller,omitempty"`
	Occurrence int    `json:"occurrence"`
	First      Source `json:"-"`
	Other      Source `json:"-"`
	Runs       [2]int `json:"runs"` // places in the list that was merged, from 0
}

// Merge makes one oracle of several runs of one task. The n-th call of a key has one entry if the runs agree on its answer. If they do not,
// every answer has an entry under the same occurrence, and a session calls it ambiguous. The entries of the first run come first, in its
// order. Then come those that the other runs add. Servable answers replace those that cannot be served.
func Merge(runs [][]Entry) ([]Entry, []Conflict) {
	merged := []Entry{}
	var from []int // the run of each entry
	var conflicts []Conflict
	places := map[slotName][]int{} // → entries with different answers
	for n, run := range runs {
		counts := map[call]int{}
		for _, e := range run {
			if e.ArgsHash == "" || !e.ArgsFidelity.served() {
				merged, from = append(merged, e), append(from, n)
				continue
			}
			counts[callOf(&e)]++
			e.Occurrence = counts[callOf(&e)]
			slot := slotName{callOf(&e), e.Occurrence}
			at, fits := -1, false
			for _, i := range places[slot] {
				switch {
				case sameAnswer(&merged[i], &e):
					fits = true
				case !merged[i].Servable() || !e.Servable():
					at = i
				}
			}
			switch {
			case fits:
			case at >= 0:
				if e.Servable() {
					merged[at], from[at] = e, n
				}
			default:
				if others := places[slot]; len(others) > 0 {
					conflicts = append(conflicts, Conflict{
						ToolName: e.ToolName, ArgsHash: e.ArgsHash, Caller: e.Caller, Occurrence: e.Occurrence,
						First: merged[others[0]].Source, Other: e.Source, Runs: [2]int{from[others[0]], n},
					})
				}
				places[slot] = append(places[slot], len(merged))
				merged, from = append(merged, e), append(from, n)
			}
		}
	}
	return merged, conflicts
}
