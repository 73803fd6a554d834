// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

// Attributes have no order: of two namespaces that speak of a function, and of two keys for what went in, the same is read whichever comes first.
func TestFunctionIsReadAlikeInAnyOrderOfItsAttributes(t *testing.T) {
	pairs := [][]string{
		{"zeta.fn.args", `{"x":2}`}, {"zeta.fn.output", "snow"}, {"acme.fn.args", `{"x":1}`}, {"acme.fn.kwargs", `{"y":1}`}, {"acme.fn.output", "rain"}, {"acme.fn.result", "sun"},
	}
	for range 2 * len(pairs) {
		called := genai.Read(genaitest.Span("acme", "look", slices.Concat(pairs...)...)).Called
		if called == nil || called.Name != "look" || called.In.JSON() != `{"x":1}` || called.Out.Str() != "rain" {
			t.Fatalf("%v: %+v", pairs, called)
		}
		pairs = append(pairs[1:], pairs[0])
	}
}
