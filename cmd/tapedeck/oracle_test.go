// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// forgeTruth is what really happened in a recorded run of Forge.
type forgeTruth struct {
	Calls []struct {
		Name    string  `json:"name"`
		ArgsRaw string  `json:"args_raw"`
		Result  *string `json:"result"`
		Error   *string `json:"error"`
	} `json:"tool_calls"`
}

// TestOraclesOfForgeRunsAreWhatHappened derives the oracle of every recorded run from its spans and replays the real calls against it. Each
// gets the real answer, or the entry says why it cannot.
func TestOraclesOfForgeRunsAreWhatHappened(t *testing.T) {
	truths, err := filepath.Glob("../../testdata/corpus/forge/*.truth.json")
	if err != nil || len(truths) == 0 {
		t.Fatal("no recorded runs", err)
	}
	calls, served, excused := 0, 0, 0
	for _, file := range truths {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var truth forgeTruth
		if err := json.Unmarshal(data, &truth); err != nil {
			t.Fatal(err)
		}
		if len(truth.Calls) == 0 {
			continue
		}
		dir := t.TempDir()
		got := tapedeck(t, "derive", strings.TrimSuffix(file, ".truth.json")+".otlp.json", "--to", dir, "--redact", "off")
		run := lines(t, got.stdout)
		if len(run) != 1 {
			t.Fatalf("%s: %+v", file, got)
		}
		derived := tapedeck(t, "oracle", "derive", run[0].URL)
		beside, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimPrefix(run[0].URL, "file://")), "oracle.json"))
		if err != nil || derived.code != exitOK || derived.stdout != string(beside) {
			t.Errorf("%s: derived is not what lies in the deck: %v %s", file, err, derived.stderr)
		}
		entries, err := oracle.Read([]byte(derived.stdout))
		if err != nil || len(entries) != len(truth.Calls) {
			t.Fatalf("%s: %d entries for %d calls, %v", file, len(entries), len(truth.Calls), err)
		}
		o, err := oracle.New(entries, oracle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		session := o.NewSession(0)
		for i, c := range truth.Calls {
			calls++
			args, err := exactjson.Parse(c.ArgsRaw)
			if err != nil {
				args = exactjson.StringValue(c.ArgsRaw)
			}
			a, err := session.Answer(oracle.Query{ToolName: c.Name, Args: args})
			if err != nil {
				t.Fatal(err)
			}
			want, failed := "", c.Error != nil
			if failed {
				// What the model was shown. The loop of the agent puts the first words there, so an oracle must not.
				want = strings.TrimPrefix(*c.Error, "Error executing tool "+c.Name+": ")
			} else {
				want = *c.Result
			}
			e := entries[i]
			switch {
			case a.Outcome.Served() && a.Entry.Response == want && a.Entry.IsError == failed:
				served++
			case a.Outcome.Served() && slices.Contains(a.Labels, oracle.ResponseLossy) && strings.Contains(a.Entry.Response, "[REDACTED]"):
				excused++ // Forge replaced a secret in it, and the label says so
			case a.Outcome == oracle.Unservable && a.Entry.ResponseFidelity == oracle.Truncated:
				excused++
			case a.Outcome == oracle.RedactedAmbiguous && e.ArgsFidelity == oracle.Lossy && strings.Contains(e.Args.JSON(), "[REDACTED]"):
				excused++
			default:
				t.Errorf("%s: call %d of %s: %s %v, want %.200q", file, i, c.Name, a.Outcome, a.Entry, want)
			}
		}
	}
	t.Logf("%d calls, %d served as they were, %d not served and labelled", calls, served, excused)
	if calls < 20 || served < calls-5 {
		t.Errorf("%d of %d calls were served", served, calls)
	}
}

// threeKeys is a consumer that knows nothing but the three keys.
const threeKeys = `import json,sys
for entry in json.load(open(sys.argv[1])):
    print(entry["tool_name"], entry["args_hash"], entry["response"])
`

func TestPlainConsumersReadThreeKeys(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal("python3 is not installed")
		}
		t.Skip("python3 is not installed")
	}
	_, folder := newDeck(t)
	file := filepath.Join(folder, "oracle.json")
	out, err := exec.Command(python, "-c", threeKeys, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := oracle.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&want, e.ToolName, e.ArgsHash, e.Response)
	}
	if d := cmp.Diff(want.String(), string(out)); d != "" || len(entries) == 0 {
		t.Error(d)
	}
}

// plainOracle is a file with the three keys only, for {"city":"Bern"}.
func plainOracle(t *testing.T, response string) string {
	t.Helper()
	hash := strings.TrimSpace(tapedeckWith(t, `{"city":"Bern"}`, "oracle", "hash").stdout)
	return write(t, "oracle.json", `[{"tool_name":"weather","args_hash":"`+hash+`","response":"`+response+`","run":"kept"}]`)
}

func TestOracleHashPrintsTheHash(t *testing.T) {
	rules := write(t, "rules.yaml", "version: 1\ntools: {weather: {ignore: [$.id]}}\n")
	const empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n"
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", nil, empty},
		{"{ }\n", []string{"--tool", "weather"}, empty},
		{`{"id":7}`, []string{"--tool", "weather", "--rules", rules}, empty},
		{`{ "a" : 1.0, "b" : 2e0 }`, nil, "sha256:43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777\n"},
		{`ls -la`, nil, "sha256-raw:1de700c29687cae34561545f50d3c8b3d9afe88e04cc11069f8a6dc6e4ce9464\n"},
	} {
		got := tapedeckWith(t, c.stdin, append([]string{"oracle", "hash"}, c.args...)...)
		if d := cmp.Diff(result{exitOK, c.want, ""}, got, cmp.AllowUnexported(result{})); d != "" {
			t.Errorf("%q: %s", c.stdin, d)
		}
	}
}

func TestOracleLookupAnswersAsTheServerDoes(t *testing.T) {
	file := plainOracle(t, "sun")
	got := tapedeck(t, "oracle", "lookup", file, "--tool", "weather", "--args", `{"city": "Bern"}`)
	if got.code != exitOK || !strings.Contains(got.stdout, `"response":"sun"`) || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	got = tapedeckWith(t, `{"city":"Bern"}`, "oracle", "lookup", file, "--tool", "weather", "--occurrence", "2")
	if got.code != exitPartial || !strings.Contains(got.stdout, `"reason":"exhausted"`) || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	got = tapedeck(t, "oracle", "lookup", file, "--tool", "weather", "--args", `{}`, "--live", "weather")
	if got.code != exitPartial || !strings.Contains(got.stdout, `"outcome":"live"`) {
		t.Errorf("%+v", got)
	}
}

func TestOracleMisuseIsExitCode2(t *testing.T) {
	file, broken := plainOracle(t, "sun"), write(t, "broken.json", "[{")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nosuch"}, "unknown command"},
		{[]string{"lookup"}, "needs a REF"},
		{[]string{"lookup", file}, "--tool is needed"},
		{[]string{"lookup", file, "--tool", "t", "--args-hash", "h", "--args", "{}"}, "exclude each other"},
		{[]string{"lookup", broken, "--tool", "t", "--args", "{}"}, "broken.json"},
		{[]string{"lookup", file, "--tool", "t", "--args", "{}", "--live", "t", "--refuse", "t"}, "both"},
		{[]string{"lookup", file, "--tool", "t", "--args", "{}", "--rules", broken}, "rules"},
		{[]string{"lookup", file, "--tool", "t", "--args", "{}", "--redaction-key-file", broken}, "--redaction-key-file"},
		{[]string{"hash", "--rules", file}, "needs --tool"},
		{[]string{"lint"}, "at least one REF"},
		{[]string{"lint", broken}, "broken.json"},
		{[]string{"lint", file, "--fail-on", "never"}, "--fail-on"},
		{[]string{"diff", file}, "two REFs"},
		{[]string{"diff", file, broken}, "broken.json"},
		{[]string{"derive", file, file}, "--merge"},
		{[]string{"derive", file, "--by", "name"}, "--by"},
		{[]string{"learn", file}, "this is one"},
	} {
		got := tapedeck(t, append([]string{"oracle"}, c.args...)...)
		if got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestOracleDeriveMergesRunsOfATask(t *testing.T) {
	sun, rain := plainOracle(t, "sun"), plainOracle(t, "rain")
	got := tapedeck(t, "oracle", "derive", "--merge", sun, sun)
	if got.code != exitOK || strings.Count(got.stdout, "tool_name") != 1 || !strings.Contains(got.stdout, `"run":"kept"`) {
		t.Errorf("%+v", got)
	}
	got = tapedeck(t, "oracle", "derive", "--merge", sun, rain)
	if got.code != exitPartial || strings.Count(got.stdout, "tool_name") != 2 || strings.Count(got.stderr, "conflict: ") != 1 || strings.Contains(got.stderr, `"rain"`) {
		t.Errorf("%+v", got)
	}
	dir, _ := newDeck(t)
	if got = tapedeck(t, "oracle", "derive", "--merge", dir); got.code != exitFailed || !strings.Contains(got.stderr, "2 tasks") {
		t.Errorf("%+v", got)
	}
	to := filepath.Join(t.TempDir(), "oracles")
	got = tapedeck(t, "oracle", "derive", "--merge", dir, "--to", to)
	if files, err := os.ReadDir(to); got.code != exitOK || err != nil || len(files) != 2 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("%+v %v", got, files)
	}
}

func TestOracleDiffNamesDifferences(t *testing.T) {
	sun, rain := plainOracle(t, "sun"), plainOracle(t, "rain")
	if got := tapedeck(t, "oracle", "diff", sun, sun); got != (result{}) {
		t.Errorf("%+v", got)
	}
	got := tapedeck(t, "oracle", "diff", sun, rain)
	if got.code != exitPartial || !strings.HasPrefix(got.stdout, "answer weather sha256:") || strings.Contains(got.stdout, "rain") {
		t.Errorf("%+v", got)
	}
	got = tapedeck(t, "oracle", "diff", "--json", sun, write(t, "empty.json", "[]"))
	if got.code != exitPartial || !strings.HasPrefix(got.stdout, `{"change":"removed","tool_name":"weather",`) {
		t.Errorf("%+v", got)
	}
}

func TestOracleLintFailsOnWhatIsAskedFor(t *testing.T) {
	dir, _ := newDeck(t)
	if got := tapedeck(t, "oracle", "lint", dir); got != (result{}) {
		t.Errorf("%+v", got)
	}
	lying := write(t, "lying.json", `[{"tool_name":"t","args_hash":"sha256:`+strings.Repeat("0", 64)+`","response":"","args":{}}]`)
	if got := tapedeck(t, "oracle", "lint", lying); got.code != exitPartial || !strings.Contains(got.stdout, "wrong_hash") {
		t.Errorf("%+v", got)
	}
	cut := write(t, "cut.json", `[{"tool_name":"t","args_hash":"","response":"","response_fidelity":"missing"}]`)
	if got := tapedeck(t, "oracle", "lint", "--json", cut); got.code != exitOK || !strings.Contains(got.stdout, `"code":"missing","severity":"warning","entry":0`) {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "oracle", "lint", "--fail-on", "warning", cut); got.code != exitPartial {
		t.Errorf("%+v", got)
	}
}

func TestOracleLearnProposesRules(t *testing.T) {
	run := func(id string) string {
		args := `{"id":"` + id + `","q":"shoes"}`
		hash := strings.TrimSpace(tapedeckWith(t, args, "oracle", "hash").stdout)
		return write(t, "oracle.json", `[{"tool_name":"search","args_hash":"`+hash+`","response":"3 hits","args":`+args+`}]`)
	}
	monday, tuesday := run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a01"), run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a02")
	got := tapedeck(t, "oracle", "learn", monday, tuesday)
	if got.code != exitOK || !strings.Contains(got.stdout, `- {tool: "search", path: "$.id", action: normalise, as: uuid, in: [args, executed_args]}`) {
		t.Fatalf("%+v", got)
	}
	rules := write(t, "rules.yaml", got.stdout)
	got = tapedeck(t, "oracle", "lookup", monday, "--tool", "search", "--args", `{"id":"5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a99","q":"shoes"}`, "--rules", rules)
	if got.code != exitOK || !strings.Contains(got.stdout, `"match":"rule"`) {
		t.Errorf("%+v", got)
	}
	dir, _ := newDeck(t)
	if got = tapedeck(t, "oracle", "learn", dir); got.code != exitFailed || !strings.Contains(got.stderr, "--any-task") {
		t.Errorf("%+v", got)
	}
}
