// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

// Change is a difference between two oracles.
type Change struct {
	Kind       ChangeKind `json:"change"`
	ToolName   string     `json:"tool_name"`
	ArgsHash   string     `json:"args_hash"`
	Caller     string     `json:"caller,omitempty"`
	Occurrence int        `json:"occurrence"`
	Old        *int       `json:"old,omitempty"` // entry, from 0
	New        *int       `json:"new,omitempty"`
}

// ChangeKind says how an entry changed.
type ChangeKind string

// The kinds of changes.
const (
	Removed  ChangeKind = "removed"
	Added    ChangeKind = "added"
	Answered ChangeKind = "answer"   // the response or whether it is an error
	Graded   ChangeKind = "fidelity" // the same answer, but how far it is what was
)

// Changes lists the differences of two oracles: calls are the same when caller, tool, arguments and occurrence are. Removed and changed
// entries come in the order of the old oracle, added ones after them in that of the new one.
func Changes(old, changed []Entry) []Change {
	changes := []Change{}
	after := numbered(changed)
	found := map[slotName]bool{}
	before := numbered(old)
	for i := range old {
		slot := before.of[i]
		e := &old[i]
		found[slot] = true
		j, there := after.first[slot]
		change := Change{ToolName: e.ToolName, ArgsHash: e.ArgsHash, Caller: e.Caller, Occurrence: slot.occurrence, Old: &i}
		switch {
		case !there:
			change.Kind = Removed
		case !sameAnswer(e, &changed[j]):
			change.Kind, change.New = Answered, &j
		case e.ArgsFidelity.orExact() != changed[j].ArgsFidelity.orExact() || e.ResponseFidelity.orExact() != changed[j].ResponseFidelity.orExact():
			change.Kind, change.New = Graded, &j
		default:
			continue
		}
		changes = append(changes, change)
	}
	for j := range changed {
		if slot := after.of[j]; !found[slot] {
			e := &changed[j]
			changes = append(changes, Change{Kind: Added, ToolName: e.ToolName, ArgsHash: e.ArgsHash, Caller: e.Caller, Occurrence: slot.occurrence, New: &j})
		}
	}
	return changes
}

func (f Fidelity) orExact() Fidelity {
	if f == "" {
		return Exact
	}
	return f
}

type numbering struct {
	of    []slotName
	first map[slotName]int
}

// numbered counts the equal calls: a file need not say.
func numbered(entries []Entry) numbering {
	n := numbering{of: make([]slotName, len(entries)), first: map[slotName]int{}}
	counts := map[call]int{}
	for i := range entries {
		c := callOf(&entries[i])
		counts[c]++
		n.of[i] = slotName{c, counts[c]}
		n.first[n.of[i]] = i
	}
	return n
}
