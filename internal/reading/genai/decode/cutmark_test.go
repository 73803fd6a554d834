// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestCutJSONIsClosedBehindTheMark(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [1, 23`:                       `{"a": [1],"⟂":true}`,
		`{"a":[{"b":[`:                       `{"a":[{"b":[],"⟂":true}]}`,
		`[{"role": "user", "content": "Ho`:   `[{"role": "user", "content": "Ho⟂"}]`,
		`{"a": 1, "b`:                        `{"a": 1,"⟂":true}`,
		`{"a": 1, "b"`:                       `{"a": 1,"⟂":true}`,
		`{"a": 1, "b" :`:                     `{"a": 1, "b" :"⟂"}`,
		`{"a": 1, "b": tr`:                   `{"a": 1, "b": "⟂"}`,
		`{"a": 1, "b": 1.`:                   `{"a": 1, "b": "⟂"}`,
		`{"a": 1,`:                           `{"a": 1,"⟂":true}`,
		`{`:                                  `{"⟂":true}`,
		`[`:                                  `[]`,
		`[{"a":1}`:                           `[{"a":1}]`,
		`{"a": "x\`:                          `{"a": "x⟂"}`,
		`{"a": "x\u00e`:                      `{"a": "x⟂"}`,
		`{"a": "x\ud83d`:                     `{"a": "x⟂"}`,
		`{"a": "x\ud83d\ude`:                 `{"a": "x⟂"}`,
		`{"arguments": "{\"a\": 1, \"b`:      `{"arguments": "{\"a\": 1,\"⟂\":true}"}`,
		`{"arguments": "{\"a\": \"so it g`:   `{"arguments": "{\"a\": \"so it g⟂\"}"}`,
		`"as a text`:                         `"as a text⟂"`,
		`So said the model`:                  `So said the model⟂`,
		`[INFO] started`:                     `[INFO] started⟂`,
		`{'a': 'b', 'c`:                      `{'a': 'b', 'c⟂`,
		`{"a": 1} and`:                       `{"a": 1} and⟂`,
		`"Yes", said the model, "that is it`: `"Yes", said the model, "that is it⟂`,
	} {
		if got := strings.ReplaceAll(MarkCut(text), cutMark, "⟂"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{`{"a": 1}`, `[]`, `"a"`, ` {"a": "b"} `} {
		if got := MarkCut(text); got != text {
			t.Errorf("%s is whole, and became %s", text, got)
		}
	}
}

func TestMarksComeOutAsLabels(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":"so it g`:  `{"a":1,"b":"so it g"}`,
		`{"a":1,"b`:            `{"a":1}`,
		`{"a":{"c":[1,2,3`:     `{"a":{"c":[1,2]}}`,
		`{"a":"{\"c\":1,\"d`:   `{"a":"{\"c\":1}"}`,
		`{"a":"{\"c\":\"text`:  `{"a":"{\"c\":\"text\"}"}`,
		`He said: "I will not`: `"He said: \"I will not"`,
	} {
		marked := MarkCut(text)
		c := Args(exactjson.StringValue(marked))
		cut := UnmarkContent(&c)
		if got := c.Value.JSON(); got != want || cut != strings.Contains(marked, cutMark) || cut && c.Label != tape.Truncated {
			t.Errorf("%s: %s, label %q, want %s", text, got, c.Label, want)
		}
	}
}

func TestMessagesAreReadAsFarAsTheyGo(t *testing.T) {
	marked := MarkCut(`[{"role":"user","content":"How many?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"A\"}"}},` +
		`{"id":"c2","type":"function","function":{"name":"sto`)
	v, err := exactjson.Parse(marked)
	if err != nil {
		t.Fatal(marked, err)
	}
	messages, _ := Messages(v, tape.RoleUser)
	if !UnmarkMessages(messages) {
		t.Error("no mark was found")
	}
	if len(messages) != 2 || messages[0].Parts[0].Label != "" || len(messages[1].Parts) != 1 || messages[1].Parts[0].Name != "stock" || messages[1].Parts[0].Label != "" {
		t.Errorf("%+v", messages)
	}
}

func FuzzMarkCut(f *testing.F) {
	whole := `{"a":[1,{"b":"x\u00e4\ud83d\ude00 \"y\""},"{\"c\":\"[\\\"d\\\"]\"}",null,-1.5e3],"e":{}}`
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add("plain text")
	f.Fuzz(func(t *testing.T, text string) {
		marked := MarkCut(text)
		if marked == text {
			return
		}
		if EndsInside(text) {
			v, err := exactjson.Parse(marked)
			if errors.Is(err, exactjson.ErrSyntax) {
				t.Fatalf("%q became %q: %v", text, marked, err)
			}
			if without, _ := UnmarkValue(v); strings.Contains(without.JSON(), cutMark) {
				t.Fatalf("%q keeps a mark: %s", text, without.JSON())
			}
			return
		}
		if back, was := Unmark(marked); !was || back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}
