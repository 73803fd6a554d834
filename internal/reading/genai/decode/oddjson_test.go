// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestArgumentsOfAnOddValueAreKeptAsTheyWereWritten(t *testing.T) {
	for args, kept := range map[string]string{
		`{"n":NaN}`:                "",
		`{"n":[1,-Infinity]}`:      "",
		`{"n":undefined}`:          "",
		`{"n":007,"m":0x1F}`:       "",
		`{"n":"cake \ud83c"}`:      "",
		`{"n\udc00":1}`:            "",
		`{"n":"a\xb"}`:             "",
		`{"n":1,"n":2}`:            "",
		`{"n":"a` + "\n" + `b"}`:   `{"n":"a\nb"}`, // the control character says what it is
		`{"n":{"m":{"n":NaN}}}`:    "",
		`{"n":"\ud83c\udf82 é"}`:   `{"n":"🎂 é"}`, // strict beside what is odd elsewhere
		`"{\"n\": \"\\ud83c\"}"`:   "?",
		`{"input":{"n":Infinity}}`: `{"input":"{\"n\":Infinity}"}`,
	} {
		text := `[{"role":"user","content":"q \ud83c"},{"role":"assistant","parts":[{"type":"text","content":"both"},{"type":"tool_call","id":"c1","name":"f","arguments":` + args + `}]}]`
		messages, ok := OddMessages(text, tape.RoleUser)
		if !ok || len(messages) != 2 || len(messages[1].Parts) != 2 {
			t.Errorf("%s: %+v", args, messages)
			continue
		}
		if asked := messages[0].Parts[0]; asked.Text != "q \ufffd" || asked.Label != tape.Lossy {
			t.Errorf("the question is %q, labelled %q", asked.Text, asked.Label)
		}
		part := messages[1].Parts[1]
		switch {
		case kept == "?":
		case kept == "" && (part.Args.Str() != args || part.Label != tape.Lossy):
			t.Errorf("%s is %s, labelled %q", args, part.Args.JSON(), part.Label)
		case kept != "" && part.Args.JSON() != kept:
			t.Errorf("%s is %s, want %s", args, part.Args.JSON(), kept)
		}
		if messages[1].Parts[0].Label != "" {
			t.Errorf("%s: the text beside it is labelled", args)
		}
	}
}

func TestNamesThatStandTwiceAroundMessagesLoseNone(t *testing.T) {
	messages, ok := OddMessages(`[{"role":"user","role":"user","content":"q"},{"role":"assistant","content":"a"}]`, tape.RoleUser)
	if !ok || len(messages) != 2 || messages[0].Parts[0].Text != "q" || messages[1].Parts[0].Text != "a" {
		t.Errorf("%+v", messages)
	}
}

func TestANameIsFoundAgainHoweverFarItStands(t *testing.T) {
	var between strings.Builder
	for i := range 200 {
		fmt.Fprintf(&between, `"n%d":0,`, i)
	}
	messages, ok := OddMessages(`[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"n0":1,`+between.String()+`"z":1}}}]}]`, tape.RoleUser)
	if !ok || len(messages) != 2 || messages[1].Parts[0].Label != tape.Lossy {
		t.Errorf("%v %+v", ok, messages)
	}
}

func TestTextsThatAreNotOddAreLeftToOthers(t *testing.T) {
	for _, text := range []string{
		`[{"role":"user","content":"q"}]`, `[{"role":"user","content":"q`, `[{"role":"user","content":NaN`, `{'role': 'user'}`, `NaN and so on`, ``, `[`,
		`[{"role":"user","content":NaN,"name":"\uFFFF"}]`,
		strings.Repeat("[", 1<<16) + "NaN", `[{"role":"user","content":NaN}] and more`,
	} {
		if messages, ok := OddMessages(text, tape.RoleUser); ok {
			t.Errorf("%.40s: %+v", text, messages)
		}
	}
}

func FuzzOddJSON(f *testing.F) {
	for _, seed := range []string{
		`[{"role":"user","content":"q \ud83c"}]`, `{"arguments":{"n":NaN}}`, `{"a":1,"a":{"a":2,"a":3}}`, `[+1,.5,0x10,-Infinity]`, `"\u12"`, `{"result":"\ud83c\ud83c\udf82"}`, "{\"a\":\"\x00\xff\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := readOdd(text)
		if _, err := exactjson.Parse(text); err == nil && ok {
			t.Errorf("%q is strict", text)
		}
		if ok {
			if _, err := exactjson.Parse(v.JSON()); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		messages, _ := OddMessages(text, tape.RoleUser)
		for _, m := range messages {
			for _, p := range m.Parts {
				if strings.Contains(p.Text+p.Name+p.ID+p.Args.JSON()+p.Result.JSON(), oddMark) {
					t.Errorf("%q: a mark is left in %+v", text, p)
				}
			}
		}
	})
}
