// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestFlattenedKeysBecomeATree(t *testing.T) {
	for _, c := range []struct {
		name string
		a    decode.Attributes
		want string
	}{
		{"messages", genaitest.Flat("m.0.role", "user", "m.0.content", "a", "m.1.role", "assistant"), `[{"content":"a","role":"user"},{"role":"assistant"}]`},
		{"order of numbers, not of texts", genaitest.Flat("m.10", "k", "m.9", "j", "m.2", "c"), `["c","j","k"]`},
		{"gaps are closed", genaitest.Flat("m.3", "b", "m.9000", "c", "m.1", "a"), `["a","b","c"]`},
		{"lists in lists", genaitest.Flat("m.0.calls.1.name", "g", "m.0.calls.0.name", "f"), `[{"calls":[{"name":"f"},{"name":"g"}]}]`},
		{"names beside indices", genaitest.Flat("m.0", "a", "m.x", "b"), `{"0":"a","x":"b"}`},
		{"other prefixes are left alone", genaitest.Flat("m.0", "a", "mm.0", "b", "n.0", "c", "m.", "d"), `["a"]`},
		{"an index beyond the bound is left out", genaitest.Flat("m.0", "a", "m.10001", "b", "m.99999999", "c"), `["a"]`},
		{"a negative index is left out", genaitest.Flat("m.0", "a", "m.-1", "b"), `["a"]`},
		{"keys deeper than the bound are left out", genaitest.Flat("m.a", "1", "m."+strings.Repeat("x.", 16)+"y", "2"), `{"a":"1"}`},
		{"empty segments", genaitest.Flat("m..a", "1"), `{"":{"a":"1"}}`},
		{"nothing", genaitest.Flat("other", "1"), ``},
	} {
		if got := c.a.Unflatten("m."); got.JSON() != c.want && !(c.want == "" && got.IsAbsent()) {
			t.Errorf("%s: %s, want %s", c.name, got.JSON(), c.want)
		}
	}
}

func TestPlacesWhereOneNumberOfAListIsMissingAreKnown(t *testing.T) {
	for _, c := range []struct {
		a    decode.Attributes
		want []int
	}{
		{genaitest.Flat("m.0", "a", "m.1", "b"), nil},
		{genaitest.Flat("m.0", "a", "m.2", "c", "m.4", "e"), []int{1, 2}},
		{genaitest.Flat("m.0", "a", "m.3", "d", "m.5", "f"), []int{2}},
		{genaitest.Flat("m.1", "b", "m.2", "c"), nil}, // where a list begins is not known
		{genaitest.Flat("m.0", "a", "m.x", "b"), nil},
		{genaitest.Flat("other", "1"), nil},
	} {
		list, before := c.a.UnflattenList("m.")
		if !slices.Equal(before, c.want) {
			t.Errorf("%s: numbers are missing before %v, want %v", list.JSON(), before, c.want)
		}
	}
}

// FuzzUnflatten: no set of keys crashes the parser, the tree is as deep as the bound at most, and the order of the keys is nothing.
func FuzzUnflatten(f *testing.F) {
	f.Add("0.role\n0.content\n1.role\n10.x\n2.y")
	f.Add("0\n0.a\n0.a.b\nx..y\n-1\n+1\n99999\n99999999999999999999\n1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1")
	f.Add("é.0\n\xff.1\n0x1.2")
	f.Fuzz(func(t *testing.T, keys string) {
		seen := map[string]bool{}
		var forth, back []string
		for _, key := range strings.Split(keys, "\n") {
			if !seen[key] {
				seen[key] = true
				forth = append(forth, "p."+key, key)
				back = append([]string{"p." + key, key}, back...)
			}
		}
		v := genaitest.Flat(forth...).Unflatten("p.")
		if v.Depth() > 16 { // the bound of decode
			t.Fatalf("%d levels", v.Depth())
		}
		if again := genaitest.Flat(back...).Unflatten("p."); again.JSON() != v.JSON() {
			t.Fatalf("%s in another order is %s", v.JSON(), again.JSON())
		}
		if again := genaitest.Flat(forth...).Unflatten("p."); again.JSON() != v.JSON() {
			t.Fatalf("%s the second time is %s", v.JSON(), again.JSON())
		}
		list, before := genaitest.Flat(back...).UnflattenList("p.")
		if list.JSON() != v.JSON() || len(before) > max(list.Len(), 0) {
			t.Fatalf("%s is the list %s, with gaps before %v", v.JSON(), list.JSON(), before)
		}
		if v.Kind() == exactjson.Array && v.Len() > len(seen) {
			t.Fatalf("%d elements of %d keys", v.Len(), len(seen))
		}
	})
}
