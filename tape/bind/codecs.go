// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// String is a string, absent when empty.
func String[S ~string]() Codec[S] {
	return Codec[S]{
		absent: func(s *S) bool { return *s == "" },
		put:    func(e *encoder, s *S) { e.buf = exactjson.AppendString(e.buf, string(*s)) },
		take: func(d *decoder, v exactjson.Value, s *S) {
			if v.Kind() != exactjson.String {
				d.wrongType("a string")
			}
			*s = S(v.Text())
		},
		schema: func(_ *schemas, mayBeEmpty bool) exactjson.Value {
			if mayBeEmpty {
				return ofType("string")
			}
			return ofType("string", member("minLength", exactjson.IntValue(1)))
		},
	}
}

// Match is a string of a given form: an ECMA 262 regular expression. Reading does not check it, the schema does.
func Match[S ~string](pattern string) Codec[S] {
	c := String[S]()
	c.schema = func(*schemas, bool) exactjson.Value {
		return ofType("string", member("pattern", exactjson.StringValue(pattern)))
	}
	return c
}

// Enum is one of a few strings. Reading does not check it, the schema does.
func Enum[S ~string](values ...S) Codec[S] {
	c := String[S]()
	c.schema = func(*schemas, bool) exactjson.Value {
		var list []exactjson.Value
		for _, s := range values {
			list = append(list, exactjson.StringValue(string(s)))
		}
		return object("enum", exactjson.ArrayValue(list...))
	}
	return c
}

// Int is an integer, absent when zero; members that may be zero are bound with Always or as a pointer.
func Int[I ~int | ~int64]() Codec[I] {
	return Codec[I]{
		absent: func(i *I) bool { return *i == 0 },
		put:    func(e *encoder, i *I) { e.buf = strconv.AppendInt(e.buf, int64(*i), 10) },
		take: func(d *decoder, v exactjson.Value, i *I) {
			n, ok := v.Int()
			if !ok {
				d.wrongType("an integer")
			}
			*i = I(n)
		},
		schema: func(_ *schemas, mayBeEmpty bool) exactjson.Value {
			least := int64(1)
			if mayBeEmpty {
				least = 0
			}
			return ofType("integer", member("minimum", exactjson.IntValue(least)))
		},
	}
}

// Bool is true or false, absent when false.
func Bool() Codec[bool] {
	return Codec[bool]{
		absent: func(b *bool) bool { return !*b },
		put:    func(e *encoder, b *bool) { e.buf = strconv.AppendBool(e.buf, *b) },
		take: func(d *decoder, v exactjson.Value, b *bool) {
			if v.Kind() != exactjson.Bool {
				d.wrongType("true or false")
			}
			*b = v.True()
		},
		schema: func(_ *schemas, mayBeEmpty bool) exactjson.Value {
			if mayBeEmpty {
				return ofType("boolean")
			}
			return object("const", exactjson.BoolValue(true))
		},
	}
}

// timeLayout has a fixed width, so that times sort as text.
const timeLayout = `"2006-01-02T15:04:05.000000000Z"`

// Time is an RFC 3339 time in UTC with nine digits after the point, absent when zero.
func Time() Codec[time.Time] {
	return Codec[time.Time]{
		absent: func(t *time.Time) bool { return t.IsZero() },
		put:    func(e *encoder, t *time.Time) { e.buf = t.UTC().AppendFormat(e.buf, timeLayout) },
		take: func(d *decoder, v exactjson.Value, t *time.Time) {
			parsed, err := time.Parse(time.RFC3339Nano, v.Str())
			parsed = parsed.UTC()
			if err != nil || parsed.Year() < 0 || parsed.Year() > 9999 { // an offset may leave the four digits
				d.wrongType("an RFC 3339 time")
			}
			*t = parsed
		},
		schema: func(*schemas, bool) exactjson.Value {
			return ofType("string", member("pattern", exactjson.StringValue(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$`)))
		},
	}
}

// Any is any JSON value as recorded. Given kinds restrict it: "object", "array", "number" …
func Any(types ...string) Codec[exactjson.Value] {
	return Codec[exactjson.Value]{
		absent: func(v *exactjson.Value) bool { return v.IsAbsent() },
		put:    func(e *encoder, v *exactjson.Value) { e.value(*v) },
		take:   func(_ *decoder, v exactjson.Value, to *exactjson.Value) { *to = v },
		schema: func(*schemas, bool) exactjson.Value {
			switch len(types) {
			case 0:
				return exactjson.BoolValue(true)
			case 1:
				return ofType(types[0])
			default:
				return object("type", names(types))
			}
		},
	}
}

// Pointer is a value that is absent when nil, and may be empty otherwise.
func Pointer[F any](c Codec[F]) Codec[*F] {
	return Codec[*F]{
		absent: func(p **F) bool { return *p == nil },
		put:    func(e *encoder, p **F) { c.put(e, *p) },
		take: func(d *decoder, v exactjson.Value, p **F) {
			*p = new(F)
			c.take(d, v, *p)
		},
		schema: func(s *schemas, _ bool) exactjson.Value { return c.schema(s, true) },
	}
}

// List is an array, absent when empty.
func List[F any](c Codec[F]) Codec[[]F] {
	return Codec[[]F]{
		absent: func(l *[]F) bool { return len(*l) == 0 },
		put: func(e *encoder, l *[]F) {
			e.buf = append(e.buf, '[')
			for i := range *l {
				e.comma()
				c.put(e, &(*l)[i])
			}
			e.buf = append(e.buf, ']')
		},
		take: func(d *decoder, v exactjson.Value, l *[]F) {
			if v.Kind() != exactjson.Array {
				d.wrongType("an array")
				return
			}
			if v.Len() == 0 {
				return
			}
			*l = make([]F, v.Len())
			for i := range *l {
				if d.err != nil {
					return
				}
				d.path = append(d.path, strconv.Itoa(i))
				c.take(d, v.At(i), &(*l)[i])
				d.path = d.path[:len(d.path)-1]
			}
		},
		schema: func(s *schemas, mayBeEmpty bool) exactjson.Value {
			items := member("items", c.schema(s, true))
			if mayBeEmpty {
				return ofType("array", items)
			}
			return ofType("array", items, member("minItems", exactjson.IntValue(1)))
		},
	}
}

// Map is an object with names that are data, written in sorted order; absent when empty.
func Map[M ~map[string]F, F any](c Codec[F]) Codec[M] {
	return Codec[M]{
		absent: func(m *M) bool { return len(*m) == 0 },
		put: func(e *encoder, m *M) {
			e.buf = append(e.buf, '{')
			all := withValidNames(*m)
			names := slices.AppendSeq(make([]string, 0, len(all)), maps.Keys(all))
			slices.SortFunc(names, exactjson.CompareNames)
			var v F // one for all: what a codec is handed lies on the heap
			for _, name := range names {
				e.key(name)
				v = all[name]
				c.put(e, &v)
			}
			e.buf = append(e.buf, '}')
		},
		take: func(d *decoder, v exactjson.Value, m *M) {
			if v.Kind() != exactjson.Object {
				d.wrongType("an object")
				return
			}
			if v.Len() == 0 {
				return
			}
			*m = make(M, v.Len())
			for _, member := range v.Members() {
				if d.err != nil {
					return
				}
				var f F
				d.path = append(d.path, member.Name)
				c.take(d, member.Value, &f)
				d.path = d.path[:len(d.path)-1]
				(*m)[member.Name] = f
			}
		},
		schema: func(s *schemas, mayBeEmpty bool) exactjson.Value {
			values := member("additionalProperties", c.schema(s, true))
			if mayBeEmpty {
				return ofType("object", values)
			}
			return ofType("object", values, member("minProperties", exactjson.IntValue(1)))
		},
	}
}

// withValidNames returns the map as it will be read back: invalid UTF-8 in names replaced. If names become equal, the first in sorted order
// stays.
func withValidNames[M ~map[string]F, F any](m M) M {
	valid := true
	for name := range m {
		valid = valid && utf8.ValidString(name)
	}
	if valid {
		return m
	}
	cleaned := make(M, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		clean := exactjson.StringValue(name).Text()
		if _, taken := cleaned[clean]; !taken {
			cleaned[clean] = m[name]
		}
	}
	return cleaned
}
