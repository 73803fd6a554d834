// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpath

import (
	"testing"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestPathsMatchPlaces(t *testing.T) {
	place := []Step{{Kind: Member, Name: "gen_ai.input"}, {Kind: Element, Index: 2}, {Kind: Member, Name: "parts"}, {Kind: Member, Name: "2"}}
	for path, want := range map[string]bool{
		"$['gen_ai.input'][2].parts['2']":    true,
		"$['gen_ai.input'][2].parts[2]":      false, // a name is no index
		"$['gen_ai.input']['2'].parts['2']":  false,
		"$['gen_ai.input'][*].*['2']":        true,
		"$..parts['2']":                      true,
		"$..parts":                           false, // it leads to the object above
		"$..*":                               true,
		"$..[2]..['2']":                      true,
		"$..['gen_ai.input']..parts['2']":    true,
		"$['gen_ai.input'][2].parts['2'].x":  false,
		"$['gen_ai.input'][2].parts['2']..x": false,
		"$":                                  false,
	} {
		p, err := Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := p.Matches(place); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if root, err := Parse("$"); err != nil || !root.Matches(nil) {
		t.Error(err)
	}
}

// What is written as a path leads to the one value, whatever its name is.
func FuzzWrittenPathsLeadBack(f *testing.F) {
	for _, name := range []string{"a", "x-y", "it's", `back\slash`, "a]b", "", "*", "日本", "0", `"`, "a.b"} {
		f.Add(name, 1)
	}
	f.Fuzz(func(t *testing.T, name string, i int) {
		if i < 0 || i > 1<<30 || !utf8.ValidString(name) { // names are Unicode
			return
		}
		text := AppendElement(AppendMember("$", name), i)
		p, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !p.Matches([]Step{{Kind: Member, Name: name}, {Kind: Element, Index: i}}) {
			t.Errorf("%s is %+v", text, p)
		}
		found := 0
		p[:1].Rewrite(exactjson.ObjectValue(exactjson.Member{Name: name, Value: exactjson.NullValue}, exactjson.Member{Name: name + "x", Value: exactjson.NullValue}), exactjson.NullValue, func(v exactjson.Value) exactjson.Value {
			found++
			return v
		})
		if found != 1 {
			t.Errorf("%s leads to %d values", text, found)
		}
	})
}
