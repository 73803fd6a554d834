// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"hash/maphash"
	"iter"
	"sync"
)

// What this program renders from evidence holds the same few short values again and again, and the long ones were met when the evidence was searched. So
// the search of rendered documents remembers the short values for as long as it lasts, and neither asks for a document as a whole nor remembers it: no
// other one is equal to it.

// ClearJSON says whether Scan finds nothing in any of the texts under no name. It reads JSON only: false means that Scan has to tell, also of any other text.
func (r *Detector) ClearJSON(texts iter.Seq[string]) (clear bool) {
	if r.clean == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			clear = false
		}
	}()
	m := renderedMemory.Get().(*rendered)
	clear = true
	for s := range texts {
		if clear = looksLikeJSON(s); !clear {
			break
		}
		p := &Walk{r: r, rep: &Report{}, dry: true, trusted: r.trustedTable(), short: &m.short, pieces: m.pieces, path: m.path, budget: searchBudget(s)}
		edits := p.within(s, r.Named(""), &elements{})
		m.pieces, m.path = p.pieces[:0], p.path[:0]
		if clear = len(edits) == 0 && p.rep.found == 0 && !p.bad; !clear {
			break
		}
	}
	// No text of the documents is kept: it may lie in memory that is used again. What a panic has left is not used again either.
	m.forget()
	renderedMemory.Put(m)
	return clear
}

// rendered is memory of a search.
type rendered struct {
	short  shortLeaves
	pieces []streamPiece
	path   path
}

// keptPieces is up to how many pieces of streams memory is kept for.
const keptPieces = 4096

func (m *rendered) forget() {
	m.short = shortLeaves{}
	if cap(m.pieces) > keptPieces {
		m.pieces = nil
	}
	clear(m.pieces[:cap(m.pieces)])
	clear(m.path[:cap(m.path)])
}

var renderedMemory = sync.Pool{New: func() any { return new(rendered) }}

// shortLeaves are values in which nothing was found, too short for the table of their detector. The verdict on one hangs on no more than that table says
// of longer ones. A value makes room for another one with the same hash.
type shortLeaves [256]struct {
	text   string
	key    *Name
	nested int
}

// renderedTime says whether a value is a time as this program writes it: 2025-10-09T08:53:28.000000000Z.
func renderedTime(s string) bool {
	const form = "0000-00-00T00:00:00.000000000Z"
	if len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == '0' && !isDigit(s[i]) || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}

// index is where a value is or would be, negative if it is not to be remembered: where its name is that of a service, that is searched too.
func (l *shortLeaves) index(s string, k *Name) int {
	if l == nil || len(s) >= minClean || k.service {
		return -1
	}
	return int(maphash.String(cleanSeeds[0], s) % uint64(len(l)))
}

func (l *shortLeaves) holds(at int, s string, k *Name, nested int) bool {
	return at >= 0 && l[at].key == k && l[at].nested == nested && l[at].text == s
}

func (l *shortLeaves) put(at int, s string, k *Name, nested int) {
	if at >= 0 {
		l[at].text, l[at].key, l[at].nested = s, k, nested
	}
}
