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
		if fa.id == fb.id || fa.value.IsAbsent() && fb.value.IsAbsent() {
			continue
		}
		at := max(fa.level, fb.level)
		if at >= len(Levels) || (at <= level) != counts {
			continue
		}
		d := Difference{Field: kind.Field, Level: kind.Level, ALabel: fa.label, BLabel: fb.label}
		var places []Difference
		walk(fa.value, fb.value, d, "$", &places)
		if d.Path, d.A, d.B = "$", pointer(fa.value), pointer(fb.value); len(places) > maxPlaces {
			places = append(places[:maxPlaces-1:maxPlaces-1], d)
		} else if len(places) == 0 { // equal but for the spelling of a number that no double holds
			places = append(places, d)
		}
		out = append(out, places...)
	}
	return out
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

func byName(object exactjson.Value) map[string]exactjson.Value {
	out := make(map[string]exactjson.Value, object.Len())
	for _, m := range object.Members() {
		out[m.Name] = m.Value
	}
	return out
}
