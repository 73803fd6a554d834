// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

// Streams come at the same time, and are recorded as they came: the choices of an answer, the arguments of
// several calls. The objects around their deltas say of which stream each is, by an id, an index or a type.
// What is left out is as it was: many name the id of a call with its first delta only.

// told says what a member tells of the object that it stands in.
type told uint8

const (
	toldNothing told = iota
	toldStream       // which of several streams it is of, or which delta it is
	toldThing        // which call or span it is of
)

// toldBy reads the words of a name.
func toldBy(words []string) told {
	switch last := words[len(words)-1]; last {
	case "id", "uuid":
		for _, w := range words[:len(words)-1] {
			if w == "call" || w == "use" || w == "tool" || w == "span" {
				return toldThing
			}
		}
		return toldStream
	case "index":
		return toldStream
	case "type":
		if len(words) == 1 {
			return toldStream
		}
	}
	return toldNothing
}

// tellsApart is a member that tells the object around it from others.
type tellsApart struct {
	name  string
	depth int // of the object
	value string
	thing bool
}

// apartNode is what tells a piece apart, and the place of the next such node in Walk.apartness, counted from
// 1.
type apartNode struct {
	tellsApart
	next int
}

const (
	maxTold    = 256 // the longest value that tells something apart
	maxTellers = 8   // members of one object that do
	maxApart   = 16  // streams at the same time

	maxApartNodes = 1 << 16 // of a walk: pieces behind them are told apart by nothing
)

// tell notes a member of the object top that tells it apart.
func (p *Walk) tell(top *frame, value string) {
	if top.object && p.arrays > 0 && top.key.told != toldNothing && len(value) <= maxTold && len(p.told)-top.told < maxTellers {
		p.told = append(p.told, tellsApart{p.path[len(p.path)-1].name, len(p.path), value, top.key.told == toldThing})
	}
}

// ofObject says of the pieces in an object what its members tell. The object ends.
func (p *Walk) ofObject(top *frame) {
	if top.speaker {
		p.spoken(top.pieces)
	}
	if told := p.told[top.told:]; len(told) > 0 {
		was, is := -1, 0 // pieces that were told apart by the same still are
		for i := top.pieces; i < len(p.pieces); i++ {
			piece := &p.pieces[i]
			if piece.flow == flowNone || len(p.apartness) > maxApartNodes {
				continue
			}
			if piece.told != was {
				was, is = piece.told, piece.told
				for _, by := range told {
					p.apartness = append(p.apartness, apartNode{by, is})
					is = len(p.apartness)
				}
			}
			piece.told = is
		}
		clear(told)
		p.told = p.told[:top.told]
	}
}

// teller is what is compared: a member of objects at the same place.
type teller struct {
	name  string
	depth int
}

// apart divides pieces at the same place into streams. A piece is of the last stream that nothing tells it
// from.
func (p *Walk) apart(pieces []*streamPiece) [][]*streamPiece {
	var counted map[teller]bool
	if len(pieces) > 1 {
		counted = p.counting(pieces)
	}
	if counted == nil {
		return [][]*streamPiece{pieces}
	}
	type stream struct {
		pieces []*streamPiece
		told   map[teller]string
	}
	var streams []*stream
	for _, piece := range pieces {
		var of *stream
		for i := len(streams) - 1; i >= max(0, len(streams)-maxApart) && of == nil; i-- {
			of = streams[i]
			for at := piece.told; at > 0 && of != nil; at = p.apartness[at-1].next {
				by := &p.apartness[at-1]
				if was, ok := of.told[teller{by.name, by.depth}]; ok && was != by.value && !counted[teller{by.name, by.depth}] {
					of = nil
				}
			}
		}
		if of == nil {
			of = &stream{told: map[teller]string{}}
			streams = append(streams, of)
		}
		of.pieces = append(of.pieces, piece)
		for at := piece.told; at > 0; at = p.apartness[at-1].next {
			by := &p.apartness[at-1]
			of.told[teller{by.name, by.depth}] = by.value
		}
	}
	out := make([][]*streamPiece, len(streams))
	for i, s := range streams {
		out[i] = s.pieces
	}
	return out
}

// counting returns the tellers that count deltas and tell no streams apart: each delta has another value. It
// returns nil if nothing tells pieces apart.
func (p *Walk) counting(pieces []*streamPiece) map[teller]bool {
	first := map[teller]string{} // the value of the first piece that has one
	differ, deltas := false, true
	for _, piece := range pieces {
		deltas = deltas && piece.firm
		for at := piece.told; at > 0; at = p.apartness[at-1].next {
			by := &p.apartness[at-1]
			if was, ok := first[teller{by.name, by.depth}]; !ok {
				first[teller{by.name, by.depth}] = by.value
			} else if was != by.value {
				differ = true
			}
		}
	}
	if !differ {
		return nil
	}
	counted := map[teller]bool{}
	if !deltas {
		return counted
	}
	values := map[tellsApart]bool{}
	having := map[teller]int{}
	for _, piece := range pieces {
		for at := piece.told; at > 0; at = p.apartness[at-1].next {
			by := p.apartness[at-1].tellsApart
			of := teller{by.name, by.depth}
			if _, known := counted[of]; !known {
				counted[of] = !by.thing
			}
			counted[of] = counted[of] && !values[by]
			values[by] = true
			having[of]++
		}
	}
	for of, n := range having {
		counted[of] = counted[of] && n == len(pieces)
	}
	return counted
}
