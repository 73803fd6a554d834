// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
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
	p.members(m, 0)
}

// members redacts the values of a map, and its keys.
func (p *pass) members(m pcommon.Map, depth int) {
	renamed := false
	p.path = append(p.path, step{})
	last := len(p.path) - 1
	for name, v := range m.All() {
		p.path[last].name = name
		if edits := p.name(name); len(edits) > 0 {
			renamed = true
			p.path[last].name = apply(name, edits)
		}
		p.any(v, p.r.named(name), depth)
	}
	p.path = p.path[:last]
	if renamed && !p.dry {
		p.rename(m)
	}
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

// any redacts a value of any type in place.
func (p *pass) any(v pcommon.Value, k *keyInfo, depth int) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if s := v.Str(); s != "" {
			if edits := p.leaf(s, k); len(edits) > 0 && !p.dry {
				v.SetStr(apply(s, edits))
			}
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
		if v.Type() == pcommon.ValueTypeMap {
			p.members(v.Map(), depth+1)
			return
		}
		p.elements(v.Slice(), k, depth)
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
	last := len(p.path) - 1
	texts, apart := make([]string, list.Len()), make([]bool, list.Len())
	for i, e := range list.All() {
		p.path[last].index = i
		if e.Type() == pcommon.ValueTypeStr && len(e.Str()) <= maxPiece {
			texts[i] = e.Str()
		} else {
			apart[i] = true
		}
		before := p.rep.found
		p.any(e, k, depth+1)
		apart[i] = apart[i] || p.rep.found > before
	}
	p.path = p.path[:last]
	p.cutPieces(texts, func(i int) bool { return apart[i] }, func(i int) pcommon.Value { return list.At(i) })
}

// cutPieces takes what stands in several pieces out of them.
func (p *pass) cutPieces(texts []string, apart func(int) bool, at func(int) pcommon.Value) {
	for _, c := range slices.Backward(p.joined(texts, apart)) {
		if !p.dry {
			s := at(c.piece).Str()
			if p.whole {
				c = cut{piece: c.piece, end: len(s), text: Mask}
			}
			at(c.piece).SetStr(s[:c.start] + c.text + s[c.end:])
		}
	}
}
