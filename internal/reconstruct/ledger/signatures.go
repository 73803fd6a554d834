// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// signature is what all recorded definitions of a tool say of its parameters.
type signature struct {
	Nothing  bool            // there are none: whatever it was called with is {}
	optional map[string]bool // may be left out, and may not be null
}

func (c *Ledger) Signature(name string) signature {
	if c.signatures == nil {
		c.signatures = map[string]signature{}
		for _, m := range c.Models {
			for _, t := range m.Obs.Tools {
				s, before := signatureOf(t.Parameters), c.signatures[t.Name]
				if before.optional != nil {
					s.Nothing = s.Nothing && before.Nothing
					maps.DeleteFunc(s.optional, func(name string, _ bool) bool { return !before.optional[name] })
				}
				c.signatures[t.Name] = s
			}
		}
	}
	return c.signatures[name]
}

// signatureOf reads a schema. A call may leave out a parameter that is not required. No null fits one of one
// type that is not null, and of which no more is said.
func signatureOf(schema exactjson.Value) signature {
	properties, more := schema.Get("properties"), schema.Get("additionalProperties")
	s := signature{optional: map[string]bool{}}
	s.Nothing = properties.Kind() == exactjson.Object && properties.Len() == 0 && more.Kind() != exactjson.Object && !more.True()
	for _, m := range properties.Members() {
		kind := m.Value.Get("type").Str()
		if kind == "" || kind == "null" || m.Value.Get("nullable").True() || !m.Value.First("anyOf", "oneOf", "allOf", "enum", "$ref").IsAbsent() {
			continue
		}
		if !slices.ContainsFunc(schema.Get("required").Members(), func(r exactjson.Member) bool { return r.Value.Str() == m.Name }) {
			s.optional[m.Name] = true
		}
	}
	return s
}

// WithoutOptional leaves the nulls out of what a tool received, where nothing shows what it was asked with:
// they are the defaults of a function.
//
// Needs: a definition that lets a model leave these arguments out and lets none be null.
// Refuses: arguments of which the definition says anything else.
// Seen in: tools with optional parameters under instrumentations that record what the function got.
func (c *Ledger) WithoutOptional(name string, received exactjson.Value) (exactjson.Value, tape.Label) {
	object := received
	if inner, ok := chat.Decoded(received); ok {
		object = inner
	}
	isNull := func(m exactjson.Member) bool { return m.Value.Kind() == exactjson.Null }
	if object.Kind() != exactjson.Object || !slices.ContainsFunc(object.Members(), isNull) {
		return received, ""
	}
	may := c.Signature(name).optional
	given := slices.DeleteFunc(slices.Clone(object.Members()), func(m exactjson.Member) bool { return isNull(m) && may[m.Name] })
	if len(given) == object.Len() {
		return received, ""
	}
	return exactjson.ObjectValue(given...), tape.Recovered
}
