// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package normalise

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func parse(tb testing.TB, text string) exactjson.Value {
	tb.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

func rules(tb testing.TB, list ...Rule) *Rules {
	tb.Helper()
	r, err := New(list)
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
		r, err := New([]Rule{{Path: path, Action: Ignore}})
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
		r, err := New([]Rule{{Path: "$", Action: Normalise, As: c.as}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Apply("f", "result", parse(t, c.in)).JSON(); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.as, c.in, got, c.want)
		}
	}
}

func TestRulesHoldForTheirToolAndFields(t *testing.T) {
	r := rules(t,
		Rule{Tool: "search", Path: "$.at", Action: Ignore, In: []string{"result"}},
		Rule{Tool: "*", Path: "$.n", Action: Normalise, As: "number"},
		Rule{Path: "$.session", Action: Normalise, Pattern: "s[0-9]+"})
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
	if got := (*Rules)(nil).Apply("f", "args", parse(t, "1")).JSON(); got != "1" {
		t.Error(got)
	}
}

func TestAPathLeadsIntoTextThatHoldsJSON(t *testing.T) {
	r := rules(t, Rule{Tool: "*", Path: "$.at", Action: Normalise, As: "timestamp"})
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
	for want, list := range map[string][]Rule{
		`rule 1, path "a": not a path`:      {{Path: "a", Action: Ignore}},
		`rule 2, path "$.a": action "drop"`: {{Path: "$", Action: Ignore}, {Path: "$.a", Action: "drop"}},
		"one of as and pattern":             {{Path: "$", Action: Normalise}},
		`"$.b": normalise takes one of as`:  {{Path: "$.b", Action: Normalise, As: "uuid", Pattern: "x"}},
		"none of timestamp":                 {{Path: "$", Action: Normalise, As: "nosuch"}},
		"pattern: error parsing regexp":     {{Path: "$", Action: Normalise, Pattern: "("}},
		"neither as nor pattern":            {{Path: "$", Action: Ignore, As: "uuid"}},
		`"$.a..b..c..d": too many steps`:    {{Path: "$.a..b..c..d", Action: Ignore}},
		`.a.a.a": too many steps`:           {{Path: "$" + strings.Repeat(".a", 33), Action: Ignore}},
		"at most 1000":                      make([]Rule, MaxRules+1),
	} {
		if _, err := New(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, path := range []string{"", "a", "$a", "$.", "$..", "$.[0]", "$[", "$[a]", "$['a", "$[-1]", "$[99999999999]", "$.a b", "$...a"} {
		if _, err := New([]Rule{{Path: path, Action: Ignore}}); err == nil {
			t.Errorf("%q is accepted", path)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("$..at", "timestamp", "", `{"a":[{"b c":"{\"at\":1763632800}"}]}`)
	f.Add(`$.a[*]["b c"]`, "", "", `{"a":[{"b c":"{\"at\":1763632800}"}]}`)
	f.Add("$", "", "a*", `"aaa"`)
	f.Add("$..*", "", "", `[[1],{"a":[]}]`)
	f.Fuzz(func(t *testing.T, path, as, pattern, value string) {
		rule := Rule{Path: path, Action: Normalise, As: as, Pattern: pattern}
		if as == "" && pattern == "" {
			rule.Action = Ignore
		}
		r, err := New([]Rule{rule})
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
