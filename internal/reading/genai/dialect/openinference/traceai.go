// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// traceAI's package for smolagents writes an empty object for every value of a tool call that Python takes
// for false: null, false, 0, an empty text, an empty list. It writes the fields of an object for a text that
// is one.

func traceAIQuirks(scope string) (q dialect.Quirks) {
	if scope == "traceai_smolagents" {
		q = dialect.EmptiesFalsy
	}
	return q
}

// labelFalsy labels the arguments and the result of a tool call that hold such an object.
func labelFalsy(_ *dialect.Source, o *dialect.Draft) {
	if o.Class != dialect.Tool {
		return
	}
	for _, c := range []*decode.Content{&o.Args, &o.Result} {
		v := c.Value
		if inner, ok := decode.Structure(v); ok {
			v = inner
		}
		if c.Label == "" && holdsFalsy(v, c == &o.Args) {
			c.Label = tape.Lossy
		}
	}
}

// holdsFalsy reports a value with such an object in it. The object of all arguments may be empty.
func holdsFalsy(v exactjson.Value, all bool) bool {
	if v.Kind() == exactjson.Object && (v.Len() == 0 || v.Len() == 1 && !v.Get("_value").IsAbsent()) {
		return !all || v.Len() > 0
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return holdsFalsy(m.Value, false) })
}
