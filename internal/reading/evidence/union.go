// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// Bounds limit how much evidence is held at once.
type Bounds struct {
	Items int
	Bytes int64 // of content: what the digest of an item is made of, and of each resource and scope once
}

// Union unites sets and holds no more than twice its bounds and the set that is being added. It keeps the items from the earliest on, in
// order of start, span id and digest, as far as they fit; the first one always does. So what it keeps depends on all items and on the
// bounds, not on the order and the split in which they came. Beyond the bounds it keeps the first item that carries a tag, for up to
// maxTags tags, because the side of a run must not depend on a bound.
type Union struct {
	bounds Bounds
	rules  *segregation.Rules

	set    *Set
	lent   bool // the set is the one that was added first, and stays as it is
	bytes  int64
	scopes map[Digest]bool // counted in bytes
	end    *Item           // the first item that does not fit; nil as long as all do
	tagged map[string]Item // by the id of the tag: the first of those that do not fit
}

// maxTags bounds how many tags beyond the bounds are kept: several of one trace are a fault of the sender.
const maxTags = 16

// NewUnion returns an empty union.
func NewUnion(b Bounds, rules *segregation.Rules) *Union {
	return &Union{bounds: b, rules: rules, set: NewSet(), scopes: map[Digest]bool{}, tagged: map[string]Item{}}
}

// Add adds the items of a set. Nothing may be added to that set afterwards.
func (u *Union) Add(other *Set) {
	if len(u.set.items) == 0 && u.end == nil {
		u.set, u.lent = other, true
		for _, item := range other.items {
			u.bytes += u.weigh(item)
		}
	} else {
		u.own()
		for _, item := range other.items {
			if u.end != nil && compareTimes(item, *u.end) >= 0 {
				u.leave(item)
				continue
			}
			if _, there := u.set.items[item.key]; !there {
				u.bytes += u.weigh(item)
			}
			u.set.put(item)
		}
	}
	if len(u.set.items) > 2*u.bounds.Items || u.bytes > 2*u.bounds.Bytes {
		u.trim()
	}
}

// own makes the set one that may be changed.
func (u *Union) own() {
	if u.lent {
		u.set, u.lent = u.set.Clone(), false
	}
}

// Set returns what is kept, and whether that is less than all.
func (u *Union) Set() (set *Set, cut bool) {
	if len(u.set.items) > u.bounds.Items || u.bytes > u.bounds.Bytes {
		u.trim()
	}
	if u.end == nil {
		return u.set, false
	}
	set = u.set.Clone()
	for _, item := range u.tagged {
		set.put(item)
	}
	return set, true
}

// weigh is what an item adds to the bytes.
func (u *Union) weigh(item Item) int64 {
	n := int64(item.size)
	if !u.scopes[item.scope] {
		u.scopes[item.scope] = true
		n += int64(item.around)
	}
	return n
}

// trim drops the items that do not fit. It copies the items that it keeps, because an item holds all items that came with it.
func (u *Union) trim() {
	u.own()
	items := slices.SortedFunc(maps.Values(u.set.items), compareTimes)
	u.bytes, u.scopes = 0, map[Digest]bool{}
	for i, item := range items {
		n := u.weigh(item)
		if i > 0 && (i >= u.bounds.Items || u.bytes+n > u.bounds.Bytes) {
			u.end = &Item{key: item.key, scope: item.scope, Span: item.Span}
			for _, rest := range items[i:] {
				delete(u.set.items, rest.key)
				u.leave(rest)
			}
			u.set.sorted = nil
			break
		}
		u.bytes += n
	}
	kept := NewSet()
	kept.add(u.set.Traces(), true)
	u.set = kept
}

// leave looks at an item that does not fit.
func (u *Union) leave(item Item) {
	one := &Set{items: map[itemKey]Item{item.key: item}}
	v := one.Verdict(u.rules)
	if !v.Replay {
		return
	}
	if first, there := u.tagged[v.ID]; !there || compareTimes(item, first) < 0 {
		lone := NewSet()
		lone.add(one.Traces(), true) // alone, as in trim
		for _, copied := range lone.items {
			u.tagged[v.ID] = copied
		}
	}
	if len(u.tagged) > maxTags {
		last := ""
		for id := range u.tagged {
			last = max(last, id)
		}
		delete(u.tagged, last)
	}
}

func compareTimes(a, b Item) int {
	x, y := a.Span.SpanID(), b.Span.SpanID()
	if c := cmp.Or(cmp.Compare(a.Span.StartTimestamp(), b.Span.StartTimestamp()), bytes.Compare(x[:], y[:])); c != 0 {
		return c
	}
	return compareDigests(a, b)
}
