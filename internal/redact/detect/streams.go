// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// A streamed message can stand as the deltas in which it came, in an array or in the events of a span. A
// secret can then lie in several of them. So the deltas of one stream are read as one text first. What is
// found across their borders wins over what each piece shows by itself, because the first half of a key is a
// hit too. The token stands where the secret began. The rest of the secret is taken out of the pieces that
// follow.
//
// Names tell what is a delta: [{"delta": …}, {"delta": …}], ["to", "kens"] under "tokens",
// choices[0].delta.content of each chunk. Text that stands under one name in the objects of one list is one
// text in parts, unless the objects name a speaker or are told apart. Members of other names are values of
// their own, and {"user": "ann@host"}, {"user": "example.com"} is no address. Lists of strings that nothing
// calls a stream are joined for known forms of keys only.
//
// Nothing goes on from one thing to the next: from the result of a call, from a message, from an event that
// nothing calls a delta, from a row. The entries and events of a file that was rendered from evidence stand
// in different spans there. Documents are read one behind the other wherever texts are, but only what they
// call a delta goes on in the next.

const (
	maxPiece     = 4096    // the longest delta
	maxListPiece = 256     // the longest string of a list that nothing calls a stream
	maxStream    = 1 << 20 // the longest stream
	maxLevels    = 3       // arrays around a delta: chunks[*].choices[0].delta.content
)

// flow says how sure it is that pieces are one text.
type flow uint8

const (
	flowNone flow = iota
	flowList      // strings of a list: known forms only
	flowText      // deltas: everything
)

// streamPiece is a string that may be a piece of a stream.
type streamPiece struct {
	stream [maxLevels]uint64 // its path without the index in the innermost array, in the one around it, …
	arrays int               // how many arrays it stands in
	flow   flow
	firm   bool // something calls it a delta
	parted bool // what lies around it is no stream: it is a document, or no piece
	told   int  // the last of what tells it apart, see apartNode
	text   string
	own    []edit // what is found in it by itself
	key    *Name

	at  jsonscan.Token // of a document: where it stands in the text
	raw bool           // text is not decoded yet
	set func(string)   // of a native value
}

// note keeps a string that stands in an array for the end of that array.
func (p *Walk) note(text string, k *Name, list bool, piece streamPiece) {
	if p.arrays == 0 || text == "" || len(text) > maxPiece && (!piece.raw || decodedLen(text) > maxPiece) {
		return
	}
	switch {
	case p.delta || k.delta || k.prose:
		piece.flow = flowText
	case list && len(text) <= maxListPiece:
		piece.flow = flowList
	default:
		return
	}
	piece.firm = p.delta || k.delta
	piece.parted = k.row && !list && !piece.firm
	piece.text, piece.key, piece.arrays = text, k, p.arrays
	piece.stream = p.streamOf()
	p.pieces = append(p.pieces, piece)
}

// decodedLen returns how many bytes the content of a JSON string has.
func decodedLen(raw string) int {
	n := len(raw)
	for i := strings.IndexByte(raw, '\\'); i >= 0; {
		text, size := escapeAt(raw[i:])
		n += len(text) - size
		next := strings.IndexByte(raw[i+size:], '\\')
		if next < 0 {
			break
		}
		i += size + next
	}
	return n
}

// streamOf names the streams that a string at the current place can belong to. Names are hashed under a
// secret of the process: nobody can make two streams one.
func (p *Walk) streamOf() (stream [maxLevels]uint64) {
	const prime = 1099511628211
	for level := range stream {
		stream[level] = maphash.String(cleanSeeds[0], p.salt)
	}
	inner := p.arrays // the current array, counted from within
	if p.lines {
		inner-- // the array of a sequence of documents is not on the path
	}
	for i := p.base; i < len(p.path); i++ {
		s := &p.path[i]
		if !s.array {
			name := maphash.String(cleanSeeds[0], s.name)
			for level := range stream {
				stream[level] = (stream[level] ^ name) * prime
			}
			continue
		}
		inner--
		for level := range stream {
			if inner != level {
				stream[level] ^= uint64(s.index + 1)
			}
			stream[level] = bits.RotateLeft64(stream[level]*prime, 29)
		}
	}
	return stream
}

// spoken says that pieces since from stand in an object that names a speaker: they are texts by themselves, unless they are called deltas.
func (p *Walk) spoken(from int) {
	for i := from; i < len(p.pieces); i++ {
		if piece := &p.pieces[i]; !piece.firm {
			piece.flow = flowNone
		}
	}
}

// parted says that pieces since from stand in what is no stream: only what is called a delta goes on behind
// it, by name or in a document.
func (p *Walk) parted(from int) {
	for i := from; i < len(p.pieces); i++ {
		if piece := &p.pieces[i]; !piece.firm {
			piece.part()
		}
	}
}

func (piece *streamPiece) part() {
	piece.parted = true
	if piece.flow != flowText || !piece.raw && !looksLikeJSON(piece.text) {
		piece.flow = flowNone
	}
}

// recordList says whether the current list is one of records: nothing calls it a stream.
func (p *Walk) recordList() bool {
	if !p.records || p.nested != 1 || p.delta {
		return false
	}
	switch at := p.path; len(at) {
	case 0: // lines
		return true
	case 1: // entries
		return at[0].array
	case 2: // events
		return !at[0].array && at[1].array
	}
	return false
}

// pieceEdits are the edits of one piece, all of them: its own and what was found across its borders.
type pieceEdits struct {
	piece streamPiece
	edits []edit
}

// streams ends an array: it joins the pieces that have been met in it since from. The arrays around it decide on what is left of them.
func (p *Walk) streams(from int) (changed []pieceEdits) {
	pieces := p.pieces[from:]
	if p.recordList() {
		clear(pieces)
		pieces = nil
	}
	if len(pieces) >= 2 {
		changed = p.joined(pieces)
	}
	// Pieces stay for the arrays around this one.
	keep := p.pieces[:from]
	for i := range pieces {
		if pieces[i].flow != flowNone && pieces[i].arrays-p.arrays < maxLevels-1 && p.arrays > 1 {
			if !pieces[i].firm && !p.sent { // the parts of one text are in one list
				pieces[i].part()
			}
			keep = append(keep, pieces[i])
		}
	}
	if len(keep) == 0 {
		p.apartness = p.apartness[:0]
	}
	clear(p.pieces[len(keep):])
	p.pieces = keep
	return changed
}

// joined groups pieces by stream and searches each stream.
func (p *Walk) joined(pieces []streamPiece) (changed []pieceEdits) {
	var here []*streamPiece // those that this array can join
	single := true
	for i := range pieces {
		piece := &pieces[i]
		if level := piece.arrays - p.arrays; piece.flow == flowNone || level < 0 || level >= maxLevels {
			continue
		}
		here = append(here, piece)
		single = single && p.streamHere(piece) == p.streamHere(here[0])
	}
	if single {
		return p.eachApart(here)
	}
	groups := map[uint64][]*streamPiece{}
	var order []uint64
	for _, piece := range here {
		id := p.streamHere(piece)
		if _, ok := groups[id]; !ok {
			order = append(order, id)
		}
		groups[id] = append(groups[id], piece)
	}
	for _, id := range order {
		changed = append(changed, p.eachApart(groups[id])...)
	}
	return changed
}

// streamHere names the stream of a piece as the current array sees it.
func (p *Walk) streamHere(piece *streamPiece) uint64 { return piece.stream[piece.arrays-p.arrays] }

// eachApart searches the streams at one place.
func (p *Walk) eachApart(pieces []*streamPiece) (changed []pieceEdits) {
	if len(pieces) < 2 {
		return nil
	}
	for _, stream := range p.apart(pieces) {
		changed = append(changed, p.stream(stream)...)
	}
	return changed
}

// stream searches the text that pieces give together. Tokens end one text and begin another.
func (p *Walk) stream(pieces []*streamPiece) (changed []pieceEdits) {
	if len(pieces) < 2 {
		return nil
	}
	for _, piece := range pieces {
		if piece.raw {
			piece.text, piece.raw = unquoted(piece.text), false
		}
	}
	if documents, texts := documentsOf(pieces); len(documents) > 0 {
		return append(p.lineStream(documents), p.stream(texts)...)
	}
	if slices.ContainsFunc(pieces, func(piece *streamPiece) bool { return piece.parted }) {
		return p.stream(slices.DeleteFunc(slices.Clone(pieces), func(piece *streamPiece) bool { return piece.parted }))
	}
	of, total := flowOf(pieces)
	if total < 8 || total > maxStream {
		return nil
	}
	w := join(pieces, of, total)
	k := pieces[0].key
	if of == flowList || k.prose || k.delta {
		k = NoName
	}
	known := p.cleanKey(cleanStream+cleanUse(of), w.text, k)
	if p.knownClean(known) {
		return nil
	}
	before := p.counted()
	if hits := p.searchJoined(&w, k); hits == 0 {
		p.learnClean(known, before)
	}
	for i, piece := range pieces[:len(w.cuts)] {
		if len(w.cuts[i]) > 0 {
			changed = append(changed, pieceEdits{*piece, mergeEdits(piece.own, w.cuts[i])})
			piece.flow = flowNone // what is left of it is searched when the result is
			p.cuts++
		}
	}
	return changed
}

// flowOf returns how sure it is that pieces are one text, and how long that is.
func flowOf(pieces []*streamPiece) (of flow, total int) {
	of = flowText
	strong := false
	for i, piece := range pieces {
		if of = min(of, piece.flow); of == flowList {
			// Words of a text are cut with the spaces between them; values of a list have none at their ends.
			strong = strong || i > 0 && piece.text[0] == ' ' || i+1 < len(pieces) && strings.HasSuffix(piece.text, " ")
		}
		total += len(piece.text)
	}
	if strong {
		of = flowText
	}
	return of, total
}

// joinedPieces are pieces with the text that they give together.
type joinedPieces struct {
	pieces []*streamPiece
	flow   flow
	text   string
	ends   []int    // of each piece in the text
	cuts   [][]edit // of each piece; nil if nothing is found
}

// join puts pieces together to a text of so many bytes.
func join(pieces []*streamPiece, of flow, total int) joinedPieces {
	var b strings.Builder
	b.Grow(total)
	ends := make([]int, len(pieces))
	for i, piece := range pieces {
		b.WriteString(piece.text)
		ends[i] = b.Len()
	}
	return joinedPieces{pieces: pieces, flow: of, text: b.String(), ends: ends}
}

// searchJoined searches the text of pieces between its tokens, cuts what is found out of the pieces, and
// returns how much was found.
func (p *Walk) searchJoined(w *joinedPieces, k *Name) (hits int) {
	decoded, sure := 0, p.sure
	if w.flow == flowList { // no guess may stand in the way of a known form
		decoded, sure = maxDecoded, true
	}
	at := 0
	for _, t := range append(token.Find(w.text), [2]int{len(w.text), len(w.text)}) {
		for _, h := range p.r.search(w.text[at:t[0]], k, nil, decoded, sure) {
			hits++
			p.cut(w, found{h.start + at, h.end + at, h.rule})
		}
		at = t[1]
	}
	return hits
}

// cut cuts a hit out of the pieces in which it lies. The token stands in the first of them.
func (p *Walk) cut(w *joinedPieces, h found) {
	first, _ := slices.BinarySearch(w.ends, h.start+1)
	last, _ := slices.BinarySearch(w.ends, h.end)
	if w.flow == flowList && (first == last || !p.keyAcross(w.pieces, w.ends, first, last, h)) {
		return
	}
	if first == last { // what makes it one may stand in the piece before: "the password is ", "…"
		start := w.ends[first] - len(w.pieces[first].text)
		if slices.ContainsFunc(w.pieces[first].own, func(e edit) bool { return e.start < h.end-start && h.start-start < e.end }) {
			return
		}
	}
	if w.cuts == nil {
		w.cuts = make([][]edit, len(w.pieces))
	}
	with := p.replace(w.text, h.start, h.end, h.rule, NoName).text
	for i := first; i <= last; i++ {
		start := w.ends[i] - len(w.pieces[i].text)
		w.cuts[i] = append(w.cuts[i], edit{max(h.start, start) - start, min(h.end, w.ends[i]) - start, with})
		with = ""
	}
}

// documentsOf parts the pieces that are JSON from those that are text. Instrumentations record each chunk of a stream as it came.
func documentsOf(pieces []*streamPiece) (documents, texts []*streamPiece) {
	for i, piece := range pieces {
		if looksLikeJSON(piece.text) && jsonscan.Valid(piece.text) {
			if documents == nil {
				texts = slices.Clone(pieces[:i])
			}
			documents = append(documents, piece)
		} else if documents != nil {
			texts = append(texts, piece)
		}
	}
	return documents, texts
}

// lineStream reads pieces that are JSON one behind the other, as the lines of a text of JSON lines: what is a
// stream among their members is joined, and no document loses its form. If nothing calls the pieces deltas,
// only what they call so goes on from one to the next.
func (p *Walk) lineStream(pieces []*streamPiece) (changed []pieceEdits) {
	var b strings.Builder
	begins := make([]int, len(pieces))
	for i, piece := range pieces {
		begins[i] = b.Len()
		b.WriteString(piece.text)
		b.WriteByte('\n')
	}
	if len(pieces) < 2 || b.Len() > maxStream || p.nested >= maxNested {
		return nil
	}
	lines, k := b.String(), pieces[0].key
	use, several := cleanLines, slices.ContainsFunc(pieces, func(piece *streamPiece) bool { return !piece.firm })
	if several {
		use = cleanSeveral
	}
	known := p.cleanKey(use, lines, k)
	if p.inherited == nil && p.knownClean(known) {
		return nil
	}
	// What a document holds by itself is found again here, and is counted twice where the documents are cut.
	q := &Walk{r: p.r, rep: &Report{located: p.rep.located}, path: slices.Clone(p.path), identity: p.identity, again: true, sure: p.sure, inherited: p.inherited,
		nested: p.nested + 1, budget: searchBudget(lines), sequence: sequence{several: several}}
	edits := q.document(lines, k, &elements{})
	if len(edits) == 0 && p.inherited == nil {
		p.learnClean(known, p.counted())
	}
	if q.cuts == 0 { // nothing goes on from one document to the next
		return nil
	}
	of := make([][]edit, len(pieces))
	for _, e := range edits {
		i, found := slices.BinarySearch(begins, e.start)
		if !found {
			i--
		}
		of[i] = append(of[i], edit{e.start - begins[i], e.end - begins[i], e.text})
	}
	for i, piece := range pieces {
		if !slices.Equal(piece.own, of[i]) {
			changed = append(changed, pieceEdits{*piece, of[i]})
			piece.flow = flowNone
			p.cuts++
		}
	}
	if len(changed) > 0 {
		p.rep.found++
		p.rep.countHits(q.rep)
		p.rep.places = append(p.rep.places, q.rep.places...)
	}
	return changed
}

// keyAcross says whether a hit across strings of a list is a key that was cut, and not two values one behind the other. Such a hit has a known
// form that needs no name. Neither end of it fills its string alone as a value of its own.
func (p *Walk) keyAcross(pieces []*streamPiece, ends []int, first, last int, h found) bool {
	r := p.r.rules[h.rule]
	if r.Class != Known || r.Section != "vendor" && r.Section != "gitleaks" || h.end-h.start < 16 {
		return false
	}
	begin := h.start - (ends[first] - len(pieces[first].text))
	if begin == 0 && len(p.r.search(pieces[first].text, NoName, nil, maxDecoded, true)) > 0 && last == first+1 {
		return h.end < ends[last] // a whole value, and then another word
	}
	return true
}

// mergeEdits unites the edits of a text with others of it. The others win where they overlap.
func mergeEdits(own, cuts []edit) []edit {
	type part struct {
		edit
		cut bool
	}
	var all []part
	for _, e := range own {
		all = append(all, part{e, false})
	}
	for _, e := range cuts {
		all = append(all, part{e, true})
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	var out []part
	for _, e := range all {
		if n := len(out); n > 0 && e.start < out[n-1].end {
			last := &out[n-1]
			switch {
			case e.cut && last.cut:
				last.text += e.text
			case e.cut:
				last.text, last.cut = e.text, true
			}
			last.end = max(last.end, e.end)
			continue
		}
		out = append(out, e)
	}
	edits := make([]edit, len(out))
	for i, e := range out {
		edits[i] = e.edit
	}
	return edits
}

// compose returns the edits of a text of n bytes that do what first and then second do.
func compose(n int, first, second []edit) []edit {
	// The text between, in runs: what was copied, and what was written.
	type run struct {
		start, end int    // copied from there
		text       string // or written
	}
	size := func(r run) int { return r.end - r.start + len(r.text) }
	var between []run
	from := 0
	for _, e := range first {
		between = append(between, run{start: from, end: e.start}, run{text: e.text})
		from = e.end
	}
	between = append(between, run{start: from, end: n})
	var after []run
	i, used := 0, 0 // of between[i]
	take := func(length int, keep bool) {
		for length > 0 {
			m := min(length, size(between[i])-used)
			if keep && m > 0 {
				if r := between[i]; r.text != "" {
					after = append(after, run{text: r.text[used : used+m]})
				} else {
					after = append(after, run{start: r.start + used, end: r.start + used + m})
				}
			}
			length -= m
			if used += m; used == size(between[i]) {
				i, used = i+1, 0
			}
		}
	}
	at := 0
	for _, e := range second {
		take(e.start-at, true)
		after = append(after, run{text: e.text})
		take(e.end-e.start, false)
		at = e.end
	}
	rest := -used
	for _, r := range between[i:] {
		rest += size(r)
	}
	take(rest, true)
	var edits []edit
	written, from := "", 0
	for _, r := range append(after, run{start: n, end: n}) {
		if r.text != "" || r.start == r.end && r.start != n {
			written += r.text
			continue
		}
		if written != "" || r.start > from {
			edits = append(edits, edit{from, r.start, written})
			written = ""
		}
		from = r.end
	}
	return edits
}
