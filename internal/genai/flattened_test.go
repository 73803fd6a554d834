// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// flat is a map of the given keys and values, in their order.
func flat(keysAndValues ...string) attributes {
	m := pcommon.NewMap()
	for i := 0; i < len(keysAndValues); i += 2 {
		m.PutStr(keysAndValues[i], keysAndValues[i+1])
	}
	return attributes(m)
}

func TestFlattenedKeysBecomeATree(t *testing.T) {
	for _, c := range []struct {
		name string
		a    attributes
		want string
	}{
		{"messages", flat("m.0.role", "user", "m.0.content", "a", "m.1.role", "assistant"), `[{"content":"a","role":"user"},{"role":"assistant"}]`},
		{"order of numbers, not of texts", flat("m.10", "k", "m.9", "j", "m.2", "c"), `["c","j","k"]`},
		{"gaps are closed", flat("m.3", "b", "m.9000", "c", "m.1", "a"), `["a","b","c"]`},
		{"lists in lists", flat("m.0.calls.1.name", "g", "m.0.calls.0.name", "f"), `[{"calls":[{"name":"f"},{"name":"g"}]}]`},
		{"names beside indices", flat("m.0", "a", "m.x", "b"), `{"0":"a","x":"b"}`},
		{"other prefixes are left alone", flat("m.0", "a", "mm.0", "b", "n.0", "c", "m.", "d"), `["a"]`},
		{"an index beyond the bound is left out", flat("m.0", "a", "m.10001", "b", "m.99999999", "c"), `["a"]`},
		{"a negative index is left out", flat("m.0", "a", "m.-1", "b"), `["a"]`},
		{"keys deeper than the bound are left out", flat("m.a", "1", "m."+strings.Repeat("x.", 16)+"y", "2"), `{"a":"1"}`},
		{"empty segments", flat("m..a", "1"), `{"":{"a":"1"}}`},
		{"nothing", flat("other", "1"), ``},
	} {
		if got := c.a.unflatten("m."); got.JSON() != c.want && !(c.want == "" && got.IsAbsent()) {
			t.Errorf("%s: %s, want %s", c.name, got.JSON(), c.want)
		}
	}
}

func TestFlattenedMessagesAreReadInTheirOrder(t *testing.T) {
	var kv []string
	for i := 11; i >= 0; i-- {
		kv = append(kv, fmt.Sprintf("llm.input_messages.%d.message.role", i), "user", fmt.Sprintf("llm.input_messages.%d.message.content", i), fmt.Sprint(i))
	}
	messages, ok := openInferenceMessages(flat(kv...).unflatten("llm.input_messages."))
	if !ok || len(messages) != 12 {
		t.Fatalf("%v", rendered(messages))
	}
	for i, m := range messages {
		if m.Role != tape.RoleUser || m.Parts[0].Text != fmt.Sprint(i) {
			t.Errorf("message %d is %v", i, rendered(messages[i:i+1]))
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
		v := flat(forth...).unflatten("p.")
		if v.Depth() > 16 { // the bound of decode
			t.Fatalf("%d levels", v.Depth())
		}
		if again := flat(back...).unflatten("p."); again.JSON() != v.JSON() {
			t.Fatalf("%s in another order is %s", v.JSON(), again.JSON())
		}
		if again := flat(forth...).unflatten("p."); again.JSON() != v.JSON() {
			t.Fatalf("%s the second time is %s", v.JSON(), again.JSON())
		}
		if v.Kind() == exactjson.Array && v.Len() > len(seen) {
			t.Fatalf("%d elements of %d keys", v.Len(), len(seen))
		}
	})
}
