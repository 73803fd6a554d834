// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// without is what Messages returns when nothing is remembered; ok is false for what is no list.
func without(text string, role tape.Role) ([]Message, bool) {
	v, err := exactjson.Parse(text)
	if err != nil || v.Kind() != exactjson.Array {
		return nil, false
	}
	return Messages(v, role)
}

// elements of message lists of many shapes; the numbers and the broken ones end lists.
var listElements = []string{
	`{"role":"user","content":"how many units are there?"}`,
	`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"lookup","arguments":{"sku":7,"deep":[[1,2.50]]}}]}`,
	`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","result":"99"}]}`,
	`{"type":"function_call","call_id":"f1","name":"a","arguments":"{}"}`,
	`{"type":"reasoning","summary":[{"text":"hm"}]}`,
	`{"type":"function_call_output","call_id":"f1","output":"x"}`,
	`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]}`,
	` {"message":{"role":"assistant","content":"inner"},"finish_reason":"stop"} `,
	`["nested", "list"]`, `"a bare text"`, `[]`,
	`{"role":"tool","content":"{\"type\":\"function\",\"function\":{\"name\":\"n\"}}"}`,
	`{"type":"text","text":"a part and no message"}`, `12`, `1`, `null`, `{"role":"user","role":"user"}`, `{"role":"user","content":"` + "\xff" + `"}`,
}

func listOf(elements []string) string {
	return `[{"role":"system","content":"` + strings.Repeat("You are a helper. ", minList/16) + `"},` + strings.Join(elements, ",") + `]`
}

func TestListsReadWhatIsReadWithoutThem(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lists Lists
		conversations := make([][]string, 1+r.IntN(maxLists+2))
		remembered := 0
		for range 60 {
			c := &conversations[r.IntN(len(conversations))]
			last := len(listElements)
			if r.IntN(10) > 0 {
				last -= 6 // mostly those that make messages
			}
			switch r.IntN(8) {
			case 0:
				*c = (*c)[:r.IntN(len(*c)+1)] // compacted, or another branch
			case 1:
				*c = append([]string(nil), conversations[0]...)
			}
			*c = append(*c, listElements[r.IntN(last)], fmt.Sprintf(`{"role":"user","content":"turn %d"}`, r.IntN(1000)))
			role := []tape.Role{tape.RoleUser, tape.RoleAssistant}[r.IntN(2)]
			text := listOf(*c)
			got, ok := lists.Messages(text, role)
			want, wanted := without(text, role)
			if ok {
				remembered++
				if !wanted || !identical(got, want) {
					t.Fatalf("seed %d: %s\nbecame %+v\nwant   %+v (%t)", seed, text, got, want, wanted)
				}
				parts := CloneParts(got)
				for i := range got { // the list belongs to the caller, and so do the clones
					got[i].Parts = parts[i].Parts
					for j := range got[i].Parts {
						got[i].Parts[j].Text, got[i].Parts[j].Label = "changed", tape.Lossy
					}
					got[i].Parts = append(got[i].Parts, TextPart("more"))
				}
			}
			if len(*c) > 40 || !wanted {
				*c = nil
			}
		}
		if remembered == 0 {
			t.Fatalf("seed %d: no list was read", seed)
		}
	}
}

// identical reports messages that nothing tells apart, down to the spelling of their values.
func identical(got, want []Message) bool {
	return cmp.Equal(got, want, cmp.Comparer(func(a, b exactjson.Value) bool { return a.Kind() == b.Kind() && a.JSON() == b.JSON() }))
}

// The elements that two turns have in common are read once.
func TestAResentConversationIsReadOnce(t *testing.T) {
	var lists Lists
	var turns []string
	for turn := range 50 {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":"question %d"},{"role":"assistant","content":"answer %d"}`, turn, turn))
		if _, ok := lists.Messages(listOf(turns), tape.RoleUser); !ok {
			t.Fatal("no list")
		}
		if _, ok := lists.Messages(listOf([]string{turns[turn], turns[0]}), tape.RoleUser); !ok {
			t.Fatal("no list")
		}
		if len(lists.known) > maxLists {
			t.Fatalf("%d lists are remembered", len(lists.known))
		}
	}
	text := listOf(turns)
	of, elements := lists.longest(text, tape.RoleUser)
	if elements < 2*len(turns) || len(of.out) < 2*len(turns) {
		t.Errorf("%d elements and %d messages are known of a list with %d", elements, len(of.out), 2*len(turns)+1)
	}
}

func FuzzLists(f *testing.F) {
	for _, e := range listElements {
		f.Add(listOf([]string{e}), listOf([]string{e, e}))
		f.Add(listOf([]string{`1`, e}), listOf([]string{`12`, e}))
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		var lists Lists
		for _, text := range []string{first, second, first} {
			got, ok := lists.Messages(text, tape.RoleUser)
			if !ok {
				continue
			}
			if want, wanted := without(text, tape.RoleUser); !wanted || !identical(got, want) {
				t.Fatalf("%q became %+v, want %+v", text, got, want)
			}
		}
	})
}
