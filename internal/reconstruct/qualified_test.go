// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// A decorator may name the function of a tool with its path in the program. The model asked for it by its last name.
func TestFunctionsNamedWithTheirPathAreTheToolsThatWereAskedFor(t *testing.T) {
	names := func(spans ...string) (names []string) {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "look", `{}`), call("c2", "save", `{}`))))
		for i, name := range spans {
			tr.tool(name, 3+i, 1, 20+10*i, 25+10*i, "", "", []string{"", "7"}[i%2])
		}
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				names = append(names, e.Name)
			}
		}
		return names
	}
	for _, c := range []struct{ spans, want []string }{
		{[]string{"shop.tools.look", "shop.tools.save"}, []string{"look", "save"}},
		{[]string{"Shop::look"}, []string{"save", "look"}},
		{[]string{"shop.tools.other"}, []string{"look", "save", "shop.tools.other"}},                     // nobody asked for it
		{[]string{"a.look", "b.look", "c.look"}, []string{"look", "save", "a.look", "b.look", "c.look"}}, // which of them is the tool, nothing says
		{[]string{"run shop.look"}, []string{"look", "save", "run shop.look"}},                           // no name of a function
	} {
		if got := names(c.spans...); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.spans, got, c.want)
		}
	}
}
