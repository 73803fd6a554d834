// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// maxPlaces is how many places of one field are listed. Beyond it, the last one stands for the rest and is the whole field.
const maxPlaces = 20

// differences lists where the fields of two items differ: those that count at a level, or those that do not. An ignored field is never
// listed.
func differences(a, b *item, level int, counts bool) []Difference {
	out := []Difference{}
	for _, kind := range Fields {
		fa, fb := a.field(kind.Field), b.field(kind.Field)
		if fa.exact == fb.exact || fa.value.IsAbsent() && fb.value.IsAbsent() {
			continue
		}
		if fa.id == fb.id {
			if !counts && max(fa.level, fb.level) < len(Levels) {
				out = append(out, Difference{Field: kind.Field, Level: kind.Level, Path: "$", A: pointer(fa.value), B: pointer(fb.value), JSONText: textOf(fa, fb)})
			}
			continue
		}
		at := max(fa.level, fb.level)
		if at >= len(Levels) || (at <= level) != counts {
			continue
		}
		d := Difference{Field: kind.Field, Level: kind.Level, ALabel: fa.label, BLabel: fb.label}
		var places []Difference
		x, y := fa.json, fb.json
		if x.Len() == 0 || y.Len() == 0 || x.Kind() != y.Kind() { // nothing to descend into: as they were recorded
			x, y = fa.value, fb.value
		}
		if kind.Field == FieldAsks && x.Kind() == exactjson.Array && y.Kind() == exactjson.Array && x.Len()*y.Len() <= maxCells {
			asks(x, y, d, &places)
		} else {
			walk(x, y, d, "$", &places)
		}
		if d.Path, d.A, d.B = "$", pointer(fa.value), pointer(fb.value); len(places) > maxPlaces {
			places = append(places[:maxPlaces-1:maxPlaces-1], d)
		} else if len(places) == 0 { // equal but for the spelling of a number that no double holds
			places = append(places, d)
		}
		out = append(out, places...)
	}
	return out
}

// textOf says which of two values that are the same JSON holds it as text.
func textOf(a, b *field) string {
	switch inA, inB := a.exact != a.id, b.exact != b.id; {
	case inA && inB:
		return "both"
	case inA:
		return "a"
	}
	return "b"
}

var none field

func (it *item) field(name Field) *field {
	for i := range it.fields {
		if it.fields[i].name == name {
			return &it.fields[i]
		}
	}
	return &none
}

func pointer(v exactjson.Value) *exactjson.Value {
	if v.IsAbsent() {
		return nil
	}
	return &v
}

// walk descends to the places at which two values differ, also within text that holds JSON, and stops when there are more than are listed.
func walk(a, b exactjson.Value, d Difference, path string, out *[]Difference) {
	if len(*out) > maxPlaces || a.Equal(b) {
		return
	}
	switch {
	case a.Kind() == exactjson.Object && b.Kind() == exactjson.Object:
		inA, inB := byName(a), byName(b)
		for _, m := range a.Members() {
			walk(m.Value, inB[m.Name], d, jsonpath.AppendMember(path, m.Name), out)
		}
		for _, m := range b.Members() {
			if _, there := inA[m.Name]; !there {
				walk(exactjson.Value{}, m.Value, d, jsonpath.AppendMember(path, m.Name), out)
			}
		}
	case a.Kind() == exactjson.Array && b.Kind() == exactjson.Array:
		for i := range max(a.Len(), b.Len()) {
			walk(a.At(i), b.At(i), d, jsonpath.AppendElement(path, i), out)
		}
	default:
		if x, y := jsonpath.Decoded(a), jsonpath.Decoded(b); a.Kind() == exactjson.String && x.Kind() == y.Kind() && x.Kind() != exactjson.String && !x.Equal(y) {
			walk(x, y, d, path, out)
			return
		}
		d.Path, d.A, d.B = path, pointer(a), pointer(b)
		*out = append(*out, d)
	}
}

// asks compares two sets of calls that models asked for: equal ones are taken off, then calls of one tool are compared with one another.
func asks(a, b exactjson.Value, d Difference, out *[]Difference) {
	used := make([]bool, b.Len())
	partner := make([]int, a.Len())
	for _, fits := range []func(x, y exactjson.Value) bool{
		exactjson.Value.Equal,
		func(x, y exactjson.Value) bool { return x.Get("name").Str() == y.Get("name").Str() },
		func(x, y exactjson.Value) bool { return true },
	} {
		for i := range partner {
			for j := 0; j < len(used) && partner[i] == 0; j++ {
				if !used[j] && fits(a.At(i), b.At(j)) {
					partner[i], used[j] = j+1, true
				}
			}
		}
	}
	at := func(i int) string { return jsonpath.AppendElement("$", i) }
	for i, p := range partner {
		x, y := a.At(i), exactjson.Value{}
		if p > 0 {
			y = b.At(p - 1)
		}
		d.Tool, d.Path, d.A, d.B = "", at(i), pointer(x), pointer(y)
		if name := x.Get("name").Str(); p > 0 && name == y.Get("name").Str() {
			d.Tool = name
			walk(x.Get("args"), y.Get("args"), d, at(i)+".args", out)
		} else {
			*out = append(*out, d)
		}
	}
	for j, taken := range used {
		if !taken {
			d.Tool, d.Path, d.A, d.B = "", at(j), nil, pointer(b.At(j))
			*out = append(*out, d)
		}
	}
}

func byName(object exactjson.Value) map[string]exactjson.Value {
	out := make(map[string]exactjson.Value, object.Len())
	for _, m := range object.Members() {
		out[m.Name] = m.Value
	}
	return out
}
