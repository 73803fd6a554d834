// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package groundtruth compares tapes with what really happened, field by field. It serves the tests and the scorecard in the docs; the
// rules are those of the table in docs/scorecard.md.
package groundtruth

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

type value = exactjson.Value

// decode opens a text that is JSON once.
func decode(v value) value {
	if v.Kind() != exactjson.String {
		return v
	}
	text := strings.TrimSpace(v.Str())
	if text == "" || !strings.ContainsRune("{[\"-0123456789tfn", rune(text[0])) {
		return v
	}
	inner, err := exactjson.Parse(text)
	if err != nil {
		return v
	}
	return inner
}

// same compares as values, however often one of them was JSON-encoded; texts may differ in white space.
func same(a, b value) bool {
	for range 3 {
		if a.Kind() == b.Kind() && a.Kind() != exactjson.Object && a.Kind() != exactjson.Array && a.Equal(b) {
			return true
		}
		x, y := decode(a), decode(b)
		if x.Kind() == a.Kind() && y.Kind() == b.Kind() && x.Equal(a) && y.Equal(b) {
			break
		}
		a, b = x, y
	}
	switch {
	case a.Kind() == exactjson.String && b.Kind() == exactjson.String:
		return squeeze(a.Str()) == squeeze(b.Str())
	case a.Kind() == exactjson.Number && b.Kind() == exactjson.Number:
		if a.Equal(b) {
			return true
		}
		if a.HasBigInt() || b.HasBigInt() {
			return false
		}
		x, _ := a.Float()
		y, _ := b.Float()
		return x == y
	case a.Kind() != b.Kind() || a.Len() != b.Len():
		return false
	case a.Kind() == exactjson.Array:
		for i := range a.Len() {
			if !same(a.At(i), b.At(i)) {
				return false
			}
		}
		return true
	case a.Kind() == exactjson.Object:
		for _, m := range a.Members() {
			other := b.Get(m.Name)
			if other.IsAbsent() || !same(m.Value, other) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// inside reports whether a value equals v or anything in v, decoded as deep as it goes.
func inside(want, v value) bool {
	found := false
	visit(v, func(x value) { found = found || same(want, x) })
	return found
}

// visit calls f for a value and everything in it, structured attributes and JSON texts decoded as deep as they go.
func visit(v value, f func(value)) {
	if plain, ok := plainAttribute(v); ok {
		v = plain
	}
	f(v)
	switch v.Kind() {
	case exactjson.String:
		if inner := decode(v); inner.Kind() == exactjson.Object || inner.Kind() == exactjson.Array || inner.Kind() == exactjson.String && !inner.Equal(v) {
			visit(inner, f)
		}
	case exactjson.Object, exactjson.Array:
		for _, m := range v.Members() {
			visit(m.Value, f)
		}
	}
}

// plainAttribute turns a structured OTLP attribute value into an ordinary value.
func plainAttribute(v value) (value, bool) {
	if v.Kind() != exactjson.Object || v.Len() != 1 {
		return v, false
	}
	switch m := v.Members()[0]; m.Name {
	case "kvlistValue", "arrayValue":
		return plain(v), true
	}
	return v, false
}

func plain(v value) value {
	if list := v.Get("kvlistValue"); list.Kind() == exactjson.Object {
		var members []exactjson.Member
		for _, e := range list.Get("values").Members() {
			members = append(members, exactjson.Member{Name: e.Value.Get("key").Str(), Value: plain(e.Value.Get("value"))})
		}
		return exactjson.ObjectValue(members...)
	}
	if list := v.Get("arrayValue"); list.Kind() == exactjson.Object {
		var elements []value
		for _, e := range list.Get("values").Members() {
			elements = append(elements, plain(e.Value))
		}
		return exactjson.ArrayValue(elements...)
	}
	if n := v.Get("intValue"); n.Kind() == exactjson.String {
		return decode(n)
	}
	if v.Len() > 0 {
		return v.Members()[0].Value
	}
	return exactjson.NullValue
}

// telemetry knows what the documents of a run hold.
type telemetry struct {
	texts      map[string]bool
	structures map[string]bool
	blob       strings.Builder
	records    []record
}

// record is what the attributes of one span, event or log record hold, decoded as deep as it goes.
type record struct {
	texts  map[string]bool
	values map[string]bool // canonical
}

// names reports that a record holds the name of a tool together with what tells the call: the arguments, or where there are none its result.
func (t *telemetry) names(name string, call value) bool {
	told := argsOf(call)
	if told.IsEmpty() {
		told = resultsOf(call)[0]
	}
	want, err := decode(told).Canonical()
	return err == nil && slices.ContainsFunc(t.records, func(r record) bool { return r.texts[name] && r.values[want] })
}

func recordOf(attributes value) record {
	r := record{map[string]bool{}, map[string]bool{}}
	visit(attributes, func(v value) {
		if v.Kind() == exactjson.String {
			r.texts[v.Str()] = true
		}
		if c, err := v.Canonical(); err == nil && v.Kind() >= exactjson.Array {
			r.values[c] = true
		} else if c, err := decode(v).Canonical(); err == nil {
			r.values[c] = true
		}
	})
	return r
}

func newTelemetry(documents ...value) *telemetry {
	t := &telemetry{texts: map[string]bool{}, structures: map[string]bool{}}
	for _, d := range documents {
		visit(d, func(v value) {
			switch v.Kind() {
			case exactjson.String:
				t.texts[squeeze(v.Str())] = true
				t.blob.WriteString(v.Str())
				t.blob.WriteByte('\n')
			case exactjson.Object, exactjson.Array:
				if c, err := v.Canonical(); err == nil {
					t.structures[c] = true
				}
				if attributes := v.Get("attributes"); attributes.Kind() == exactjson.Array {
					t.records = append(t.records, recordOf(v))
				}
			}
		})
	}
	return t
}

// holds reports whether the telemetry holds a value somewhere. Short texts are too easily a coincidence.
func (t *telemetry) holds(want value) bool {
	want = decode(want)
	switch want.Kind() {
	case exactjson.Object, exactjson.Array:
		c, err := want.Canonical()
		return want.Len() > 0 && err == nil && t.structures[c]
	case exactjson.Absent, exactjson.Null:
		return false
	}
	text := squeeze(want.Text())
	return len(text) >= 4 && (t.texts[text] || len(text) >= 24 && strings.Contains(t.blob.String(), want.Text()))
}
