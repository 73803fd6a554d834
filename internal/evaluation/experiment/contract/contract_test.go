// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestToolKeysAreThoseOfWhatifd(t *testing.T) {
	data, err := os.ReadFile("testdata/tool-cache-keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Label, Key string
		Tool       string `json:"tool_name"`
		Args       string `json:"args_json"`
		SHA256     string `json:"key_sha256"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		got, err := ToolKey(c.Tool, c.Args)
		if err != nil {
			t.Errorf("%s: %v", c.Label, err)
			continue
		}
		if sum := sha256.Sum256([]byte(got)); got != c.Key || hex.EncodeToString(sum[:]) != c.SHA256 {
			t.Errorf("%s:\n got %s\nwant %s", c.Label, got, c.Key)
		}
	}
}

func TestToolKeyOf(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "f::{}",
		"null":                          "f::{}",
		`{"a":[1,{"b":null}],"A":true}`: `f::{"A":true,"a":[1,{"b":null}]}`,
		`{"x":"\ud83d\ude00\ude00"}`:    `f::{"x":"\ud83d\ude00\ude00"}`,
		`{"\u00e9":1,"é":2}`:            `f::{"\u00e9":2}`,
		`{"n":1E5,"m":1e-5,"o":12e-1}`:  `f::{"m":1e-05,"n":100000.0,"o":1.2}`,
	} {
		if got, err := ToolKey("f", args); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", args, got, err, want)
		}
	}
	for args, want := range map[string]error{
		`[]`: ErrNotObject, `"x"`: ErrNotObject, `{"a":`: ErrNotObject, `{"a":1}{}`: ErrNotObject, `{"a":NaN}`: ErrNotObject, `{"a" 1}`: ErrNotObject,
		`{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`: ErrTooDeep,
		`{"a":` + strings.Repeat("9", 5000) + `}`:                           ErrTooLong,
	} {
		if got, err := ToolKey("f", args); !errors.Is(err, want) {
			t.Errorf("%.40s: %.40s %v", args, got, err)
		}
	}
}

func FuzzToolKey(f *testing.F) {
	for _, s := range []string{`{"a":1.0,"b":"\ud800x","c":[{}]}`, `{"a":-0.0e400}`, "{\"\xff\":\"\x00\"}", `{"a":{"a":1,"a":2}}`, ``, `{`} {
		f.Add("tool", s)
	}
	f.Fuzz(func(t *testing.T, tool, args string) {
		key, err := ToolKey(tool, args)
		if err != nil {
			return
		}
		// the key of the arguments that a key shows is the key, unless a number is out of the range of JSON
		again := strings.TrimPrefix(key, tool+"::")
		if strings.Contains(again, "Infinity") {
			return
		}
		if second, err := ToolKey(tool, again); err != nil || second != key {
			t.Errorf("%q\n%q: %q %v", args, key, second, err)
		}
	})
}

func TestNoListAndNoObjectIsWrittenAsNull(t *testing.T) {
	c := ScoreCase{Original: TraceOutput{ToolSpans: []ToolSpan{{Name: "s"}}}}
	for _, of := range []struct {
		value any
		want  string
	}{
		{c, `{"trace_id":"","cohort":"","input":{"metadata":{},"user_message":""},"original_output":{"text":"","tool_spans":[{"name":"s","kind":"tool","tool_call_id":null,` +
			`"input":null,"output":null,"args":null,"attributes":{}}]},"replayed_output":{"text":"","tool_spans":[],"metadata":{}},"metadata":{}}`},
		{&TraceOutput{}, `{"text":"","tool_spans":[]}`},
		{ReplayConfig{}, `{"model":null,"overrides":{},"system_prompt":null}`},
	} {
		got, err := json.Marshal(of.value)
		if err != nil || string(got) != of.want {
			t.Errorf("%s, %v; want %s", got, err, of.want)
		}
	}
}

func TestReadReplayOutput(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"minimal":   {`{"text":""}`, `{"text":"","tool_spans":[],"metadata":{}}`},
		"unknown":   {`{"text":"a","more":1,"Text":7}`, `{"text":"a","tool_spans":[],"metadata":{}}`},
		"a span":    {`{"text":"a","tool_spans":[{"name":"s"}]}`, `{"text":"a","tool_spans":[{"name":"s","kind":"tool","tool_call_id":null,"input":null,"output":null,"args":null,"attributes":{}}],"metadata":{}}`},
		"no text":   {`{}`, "output.text"},
		"null text": {`{"text":null}`, "output.text"},
		"a number":  {`{"text":1}`, "output.text"},
		"null":      {`null`, "output:"},
		"list":      {`[]`, "output:"},
		"spans":     {`{"text":"","tool_spans":null}`, "output.tool_spans:"},
		"name":      {`{"text":"","tool_spans":[{}]}`, "output.tool_spans.0.name"},
		"args":      {`{"text":"","tool_spans":[{"name":"s","args":[1]}]}`, "output.tool_spans.0.args"},
		"id":        {`{"text":"","tool_spans":[{"name":"s","tool_call_id":1}]}`, "output.tool_spans.0.tool_call_id"},
		"metadata":  {`{"text":"","metadata":[]}`, "output.metadata"},
		"objects":   {`{"text":"","tool_spans":[{"name":"s","input":{"a": 1},"output":3}]}`, `{"text":"","tool_spans":[{"name":"s","kind":"tool","tool_call_id":null,"input":"{\"a\":1}","output":"3","args":null,"attributes":{}}],"metadata":{}}`},
		"persons":   {`{"text":"","tool_spans":[{"name":"s","attributes":{"user.id":"u1","x":2}}]}`, `{"text":"","tool_spans":[{"name":"s","kind":"tool","tool_call_id":null,"input":null,"output":null,"args":null,"attributes":{"user.id":null,"x":2}}],"metadata":{}}`},
	} {
		out, err := ReadReplayOutput(json.RawMessage(c.in))
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error()+":", c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got, _ := json.Marshal(out); string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if name == "persons" && (len(out.Withheld) != 1 || out.Withheld[0] != "user.id") {
			t.Errorf("withheld %v", out.Withheld)
		}
	}
}
