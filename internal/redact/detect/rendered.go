// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"iter"
	"sync"
)

// What this program renders from evidence holds the same few short values again and again. It holds each long one several times, in a message, in an event
// and in the oracle, and these were met when the evidence was searched. So the search of rendered documents remembers the values that it has met for as long
// as it lasts: one that comes again is compared, and not hashed. It neither asks for a document as a whole nor remembers it: no other one is equal to it.

// ClearJSON says whether Walk.File finds nothing in any of the texts. It reads JSON only: false means that
// File has to tell, also of any other text.
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
		p := &Walk{r: r, rep: &Report{}, dry: true, records: true, trusted: r.trustedTable(), met: &m.met, budget: searchBudget(s),
			pieces: m.pieces, path: m.path, told: m.told, apartness: m.apartness}
		edits := p.within(s, r.Named(""), &elements{})
		m.pieces, m.path, m.told, m.apartness = p.pieces[:0], p.path[:0], p.told[:0], p.apartness[:0]
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
	met       metLeaves
	pieces    []streamPiece
	path      path
	told      []tellsApart
	apartness []apartNode
}

// keptPieces is up to how many pieces of streams, and of what tells them apart, memory is kept for.
const keptPieces = 4096

func (m *rendered) forget() {
	m.met = metLeaves{}
	if cap(m.pieces) > keptPieces || cap(m.apartness) > keptPieces {
		m.pieces, m.apartness = nil, nil
	}
	clear(m.pieces[:cap(m.pieces)])
	clear(m.path[:cap(m.path)])
	clear(m.told[:cap(m.told)])
	clear(m.apartness[:cap(m.apartness)])
}

var renderedMemory = sync.Pool{New: func() any { return new(rendered) }}

// metLeaves are values in which nothing was found: in the first half those too short for the table of their detector, in the second the others. The verdict
// on one hangs on no more than that table says. Two values have one place, and the one that came first makes room.
type metLeaves [256][2]struct {
	text   string
	key    *Name
	nested int
	raw    bool // as it stands in JSON, with its escapes
}

// renderedID says whether a value is one in which no built-in rule finds anything, by its form and its name alone, and of which each run has others: a
// time, or an id or digest of the protocol (see Walk.value).
func renderedID(s string, k *Name) bool {
	return k.protocol && machineID(s) || renderedTime(s) && k.silent()
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
func (l *metLeaves) index(s string, k *Name) int {
	const half = uint64(len(l) / 2)
	switch {
	case l == nil || k.service:
		return -1
	case len(s) < minClean:
		return int(placeOf(s) % half)
	}
	return int(half + placeOf(s)%half)
}

func (l *metLeaves) holds(at int, s string, k *Name, nested int, raw bool) bool {
	if at < 0 {
		return false
	}
	for i := range l[at] {
		e := &l[at][i]
		if e.key != nil && e.raw == raw && len(e.text) == len(s) && (e.key == k || e.key.ofValue() == k.ofValue()) &&
			nestedFor(e.nested, len(s)) == nestedFor(nested, len(s)) && e.text == s {
			return true
		}
	}
	return false
}

func (l *metLeaves) put(at int, s string, k *Name, nested int, raw bool) {
	if at >= 0 {
		l[at][1] = l[at][0]
		e := &l[at][0]
		e.text, e.key, e.nested, e.raw = s, k, nested, raw
	}
}

// poolList says whether the current list is one in which a tape names messages and tools of its pool, by their ids and nothing else. Ids look generated, and
// only rules that guess take offence at that.
func (p *Walk) poolList() bool {
	if p.nested != 1 || p.r.guess {
		return false
	}
	switch at := p.path; len(at) {
	case 3: // input.messages[]
		return at[0].name == "input" && at[1].name == "messages"
	case 5: // events[].request.messages[], events[].request.tools[]
		return at[0].name == "events" && at[1].array && at[2].name == "request" && (at[3].name == "messages" || at[3].name == "tools")
	}
	return false
}
