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
	"unsafe"

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
//
// Tapes and what they are made from hold many values, most of them absent or texts, so a value is as small as
// a text: where its text or its members are, and how many bytes or members, with the kind in the lowest bits.
type Value struct {
	_   [0]func()      // values are compared by Equal
	at  unsafe.Pointer // the first byte or Member
	tag uint
}

const kindBits = 3

// scalar returns a value of a text: String: the decoded text; Number: the literal; Bool: "true" or "false";
// Null: "null".
func scalar(kind Kind, text string) Value {
	return Value{at: unsafe.Pointer(unsafe.StringData(text)), tag: uint(len(text))<<kindBits | uint(kind)}
}

// compound returns an array or object of members.
func compound(kind Kind, members []Member) Value {
	return Value{at: unsafe.Pointer(unsafe.SliceData(members)), tag: uint(len(members))<<kindBits | uint(kind)}
}

func (v Value) size() int { return int(v.tag >> kindBits) }

// Member is a name and a value of an object; the elements of an array are members without a name.
type Member struct {
	Name  string
	Value Value
}

// NullValue is JSON null.
var NullValue = scalar(Null, "null")

// StringValue returns the JSON string s. Invalid UTF-8, which JSON cannot carry, becomes U+FFFD byte by byte.
func StringValue(s string) Value { return scalar(String, valid(s)) }

// BoolValue returns true or false.
func BoolValue(b bool) Value { return scalar(Bool, strconv.FormatBool(b)) }

// IntValue returns the number i.
func IntValue(i int64) Value { return scalar(Number, strconv.FormatInt(i, 10)) }

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
		return scalar(Number, strconv.FormatFloat(f, 'e', -1, 64))
	default:
		s, _ := jcs.NumberToJSON(f) // fails for NaN and infinities only
		return scalar(Number, s)
	}
}

// ArrayValue returns an array of the given elements.
func ArrayValue(elements ...Value) Value {
	members := make([]Member, len(elements))
	for i, e := range elements {
		members[i].Value = e
	}
	return compound(Array, members)
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
	return compound(Object, kept)
}

// Map returns an array or object with what replace gives for each of its values; an absent one takes a member out of an object. A value of
// which nothing was replaced, and any other value, is returned as it is.
func (v Value) Map(replace func(i int, m Member) Value) Value {
	var members []Member
	for i, m := range v.Members() {
		w := replace(i, m)
		if w.same(m.Value) {
			continue
		}
		if members == nil {
			members = slices.Clone(v.Members())
		}
		members[i].Value = w
	}
	switch {
	case members == nil:
		return v
	case v.Kind() == Object:
		return ObjectValue(members...)
	default:
		return compound(Array, members)
	}
}

// same reports that nothing tells two values apart, or that they share their members.
func (v Value) same(w Value) bool {
	return v.tag == w.tag && (v.at == w.at || v.Kind() >= Array && v.size() == 0 || v.Kind() < Array && v.Text() == w.Text())
}

// Kind returns the JSON type.
func (v Value) Kind() Kind { return Kind(v.tag & (1<<kindBits - 1)) }

// IsAbsent reports whether there is no value.
func (v Value) IsAbsent() bool { return v.Kind() == Absent }

// IsEmpty reports an absent value, null, "", [] or {}.
func (v Value) IsEmpty() bool {
	switch v.Kind() {
	case Absent, Null:
		return true
	case String:
		return v.size() == 0
	case Array, Object:
		return v.size() == 0
	default:
		return false
	}
}

// Text returns the text of a string, the literal of a number, "true", "false" or "null"; for arrays and objects "".
func (v Value) Text() string {
	if v.Kind() >= Array {
		return ""
	}
	return unsafe.String((*byte)(v.at), v.size())
}

// Str returns the text of a string value, and "" for every other kind.
func (v Value) Str() string {
	if v.Kind() == String {
		return v.Text()
	}
	return ""
}

// True reports whether v is the JSON value true.
func (v Value) True() bool { return v.Kind() == Bool && v.Text() == "true" }

// Int returns the value of an integral number that fits an int64.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	if i, err := strconv.ParseInt(v.Text(), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// Float returns the number as a double.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	return f, err == nil
}

// Members returns the members of an object or the elements of an array (without names), in recorded order.
func (v Value) Members() []Member {
	if v.Kind() < Array {
		return nil
	}
	return unsafe.Slice((*Member)(v.at), v.size())
}

// Len returns the number of members or elements.
func (v Value) Len() int {
	if v.Kind() < Array {
		return 0
	}
	return v.size()
}

// Get returns the member of that name, or an absent value.
func (v Value) Get(name string) Value {
	if v.Kind() == Object {
		members := v.Members()
		for i := range members {
			if members[i].Name == name {
				return members[i].Value
			}
		}
	}
	return Value{}
}

// First returns the first of the named members that is neither absent nor null.
func (v Value) First(names ...string) Value {
	for _, name := range names {
		if m := v.Get(name); m.Kind() > Null {
			return m
		}
	}
	return Value{}
}

// At returns element i of an array, or an absent value.
func (v Value) At(i int) Value {
	if v.Kind() == Array && i >= 0 && i < v.size() {
		return v.Members()[i].Value
	}
	return Value{}
}

// Equal reports whether two values are equal under the canonical form: number spelling and member order do not matter.
func (v Value) Equal(w Value) bool {
	if v.Kind() != w.Kind() {
		return false
	}
	switch v.Kind() {
	case Number:
		if v.Text() == w.Text() {
			return true
		}
		n := canonicalNumber(v.Text())
		return n != "" && n == canonicalNumber(w.Text())
	case Array:
		return slices.EqualFunc(v.Members(), w.Members(), func(a, b Member) bool { return a.Value.Equal(b.Value) })
	case Object:
		if v.size() != w.size() {
			return false
		}
		same := func(a, b Member) bool { return a.Name == b.Name && a.Value.Equal(b.Value) }
		if slices.EqualFunc(v.Members(), w.Members(), func(a, b Member) bool { return a.Name == b.Name }) {
			return slices.EqualFunc(v.Members(), w.Members(), same)
		}
		return slices.EqualFunc(sortedMembers(v.Members()), sortedMembers(w.Members()), same)
	default:
		return v.Text() == w.Text()
	}
}

// HasBigInt reports whether an integer of ±2^53 or more lies anywhere in the value: a double stands for several of them.
func (v Value) HasBigInt() bool {
	if v.Kind() == Number {
		return isBigInt(v.Text())
	}
	return slices.ContainsFunc(v.Members(), func(m Member) bool { return m.Value.HasBigInt() })
}

// Depth returns how many levels of arrays and objects the value has: 0 for a scalar.
func (v Value) Depth() int {
	if v.Kind() < Array {
		return 0
	}
	deepest := 0
	for _, m := range v.Members() {
		deepest = max(deepest, m.Value.Depth())
	}
	return deepest + 1
}

// Clone returns a copy that shares no memory with the text it was parsed from.
func (v Value) Clone() Value {
	if v.Kind() < Array {
		return scalar(v.Kind(), strings.Clone(v.Text()))
	}
	members := make([]Member, v.Len())
	for i, m := range v.Members() {
		members[i] = Member{Name: strings.Clone(m.Name), Value: m.Value.Clone()}
	}
	return compound(v.Kind(), members)
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
		for i := range members {
			if members[i].Name == name {
				return false
			}
		}
		return true
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
