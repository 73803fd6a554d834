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

// LabelFalsy labels what traceAI's package for smolagents writes of the call of a tool: it puts an empty object in the place of whatever Python takes for false, null, false, 0, an empty text and an empty list alike, and the
// fields of an object in that of a text that is one.
func LabelFalsy(s *dialect.Source, o *dialect.Observation) {
	if s.ScopeName != "traceai_smolagents" {
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

// holdsFalsy reports a value with something of that kind in it; that of all arguments is an object, and may be empty.
func holdsFalsy(v exactjson.Value, all bool) bool {
	if v.Kind() == exactjson.Object && (v.Len() == 0 || v.Len() == 1 && !v.Get("_value").IsAbsent()) {
		return !all || v.Len() > 0
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return holdsFalsy(m.Value, false) })
}
