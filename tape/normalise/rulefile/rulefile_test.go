// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rulefile

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

func parse(tb testing.TB, text string) exactjson.Value {
	tb.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

func rules(tb testing.TB, text string) *normalise.Rules {
	tb.Helper()
	r, err := Read([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestPathsLeadToEveryPlace(t *testing.T) {
	const doc = `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"id":4,"x y":5,"list":[1,2,3]}`
	for path, want := range map[string]string{
		"$":              `"<ignored>"`,
		"$.id":           `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"x y":5,"list":[1,2,3]}`,
		"$.a.b[1].id":    `{"a":{"id":1,"b":[{"id":2},{}]},"id":4,"x y":5,"list":[1,2,3]}`,
		"$.a.b[*].id":    `{"a":{"id":1,"b":[{},{}]},"id":4,"x y":5,"list":[1,2,3]}`,
		"$.a.b.*.id":     `{"a":{"id":1,"b":[{},{}]},"id":4,"x y":5,"list":[1,2,3]}`,
		"$..id":          `{"a":{"b":[{},{}]},"x y":5,"list":[1,2,3]}`,
		"$.a..id":        `{"a":{"b":[{},{}]},"id":4,"x y":5,"list":[1,2,3]}`,
		"$['x y']":       `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"id":4,"list":[1,2,3]}`,
		`$["x y"]`:       `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"id":4,"list":[1,2,3]}`,
		"$.list[1]":      `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"id":4,"x y":5,"list":[1,"<ignored>",3]}`,
		"$..[2]":         `{"a":{"id":1,"b":[{"id":2},{"id":3}]},"id":4,"x y":5,"list":[1,2,"<ignored>"]}`,
		"$.nosuch.a[7]":  doc,
		"$.id.deeper":    doc,
		"$.list.id":      doc,
		"$.a.b[7].id[0]": doc,
	} {
		r, err := normalise.New([]normalise.Rule{{Path: path, Action: normalise.Ignore}})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := r.Apply("", "args", parse(t, doc)); !got.Equal(parse(t, want)) {
			t.Errorf("%s: %s, want %s", path, got.JSON(), want)
		}
	}
}

func TestFormsReplaceWhatHasThemAndNothingElse(t *testing.T) {
	for _, c := range []struct{ as, in, want string }{
		{"timestamp", `"at 2026-11-20T10:00:00.123Z, then 2026-11-20 10:00"`, `"at <timestamp>, then <timestamp>"`},
		{"timestamp", `"Fri, 20 Nov 2026 10:00:00 GMT"`, `"<timestamp>"`},
		{"timestamp", `1763632800`, `"<timestamp>"`},
		{"timestamp", `1763632800123`, `"<timestamp>"`},
		{"timestamp", `"1763632800123456789"`, `"<timestamp>"`},
		{"timestamp", `42`, `42`},
		{"timestamp", `"2026-11-20"`, `"<timestamp>"`},
		{"timestamp", `"on 2026-11-20"`, `"on 2026-11-20"`},
		{"date", `"on 2026-11-20"`, `"on <date>"`},
		{"uuid", `"id F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6."`, `"id <uuid>."`},
		{"uuid", `"f81d4fae"`, `"f81d4fae"`},
		{"hex", `"trace 4bf92f3577b34da6a3ce929d0e0e4736"`, `"trace <hex>"`},
		{"request_id", `"req_011CT8xyzABC failed"`, `"<request_id> failed"`},
		{"request_id", `"read_only"`, `"read_only"`},
		{"request_id", `"0af7651916cd"`, `"<request_id>"`},
		{"number", `-1.5e3`, `"<number>"`},
		{"number", `"took 12 ms"`, `"took <number> ms"`},
		{"any", `{"a":1}`, `"<any>"`},
		{"any", `"two\nlines"`, `"<any>"`},
	} {
		r, err := normalise.New([]normalise.Rule{{Path: "$", Action: normalise.Normalise, As: c.as}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Apply("f", "result", parse(t, c.in)).JSON(); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.as, c.in, got, c.want)
		}
	}
}

func TestRulesHoldForTheirToolAndFields(t *testing.T) {
	r := rules(t, `
rules:
  - {tool: search, path: $.at, action: ignore, in: [result]}
  - {tool: "*", path: $.n, action: normalise, as: number}
  - {path: $.session, action: normalise, pattern: 's[0-9]+'}
`)
	for _, c := range []struct{ tool, field, want string }{
		{"search", "result", `{"n":"<number>","session":"<pattern>"}`},
		{"search", "args", `{"at":1,"n":"<number>","session":"<pattern>"}`},
		{"other", "result", `{"at":1,"n":"<number>","session":"<pattern>"}`},
		{"", "text", `{"at":1,"n":2,"session":"<pattern>"}`},
	} {
		if got := r.Apply(c.tool, c.field, parse(t, `{"at":1,"n":2,"session":"s17"}`)).JSON(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.field, got, c.want)
		}
	}
	if got := (*normalise.Rules)(nil).Apply("f", "args", parse(t, "1")).JSON(); got != "1" {
		t.Error(got)
	}
}

func TestTheRulesOfAnOracleHoldForArguments(t *testing.T) {
	r := rules(t, `
version: 1
callers: ignore
default: {policy: sticky, normalise: [{path: $.at, as: timestamp}]}
tools:
  search: {idempotent: true, ignore: [$.session, "$['it\\'s']"], calls: [{args_hash: x, policy: any}]}
`)
	const args = `{"at":"2026-11-20T10:00:00Z","session":"s","it's":1}`
	for _, c := range []struct{ tool, field, want string }{
		{"search", "args", `{"at":"<timestamp>"}`},
		{"other", "args", `{"at":"<timestamp>","session":"s","it's":1}`},
		{"search", "result", args},
		{"", "args", args},
	} {
		if got := r.Apply(c.tool, c.field, parse(t, args)).JSON(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.field, got, c.want)
		}
	}
	if _, err := Read([]byte("version: 2")); err == nil {
		t.Error("a later version is accepted")
	}
}

func TestAPathLeadsIntoTextThatHoldsJSON(t *testing.T) {
	r := rules(t, `rules: [{tool: "*", path: "$.at", action: normalise, as: timestamp}]`)
	text := exactjson.StringValue(` {"at": "2026-11-20T10:00:00Z", "n": 1}`)
	if got := r.Apply("f", "result", text); !got.Equal(parse(t, `{"at":"<timestamp>","n":1}`)) {
		t.Error(got.JSON())
	}
	for _, other := range []string{"plain", "{broken", "[1"} {
		if got := r.Apply("f", "result", exactjson.StringValue(other)); got.Str() != other {
			t.Error(got.JSON())
		}
	}
}

func TestBadRulesAreRefusedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{path: a, action: ignore}]":                            "rule 1, path \"a\": not a path",
		"rules: [{path: $, action: ignore}, {path: $.a, action: drop}]": `rule 2, path "$.a": action "drop"`,
		"rules: [{path: $, action: normalise}]":                         "one of as and pattern",
		"rules: [{path: $, action: normalise, as: uuid, pattern: x}]":   "one of as and pattern",
		"rules: [{path: $, action: normalise, as: nosuch}]":             "none of timestamp",
		"rules: [{path: $, action: normalise, pattern: '('}]":           "pattern: error parsing regexp",
		"rules: [{path: $, action: ignore, as: uuid}]":                  "neither as nor pattern",
		"rules: [{path: $, action: ignore, colour: red}]":               "colour",
		"rule: []": "rule",
		"rules: [{path: '$.a..b..c..d', action: ignore}]":                                     "too many steps",
		"rules: []\n---\nrules: []":                                                           "more than one document",
		"rules: [{path: '$" + strings.Repeat(".a", 40) + "', action: ignore}]":                "too many steps",
		"rules: [" + strings.Repeat("{path: $, action: ignore},", normalise.MaxRules+1) + "]": "at most 1000",
		"rules: " + strings.Repeat(" ", MaxBytes):                                             "at most 1048576",
		"\x00": "read rules",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	for _, path := range []string{"", "a", "$a", "$.", "$..", "$.[0]", "$[", "$[a]", "$['a", "$[-1]", "$[99999999999]", "$.a b", "$...a"} {
		if _, err := normalise.New([]normalise.Rule{{Path: path, Action: normalise.Ignore}}); err == nil {
			t.Errorf("%q is accepted", path)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("rules: [{tool: '*', path: '$..at', action: normalise, as: timestamp}, {path: '$.a[*][\"b c\"]', action: ignore}]", `{"a":[{"b c":"{\"at\":1763632800}"}]}`)
	f.Add("rules: [{path: $, action: normalise, pattern: 'a*'}]", `"aaa"`)
	f.Add("rules: [{path: $..*, action: ignore}]", `[[1],{"a":[]}]`)
	f.Fuzz(func(t *testing.T, file, value string) {
		r, err := Read([]byte(file))
		if err != nil {
			return
		}
		v, err := exactjson.Parse(value)
		if err != nil {
			return
		}
		once := r.Apply("f", "args", v)
		if again := r.Apply("f", "args", v); !again.Equal(once) {
			t.Errorf("%s then %s", once.JSON(), again.JSON())
		}
		if once.IsAbsent() {
			t.Error("nothing is left")
		}
		if v.JSON() != parse(t, value).JSON() {
			t.Error("the value itself changed")
		}
	})
}
