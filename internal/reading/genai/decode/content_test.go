// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestArgumentsAreDecodedWithoutLoss(t *testing.T) {
	for _, c := range []struct {
		name, text, value string
		label             tape.Label
		masked            bool
	}{
		{"an object", `{"x": 1}`, `{"x":1}`, "", false},
		{"a big integer", `{"id":12345678901234567890}`, `{"id":12345678901234567890}`, "", false},
		{"an object encoded twice", `"{\"x\":1}"`, `{"x":1}`, "", false},
		{"an object encoded three times", `"\"{\\\"x\\\":1}\""`, `{"x":1}`, "", false},
		{"a text encoded once", `"hello"`, `"hello"`, "", false},
		{"a number", `7`, `7`, "", false},
		{"a Python dict", `{'x': None}`, `{"x":null}`, "", false},
		{"a Python dict, encoded", `"{'x': None}"`, `{"x":null}`, "", false},
		{"a Python list in a text", `"['x']"`, `"['x']"`, "", false},
		{"a Python call in a text", `"{'x': Foo(1)}"`, `"{'x': Foo(1)}"`, "", false},
		{"a Python call", `{'x': Foo(1)}`, `"{'x': Foo(1)}"`, tape.Lossy, false},
		{"plain words", `look here`, `"look here"`, "", false},
		{"empty", ``, `""`, "", false},
		{"masked", `__REDACTED__`, `"__REDACTED__"`, tape.Masked, false},
		{"sanitized", `[redacted:tool-input:prt_1]`, `"[redacted:tool-input:prt_1]"`, tape.Masked, false},
		{"a masked leaf", `{"key":"[REDACTED]","x":1}`, `{"key":"[REDACTED]","x":1}`, tape.Lossy, true},
		{"a masked credential", `{"Authorization":"Bearer [REDACTED]"}`, `{"Authorization":"Bearer [REDACTED]"}`, tape.Lossy, true},
		{"scrubbed", `{"key":"it was [Scrubbed due to 'auth'] before"}`, `{"key":"it was [Scrubbed due to 'auth'] before"}`, tape.Lossy, true},
		{"a leaf that speaks of a mask", `{"key":"the word [REDACTED] in it"}`, `{"key":"the word [REDACTED] in it"}`, "", false},
		{"cut by Gemini CLI", `{"x":"aaaaaaaaaaaaaaaaaaaaaa...[TRUNCATED: original length 20000]`, `"{\"x\":\"aaaaaaaaaaaaaaaaaaaaaa...[TRUNCATED: original length 20000]"`, tape.Truncated, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decode.Args(genaitest.Text(c.text))
			if got.Value.JSON() != c.value || got.Label != c.label || got.Masked != c.masked || got.Text != c.text {
				t.Errorf("%s, label %q, masked %t, text %q", got.Value.JSON(), got.Label, got.Masked, got.Text)
			}
		})
	}
	if got := decode.Args(genaitest.Parse(t, `{"x":"{\"y\":1}"}`)); got.Value.JSON() != `{"x":"{\"y\":1}"}` || got.Text != "" {
		t.Errorf("a structured value is changed: %+v", got)
	}
}

func TestResultStaysWhatItIsUnlessTheDialectEncodesEveryResult(t *testing.T) {
	for _, c := range []struct{ text, plain, encoded string }{
		{`{"a":1}`, `"{\"a\":1}"`, `{"a":1}`},
		{`"text"`, `"\"text\""`, `"text"`},
		{`"{\"a\":1}"`, `"\"{\\\"a\\\":1}\""`, `"{\"a\":1}"`}, // decoded exactly once
		{`text`, `"text"`, `"text"`},
		{`12`, `"12"`, `12`},
	} {
		if got := decode.Result(genaitest.Text(c.text), false); got.Value.JSON() != c.plain {
			t.Errorf("%s is %s, want %s", c.text, got.Value.JSON(), c.plain)
		}
		if got := decode.Result(genaitest.Text(c.text), true); got.Value.JSON() != c.encoded {
			t.Errorf("%s, encoded, is %s, want %s", c.text, got.Value.JSON(), c.encoded)
		}
	}
}

func TestMarkersOfProducersAreRecognised(t *testing.T) {
	long := strings.Repeat("x", 40)
	for text, want := range map[string]tape.Label{
		"__REDACTED__": tape.Masked, "<REDACTED>": tape.Masked, "[REDACTED]": tape.Masked, "readacted": tape.Masked, "FILTERED": tape.Masked,
		"[Scrubbed due to 'password']": tape.Masked, "": "", "filtered": "", "REDACTED": "", "it was [REDACTED]": "",
		long + "...[TRUNCATED: original length 20000]":            tape.Truncated,
		long + "...[TRUNCATED: original length 20000] and more":   "",
		long + "[... telemetry preview truncated ...]":            tape.Truncated,
		long + "[OUTPUT TRUNCATED -- original length: 500 chars]": "", // Forge writes it into what the model saw
		long + "...": "", // an ellipsis is no marker
	} {
		if got := decode.LabelOf(text); got != want {
			t.Errorf("%.60q is %q, want %q", text, got, want)
		}
	}
}

func TestForgeCutIsRecognisedByMarkerAndLength(t *testing.T) {
	cut := func(kept, original int) string {
		return strings.Repeat("x", kept) + fmt.Sprintf("…[truncated:%d]", original)
	}
	const kept = 4069 // of 4096 bytes, the rest is room for the marker
	for _, original := range []int{4097, 5000, 99_999, 1_000_000} {
		if got := decode.LabelOf(cut(kept, original)); got != tape.Truncated {
			t.Errorf("a value of %d bytes cut by Forge is %q", original, got)
		}
	}
	for name, text := range map[string]string{
		"shorter than the limit":      cut(100, 5000),
		"longer than the limit":       cut(kept+1, 5000),
		"cut of a value that fits":    cut(kept, 4000),
		"marker inside":               cut(kept, 5000) + "x",
		"marker with another ending":  strings.Repeat("x", kept) + "...[truncated:5000]",
		"marker without a number":     strings.Repeat("x", kept+4) + "…[truncated:]",
		"a number beyond all numbers": cut(kept, 5000)[:kept] + "…[truncated:99999999999999999999999]",
	} {
		if got := decode.LabelOf(text); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	split := strings.Repeat("x", kept-1) + "\xc3" + "…[truncated:5000]" // the cut may split a rune
	if got := decode.LabelOf(split); got != tape.Truncated {
		t.Errorf("a cut within a rune is %q", got)
	}
}

func TestCutMessageListKeepsItsCompleteLeadingMessages(t *testing.T) {
	whole := `[{"role":"user","content":"a ] } \" [ {"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]`
	for cut := range len(whole) {
		got := decode.LeadingElements(whole[:cut])
		if got.Kind() != exactjson.Array {
			t.Fatalf("cut at %d: %s", cut, got.JSON())
		}
		for i, m := range got.Members() {
			if diff := cmp.Diff(genaitest.Parse(t, whole).At(i).JSON(), m.Value.JSON()); diff != "" {
				t.Fatalf("cut at %d, element %d:\n%s", cut, i, diff)
			}
		}
		if want := strings.Count(whole[:cut], `},{"role"`); got.Len() < want {
			t.Fatalf("cut at %d: %d elements, want %d", cut, got.Len(), want)
		}
	}
	for _, text := range []string{"", "[", "{", `{"a":1},`, `x[{"a":1}`, `]}]}]`, `[[1],[2`, `["a","b`} {
		if got := decode.LeadingElements(text); got.Kind() != exactjson.Array {
			t.Errorf("%q gives %s", text, got.JSON())
		}
	}
}

// FuzzLeadingElements: the complete elements of a cut array are a prefix of those of the whole.
func FuzzLeadingElements(f *testing.F) {
	f.Add(`[{"role":"user","content":"a\"]}"},{"a":[{"b":{}}]},1,"x",[{}]]`, 30)
	f.Add(`[[{"a":1}],{"b":2}] [{"c":3}]`, 25)
	f.Add(`]`, 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if got := decode.LeadingElements(text); got.Kind() != exactjson.Array {
			t.Fatalf("%s", got.JSON())
		}
		whole, err := exactjson.Parse(text)
		if err != nil || whole.Kind() != exactjson.Array || cut < 0 || cut > len(text) {
			return
		}
		got := decode.LeadingElements(text[:cut])
		if got.Len() > whole.Len() {
			t.Fatalf("%d elements of %d", got.Len(), whole.Len())
		}
		for i, m := range got.Members() {
			if !m.Value.Equal(whole.At(i)) {
				t.Fatalf("element %d is %s, not %s", i, m.Value.JSON(), whole.At(i).JSON())
			}
		}
	})
}

func TestTextInPlaceOfAnObjectIsNoResult(t *testing.T) {
	for text, present := range map[string]bool{"[object ToolMessage]": false, "[object Object]": false, "[object Object], and more": true, "[object of desire]": true} {
		if got := decode.Result(exactjson.StringValue(text), false).Present(); got != present {
			t.Errorf("%s: present %t", text, got)
		}
	}
}

// A marker that tools write too tells a cut only at a round length.
func TestCutToARoundNumberOfCharacters(t *testing.T) {
	for length, want := range map[int]tape.Label{8192: tape.Truncated, 4000: tape.Truncated, 8193: "", 500: ""} {
		const marker = "...[truncated]"
		if got := decode.LabelOf(strings.Repeat("é", length-len(marker)) + marker); got != want {
			t.Errorf("%d characters: %q, want %q", length, got, want)
		}
	}
}

// Arguments may have members of the names that schemas have.
func TestSchemasAreToldFromArguments(t *testing.T) {
	for text, schema := range map[string]bool{
		`{"type":"object","properties":{"x":{"type":"string"}}}`: true,
		`{"x":{"type":"string"},"y":{"type":"INTEGER"}}`:         true,
		`{"x":{"type":["string","null"]}}`:                       true,
		`{"x":{"description":"the city"}}`:                       true,
		`{"x":{"type":"Path","description":"the file"}}`:         true,
		`{"x":{"type":"vip"}}`:                                   false,
		`{"x":{"type":["north","south"],"id":"7"}}`:              false,
		`{"x":{"type":{"total":1}}}`:                             false,
		`{"x":{"description":{"en":"the city"}}}`:                false,
		`{"x":{"type":"string"},"y":7}`:                          false,
		`{}`:                                                     false,
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode.IsSchema(v); got != schema {
			t.Errorf("%s: %t", text, got)
		}
	}
}
