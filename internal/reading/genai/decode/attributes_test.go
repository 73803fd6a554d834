// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

func TestBytesThatAreATextAreRead(t *testing.T) {
	for raw, want := range map[string]string{
		`{"messages":[{"role":"user","content":"Grüße"}]}`: `{"messages":[{"role":"user","content":"Grüße"}]}`,
		"a\tb\n":          "a\tb\n",
		"\x00\x01\x02":    "AAEC",
		"\xff\xfe\xfdabc": "//79YWJj",
	} {
		m := pcommon.NewMap()
		m.PutEmptyBytes("k").FromRaw([]byte(raw))
		v, _ := m.Get("k")
		if got := decode.JSONOf(v).Str(); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
		if got := decode.Attributes(m).Text("k"); got != "" && got != raw {
			t.Errorf("%q: text %q", raw, got)
		}
	}
}

// A list of integers is a text only if they are the bytes of JSON.
func TestListOfTheBytesOfJSONIsRead(t *testing.T) {
	for raw, read := range map[string]bool{`{"messages":[{"role":"user","content":"Grüße"}]}`: true, "just some words, no JSON": false} {
		m := pcommon.NewMap()
		list := m.PutEmptySlice("k")
		for _, b := range []byte(raw) {
			list.AppendEmpty().SetInt(int64(b))
		}
		if got := decode.Attributes(m).Text("k"); (got == raw) != read {
			t.Errorf("%q: %q", raw, got)
		}
		if v, _ := m.Get("k"); (decode.JSONOf(v).Str() == raw) != read {
			t.Errorf("%q: %s", raw, decode.JSONOf(v).JSON())
		}
	}
}
