// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/base64"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/bytelist"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxAttributeDepth bounds nested arrays and maps of attribute values; deeper ones are cut off as null.
const maxAttributeDepth = 128

// JSONOf turns an attribute value into a JSON value: a string stays a string, a map becomes an object.
func JSONOf(v pcommon.Value) exactjson.Value { return jsonAt(v, 0) }

func jsonAt(v pcommon.Value, depth int) exactjson.Value {
	if depth > maxAttributeDepth {
		return exactjson.NullValue
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return exactjson.StringValue(v.Str())
	case pcommon.ValueTypeBytes:
		if text := TextOf(v); text != "" {
			return exactjson.StringValue(text)
		}
		return exactjson.StringValue(base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()))
	case pcommon.ValueTypeBool:
		return exactjson.BoolValue(v.Bool())
	case pcommon.ValueTypeInt:
		return exactjson.IntValue(v.Int())
	case pcommon.ValueTypeDouble:
		return exactjson.FloatValue(v.Double())
	case pcommon.ValueTypeSlice:
		if text := TextOf(v); text != "" {
			return exactjson.StringValue(text)
		}
		elements := make([]exactjson.Value, 0, v.Slice().Len())
		for _, e := range v.Slice().All() {
			elements = append(elements, jsonAt(e, depth+1))
		}
		return exactjson.ArrayValue(elements...)
	case pcommon.ValueTypeMap:
		members := make([]exactjson.Member, 0, v.Map().Len())
		for k, e := range v.Map().All() {
			members = append(members, exactjson.Member{Name: k, Value: jsonAt(e, depth+1)})
		}
		return Unordered(members)
	default:
		return exactjson.NullValue
	}
}

// TextOf returns the text of a string, or of bytes that are one: serialisers that make JSON return bytes, and who hands them on as they are
// (LangSmith's exporter before 0.5) writes every message so. Bytes of which any is no text are none. A list of integers is one if they
// are the bytes of a JSON object or list, which no numbers are by chance.
func TextOf(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return v.Str()
	case pcommon.ValueTypeBytes:
		if text := string(v.Bytes().AsRaw()); bytelist.IsText(text) {
			return text
		}
	case pcommon.ValueTypeSlice:
		if text, ok := bytelist.Text(v.Slice()); ok && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
			return text
		}
	}
	return ""
}

// Unordered returns an object of members that have no order of their own. It sorts them by name, so that the result does not depend on
// the order of arrival. Of several with one name the first stays.
func Unordered(members []exactjson.Member) exactjson.Value {
	slices.SortStableFunc(members, func(a, b exactjson.Member) int { return strings.Compare(a.Name, b.Name) })
	return exactjson.ObjectValue(members...)
}

// Attributes gives typed access to the attributes of a span, an event or a resource.
type Attributes pcommon.Map

// All yields every key with its value, in the order of the record.
func (a Attributes) All() iter.Seq2[string, pcommon.Value] { return pcommon.Map(a).All() }

// Has reports whether the key is there, with whatever value.
func (a Attributes) Has(key string) bool {
	_, ok := pcommon.Map(a).Get(key)
	return ok
}

// JSON returns the value of the first key that is present; it is absent if none is.
func (a Attributes) JSON(keys ...string) exactjson.Value {
	for _, key := range keys {
		if v, ok := pcommon.Map(a).Get(key); ok {
			return JSONOf(v)
		}
	}
	return exactjson.Value{}
}

// Text returns the first non-empty text among the keys. Numbers and booleans are returned as text.
func (a Attributes) Text(keys ...string) string {
	for _, key := range keys {
		if v, ok := pcommon.Map(a).Get(key); ok {
			switch v.Type() {
			case pcommon.ValueTypeStr, pcommon.ValueTypeBytes, pcommon.ValueTypeSlice:
				if text := TextOf(v); text != "" {
					return text
				}
			case pcommon.ValueTypeInt, pcommon.ValueTypeBool, pcommon.ValueTypeDouble:
				return v.AsString()
			}
		}
	}
	return ""
}

// Count returns the first number among the keys that CountOf reads, nil if there is none.
func (a Attributes) Count(keys ...string) *int64 {
	for _, key := range keys {
		if v, ok := pcommon.Map(a).Get(key); ok {
			if v.Type() == pcommon.ValueTypeInt && v.Int() >= 0 {
				n := v.Int()
				return &n
			}
			if n, ok := CountOf(JSONOf(v)); ok {
				return &n
			}
		}
	}
	return nil
}

// CountOf reads a whole number that is not negative, also one that is written as text.
func CountOf(v exactjson.Value) (int64, bool) {
	if v.Kind() == exactjson.String {
		parsed, err := exactjson.Parse(strings.TrimSpace(v.Str()))
		if err != nil || parsed.Kind() != exactjson.Number {
			return 0, false
		}
		v = parsed
	}
	n, ok := v.Int()
	return n, ok && n >= 0
}

// Texts reads the value of a key like TextsOf.
func (a Attributes) Texts(key string) []string {
	v, ok := pcommon.Map(a).Get(key)
	if !ok {
		return nil
	}
	return TextsOf(JSONOf(v))
}

// TextsOf returns the non-empty texts of an array, of a JSON array in a string or of a comma-joined string, nil for any other value.
func TextsOf(v exactjson.Value) []string {
	switch v.Kind() {
	case exactjson.Array:
		var out []string
		for _, m := range v.Members() {
			if s := m.Value.Text(); s != "" && m.Value.Kind() != exactjson.Null {
				out = append(out, s)
			}
		}
		return out
	case exactjson.String:
		s := strings.TrimSpace(v.Str())
		if strings.HasPrefix(s, "[") {
			if parsed, err := exactjson.Parse(s); err == nil {
				return TextsOf(parsed)
			}
		}
		var out []string
		for _, part := range strings.Split(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
		return out
	default:
		return nil
	}
}

// OptionalCount returns what CountOf reads, nil where it reads none.
func OptionalCount(v exactjson.Value) *int64 {
	if n, ok := CountOf(v); ok {
		return &n
	}
	return nil
}

// OrZero returns the number, zero for nil.
func OrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// Extras copies attributes into a namespace of the tape's extensions. It removes the namespace from their names.
func Extras(a Attributes, namespace string, keys ...string) map[string][]exactjson.Member {
	var members []exactjson.Member
	for _, key := range keys {
		if v := a.JSON(key); !v.IsEmpty() {
			members = append(members, exactjson.Member{Name: strings.TrimPrefix(key, namespace+"."), Value: v})
		}
	}
	if members == nil {
		return nil
	}
	return map[string][]exactjson.Member{namespace: members}
}
