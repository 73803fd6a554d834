// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestPythonLiteralsAreParsedOnlyWhenTheyAreLiterals(t *testing.T) {
	for text, want := range map[string]string{
		`{'a': 1, 'b': [True, False, None]}`:     `{"a":1,"b":[true,false,null]}`,
		`{"it's": "O'Neil", 'q': 'say "hi"'}`:    `{"it's":"O'Neil","q":"say \"hi\""}`,
		`{'a': 'it\'s', 'b': "a\"b"}`:            `{"a":"it's","b":"a\"b"}`,
		`[1, -2.5, 1e+20, 12345678901234567890]`: `[1,-2.5,1e+20,12345678901234567890]`,
		`()`:                                     `[]`,
		`(1,)`:                                   `[1]`,
		`(1, 'two')`:                             `[1,"two"]`,
		`[(1, 2), {'a': ()}]`:                    `[[1,2],{"a":[]}]`,
		`{}`:                                     `{}`,
		`[]`:                                     `[]`,
		`[1, 2,]`:                                `[1,2]`,
		`{'a': '\x41\u00e9\U0001f600\n\t\\'}`:    `{"a":"Aé😀\n\t\\"}`,
		`['one' "two" 'three']`:                  `["onetwothree"]`,
		`['''a 'quoted' text''', ""]`:            `["a 'quoted' text",""]`,
		`{'nested': {'deep': {'er': [[[['x']]]]}}}`: `{"nested":{"deep":{"er":[[[["x"]]]]}}}`,
		"  {'a': 1}\n":         `{"a":1}`,
		`{'ключ': 'значение'}`: `{"ключ":"значение"}`,
	} {
		v, lossy, ok := decode.Python(text)
		if !ok || lossy || v.JSON() != want {
			t.Errorf("%s is %s (lossy %t, ok %t), want %s", text, v.JSON(), lossy, ok, want)
		}
	}
	for _, text := range []string{
		`{'when': datetime.datetime(2026, 1, 1, 0, 0)}`, `[HumanMessage(content='hi')]`, `{'o': <object at 0x7f>}`, `{1, 2}`, `{'a'}`, `{'b': b'bytes'}`, `{'a': 1, 'a': 2}`,
		`{1: 'a'}`, `{'a': 1`, `{'a': 'cut`, `[1, 2`, `[1 2]`, `{'a' 1}`, `{'a': }`, `[,]`, `{,}`, `[1,,2]`, `{'a': 1} and more`, `[Truth]`, `['\N{BULLET}']`, `['\ud83d']`, `[1+2j]`,
		`[inf]`, `[nan]`, `[f'x']`, `[...]`, `{'a': {...}}`, `[--1]`, `[1.2.3]`, `[0x10]`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		if v, lossy, ok := decode.Python(text); !ok || !lossy || !v.IsAbsent() {
			t.Errorf("%.60s is %s (lossy %t, ok %t), want nothing and lossy", text, v.JSON(), lossy, ok)
		}
	}
	for _, text := range []string{``, ` `, `None`, `True`, `plain words`, `'a'`, `12`, `Foo(a=1)`} {
		if _, _, ok := decode.Python(text); ok {
			t.Errorf("%q does not start like a container", text)
		}
	}
}

// FuzzPythonLiterals: no text crashes the parser, a literal that was written by repr is read back, and what is read is written by
// repr as a text that is read as the same.
func FuzzPythonLiterals(f *testing.F) {
	for _, text := range []string{
		`{'a': 1, "b": [True, None, (1.5, 'x')]}`, `['\x41\u00e9' "two"]`, `('''a''',)`, `{'a': Foo(1)}`, `[1e400]`, "['a\nb']", `[-0, -0.0, 007, 1_0]`, `(1)`, `['\ud83d\ude00']`,
		"{'a': '\xff'}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, lossy, ok := decode.Python(text)
		if lossy && !ok || (lossy || !ok) && !v.IsAbsent() {
			t.Fatalf("value %s, lossy %t, ok %t", v.JSON(), lossy, ok)
		}
		if v.IsAbsent() {
			return
		}
		if v.Kind() != exactjson.Array && v.Kind() != exactjson.Object {
			t.Fatalf("a container is %s", v.JSON())
		}
		repr := appendRepr(nil, v)
		again, lossy, ok := decode.Python(string(repr))
		if !ok || lossy || !again.Equal(v) {
			t.Fatalf("%s is written %s and read as %s", v.JSON(), repr, again.JSON())
		}
	})
}

// appendRepr writes a value as Python's repr does.
func appendRepr(b []byte, v exactjson.Value) []byte {
	switch v.Kind() {
	case exactjson.Null:
		return append(b, "None"...)
	case exactjson.Bool:
		return append(b, map[bool]string{true: "True", false: "False"}[v.True()]...)
	case exactjson.Number:
		return append(b, v.Text()...)
	case exactjson.String:
		return appendReprString(b, v.Str())
	}
	open, end := byte('['), byte(']')
	if v.Kind() == exactjson.Object {
		open, end = '{', '}'
	}
	b = append(b, open)
	for i, m := range v.Members() {
		if i > 0 {
			b = append(b, ", "...)
		}
		if v.Kind() == exactjson.Object {
			b = append(appendReprString(b, m.Name), ": "...)
		}
		b = appendRepr(b, m.Value)
	}
	return append(b, end)
}

func appendReprString(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b = append(b, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = append(b, string(r)...)
		case r < 0x100:
			b = append(b, `\x`...)
			b = append(b, padded(r, 2)...)
		case r < 0x10000:
			b = append(b, `\u`...)
			b = append(b, padded(r, 4)...)
		default:
			b = append(b, `\U`...)
			b = append(b, padded(r, 8)...)
		}
	}
	return append(b, quote)
}

func padded(r rune, digits int) string {
	hex := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(hex)) + hex
}
