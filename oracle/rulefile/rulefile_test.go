// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rulefile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

func parse(t *testing.T, text string) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const all = `
version: 1
rules:
  - {tool: http_request, path: "$.headers['x-request-id']", action: ignore, in: [args]}
  - {tool: "*", path: $.since, action: normalise, as: timestamp}
  - {path: $.session, action: normalise, pattern: 's[0-9]+'}
  - {tool: http_request, path: $.took, action: ignore, in: [result]}
callers: ignore
default: {policy: sticky}
tools:
  http_request:
    calls:
      - args_hash: sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
        policy: any
  clock: {mode: live}
  weather: {idempotent: true}
  pay: {mode: error}
`

func TestRulesFileSaysHowToolsAreMatched(t *testing.T) {
	rules, err := Read([]byte(all))
	if err != nil {
		t.Fatal(err)
	}
	http := rules.Tools["http_request"]
	if !rules.AnyCaller || rules.Default.Policy != oracle.Sticky || len(http.Calls) != 1 {
		t.Errorf("%+v", rules)
	}
	for tool, mode := range map[string]oracle.Mode{"clock": oracle.ModeLive, "weather": oracle.ModeLive, "pay": oracle.ModeError, "http_request": ""} {
		if rules.Tools[tool].Mode != mode {
			t.Errorf("%s: %q", tool, rules.Tools[tool].Mode)
		}
	}
	const args = `{"headers":{"x-request-id":"a","b":1},"since":"2026-11-20T10:00:00Z","session":"s17","took":3}`
	for tool, want := range map[string]string{
		"http_request": `{"headers":{"b":1},"since":"<timestamp>","session":"<pattern>","took":3}`,
		"clock":        `{"headers":{"x-request-id":"a","b":1},"since":"<timestamp>","session":"<pattern>","took":3}`,
	} {
		if got := rules.Reduce(tool, parse(t, args)); !got.Equal(parse(t, want)) {
			t.Errorf("%s: %s, want %s", tool, got.JSON(), want)
		}
	}
}

// One file of each form that was written before: what it says is the same in the form of now.
func TestOlderFormsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		old   string
		rules []normalise.Rule
	}{
		"of comparisons": {`
rules:
  - {tool: search, path: $.took_ms, action: ignore, in: [result]}
  - {path: $, action: normalise, as: uuid}
`, []normalise.Rule{
			{Tool: "search", Path: "$.took_ms", Action: normalise.Ignore, In: []string{"result"}},
			{Path: "$", Action: normalise.Normalise, As: "uuid"},
		}},
		"of oracles": {`
version: 1
default: {policy: sticky, normalise: [{path: $.at, as: timestamp}]}
tools:
  search: {idempotent: true, ignore: [$.session, "$['it\\'s']"]}
`, []normalise.Rule{
			{Tool: "search", Path: "$.session", Action: normalise.Ignore, In: normalise.Arguments},
			{Tool: "search", Path: `$['it\'s']`, Action: normalise.Ignore, In: normalise.Arguments},
			{Tool: "*", Path: "$.at", Action: normalise.Normalise, As: "timestamp", In: normalise.Arguments},
		}},
	} {
		got, err := Read([]byte(c.old))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.rules, got.Values); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestRulesFileErrorsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "empty",
		"version: 2":                           "version is 2",
		"tools: {}":                            "version is 0",
		"version: 1\n---\nversion: 1":          "more than one document",
		"version: 1\ncallers: fuzzy":           "callers",
		"version: 1\ntools: {t: {polcy: any}}": "polcy",
		"version: 1\ntools: {t: {policy: cycle}}":                  "policy",
		"version: 1\ntools: {t: {mode: fast}}":                     "mode",
		"version: 1\ntools: {t: {mode: strict, idempotent: true}}": "idempotent",
		"version: 1\ntools: {t: {ignore: [x]}}":                    "not a path",
		"rules: [{path: $.a, action: drop}]":                       `rule 1, path "$.a": action "drop"`,
		"rules: [{path: $, action: ignore, colour: red}]":          "colour",
		"rule: []": "rule",
		"version: 1\ntools: {t: {normalise: [{path: $, as: uuid, in: [args]}]}}": "field in not found",
		"version: 1\ndefault: {normalise: [{path: $.a, as: colour}]}":            "colour",
		"version: 1\ndefault: {normalise: [{path: a, as: uuid}]}":                "not a path",
		"version: 1\ntools: {t: {calls: [{args_hash: abc, policy: any}]}}":       "args_hash",
		"version: 1\ntools: {t: {mode: live}, t: {mode: error}}":                 "already defined",
		"version: 1\nx: &a [*a]": "",
		"version: 1\ntools:\n" + strings.Repeat("  t: {mode: live}\n", 1<<16) + "": "larger",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestProposalsAreARulesFile(t *testing.T) {
	text := Proposals([]oracle.Proposal{
		{ToolName: "a", Path: "$.x", Why: "the answer varies"},
		{ToolName: "b", Path: "$.id", As: "uuid", Sure: true, Why: "varies in 2 of 2 pairs of calls, the answer does not"},
		{ToolName: "b", Path: "$['odd \"name']", Sure: true, Why: "varies"},
		{ToolName: "b", Path: "$.y", Why: "the answer varies"},
	}, 3)
	rules, err := Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := []normalise.Rule{
		{Tool: "b", Path: "$.id", Action: normalise.Normalise, As: "uuid", In: normalise.Arguments},
		{Tool: "b", Path: `$['odd "name']`, Action: normalise.Ignore, In: normalise.Arguments},
	}
	if d := cmp.Diff(want, rules.Values); d != "" || !strings.Contains(string(text), `not proposed: "a" "$.x"`) {
		t.Errorf("%s\n%s", d, text)
	}
	if rules, err = Read(Proposals(nil, 2)); err != nil || len(rules.Values) != 0 {
		t.Error(err)
	}
}

func TestDeclaredToolsAreLive(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"MCP": {`{"jsonrpc":"2.0","id":1,"result":{"tools":[
			{"name":"read","inputSchema":{},"annotations":{"title":"Read","readOnlyHint":true}},
			{"name":"put","annotations":{"idempotentHint":true,"destructiveHint":false}},
			{"name":"index","annotations":{"idempotentHint":true}},
			{"name":"delete","annotations":{"idempotentHint":true,"destructiveHint":true}},
			{"name":"send","annotations":{"destructiveHint":false}},{"name":"plain"}]}}`, []string{"index", "put", "read"}},
		"bare": {`{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}]}`, []string{"read"}},
		"Forge": {`
agent_id: stock-helper
version: 0.3.1
model: {provider: openai, name: gpt-4o}
tools:
  - name: http_request
    type: builtin
    config: {timeout: 30}
    idempotent: true
  - name: cli_execute
`, []string{"http_request"}},
	} {
		got, err := Declared([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, text := range []string{"", "{}", "tools: [{}]", "tools: x", "\x00"} {
		if _, err := Declared([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(all)
	f.Add(`{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if rules, err := Read([]byte(text)); err == nil {
			if _, err := oracle.New(nil, oracle.Options{Rules: rules}); err != nil {
				t.Error(err)
			}
		}
		_, _ = Declared([]byte(text)) // must not panic
	})
}
