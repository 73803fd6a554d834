// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"regexp"
	"slices"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// equality says whether two values are the same.
type equality = func(a, b exactjson.Value) bool

// EqualArgs compares recorded arguments with those asked for. Packages record them in forms of their own, see
// argumentForms. Recorders leave out {}, and streams write nothing or null for it.
func EqualArgs(received, asked exactjson.Value, same equality) bool {
	if same(received, asked) {
		return true
	}
	if asked.IsAbsent() || asked.Kind() == exactjson.Null || asked.Kind() == exactjson.String && asked.Str() == "" {
		given := withoutDefaults(received, asked)
		return given.Kind() == exactjson.Object && given.Len() == 0
	}
	return asked.Kind() == exactjson.Object && slices.ContainsFunc(argumentForms, func(isForm argumentForm) bool {
		return isForm(received, asked, same)
	})
}

// argumentForm reports recorded arguments that are those asked for, an object, in a form of their own.
type argumentForm func(received, asked exactjson.Value, same equality) bool

var argumentForms = []argumentForm{
	// null for {}
	func(received, asked exactjson.Value, _ equality) bool {
		return received.Kind() == exactjson.Null && asked.Len() == 0
	},
	// all parameters of a function, with null for those that nobody gave
	func(received, asked exactjson.Value, same equality) bool {
		return same(withoutDefaults(received, asked), asked)
	},
	// none of the parameters that were asked for with null
	func(received, asked exactjson.Value, same equality) bool {
		sparse := WithoutNulls(asked)
		return sparse.Len() > 0 && same(withoutDefaults(received, asked), sparse)
	},
	// the bare value of a single argument
	func(received, asked exactjson.Value, same equality) bool {
		return asked.Len() == 1 && same(received, asked.Members()[0].Value)
	},
	// in an envelope, which only its content proves
	func(received, asked exactjson.Value, same equality) bool {
		return asked.Len() > 0 && holds(received, asked, same, MaxEnvelopes)
	},
	// beside objects of the program, which a framework adds for its own tools
	func(received, asked exactjson.Value, same equality) bool {
		return asked.Len() > 0 && (same(withoutAddresses(received), asked) ||
			received.Len() == 1 && same(withoutAddresses(received.Get("kwargs")), asked))
	},
	// nothing, in an envelope
	func(received, asked exactjson.Value, same equality) bool {
		if received.Len() != 1 || asked.Len() > 0 {
			return false
		}
		inner := received.Members()[0].Value
		return inner.Kind() == exactjson.Object && inner.Len() == 0 ||
			inner.Kind() == exactjson.String && same(inner, asked)
	},
	// the values without their names
	func(received, asked exactjson.Value, same equality) bool {
		values := received.Get("args")
		return values.Kind() == exactjson.Array && asked.Len() > 0 &&
			(received.Len() == 1 || received.Get("kwargs").Len() == 0) &&
			slices.EqualFunc(values.Members(), asked.Members(), func(x, y exactjson.Member) bool { return same(x.Value, y.Value) })
	},
}

// objectAddress is what Python writes for an object that has no text of its own.
var objectAddress = regexp.MustCompile(`^<.+ at 0x[0-9a-f]+>$`)

// withoutAddresses leaves out the members that are objects of the program.
func withoutAddresses(v exactjson.Value) exactjson.Value {
	return withoutMembers(v, func(m exactjson.Member) bool { return objectAddress.MatchString(m.Value.Str()) })
}

// withoutDefaults leaves out the members that are null and that nobody asked for: the defaults of parameters.
func withoutDefaults(received, asked exactjson.Value) exactjson.Value {
	if inner, ok := Decoded(received); ok {
		received = inner
	}
	return withoutMembers(received, func(m exactjson.Member) bool {
		return m.Value.Kind() == exactjson.Null && asked.Get(m.Name).IsAbsent()
	})
}

// WithoutNulls leaves out the members of objects, however deep, that are null.
func WithoutNulls(v exactjson.Value) exactjson.Value {
	return v.Map(func(_ int, m exactjson.Member) exactjson.Value {
		if v.Kind() == exactjson.Object && m.Value.Kind() == exactjson.Null {
			return exactjson.Value{}
		}
		return WithoutNulls(m.Value)
	})
}

// withoutMembers leaves out members of an object.
func withoutMembers(v exactjson.Value, drops func(exactjson.Member) bool) exactjson.Value {
	if v.Kind() != exactjson.Object {
		return v
	}
	return exactjson.ObjectValue(slices.DeleteFunc(slices.Clone(v.Members()), drops)...)
}
