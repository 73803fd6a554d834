// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const wazaCorpus = "../../internal/interop/waza/testdata/snapshot-1.0.json"

func conversions(t *testing.T, stdout string) []conversion {
	t.Helper()
	var out []conversion
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	for d.More() {
		var c conversion
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestSnapshotsOfAIWGLieWhereItLooks(t *testing.T) {
	project := t.TempDir()
	args := []string{"export", "testdata/full", "--format", "aiwg", "--json", "--into", project}
	first := tapedeck(t, args...)
	if first.code != exitOK {
		t.Fatalf("%+v", first)
	}
	if again := tapedeck(t, args...); again != first {
		t.Errorf("not the same again: %+v", again)
	}
	files, err := filepath.Glob(project + "/.aiwg/provenance/snapshots/*.json")
	if err != nil || len(files) == 0 || len(files) != len(conversions(t, first.stdout)) {
		t.Fatalf("%v, %v: %+v", files, err, first)
	}
	for _, file := range files {
		body, err := exactjson.Parse(readAll(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if name, want := filepath.Base(file), body.Get("workflow_id").Str()+"-2"; !strings.HasPrefix(name, want) || !strings.HasSuffix(name, "Z.json") {
			t.Errorf("%s is not {workflow_id}-{timestamp}.json of %s", name, want)
		}
	}
	for _, wrong := range [][]string{{"--format", "waza", "--into", "x"}, {"--format", "aiwg", "--into", "x", "-o", "y"}} {
		if got := tapedeck(t, append([]string{"export", "testdata/full"}, wrong...)...); got.code != exitFailed || !strings.Contains(got.stderr, "--into PROJECT goes with") {
			t.Errorf("%v: %+v", wrong, got)
		}
	}
}

// TestSnapshotsComeBack imports a snapshot of waza into a folder or bucket and exports it from there.
func TestSnapshotsComeBack(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"path": func(t *testing.T) string { return t.TempDir() },
		"file": func(t *testing.T) string { return "file://" + t.TempDir() },
		"s3":   func(t *testing.T) string { return decktest.S3(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			out := address(t)
			got := tapedeck(t, "import", wazaCorpus, "--format", "waza", "--json", "-o", out)
			made := conversions(t, got.stdout)
			if got.code != exitOK || got.stderr != "" || len(made) != 1 || len(made[0].Files) != 2 || len(made[0].Losses) != 2 {
				t.Fatalf("%+v", got)
			}
			if again := tapedeck(t, "import", wazaCorpus, "--format", "waza", "--json", "-o", out); again != got {
				t.Errorf("not the same again: %+v", again)
			}
			tapeURL := made[0].Files[1]
			if got := tapedeck(t, "verify", tapeURL); got.code != exitOK {
				t.Errorf("%+v", got)
			}
			exported := tapedeck(t, "export", tapeURL, "--format", "waza", "--json", "-o", out)
			files := conversions(t, exported.stdout)
			if exported.code != exitOK || len(files) != 1 || !strings.Contains(files[0].Files[0], made[0].RunID+"/compatibility-task-run1.json") {
				t.Fatalf("%+v", exported)
			}
			// What was exported is in its usual form, and comes back as it is.
			again := tapedeck(t, "import", files[0].Files[0])
			if again.code != exitOK || again.stderr != "" || !strings.HasPrefix(again.stdout, `{"kind":"agent-tape"`) {
				t.Errorf("%+v", again)
			}
			if got := tapedeck(t, "replay", files[0].Files[0], "--bisect", tapeURL); got.code != exitOK {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestExportToStdoutIsTheFile(t *testing.T) {
	dir := t.TempDir()
	tapedeck(t, "export", "testdata/full", "--format", "waza", "--json", "-o", dir)
	files, _ := filepath.Glob(dir + "/*/*.json")
	want, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "export", "testdata/full", "--format", "waza")
	if got.code != exitOK || got.stdout != string(want) || !strings.Contains(got.stderr, " dropped; --losses names each\n") {
		t.Errorf("%+v", got)
	}
	imported := tapedeckWith(t, got.stdout, "import", "-", "--format", "waza", "--tenant", "acme")
	if imported.code != exitOK || !strings.Contains(imported.stdout, `"tenant":"acme"`) {
		t.Errorf("%+v", imported)
	}
}

func TestExportNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	first := tapedeck(t, "export", "testdata/full", "--format", "waza", "--json", "-o", dir)
	if again := tapedeck(t, "export", "testdata/full", "--format", "waza", "--json", "-o", dir); again != first || again.code != exitOK {
		t.Errorf("%+v", again)
	}
	files, _ := filepath.Glob(dir + "/*/*.json")
	if err := os.WriteFile(files[0], []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "export", "testdata/full", "--format", "waza", "--json", "-o", dir)
	if body, _ := os.ReadFile(files[0]); got.code != exitFailed || got.stdout != "" || string(body) != "mine" || !strings.Contains(got.stderr, "is there already, with other content") {
		t.Errorf("%+v", got)
	}
}

func TestDeriveWritesSnapshotsBesideTapes(t *testing.T) {
	dir := t.TempDir()
	got := tapedeck(t, "derive", forge, "--to", dir, "--redact", "off", "--formats", "tape,oracle,waza")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	tapeFile, err := deck.ParseRef(lines(t, got.stdout)[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := tapeFile.Sibling("stock-helper-run1.json").URL
	if got := tapedeck(t, "replay", snapshot, tapeFile.URL, "--ndjson"); got.code != exitOK || strings.Count(got.stdout, `"pass":true`) != 2 {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	// The tape vouches for the snapshot.
	path := strings.TrimPrefix(snapshot, "file://")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitPartial || !strings.Contains(got.stdout, "file stock-helper-run1.json: has sha256:") {
		t.Errorf("%+v", got)
	}
	// What export writes is what lies in the deck.
	out := tapedeck(t, "export", tapeFile.URL, "--format", "waza")
	if out.code != exitOK || !strings.Contains(out.stdout, `"testId": "stock-helper"`) {
		t.Errorf("%+v", out)
	}
}

// TestEnvironmentOfTheTelemetryIsWrittenOnDemandOnly follows a resource attribute from the telemetry into the snapshot.
func TestEnvironmentOfTheTelemetryIsWrittenOnDemandOnly(t *testing.T) {
	data, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	for _, rs := range document["resourceSpans"].([]any) {
		resource := rs.(map[string]any)["resource"].(map[string]any)
		attributes, _ := resource["attributes"].([]any)
		for name, value := range map[string]string{"FORGE_ENV": "lab", "FORGE_TOKEN": "t0k3n"} {
			attributes = append(attributes, map[string]any{"key": "process.environment_variable." + name, "value": map[string]any{"stringValue": value}})
		}
		resource["attributes"] = attributes
	}
	changed, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	_, made := derived(t, write(t, "traces.json", string(changed)))
	plain := tapedeck(t, "export", made.URL, "--format", "waza")
	if plain.code != exitOK || !strings.Contains(plain.stdout, `"env": {},`) {
		t.Errorf("%+v", plain)
	}
	allowed := tapedeck(t, "export", made.URL, "--format", "waza", "--env-allow", "FORGE_*")
	var snapshot struct {
		Env map[string]any `json:"env"`
	}
	if err := json.Unmarshal([]byte(allowed.stdout), &snapshot); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"allowList": []any{"FORGE_*"}, "captured": map[string]any{"FORGE_ENV": "lab", "FORGE_TOKEN": "[REDACTED]"}}
	if diff := cmp.Diff(want, snapshot.Env); diff != "" {
		t.Error(diff)
	}
}

func TestExportAndImportMisuse(t *testing.T) {
	results := write(t, "results.json", `{"schemaVersion":"1.4","eval_id":"x","kind":"results"}`)
	deckDir := t.TempDir()
	if made := tapedeck(t, "derive", forge, "../../testdata/corpus/forge/duplicate_args.otlp.json", "--to", deckDir, "--redact", "off"); made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export"}, "export needs a REF; see tapedeck export --help"},
		{[]string{"export", "testdata/full"}, "export needs --format: "},
		{[]string{"export", "testdata/full", "--format", "vhs"}, `--format: unknown format "vhs", known: `},
		{[]string{"export", "nowhere.json", "--format", "waza"}, "nowhere.json: no such file or directory"},
		{[]string{"export", wazaCorpus, "--format", "waza"}, `kind is not "agent-tape"`},
		{[]string{"export", deckDir, "--format", "waza"}, "stands for several tapes, which cannot stand in one waza file; use -o DIR"},
		{[]string{"export", "testdata/full", "--format", "waza", "-o", "mem://x"}, "a mem:// deck lives only as long"},
		{[]string{"import"}, "import needs a FILE; see tapedeck import --help"},
		{[]string{"import", results}, "its format cannot be told from its content; name it with --format"},
		{[]string{"import", results, "--format", "vhs"}, `--format: unknown format "vhs", known: `},
		{[]string{"import", results, "--format", "waza"}, "read waza snapshot: not a file of this format"},
		{[]string{"import", "testdata/full/tape.json", "--format", "waza"}, "not a file of this format"},
		{[]string{"import", wazaCorpus, results, "--format", "waza"}, "not a file of this format"},
		{[]string{"import", "nowhere.json", "--format", "waza"}, "nowhere.json"},
		{[]string{"import", "mem://x/y", "--format", "waza"}, "a mem:// deck"},
	} {
		got := tapedeck(t, c.args...)
		last := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(last[len(last)-1], c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

// TestFlatExportsLieSideBySide: what the README says, replay ./snapshots/*.json, works on what export --flat wrote.
func TestFlatExportsLieSideBySide(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	agents := map[string]string{"a": "planner", "b": "planner", "c": "Planner", "d": "writer/2", "e": "writer_2"}
	for digit, agent := range agents {
		putRun(t, dir, deck.AreaRuns, traceOf(digit), func(tp *tape.Tape) { tp.Run.Agent.Name = agent })
	}
	files := func() []string {
		t.Helper()
		if got := tapedeck(t, "export", dir, "--format", "waza", "--flat", "--json", "-o", out); got.code != exitOK || got.stderr != "" {
			t.Fatalf("%+v", got)
		}
		names, err := filepath.Glob(out + "/*.json")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	names := files()
	if len(names) != len(agents) {
		t.Fatal(names)
	}
	folded, runs := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		folded[strings.ToLower(name)] = true
		var doc struct {
			Task struct {
				TestID    string `json:"testId"`
				RunNumber int    `json:"runNumber"`
			} `json:"task"`
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &doc); err != nil || !strings.HasSuffix(name, fmt.Sprintf("-run%d.json", doc.Task.RunNumber)) {
			t.Errorf("%s is run %d: %v", name, doc.Task.RunNumber, err)
		}
		runs[fmt.Sprint(doc.Task)] = true
	}
	if len(folded) != len(agents) || len(runs) != len(agents) || !runs["{planner 1}"] || !runs["{planner 2}"] {
		t.Error(folded, runs)
	}
	before := map[string]string{}
	for _, name := range names {
		data, _ := os.ReadFile(name)
		before[name] = string(data)
	}
	putRun(t, dir, deck.AreaRuns, traceOf("0"), func(tp *tape.Tape) { tp.Run.Agent.Name = "planner" }) // is listed first
	if again := files(); len(again) != len(names)+1 {
		t.Error(again)
	}
	for name, body := range before {
		if data, _ := os.ReadFile(name); string(data) != body {
			t.Errorf("%s has changed", name)
		}
	}
	if got := tapedeck(t, append([]string{"replay"}, files()...)...); got.code != exitOK || strings.Count(got.stdout, "OK") != len(agents)+1 {
		t.Errorf("%+v", got)
	}
	// Snapshots of waza itself keep their numbers, also when they are exported again.
	other := t.TempDir()
	snapshot := filepath.Join("../../internal/interop/waza/testdata/snapshot-1.0.json")
	tapes := t.TempDir()
	if got := tapedeck(t, "import", snapshot, "-o", tapes); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	imported, _ := filepath.Glob(tapes + "/*/tape.json")
	for range 2 {
		if got := tapedeck(t, "export", imported[0], "--format", "waza", "--flat", "-o", other); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
	}
	if names, _ := filepath.Glob(other + "/*"); len(names) != 1 {
		t.Error(names)
	}
	for _, format := range []string{"chat", "atif"} {
		flat := t.TempDir()
		if got := tapedeck(t, "export", "testdata/full", "../../testdata/golden/"+chain, "--format", format, "--flat", "-o", flat); got.code != exitOK {
			t.Errorf("%+v", got)
		}
		if names, _ := filepath.Glob(flat + "/*.json*"); len(names) != 2 {
			t.Errorf("%s: %v", format, names)
		}
	}
	if got := tapedeck(t, "export", dir, "--format", "waza", "--flat"); got.code != exitFailed || got.stderr != "tapedeck: --flat goes with -o DIR\n" {
		t.Errorf("%+v", got)
	}
}

func TestLossesAreCountedAndNamedOnDemand(t *testing.T) {
	short := tapedeck(t, "export", "testdata/full", "--format", "waza")
	if short.code != exitOK || strings.Count(short.stderr, "\n") != 1 || !strings.Contains(short.stderr, " dropped; --losses names each") {
		t.Errorf("%+v", short.stderr)
	}
	long := tapedeck(t, "export", "testdata/full", "--format", "waza", "--losses")
	if strings.Count(long.stderr, "\n") < 10 || !strings.Contains(long.stderr, "tapedeck: dropped: events.0: a snapshot lists tool calls only\n") || long.stdout != short.stdout {
		t.Errorf("%+v", long.stderr)
	}
}
