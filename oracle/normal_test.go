// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// secrets verifies tokens by a table.
type secrets map[string]string

func (s secrets) VerifyToken(token, live string) bool { return s[token] == live && live != "" }

const (
	tokenA = "[REDACTED:github-token:aaaaaaaa]"
	tokenB = "[REDACTED:password:bbbbbbbb]"
)

func normalForm(t testing.TB) *Normal {
	t.Helper()
	rules, err := normalise.New([]normalise.Rule{{Path: "$", Action: normalise.Normalise, Pattern: `build \d+`}, {Path: "$.text", Action: normalise.Normalise, Pattern: `build \d+`}, {Path: "$.took", Action: normalise.Ignore}})
	if err != nil {
		t.Fatal(err)
	}
	ran := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	return &Normal{
		Rules: rules, Verifier: secrets{tokenA: "ghp_1", tokenB: "pass word"},
		Volatile: &normalise.Volatile{From: ran, Now: func() time.Time { return ran }},
	}
}

// TestEachToleranceIsFoundAloneAndWithTheOthers compares results that differ in several ways at once. What is
// needed is said, and nothing else.
func TestEachToleranceIsFoundAloneAndWithTheOthers(t *testing.T) {
	text := exactjson.StringValue
	parse := func(s string) exactjson.Value {
		v, err := exactjson.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	n := normalForm(t)
	for _, c := range []struct {
		name           string
		recorded, live exactjson.Value
		agrees         bool
		needs          Tolerance
	}{
		{"the same", text("a b"), text("a b"), true, 0},
		{"text of the same JSON", text(`{"a":1}`), parse(`{"a": 1}`), true, 0},
		{"a token", text("key " + tokenA + " end"), text("key ghp_1 end"), true, NeedsTokens},
		{"a token of another rule", text("key " + tokenA + " end"), text("key [REDACTED:high-entropy:aaaaaaaa] end"), true, NeedsTokens},
		{"a token of another value", text("key " + tokenA + " end"), text("key [REDACTED:github-token:aaaaaaab] end"), false, 0},
		{"a token that stands for something else", text("key " + tokenA + " end"), text("key ghp_2 end"), false, 0},
		{"a rule", text("build 7 ok"), text("build 8 ok"), true, NeedsRules},
		{"white space", text("a  b"), text("a b\n"), true, NeedsSpacing},
		{"an envelope", text("the whole of the text"), parse(`{"result":"the whole of the text"}`), true, NeedsForm},
		{"a volatile value", text("PGID: 12"), text("PGID: 77"), true, NeedsVolatile},
		{"a token and a rule", text("build 7 with " + tokenA), text("build 8 with ghp_1"), true, NeedsTokens | NeedsRules},
		{"a token and a volatile value in an envelope", text("at 2026-11-27T10:00:00Z: " + tokenA + ", done"), parse(`{"output":"at 2026-11-27T11:30:00Z: ghp_1, done"}`), true, NeedsTokens | NeedsForm | NeedsVolatile},
		{
			"all of it", parse(`{"text":"build 7  at 2026-11-27T10:00:00Z by ` + tokenA + ` and ` + tokenB + `","took":3}`),
			parse(`{"result":{"text":"build 9 at 2026-11-27T12:00:00Z by ghp_1 and pass word","took":4}}`), true, NeedsTokens | NeedsRules | NeedsForm | NeedsVolatile, // another form may have other spaces
		},
		{
			"all of it, and another word", parse(`{"text":"build 7  at 2026-11-27T10:00:00Z by ` + tokenA + ` and ` + tokenB + `","took":3}`),
			parse(`{"result":{"text":"build 9 at 2026-11-27T12:00:00Z by ghp_1 or pass word","took":4}}`), false, 0,
		},
		{"two tokens in other text", text("user " + tokenB + "\npid 4: " + tokenA), text("user pass word\npid 5: ghp_1"), true, NeedsTokens | NeedsVolatile},
		{"a token in JSON in a text", text(`{"a":"` + tokenA + `","pid":5}`), text(`{"pid": 6, "a": "ghp_1"}`), true, NeedsTokens | NeedsVolatile},
		{"the program's own mask", text("key ****** end, pid 4"), text("key " + tokenA + " end, pid 5"), true, NeedsTokens | NeedsVolatile},
		{"a word where the other side has a token", text("key word end, pid 4"), text("key " + tokenA + " end, pid 5"), false, 0},
		{"the beginning alone", text("a long answer of many words, 12 of them"), text("a long answer of many"), false, 0},
		{"a secret behind a mask of the recording", text("key " + tokenA + ", and many more words around it"), text("key other, and many more words around it"), false, 0},
	} {
		a := n.Agree(Compared{Tool: "sh", Field: "result", Recorded: c.recorded, Live: c.live, Result: true, Place: normalise.Output})
		if a.Agrees != c.agrees || a.Needs != c.needs {
			t.Errorf("%s: agrees %v, needs %b; want %v, %b (%s / %s)", c.name, a.Agrees, a.Needs, c.agrees, c.needs, a.Recorded.JSON(), a.Live.JSON())
		}
	}
}

// TestArgumentsAgreeInTheNormalForm asks an oracle for calls that differ from the recorded ones in several
// ways at once.
func TestArgumentsAgreeInTheNormalForm(t *testing.T) {
	const temporary = "/tmp/tmpq8_x1kz0/in.txt"
	entries := []Entry{
		{ToolName: "send", Args: exactjson.StringValue("to " + tokenA + " from " + temporary + ", build 3"), ArgsFidelity: Redacted, Response: "first"},
		{ToolName: "write", Args: exactjson.StringValue("def f():\n    return 1"), Response: "second"},
		{ToolName: "read", Args: exactjson.StringValue("/tmp/tmpaaaa1111"), Response: "third"},
		{ToolName: "read", Args: exactjson.StringValue("/tmp/tmpbbbb2222"), Response: "fourth"},
	}
	for i := range entries {
		entries[i].ArgsHash = Hash(entries[i].Args)
	}
	n := normalForm(t)
	rules := &Rules{Values: []normalise.Rule{{Path: "$", Action: normalise.Normalise, Pattern: `build \d+`, Tool: "*"}}}
	build := func(v *normalise.Volatile) *Session {
		o, err := New(entries, Options{Rules: rules, Verifier: n.Verifier, Volatile: v})
		if err != nil {
			t.Fatal(err)
		}
		return o.NewSession(0)
	}
	s, exact := build(n.Volatile), build(nil)
	for _, c := range []struct {
		tool, args string
		outcome    Outcome
		labels     string
		exact      Outcome
	}{
		{"send", "to ghp_1 from " + strings.Replace(temporary, "q8_x1kz0", "0_77fw2m", 1) + ", build 4", Hit, "rule redacted volatile args_redacted", NoEntry},
		{"send", "to ghp_2 from " + strings.Replace(temporary, "q8_x1kz0", "0_77fw2m", 1) + ", build 4", NoEntry, "", NoEntry},
		{"write", "def f():\n    return 1\n", Hit, "spacing", Hit},
		{"write", "def f():\n  return 1", NoEntry, "", NoEntry},
		{"read", "/tmp/tmpcccc3333", Ambiguous, "", NoEntry},
	} {
		q := Query{ToolName: c.tool, Args: exactjson.StringValue(c.args)}
		a, err := s.Answer(q)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, l := range a.Labels {
			labels = append(labels, string(l))
		}
		if got := strings.Join(labels, " "); a.Outcome != c.outcome || got != c.labels {
			t.Errorf("%s %q: %s %q, want %s %q", c.tool, c.args, a.Outcome, got, c.outcome, c.labels)
		}
		if a, err := exact.Answer(q); err != nil || a.Outcome != c.exact {
			t.Errorf("%s %q, exact: %s %v", c.tool, c.args, a.Outcome, err)
		}
	}
}

// FuzzNormal compares any two texts: it ends, a value agrees with itself without help, and what agrees by
// nothing but tokens and renaming holds the recorded literal words.
func FuzzNormal(f *testing.F) {
	f.Add("key "+tokenA+" at 2026-11-27T10:00:00Z pid 4", "key ghp_1 at 2026-11-27T12:00:00Z pid 9")
	f.Add(`{"result":"`+tokenA+`","pid":5}`, `{"pid":6,"result":"ghp_1"}`)
	f.Add("/tmp/tmpaaaa1111/x 7f3a10c9 0x7f3a10", "/tmp/tmpbbbb2222/x 7f3a10d0 0x7f3b20")
	f.Add(strings.Repeat("1", 200)+tokenA+tokenB+tokenA, strings.Repeat("1 ", 200))
	n := normalForm(f)
	f.Fuzz(func(t *testing.T, recorded, live string) {
		for _, of := range []exactjson.Value{exactjson.StringValue(recorded), parsedText(exactjson.StringValue(recorded))} {
			for _, place := range []normalise.Place{normalise.Said, normalise.Prompt, normalise.Output} {
				c := Compared{Tool: "t", Field: "result", Recorded: of, Live: of, Result: true, Place: place}
				if a := n.Agree(c); !a.Agrees || a.Needs != 0 {
					t.Fatalf("%q does not agree with itself: %b", recorded, a.Needs)
				}
				c.Live = parsedText(exactjson.StringValue(live))
				if a := n.Agree(c); a.Agrees && a.Needs == 0 && !sameValue(c.Recorded, c.Live) {
					t.Fatalf("%q and %q agree without help", recorded, live)
				} else if a.Agrees && a.Needs&NeedsVolatile != 0 && len(a.Pairs) == 0 {
					t.Fatalf("%q and %q: volatile, and nothing is renamed", recorded, live)
				}
			}
		}
	})
}
