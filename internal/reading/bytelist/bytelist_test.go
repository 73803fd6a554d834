// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package bytelist_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/bytelist"
)

func list(numbers ...int64) pcommon.Slice {
	s := pcommon.NewSlice()
	for _, n := range numbers {
		s.AppendEmpty().SetInt(n)
	}
	return s
}

func TestText(t *testing.T) {
	const text = `{"a":"Grüße, 世界"}`
	var bytes []int64
	for _, b := range []byte(text) {
		bytes = append(bytes, int64(b))
	}
	if got, ok := bytelist.Text(list(bytes...)); !ok || got != text {
		t.Errorf("%q %t", got, ok)
	}
	many := func(n int64) []int64 {
		out := make([]int64, 20)
		for i := range out {
			out[i] = n
		}
		return out
	}
	mixed := list(bytes...)
	mixed.At(3).SetStr("x")
	for name, s := range map[string]pcommon.Slice{
		"few": list(bytes[:15]...), "cut within a character": list(bytes[:strings.IndexByte(text, 0xC3)+1]...), "none": list(), "controls": list(many(1)...),
		"more than a byte": list(many(256)...), "negative": list(many(-1)...), "no UTF-8": list(many(0xFF)...), "a string among them": mixed,
	} {
		if got, ok := bytelist.Text(s); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user"}]}`))
	f.Add([]byte{0xff, 0xfe})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var numbers []int64
		for _, b := range raw {
			numbers = append(numbers, int64(b))
		}
		if text, ok := bytelist.Text(list(numbers...)); ok && text != string(raw) {
			t.Errorf("%q of %q", text, raw)
		}
	})
}
