// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxDepth bounds attributes in attributes. What lies deeper is replaced whole: nobody records that, and a walk must end.
const maxDepth = 512

func (p *pass) attributes(m pcommon.Map, name string) {
	if m.Len() == 0 {
		return
	}
	if name != "" {
		p.path = append(p.path, field(name))
		defer func() { p.path = p.path[:len(p.path)-1] }()
	}
	arrays, base, pieces := p.arrays, p.base, len(p.pieces)
	if p.salt == "" { // not the attributes of an event
		p.arrays, p.base = 0, len(p.path)
	}
	if p.nested > 0 || p.salt != "" {
		p.members(m, 0)
	} else {
		p.repeat(func() { p.members(m, 0) })
	}
	if p.salt == "" {
		p.arrays, p.base, p.pieces = arrays, base, p.pieces[:pieces]
	}
}

// members redacts the values of a map, and its keys.
func (p *pass) members(m pcommon.Map, depth int) {
	renamed, speaker, delta := false, false, p.delta
	p.path = append(p.path, step{})
	last, pieces := len(p.path)-1, len(p.pieces)
	top := &frame{object: true}
	for name, v := range m.All() { // members have no order: the name may come after the value
		if nameNames[name] && v.Type() == pcommon.ValueTypeStr && top.told == nil {
			top.told = p.toldBy(v.Str())
		}
	}
	for name, v := range m.All() {
		p.path[last].name = name
		if edits := p.name(name); len(edits) > 0 {
			renamed = true
			p.path[last].name = apply(name, edits)
		}
		top.key = p.r.named(name)
		speaker = speaker || top.key.speaker
		p.entry(v, top, depth)
		p.delta = delta
	}
	p.path = p.path[:last]
	if speaker {
		p.spoken(pieces)
	}
	if renamed && !p.dry {
		p.rename(m)
	}
}

// entry redacts a member or an element as document does: what stands before a string can say what it is.
func (p *pass) entry(v pcommon.Value, top *frame, depth int) {
	k := top.key
	if v.Type() == pcommon.ValueTypeStr {
		k = p.tell(top, v.Str())
	}
	if p.forced != nil {
		k = p.forced
	}
	p.any(v, k, depth, !top.object)
}

// rename rebuilds a map some of whose keys hold what must not stay. Order and number of the entries stay.
func (p *pass) rename(m pcommon.Map) {
	to := pcommon.NewMap()
	to.EnsureCapacity(m.Len())
	silent := &pass{r: p.r, rep: &Report{}}
	for name, v := range m.All() {
		v.CopyTo(to.PutEmpty(apply(name, silent.name(name))))
	}
	to.MoveTo(m)
}

// any redacts a value of any type in place. list says that it is an element of a list.
func (p *pass) any(v pcommon.Value, k *keyInfo, depth int, list bool) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if s := v.Str(); s != "" {
			edits := p.leaf(s, k)
			if len(edits) > 0 && !p.dry {
				v.SetStr(apply(s, edits))
			}
			p.note(s, k, list, streamPiece{own: edits, set: v.SetStr})
		}
	case pcommon.ValueTypeInt:
		p.numeric(v, strconv.FormatInt(v.Int(), 10), k)
	case pcommon.ValueTypeDouble:
		// As Value.AsString and JSON have it, so that the same number is the same token in both.
		p.numeric(v, v.AsString(), k)
	case pcommon.ValueTypeBytes:
		s := string(v.Bytes().AsRaw())
		if edits := p.leaf(s, k); len(edits) > 0 && !p.dry {
			v.Bytes().FromRaw([]byte(apply(s, edits)))
		}
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		if depth >= maxDepth {
			if e := p.replace("", 0, 0, none, k); !p.dry {
				v.SetStr(e.text)
			}
			return
		}
		forced, delta := p.forced, p.delta
		if depth == 0 && k.secret { // as JSON in a string under the name of a secret
			p.forced = k
		}
		p.delta = p.delta || k.delta
		if v.Type() == pcommon.ValueTypeMap {
			p.members(v.Map(), depth+1)
		} else {
			p.elements(v.Slice(), k, depth)
		}
		p.forced, p.delta = forced, delta
	}
}

// numeric redacts a number, which becomes a string with a token.
func (p *pass) numeric(v pcommon.Value, text string, k *keyInfo) {
	if token, hit := p.number(text, k); hit && !p.dry {
		v.SetStr(token)
	}
}

// elements redacts the elements of a slice, and what stands in several of them.
func (p *pass) elements(list pcommon.Slice, k *keyInfo, depth int) {
	p.path = append(p.path, step{array: true})
	p.arrays++
	last, pieces := len(p.path)-1, len(p.pieces)
	top := &frame{key: k}
	for i, e := range list.All() {
		p.path[last].index = i
		p.entry(e, top, depth+1)
	}
	p.cutPieces(p.streams(pieces))
	p.arrays--
	p.path = p.path[:last]
}

// cutPieces takes what stands in several pieces out of them.
func (p *pass) cutPieces(changed []pieceEdits) {
	for _, c := range changed {
		switch {
		case p.dry:
		case p.whole:
			c.piece.set(Mask)
		default:
			c.piece.set(apply(c.piece.text, c.edits))
		}
	}
}

// repeat repeats a walk as long as it cuts streams: what is left of one is text of its own.
func (p *pass) repeat(walk func()) {
	for round := range maxRounds {
		before := p.cuts
		if round > 0 { // the values of the first walk are counted
			rep := p.rep
			p.rep = &Report{found: rep.found}
			defer func() { p.rep = rep }()
		}
		walk()
		if p.cuts == before || p.dry {
			return
		}
	}
}
