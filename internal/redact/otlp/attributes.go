// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/bytelist"
	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// maxDepth bounds attributes in attributes. Deeper values are replaced whole: nobody records them, and a walk must end.
const maxDepth = 512

// attributes redacts a map that stands in a field of a signal.
func attributes(w *detect.Walk, m pcommon.Map, name string) {
	if m.Len() > 0 {
		w.Field(name, func() { Attributes(w, m) })
	}
}

// Attributes redacts a map in place.
func Attributes(w *detect.Walk, m pcommon.Map) {
	if m.Len() > 0 {
		w.Tree(func() { members(w, m, nil, 0) })
	}
}

// members redacts the values of a map of the name k, and its keys.
func members(w *detect.Walk, m pcommon.Map, k *detect.Name, depth int) {
	renamed := false
	w.Object(k, func(o *detect.Container) {
		for name, v := range m.All() { // members have no order: the name may come after the value
			if v.Type() == pcommon.ValueTypeStr {
				o.Announce(name, v.Str())
			} else if v.Type() == pcommon.ValueTypeSlice && detect.ColumnsOf(name) {
				columns(o, v.Slice())
			}
		}
		for name, v := range m.All() {
			o.Member(name, func(changed bool) {
				renamed = renamed || changed
				entry(w, v, o, depth)
			})
		}
	})
	if renamed && !w.Dry() {
		rename(w, m)
	}
}

// columns tells an object the names of the columns that a list in it has: texts, or objects with a name.
func columns(o *detect.Container, list pcommon.Slice) {
	for i, e := range list.All() {
		switch e.Type() {
		case pcommon.ValueTypeStr:
			o.Column(i, e.Str())
		case pcommon.ValueTypeMap:
			if name, ok := e.Map().Get("name"); ok {
				o.Column(i, name.AsString())
			}
		}
	}
}

// entry redacts a member or an element. The entries before a string can say what it is.
func entry(w *detect.Walk, v pcommon.Value, o *detect.Container, depth int) {
	if v.Type() == pcommon.ValueTypeStr {
		if found, done := o.Search(v.Str()); !done {
			o.Put(found, v.SetStr)
		}
		return
	}
	if o.Tells() && (v.Type() == pcommon.ValueTypeInt || v.Type() == pcommon.ValueTypeDouble) {
		o.Tell(v.AsString())
	}
	value(w, v, o.Name(), depth)
}

// rename rebuilds a map some of whose keys hold what must not stay. Order and number of the entries stay.
func rename(w *detect.Walk, m pcommon.Map) {
	to := pcommon.NewMap()
	to.EnsureCapacity(m.Len())
	for name, v := range m.All() {
		v.CopyTo(to.PutEmpty(w.Renamed(name)))
	}
	to.MoveTo(m)
}

// value redacts a value of any type in place.
func value(w *detect.Walk, v pcommon.Value, k *detect.Name, depth int) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		w.String(v.Str(), k, v.SetStr)
	case pcommon.ValueTypeInt:
		number(w, v, strconv.FormatInt(v.Int(), 10), k)
	case pcommon.ValueTypeDouble:
		// As Value.AsString and JSON have it, so that the same number is the same token in both.
		number(w, v, v.AsString(), k)
	case pcommon.ValueTypeBytes:
		w.String(string(v.Bytes().AsRaw()), k, func(s string) { v.Bytes().FromRaw([]byte(s)) })
	case pcommon.ValueTypeMap, pcommon.ValueTypeSlice:
		if v.Type() == pcommon.ValueTypeSlice {
			if text, ok := bytelist.Text(v.Slice()); ok {
				w.String(text, k, v.SetStr) // stays a list where nothing is found
				return
			}
		}
		if depth >= maxDepth {
			w.Unsearched(k, v.SetStr)
			return
		}
		w.Below(k, depth == 0, func() { // as JSON in a string under the name of a secret
			if v.Type() == pcommon.ValueTypeMap {
				members(w, v.Map(), k, depth+1)
			} else {
				elements(w, v.Slice(), k, depth+1)
			}
		})
	}
}

// number redacts a number, which becomes a string with a token.
func number(w *detect.Walk, v pcommon.Value, text string, k *detect.Name) {
	if with, hit := w.Number(text, k); hit && !w.Dry() {
		v.SetStr(with)
	}
}

// elements redacts the elements of a slice, and what stands in several of them.
func elements(w *detect.Walk, list pcommon.Slice, k *detect.Name, depth int) {
	w.Array(k, func(o *detect.Container) {
		for i, e := range list.All() {
			o.Element(i)
			entry(w, e, o, depth)
		}
	})
}
