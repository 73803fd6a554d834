// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "slices"

// Alignment says how the edit script was found.
type Alignment string

// The ways of aligning, the best first.
const (
	// Exact is the cheapest edit script there is, under the costs below.
	Exact Alignment = "exact"
	// Anchored: the runs are too long for that. Events that stand exactly once in both were held fast, and the cheapest script was found
	// between them.
	Anchored Alignment = "anchored"
	// Positional: some stretch between such events was still too long, and was paired event by event.
	Positional Alignment = "positional"
)

// Costs of the edit script. An inserted or a dropped event costs gap, so a change that costs more than two gaps is never taken. Equal calls
// belong together first if they are also equal in what does not count. unit is so large that this never outweighs a difference.
const (
	unit        = 1 << 20
	gap         = 1000 * unit
	otherName   = 1000 * unit // another tool at the same place is still less than dropped and inserted
	otherCaller = 400 * unit
	otherMain   = 400 * unit // arguments, query or calls asked for, without a member in common
	sameMember  = 300 * unit // of it, what members in common take off
	otherField  = 50 * unit
	maxFields   = 6
	uncounted   = 1
)

// maxCells bounds the table of one stretch: 2,000 by 2,000 events take 4 MB and about 0.2 s. maxTotal bounds all of them.
const (
	maxCells = 4 << 20
	maxTotal = 16 << 20
)

// pair is one step of an edit script over items; -1 is no item.
type pair struct {
	kind Kind
	a, b int
	// exchanged: moved to a place from which another event moved.
	exchanged bool
}

type aligner struct {
	a, b  *sequence
	level int
	pairs []pair
	how   Alignment
	cells int
}

// align returns the edit script that turns a into b, in the order of a's tape.
func align(a, b *sequence, level int) ([]pair, Alignment) {
	l := &aligner{a: a, b: b, level: level, how: Exact}
	l.stretch(0, len(a.items), 0, len(b.items), len(Levels)-1)
	return l.settle(), l.how
}

func (l *aligner) equal(i, j int) bool { return l.equalAt(i, j, l.level) }

func (l *aligner) equalAt(i, j, level int) bool {
	return l.a.items[i].ids[level] == l.b.items[j].ids[level]
}

func (l *aligner) match(i, j int) {
	kind := Changed
	if l.equal(i, j) {
		kind = Equal
	}
	l.pairs = append(l.pairs, pair{kind: kind, a: i, b: j})
}

func (l *aligner) drop(i int)   { l.pairs = append(l.pairs, pair{kind: Dropped, a: i, b: -1}) }
func (l *aligner) insert(j int) { l.pairs = append(l.pairs, pair{kind: Inserted, a: -1, b: j}) }

// stretch aligns a[i:m] with b[j:n]. Items at both ends that are equal at a level are taken as they are.
func (l *aligner) stretch(i, m, j, n, level int) {
	for i < m && j < n && l.equalAt(i, j, level) {
		l.match(i, j)
		i, j = i+1, j+1
	}
	tail := 0
	for i < m-tail && j < n-tail && l.equalAt(m-1-tail, n-1-tail, level) {
		tail++
	}
	l.middle(i, m-tail, j, n-tail, level)
	for t := tail; t > 0; t-- {
		l.match(m-t, n-t)
	}
}

func (l *aligner) middle(i, m, j, n, level int) {
	rows, columns := m-i, n-j
	switch cells := rows * columns; {
	case rows == 0 || columns == 0:
		for ; i < m; i++ {
			l.drop(i)
		}
		for ; j < n; j++ {
			l.insert(j)
		}
	case cells <= maxCells && l.cells+cells <= maxTotal:
		l.cells += cells
		l.table(i, m, j, n)
	case level > l.level:
		l.stretch(i, m, j, n, l.level)
	default:
		l.anchored(i, m, j, n)
	}
}

// The ways into a cell of the table.
const (
	diagonal = iota
	up       // a dropped
	left     // b inserted
)

// table finds the cheapest script (Needleman and Wunsch). Among scripts with equal costs it takes the one that matches, else the one that
// drops first. So an item that was swapped with its neighbour has moved back.
func (l *aligner) table(i, m, j, n int) {
	rows, columns := m-i, n-j
	way := make([]uint8, (rows+1)*(columns+1))
	above, here := make([]int64, columns+1), make([]int64, columns+1)
	for c := range columns {
		above[c+1] = above[c] + gap
		way[c+1] = left
	}
	for r := 1; r <= rows; r++ {
		here[0] = above[0] + gap
		line := way[r*(columns+1):][:columns+1]
		line[0] = up
		for c := 1; c <= columns; c++ {
			best, from := above[c-1]+l.cost(i+r-1, j+c-1), uint8(diagonal)
			if insert := here[c-1] + gap; insert < best {
				best, from = insert, left
			}
			if drop := above[c] + gap; drop < best {
				best, from = drop, up
			}
			here[c], line[c] = best, from
		}
		above, here = here, above
	}
	start := len(l.pairs)
	for r, c := rows, columns; r > 0 || c > 0; {
		switch way[r*(columns+1)+c] {
		case diagonal:
			r, c = r-1, c-1
			l.match(i+r, j+c)
		case up:
			r--
			l.drop(i + r)
		default:
			c--
			l.insert(j + c)
		}
	}
	slices.Reverse(l.pairs[start:])
}

// cost is what it costs to take two events for the same one.
func (l *aligner) cost(i, j int) int64 {
	x, y := &l.a.items[i], &l.b.items[j]
	if l.equalAt(i, j, len(Levels)-1) {
		return 0
	}
	if l.equal(i, j) {
		return uncounted
	}
	if x.kind != y.kind {
		return 3 * gap
	}
	var cost, others int64
	// Both lists are sorted by name.
	for n, k := 0, 0; n < len(x.fields) || k < len(y.fields); {
		var f *field
		switch {
		case k == len(y.fields) || n < len(x.fields) && x.fields[n].name < y.fields[k].name:
			f = &x.fields[n]
			n++
		case n == len(x.fields) || y.fields[k].name < x.fields[n].name:
			f = &y.fields[k]
			k++
		default:
			f = &x.fields[n]
			n, k = n+1, k+1
			if x.fields[n-1].id == y.fields[k-1].id {
				continue
			}
		}
		if f.level > l.level {
			continue
		}
		switch f.name {
		case FieldName:
			cost += otherName
		case FieldCaller:
			cost += otherCaller
		case FieldArgs, FieldAsks, FieldQuery:
			cost += otherMain - common(x.main, y.main)
		default:
			others++
		}
	}
	return cost + otherField*min(others, maxFields)
}

// common is what equal members take off: all of sameMember when they are the same, their share otherwise. Both lists are sorted.
func common(x, y []int32) int64 {
	both := int64(0)
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			both, i, j = both+1, i+1, j+1
		case x[i] < y[j]:
			i++
		default:
			j++
		}
	}
	if both == 0 {
		return 0
	}
	return sameMember * both / (int64(len(x)+len(y)) - both)
}

// anchored holds fast what stands exactly once in both stretches, as far as the order agrees (patience), and aligns what lies between.
func (l *aligner) anchored(i, m, j, n int) {
	anchors := l.anchors(i, m, j, n)
	if len(anchors) == 0 {
		l.positional(i, m, j, n)
		return
	}
	if l.how == Exact {
		l.how = Anchored
	}
	for _, at := range anchors {
		l.stretch(i, at.a, j, at.b, l.level)
		l.match(at.a, at.b)
		i, j = at.a+1, at.b+1
	}
	l.stretch(i, m, j, n, l.level)
}

func (l *aligner) anchors(i, m, j, n int) []pair {
	type places struct{ a, b, inA, inB int }
	seen := make(map[int32]*places)
	for at := i; at < m; at++ {
		id := l.a.items[at].ids[l.level]
		if seen[id] == nil {
			seen[id] = &places{}
		}
		seen[id].a, seen[id].inA = at, seen[id].inA+1
	}
	for at := j; at < n; at++ {
		if p := seen[l.b.items[at].ids[l.level]]; p != nil {
			p.b, p.inB = at, p.inB+1
		}
	}
	// The longest increasing chain: ends[k] is the last anchor of the best chain of k+1, before links back.
	var all []pair
	for at := i; at < m; at++ {
		if p := seen[l.a.items[at].ids[l.level]]; p.inA == 1 && p.inB == 1 {
			all = append(all, pair{kind: Equal, a: p.a, b: p.b})
		}
	}
	before := make([]int, len(all))
	var ends []int
	for k, p := range all {
		at, _ := slices.BinarySearchFunc(ends, p.b, func(e, b int) int { return all[e].b - b })
		if before[k] = -1; at > 0 {
			before[k] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, k)
		} else {
			ends[at] = k
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var chain []pair
	for k := ends[len(ends)-1]; k >= 0; k = before[k] {
		chain = append(chain, all[k])
	}
	slices.Reverse(chain)
	return chain
}

// positional pairs event by event.
func (l *aligner) positional(i, m, j, n int) {
	l.how = Positional
	for ; i < m && j < n; i, j = i+1, j+1 {
		if l.cost(i, j) <= 2*gap {
			l.match(i, j)
		} else {
			l.drop(i)
			l.insert(j)
		}
	}
	for ; i < m; i++ {
		l.drop(i)
	}
	for ; j < n; j++ {
		l.insert(j)
	}
}
