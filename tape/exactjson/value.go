// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package exactjson holds JSON values that keep the number literals and the member order they were recorded with. It also holds their
// canonical form: RFC 8785 with integers beyond ±2^53 kept digit by digit (profile "jcs+int" of the tape format).
package exactjson

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Kind is the JSON type of a value. The zero Kind is Absent: no value at all, which is not the same as null.
type Kind uint8

// The kinds of values.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is an immutable JSON value. The zero Value is absent.
type Value struct {
	kind    Kind
	text    string // String: the decoded text; Number: the literal; Bool: "true" or "false"
	members []Member
}

// Member is a name and a value of an object; the elements of an array are members without a name.
type Member struct {
	Name  string
	Value Value
}

// NullValue is JSON null.
var NullValue = Value{kind: Null, text: "null"}

// StringValue returns the JSON string s. Invalid UTF-8, which JSON cannot carry, becomes U+FFFD byte by byte.
func StringValue(s string) Value { return Value{kind: String, text: valid(s)} }

// BoolValue returns true or false.
func BoolValue(b bool) Value { return Value{kind: Bool, text: strconv.FormatBool(b)} }

// IntValue returns the number i.
func IntValue(i int64) Value { return Value{kind: Number, text: strconv.FormatInt(i, 10)} }

// FloatValue returns the number f in its canonical form, or the strings "NaN", "Infinity" and "-Infinity", which JSON has no
// number for. Beyond ±2^53 it has an exponent, since digits alone would claim to be an exact integer.
func FloatValue(f float64) Value {
	switch {
	case math.IsNaN(f):
		return StringValue("NaN")
	case math.IsInf(f, 1):
		return StringValue("Infinity")
	case math.IsInf(f, -1):
		return StringValue("-Infinity")
	case math.Abs(f) > 1<<53:
		return Value{kind: Number, text: strconv.FormatFloat(f, 'e', -1, 64)}
	default:
		s, _ := jcs.NumberToJSON(f) // fails for NaN and infinities only
		return Value{kind: Number, text: s}
	}
}

// ArrayValue returns an array of the given elements.
func ArrayValue(elements ...Value) Value {
	members := make([]Member, len(elements))
	for i, e := range elements {
		members[i].Value = e
	}
	return Value{kind: Array, members: members}
}

// ObjectValue returns an object with the given members in their order; it takes the slice over. Members with an absent value are
// left out; of several members with one name the first stays, as in Get.
func ObjectValue(members ...Member) Value {
	var names nameSet
	kept := members[:0]
	for _, m := range members {
		m.Name = valid(m.Name)
		if !m.Value.IsAbsent() && names.add(m.Name, kept) {
			kept = append(kept, m)
		}
	}
	return Value{kind: Object, members: kept}
}

// Map returns an array or object with what replace gives for each of its values; an absent one takes a member out of an object. A value of
// which nothing was replaced, and any other value, is returned as it is.
func (v Value) Map(replace func(i int, m Member) Value) Value {
	var members []Member
	for i, m := range v.members {
		w := replace(i, m)
		if w.kind == m.Value.kind && w.text == m.Value.text && sameMembers(w.members, m.Value.members) {
			continue
		}
		if members == nil {
			members = slices.Clone(v.members)
		}
		members[i].Value = w
	}
	switch {
	case members == nil:
		return v
	case v.kind == Object:
		return ObjectValue(members...)
	default:
		return Value{kind: Array, members: members}
	}
}

func sameMembers(a, b []Member) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// Kind returns the JSON type.
func (v Value) Kind() Kind { return v.kind }

// IsAbsent reports whether there is no value.
func (v Value) IsAbsent() bool { return v.kind == Absent }

// IsEmpty reports an absent value, null, "", [] or {}.
func (v Value) IsEmpty() bool {
	switch v.kind {
	case Absent, Null:
		return true
	case String:
		return v.text == ""
	case Array, Object:
		return len(v.members) == 0
	default:
		return false
	}
}

// Text returns the text of a string, the literal of a number, "true", "false" or "null"; for arrays and objects "".
func (v Value) Text() string { return v.text }

// Str returns the text of a string value, and "" for every other kind.
func (v Value) Str() string {
	if v.kind == String {
		return v.text
	}
	return ""
}

// True reports whether v is the JSON value true.
func (v Value) True() bool { return v.kind == Bool && v.text == "true" }

// Int returns the value of an integral number that fits an int64.
func (v Value) Int() (int64, bool) {
	if v.kind != Number {
		return 0, false
	}
	if i, err := strconv.ParseInt(v.text, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// Float returns the number as a double.
func (v Value) Float() (float64, bool) {
	if v.kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// Members returns the members of an object or the elements of an array (without names), in recorded order.
func (v Value) Members() []Member { return v.members }

// Len returns the number of members or elements.
func (v Value) Len() int { return len(v.members) }

// Get returns the member of that name, or an absent value.
func (v Value) Get(name string) Value {
	if v.kind == Object {
		for i := range v.members {
			if v.members[i].Name == name {
				return v.members[i].Value
			}
		}
	}
	return Value{}
}

// First returns the first of the named members that is neither absent nor null.
func (v Value) First(names ...string) Value {
	for _, name := range names {
		if m := v.Get(name); m.kind > Null {
			return m
		}
	}
	return Value{}
}

// At returns element i of an array, or an absent value.
func (v Value) At(i int) Value {
	if v.kind == Array && i >= 0 && i < len(v.members) {
		return v.members[i].Value
	}
	return Value{}
}

// Equal reports whether two values are equal under the canonical form: number spelling and member order do not matter.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case Number:
		if v.text == w.text {
			return true
		}
		n := canonicalNumber(v.text)
		return n != "" && n == canonicalNumber(w.text)
	case Array:
		return slices.EqualFunc(v.members, w.members, func(a, b Member) bool { return a.Value.Equal(b.Value) })
	case Object:
		if len(v.members) != len(w.members) {
			return false
		}
		same := func(a, b Member) bool { return a.Name == b.Name && a.Value.Equal(b.Value) }
		if slices.EqualFunc(v.members, w.members, func(a, b Member) bool { return a.Name == b.Name }) {
			return slices.EqualFunc(v.members, w.members, same)
		}
		return slices.EqualFunc(sortedMembers(v.members), sortedMembers(w.members), same)
	default:
		return v.text == w.text
	}
}

// HasBigInt reports whether an integer of ±2^53 or more lies anywhere in the value: a double stands for several of them.
func (v Value) HasBigInt() bool {
	if v.kind == Number {
		return isBigInt(v.text)
	}
	return slices.ContainsFunc(v.members, func(m Member) bool { return m.Value.HasBigInt() })
}

// Depth returns how many levels of arrays and objects the value has: 0 for a scalar.
func (v Value) Depth() int {
	if v.kind < Array {
		return 0
	}
	deepest := 0
	for i := range v.members {
		deepest = max(deepest, v.members[i].Value.Depth())
	}
	return deepest + 1
}

// Clone returns a copy that shares no memory with the text it was parsed from.
func (v Value) Clone() Value {
	v.text = strings.Clone(v.text)
	if v.members != nil {
		members := make([]Member, len(v.members))
		for i, m := range v.members {
			members[i] = Member{Name: strings.Clone(m.Name), Value: m.Value.Clone()}
		}
		v.members = members
	}
	return v
}

// valid replaces every byte of s that is not part of a valid UTF-8 sequence.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// nameSet finds duplicate names of an object: by a scan of the members so far as long as they are few, by a map beyond.
type nameSet map[string]struct{}

// add reports whether the name is none of the members so far.
func (n *nameSet) add(name string, members []Member) bool {
	const few = 16
	if len(members) < few {
		return !slices.ContainsFunc(members, func(m Member) bool { return m.Name == name })
	}
	if *n == nil {
		*n = make(nameSet, 4*few)
		for i := range members {
			(*n)[members[i].Name] = struct{}{}
		}
	}
	before := len(*n)
	(*n)[name] = struct{}{}
	return len(*n) > before
}
