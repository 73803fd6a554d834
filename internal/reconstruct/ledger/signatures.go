// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file says what the definitions that models were offered tell of the arguments of a tool.

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
				properties, more := t.Parameters.Get("properties"), t.Parameters.Get("additionalProperties")
				s := signature{optional: optional(t.Parameters)}
				s.Nothing = properties.Kind() == exactjson.Object && properties.Len() == 0 && more.Kind() != exactjson.Object && !more.True()
				if before, known := c.signatures[t.Name]; known {
					s.Nothing = s.Nothing && before.Nothing
					for name := range s.optional {
						if !before.optional[name] {
							delete(s.optional, name)
						}
					}
				}
				c.signatures[t.Name] = s
			}
		}
	}
	return c.signatures[name]
}

// optional are the parameters of a schema that a call may leave out and that no null fits: those of one type that is not null, and no more said of it.
func optional(schema exactjson.Value) map[string]bool {
	out := map[string]bool{}
	for _, m := range schema.Get("properties").Members() {
		kind := m.Value.Get("type").Str()
		if kind == "" || kind == "null" || m.Value.Get("nullable").True() || !m.Value.First("anyOf", "oneOf", "allOf", "enum", "$ref").IsAbsent() {
			continue
		}
		if !slices.ContainsFunc(schema.Get("required").Members(), func(r exactjson.Member) bool { return r.Value.Str() == m.Name }) {
			out[m.Name] = true
		}
	}
	return out
}

// WithoutOptional leaves the nulls out of what a tool received, where nothing shows what it was asked with: the definition lets a model leave these arguments out and lets none be
// null, so they are the defaults of a function.
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
