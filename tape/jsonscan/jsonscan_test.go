// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestTokensHaveTheirOffsets(t *testing.T) {
	const text = ` {"a":[1,-2.5e+3 ,true],"b\n":{},"c":"\u00e9"} null`
	names := map[Kind]string{Open: "open", Close: "close", String: "string", Key: "key", Number: "number", Literal: "literal", End: "end"}
	var got []string
	for s := New(text, 0); ; {
		tok := s.Next()
		got = append(got, fmt.Sprintf("%s %s %d %t", names[tok.Kind], text[tok.Start:tok.End], s.Depth(), tok.Escaped))
		if tok.Kind == End || tok.Kind == Bad {
			break
		}
	}
	want := `open { 1 false
key "a" 1 false
open [ 2 false
number 1 2 false
number -2.5e+3 2 false
literal true 2 false
close ] 1 false
key "b\n" 1 true
open { 2 false
close } 1 false
key "c" 1 false
string "\u00e9" 1 true
close } 0 false
literal null 0 false
end  0 false`
	if g := strings.Join(got, "\n"); g != want {
		t.Error(g)
	}
	if s := New("x[1]", 1); s.Next().Kind != Open || s.Next().Start != 2 || s.Next().Kind != Close || s.Offset() != 4 {
		t.Error("a scanner does not begin where it is told to")
	}
}

func TestFaultsHaveAPlaceAndSayWhatIsMissing(t *testing.T) {
	for text, want := range map[string]string{
		`{"a" 1}`:      "5 a colon",
		`{a`:           "1 a member name",
		`{"a":1,}`:     "7 a member name",
		`[1,]`:         "3 a value",
		`[`:            "1 a value",
		`[1 2]`:        "3 a comma or ]",
		`{"a":1 "b"`:   "7 a comma or }",
		`[01]`:         "2 a comma or ]",
		`[-]`:          "2 a digit",
		`[1.]`:         "3 a digit",
		`[1e+]`:        "4 a digit",
		`1x`:           "1 the end of the document",
		`"\x"`:         "2 a known escape",
		`"\u12g4"`:     "2 four hex digits",
		`"\u+123"`:     "2 four hex digits",
		`"a`:           "2 a closing quote",
		`"\`:           "2 an escape",
		"\"a\tb\"":     "2 an escaped control character",
		`tru`:          "0 a value",
		`]`:            "0 a value",
		`[}`:           "1 a value",
		`{"a":{"b":1]`: "11 a comma or }",
	} {
		s := New(text, 0)
		tok := s.Next()
		for tok.Kind != Bad && tok.Kind != End {
			tok = s.Next()
		}
		if got := fmt.Sprint(tok.End, " ", s.Want()); tok.Kind != Bad || got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestDeepNestingCostsNoStack(t *testing.T) {
	const levels = 1 << 22
	if text := strings.Repeat("[", levels) + strings.Repeat("]", levels); !Valid(text) {
		t.Error("not read")
	}
}

// FuzzScanner compares with encoding/json, and checks that tokens and what may stand between them are all of the text.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,true,null,"x\u00e9"]}`, `[[],{},""]`, "1 2", "[01]", "\"\xff\"", `{"a":1,"a":2}`, "-0", "{}{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 5000 {
			return // encoding/json bounds the depth
		}
		s := New(text, 0)
		values, at := 0, 0
		var tok Token
		for {
			tok = s.Next()
			if tok.Start < at || tok.End < tok.Start || tok.End > len(text) {
				t.Fatalf("%q: %+v after %d", text, tok, at)
			}
			if between := strings.Trim(text[at:tok.Start], " \t\r\n,:"); between != "" {
				t.Fatalf("%q: %q was passed over", text, between)
			}
			if tok.Kind == Bad || tok.Kind == End {
				break
			}
			if at = tok.End; s.Depth() == 0 {
				values++
			}
		}
		if got, want := tok.Kind == End && values == 1, json.Valid([]byte(text)); got != want {
			t.Errorf("%q: %t, encoding/json says %t", text, got, want)
		}
		if got := tok.Kind == End && values > 0; got != Valid(text) {
			t.Errorf("%q: Valid says %t", text, !got)
		}
	})
}
