// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func valuesOf(text string, opts Options) (got []string) {
	plain, done, err := Plain(strings.NewReader(text), opts)
	if err != nil {
		return []string{err.Error()}
	}
	defer done()
	for v, err := range Values(plain, "in", opts, "data") {
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, fmt.Sprintf("%d %s", v.Line, v.Text))
		}
	}
	return got
}

func TestValuesAreFoundInLinesArraysAndEnvelopes(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"{\"a\":1}\n{\"b\":\n2}{\"c\":3}", []string{`1 {"a":1}`, "2 {\"b\":\n2}", `3 {"c":3}`}},
		{"\xef\xbb\xbf[{\"a\":1},\n {\"b\":[{}]}]\n{}", []string{`1 {"a":1}`, `2 {"b":[{}]}`, "3 {}"}},
		{"{\"meta\":{\"data\":[1]},\n\"data\" : [{\"a\":1},\n{\"data\":[]}],\"x\":{\"y\":\"]}\"}}\n{\"b\":1}", []string{`2 {"a":1}`, `3 {"data":[]}`, `4 {"b":1}`}},
		{"{\"a\":1}\nnoise\n{\"b\":\"cut\n{\"c\":1}", []string{`1 {"a":1}`, "in:2: malformed: no JSON object starts here", "in:3: truncated: the line ends within a string", `4 {"c":1}`}},
		{`[{"a":1},{"b"`, []string{`1 {"a":1}`, "in:1: truncated: the document is not closed at the end of the input"}},
		{`[{"a":1},`, []string{`1 {"a":1}`, "in:1: truncated: the array is not closed at the end of the input"}},
		{`{"data":[{"a":1}]`, []string{`1 {"a":1}`, "in:1: truncated: the document is not closed at the end of the input"}},
		{"[1,2]", []string{"in:1: malformed: no JSON object starts here"}},
		{`{"data":[]}`, []string{"in: empty input"}},
		{"", []string{"in: empty input"}},
	} {
		if diff := cmp.Diff(test.want, valuesOf(test.text, Options{})); diff != "" {
			t.Errorf("%q:\n%s", test.text, diff)
		}
	}
}

func TestBoundsHoldForValues(t *testing.T) {
	got := valuesOf("{\"a\":\""+strings.Repeat("x", 1<<20)+"\"}\n{\"b\":1}", Options{MaxDocument: 1 << 10})
	if diff := cmp.Diff([]string{"in:1: too large: a document of more than 1024 bytes", `2 {"b":1}`}, got); diff != "" {
		t.Error(diff)
	}
	got = valuesOf(strings.Repeat("{\"a\":1}\n", 1<<20), Options{MaxTotal: 1 << 20})
	if last := got[len(got)-1]; !strings.Contains(last, "too large") || len(got) > 1<<18 {
		t.Error(len(got), last)
	}
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{"{\"a\":1}\n{\"b\":\n2}", `[{"a":[]},{}]`, `{"x":1,"data":[{"a":"]"},{}],"y":{}}`, "{\"data\":[\n{\"a\":\"x\n", "x\n{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range valuesOf(text, Options{MaxTotal: 1 << 20, MaxDocument: 1 << 16}) {
			if len(v) > 1<<17 {
				t.Error("too long")
			}
		}
	})
}

func TestTellsTelemetryFromOtherFiles(t *testing.T) {
	json := compact(t, fixture(t, "forge_happy.otlp.json"))
	for name, head := range map[string][]byte{
		"JSON": json, "indented": fixture(t, "forge_happy.otlp.json"), "array": joined([]byte("[\n"), json), "logs": fixture(t, "openai_plain_answer.logs.json"),
		"protobuf": protobuf(t, json), "frames": frames(protobuf(t, json)), "frames of zstd": frames(zstded(t, json)), "frames of JSON": frames(json),
		"audit": []byte(`{"ts":"2026-11-20T16:18:56Z","event":"e","schema_version":"1.0"}`),
	} {
		if !Tells(head[:min(len(head), 64<<10)]) {
			t.Error(name, "is not told")
		}
	}
	for name, head := range map[string][]byte{
		"other JSON": []byte(`{"a":1}`), "metrics": []byte(`{"resourceMetrics":[]}`), "text": []byte("resourceSpans"), "empty": nil, "a line": []byte("\nA"), "ELF": []byte("\x7fELF\x02\x01\x01\x00\x00"),
		"png": []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "zeros": bytes.Repeat([]byte{0}, 600), "record": []byte(`{"ts":"x","a":1}`),
	} {
		if Tells(head) {
			t.Error(name, "is told")
		}
	}
}

func TestValuesStopWhenTheConsumerHasEnough(t *testing.T) {
	for _, text := range []string{`[{"a":1},{"a":2}]`, `{"data":[{"a":1},{"a":2}]}`, "{}\n{}", "x\n{}", `[{"a":1`, `[1]`} {
		plain, done, err := Plain(strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range Values(plain, "in", Options{}, "data") {
			n++
			break
		}
		if done(); n != 1 {
			t.Error(text, n)
		}
	}
}
