// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const goldenTapes = "../../testdata/golden/"

// variant writes a copy of a golden tape, changed, and returns its path.
func variant(t *testing.T, golden string, change func(t *tape.Tape)) string {
	t.Helper()
	data, err := os.ReadFile(goldenTapes + golden)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	change(tp)
	return sealed(t, tp)
}

// sealed writes a tape with the digest that its content demands.
func sealed(t *testing.T, tp *tape.Tape) string {
	t.Helper()
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	return write(t, "tape.json", string(tp.AppendJSON(nil)))
}

const chain = "langchain-openinference/research_chain.json"

func otherCall(t *tape.Tape) { t.Events[3].Name = "browse" }
func otherResult(t *tape.Tape) {
	t.Events[1].Result = t.Events[3].Result
}

func TestBisectSaysWhereRunsDiverge(t *testing.T) {
	a := goldenTapes + chain
	changed := variant(t, chain, func(t *tape.Tape) { otherResult(t); otherCall(t) })
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{a, a}, exitOK, "The runs are alike: 7 events, no difference.\n"},
		{[]string{a, changed}, exitPartial, "The runs part at event 2: `search` returned something else: only in A it has hits ("},
		{[]string{a, changed, "--compare", "actions"}, exitPartial, "The runs part at event 4: `browse` stands where A has `lookup`.\n"},
		{[]string{a, changed, "--compare", "actions"}, exitPartial, "note: 1 event is alike in what counts, not in the rest (--compare all counts it); the first is event 2\n"},
		{[]string{a, changed, "--compare", "actions", "--ignore", "name"}, exitOK, "The runs do not part in what counts (--compare actions); yet at event 2: `search` returned "},
		{[]string{a, a, changed}, exitPartial, "The runs are alike: 7 events, no difference.\n"},
		{[]string{"--good", a, "--bad", changed, "--good", a}, exitPartial, "  tool search, event 2 (turn 1) of "},
		{[]string{"--good", a, "--bad", a}, exitOK, "Every event is as frequent"},
	} {
		got := tapedeck(t, append([]string{"bisect"}, c.args...)...)
		if got.code != c.code || got.stderr != "" || !strings.Contains(got.stdout, c.want) {
			t.Errorf("%v: %d %s%s, want %q", c.args, got.code, got.stdout, got.stderr, c.want)
		}
	}
}

func TestDiffSaysWhatARunWasGiven(t *testing.T) {
	a := goldenTapes + chain
	warmer := variant(t, chain, func(t *tape.Tape) {
		for i := range t.Events {
			if t.Events[i].Type == tape.EventModelCall {
				t.Events[i].Model = "gpt-5"
			}
		}
	})
	got := tapedeck(t, "diff", a, warmer)
	if got.code != exitPartial || !strings.Contains(got.stdout, "Model\n  model\n    A \"gpt-4o-mini\"\n    B ") || !strings.HasPrefix(got.stdout, "The runs part at event 1: the model is `gpt-5` instead of `gpt-4o-mini`. Apart from the model they take the same steps.\n") || !strings.Contains(got.stdout, "input_tokens") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "diff", a, a); got.code != exitOK || !strings.Contains(got.stdout, "Model, prompt, tools and settings are the same.") {
		t.Errorf("%+v", got)
	}
	var document struct {
		Equal   bool
		A, B    struct{ Ref, RunID, TapeID string }
		Changes []compare.Change
		Events  *compare.Result
		Totals  []compare.Total
	}
	got = tapedeck(t, "diff", a, warmer, "--json")
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || document.Equal || len(document.Changes) == 0 || document.Events.First.A.Seq != 1 || len(document.Totals) == 0 {
		t.Errorf("%v: %+v", err, got)
	}
}

// What is printed is a contract: the members of the JSON, their order and their spelling.
func TestOutputOfBisectAndDiffIsStable(t *testing.T) {
	t.Setenv("COLUMNS", "160") // no path is folded
	const a = "testdata/full/tape.json"
	data, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	tp.Events[1].Args, tp.Events[1].Result = tp.Events[1].ExecutedArgs, exactjson.StringValue("4")
	tp.Events = slices.Delete(tp.Events, 4, 5)
	tp.Events[4].Seq, tp.Events[4].Model = 5, "m-2"
	b := sealed(t, tp)
	for name, args := range map[string][]string{
		"bisect.txt": {"bisect", a, b}, "bisect.json": {"bisect", a, b, "--json"}, "diff.txt": {"diff", a, b}, "diff.json": {"diff", a, b, "--json"},
		"separate.txt": {"bisect", "--good", a, "--bad", b}, "separate.json": {"bisect", "--good", a, "--bad", b, "--json"},
	} {
		got := tapedeck(t, args...)
		if got.code != exitPartial || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
		out := got.stdout
		for _, file := range []string{a, b} {
			full, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			out = strings.ReplaceAll(out, full, "/tapes/"+map[string]string{a: "a", b: "b"}[file]+".json")
		}
		if strings.HasSuffix(name, ".json") {
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(out), "", "  "); err != nil {
				t.Fatal(err)
			}
			out = indented.String()
		}
		golden(t, "compare/"+name, out)
	}
}

// Two frameworks record what the same tools returned as JSON and as text.
func TestRunsOfTwoFrameworksAreAlikeUnlessTypesCount(t *testing.T) {
	a, b := goldenTapes+chain, goldenTapes+"genkit/research_chain.json"
	got := tapedeck(t, "bisect", a, b)
	if got.code != exitOK || !strings.Contains(got.stdout, "note: 3 events are alike as JSON, not as text (--strict-types counts that)\n") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "bisect", a, b, "--strict-types"); got.code != exitPartial || !strings.HasPrefix(got.stdout, "The runs part at event 2: `search` returned ") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "bisect", a, b, "--json"); got.code != exitOK || !strings.Contains(got.stdout, `"json_text":3`) {
		t.Errorf("%+v", got)
	}
}

func TestColoursAreAsked(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	a := goldenTapes + chain
	b := variant(t, chain, otherCall)
	trace := agents + "openai-otel-contrib-nocontent/research_chain.otlp.json"
	for _, args := range [][]string{{"bisect", a, b}, {"diff", a, b}, {"show", a}, {"doctor", trace}} {
		for _, c := range []struct {
			color string
			want  bool
		}{{"", false}, {"auto", false}, {"never", false}, {"always", true}} { // the output of a test is no terminal
			line := args
			if c.color != "" {
				line = append(slices.Clone(args), "--color", c.color)
			}
			if got := tapedeck(t, line...); got.stderr != "" || strings.Contains(got.stdout, "\x1b[") != c.want {
				t.Errorf("%v: %q", line, got.stdout)
			}
		}
		if got := tapedeck(t, append(slices.Clone(args), "--color", "blue")...); got.code != exitFailed || got.stderr != "tapedeck: --color \"blue\" is none of auto, always and never\n" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestRulesOfAFileAreApplied(t *testing.T) {
	a := goldenTapes + chain
	b := variant(t, chain, otherResult)
	rules := write(t, "rules.yaml", "rules: [{tool: search, path: $, in: [result], action: ignore}]")
	if got := tapedeck(t, "bisect", a, b, "--rules", rules); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	bad := write(t, "rules.yaml", "rules: [{tool: search, path: x, action: ignore}]")
	if got := tapedeck(t, "bisect", a, b, "--rules", bad); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "rule 1, path") {
		t.Errorf("%+v", got)
	}
}

func TestThePageIsOneFile(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	got := tapedeck(t, "bisect", goldenTapes+chain, variant(t, chain, otherCall), "--html", page)
	data, err := os.ReadFile(page)
	if err != nil || got.code != exitPartial {
		t.Fatalf("%v %+v", err, got)
	}
	if html := string(data); !strings.Contains(html, "Content-Security-Policy") || strings.Contains(html, "src=") || strings.Contains(html, "href=") || strings.Contains(html, "<script") {
		t.Errorf("%.500s", html)
	}
}

func TestBisectAndDiffRefuseWhatTheyCannotLoad(t *testing.T) {
	a := goldenTapes + chain
	deckOfTwo, _ := newDeck(t)
	broken := write(t, "broken.json", "{")
	other := write(t, "other.json", `{"kind":"agent-tape","schema_version":"2.0"}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bisect"}, "bisect needs two tapes"},
		{[]string{"bisect", a}, "bisect needs two tapes"},
		{[]string{"bisect", a, "nosuch.json"}, "nosuch.json: no such file"},
		{[]string{"bisect", a, broken}, "read tape"},
		{[]string{"bisect", broken, a}, "read tape"},
		{[]string{"bisect", a, a, broken, "--json"}, "read tape"},
		{[]string{"bisect", a, other}, `schema_version "2.0" cannot be read`},
		{[]string{"bisect", a, deckOfTwo}, "is a deck"},
		{[]string{"bisect", a, a, "--compare", "some"}, `"some"`},
		{[]string{"bisect", a, a, "--ignore", "nosuch"}, `"nosuch"`},
		{[]string{"bisect", a, a, "--rules", "nosuch.yaml"}, "nosuch.yaml: no such file"},
		{[]string{"bisect", a, a, "--html", "/nosuch/page.html"}, "/nosuch/page.html: no such"},
		{[]string{"bisect", a, a, a, "--html", "x.html"}, "--html shows two tapes"},
		{[]string{"bisect", "--good", a}, "need each other"},
		{[]string{"bisect", "--good", a, "--bad", broken}, "read tape"},
		{[]string{"bisect", "--good", a, "--bad", a, a}, "repeat the flag"},
		{[]string{"diff", a}, "diff takes two tapes, not 1"},
		{[]string{"diff", a, broken}, "read tape"},
		{[]string{"diff", a, a, "--compare", "some"}, `"some"`},
	} {
		got := tapedeck(t, c.args...)
		if got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v, want %s", c.args, got, c.want)
		}
	}
}

func TestBisectTakesEveryKindOfREF(t *testing.T) {
	dir, folder := newDeck(t)
	for _, ref := range [][]string{{folder}, {"file://" + folder}, {folder + "/tape.json"}, {forgeRun, "--deck", dir}, {forgeRun[:8], "--deck", "file://" + dir}} {
		if got := tapedeck(t, append([]string{"bisect", folder}, ref...)...); got.code != exitOK {
			t.Errorf("%v: %+v", ref, got)
		}
	}
	if got := tapedeck(t, "bisect", "--good", dir, "--bad", folder, "--json"); got.code != exitPartial || !strings.Contains(got.stdout, `"good":2,"bad":1`) {
		t.Errorf("%+v", got)
	}
}

func TestBisectReadsS3(t *testing.T) {
	address := decktest.S3(t).URL
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for key, file := range map[string]string{"a/tape.json": goldenTapes + chain, "b/tape.json": variant(t, chain, otherCall)} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutNew(t.Context(), key, data, "application/json"); err != nil {
			t.Fatal(err)
		}
	}
	base, query := replay.SplitURL(address)
	a, b := base+"/a"+query, base+"/b/tape.json"+query
	if got := tapedeck(t, "bisect", a, a); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	for _, command := range []string{"bisect", "diff"} {
		got := tapedeck(t, command, a, b)
		if got.code != exitPartial || !strings.Contains(got.stdout, "`browse` stands where A has `lookup`") {
			t.Errorf("%+v", got)
		}
	}
	if got := tapedeck(t, "bisect", a, base+"/c"+query); got.code != exitFailed || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}
