// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// vector is one command line of waza replay.
type vector struct {
	Name   string            `json:"name"`
	Files  map[string]string `json:"files"`
	Args   []string          `json:"args"`
	Exit   int               `json:"expect_exit"`
	Stdout string            `json:"expect_stdout"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("../../internal/interop/waza/testdata/replay-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 30 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	return file.Vectors
}

func TestReplayDoesWhatWazaDoes(t *testing.T) {
	all := vectors(t)
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			t.Chdir(v.dir(t))
			got := tapedeck(t, append([]string{"replay"}, v.Args...)...)
			v.check(t, got)
		})
	}
}

func (v vector) dir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range v.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (v vector) check(t *testing.T, got result) {
	t.Helper()
	if got.code != v.Exit {
		t.Errorf("exit code %d, want %d: %s", got.code, v.Exit, got.stderr)
	}
	if diff := cmp.Diff(v.Stdout, got.stdout); diff != "" {
		t.Error(diff)
	}
	if complaints := strings.Count(got.stderr, "\n"); v.Exit == exitFailed && complaints != 1 {
		t.Errorf("not one line: %s", got.stderr)
	}
}

// TestReplayReadsObjectStores runs the vectors against file:// and s3:// references.
func TestReplayReadsObjectStores(t *testing.T) {
	folder := "file://" + t.TempDir()
	for name, address := range map[string]func(*testing.T) string{"file": func(*testing.T) string { return folder }, "s3": func(t *testing.T) string { return decktest.S3(t).URL }} {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			store, err := deck.OpenStore(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			base, query := replay.SplitURL(address)
			for _, v := range vectors(t) {
				args := []string{"replay"}
				for _, arg := range v.Args {
					if content, isFile := v.Files[arg]; isFile {
						if _, err := store.PutNew(t.Context(), v.Name+"/"+arg, []byte(content), "application/json"); err != nil {
							t.Fatal(err)
						}
						arg = base + "/" + v.Name + "/" + arg + query
						// References are shown as they were given, with & escaped as waza does.
						v.Stdout = strings.ReplaceAll(v.Stdout, `"`+filepath.Base(strings.TrimSuffix(arg, query))+`"`, quoted(t, arg))
					}
					args = append(args, arg)
				}
				v.check(t, tapedeck(t, args...))
			}
		})
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWazaAgrees runs the same files through a waza binary.
func TestWazaAgrees(t *testing.T) {
	program, err := exec.LookPath("waza")
	if err != nil {
		t.Skip("CI has no waza, for it is not published as a module; its vectors were read, itself not asked: ", err)
	}
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			v.check(t, runWaza(t, program, v.dir(t), v.Args...))
		})
	}
	for _, file := range exportedCorpus(t) {
		got := runWaza(t, program, filepath.Dir(file), filepath.Base(file), "--json")
		if got.code != exitOK {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

func runWaza(t *testing.T, program, dir string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"replay"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WAZA_NO_UPDATE_CHECK=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code says it
	// Its errors may take several lines.
	return result{cmd.ProcessState.ExitCode(), stdout.String(), strings.SplitN(stderr.String()+"\n", "\n", 2)[0] + "\n"}
}

// exportedCorpus writes the golden tapes as snapshots and returns the files.
func exportedCorpus(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, source := range goldenFiles(t) {
		dir := t.TempDir()
		got := tapedeck(t, "export", source, "--format", "waza", "--json", "-o", dir)
		if got.code != exitOK {
			t.Fatalf("%s: %+v", source, got)
		}
		found, err := filepath.Glob(dir + "/*/*-run1.json")
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", source, found, err)
		}
		files = append(files, found...)
	}
	return files
}

// goldenFiles are the tapes of testdata/golden, one per file.
func goldenFiles(t *testing.T) []string {
	t.Helper()
	sources, err := filepath.Glob("../../testdata/golden/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var tapes []string
	for _, source := range sources {
		data, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		for dec.More() {
			var one json.RawMessage
			if err := dec.Decode(&one); err != nil {
				t.Fatal(err)
			}
			tapes = append(tapes, write(t, "tape.json", string(one)))
		}
	}
	if len(tapes) < 40 {
		t.Fatalf("only %d tapes", len(tapes))
	}
	return tapes
}

func TestTapesAreReplayedWithMore(t *testing.T) {
	got := tapedeck(t, "replay", "testdata/full", "--json")
	var report replay.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.code != exitOK || !report.Pass || report.ToolEvents != 2 || report.Events != 6 || report.Proof.Served != 2 || report.Source != "testdata/full" {
		t.Errorf("%+v", got)
	}
	text := tapedeck(t, "replay", "testdata/full")
	if want := "OK model-replay: consistent; run status: ok (2 tool_events, 0 graders)\n  proof: verified 2 of 2\n  source: testdata/full\n\n"; text.stdout != want {
		t.Errorf("%q", text.stdout)
	}
}

// TestReplayListsAllProblemsOfATape: a changed result breaks the digest, the hash, the proof and the oracle.
func TestReplayListsAllProblemsOfATape(t *testing.T) {
	data, err := os.ReadFile("testdata/full/tape.json")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), `"seq":2,"type":"tool_call"`, `"seq":9,"type":"tool_call"`, 1)
	changed = strings.Replace(changed, `"result":{"sum":3.5},"result_sha256"`, `"result":{"sum":4},"result_sha256"`, 1)
	file := write(t, "tape.json", changed)
	got := tapedeck(t, "replay", file, "--json")
	var report replay.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	kinds := map[string]bool{}
	for _, i := range report.Issues {
		kinds[i.Kind] = true
	}
	for _, want := range []string{tape.ProblemTapeID, tape.ProblemSequence, tape.ProblemResultHash, tape.ProblemProof} {
		if !kinds[want] {
			t.Errorf("no %s: %s", want, got.stdout)
		}
	}
	if got.code != exitPartial || report.Pass {
		t.Errorf("%+v", got)
	}
}

func TestReplayOfManyFilesIsOneLineEach(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.json")
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(good, []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte(`{"schemaVersion":"2.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "replay", good, bad, "testdata/full", "--json")
	rows := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if got.code != exitFailed || len(rows) != 3 || strings.Count(got.stderr, "\n") != 1 {
		t.Fatalf("%+v", got)
	}
	for i, row := range rows {
		var line struct {
			Source string `json:"source"`
			Pass   bool   `json:"pass"`
			Error  string `json:"error"`
		}
		if err := json.Unmarshal([]byte(row), &line); err != nil || line.Pass != (i != 1) || (line.Error != "") != (i == 1) || line.Source != []string{good, bad, "testdata/full"}[i] {
			t.Errorf("%d: %v %s", i, err, row)
		}
	}
	// A deck stands for its tapes.
	deckDir := t.TempDir()
	if made := tapedeck(t, "derive", forge, "../../testdata/corpus/forge/duplicate_args.otlp.json", "--to", deckDir, "--redact", "off"); made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	got = tapedeck(t, "replay", deckDir, "--ndjson")
	if rows := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n"); got.code != exitOK || len(rows) != 2 || !strings.Contains(rows[0], `"source":"file://`) {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "replay", good, "--ndjson"); strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

// TestReplayTakesAFolderOfSnapshots: what export wrote for a deck is checked with one reference, also where no shell lists files.
func TestReplayTakesAFolderOfSnapshots(t *testing.T) {
	deckDir := t.TempDir()
	if made := tapedeck(t, "derive", forge, "../../testdata/corpus/forge/duplicate_args.otlp.json", "--to", deckDir, "--redact", "off"); made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	for name, out := range map[string]string{"path": t.TempDir(), "s3": decktest.S3(t).URL} {
		export := []string{"export", deckDir, "--format", "waza", "--json", "-o", out}
		if name == "path" { // as waza leaves a folder: with the results of the evaluation
			export = append(export, "--results", filepath.Join(out, "results.json"))
		}
		if got := tapedeck(t, export...); got.code != exitOK {
			t.Fatalf("%s: %+v", name, got)
		}
		got := tapedeck(t, "replay", out, "--json")
		if got.code != exitOK || got.stderr != "" || strings.Count(got.stdout, "\n") != 2 || strings.Count(got.stdout, `-run1.json`) != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	empty := t.TempDir()
	if got := tapedeck(t, "replay", empty); got.code != exitFailed || !strings.Contains(got.stderr, "holds neither a tape.json nor a deck") {
		t.Errorf("%+v", got)
	}
}

func TestReplayComparesTapesAndSnapshots(t *testing.T) {
	dir := t.TempDir()
	if got := tapedeck(t, "export", "testdata/full", "--format", "waza", "--json", "-o", dir); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	files, _ := filepath.Glob(dir + "/*/*.json")
	if got := tapedeck(t, "replay", "testdata/full", "--bisect", files[0], "--json"); got.code != exitOK || !strings.Contains(got.stdout, `"match": true`) {
		t.Errorf("%+v", got)
	}
	other := write(t, "other.json", `{"toolEvents":[{"sequence":1,"tool_name":"add","args":{"a":1,"b":2.5}}]}`)
	want := "DIVERGENCE detected\nfirst divergent turn: 1\nfirst divergence: length_mismatch at event #2\n  baseline: 2 events\n  replayed: 1 events\n  snapshots have different tool_event counts\n"
	if got := tapedeck(t, "replay", "testdata/full", "--bisect", other); got.code != exitPartial || got.stdout != want {
		t.Errorf("%+v", got)
	}
}

func TestReplayMisuse(t *testing.T) {
	snapshot := write(t, "a.json", "{}")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"replay"}, "replay needs a REF; see tapedeck replay --help"},
		{[]string{"replay", snapshot, "--mode", "other"}, `--mode "other" is unknown; the mode is model-replay`},
		{[]string{"replay", snapshot, snapshot, "--bisect", snapshot}, "--bisect compares one run with another, not 2"},
		{[]string{"replay", "nowhere.json"}, "nowhere.json: no such file or directory"},
		{[]string{"replay", snapshot, "--bisect", "nowhere.json"}, "nowhere.json: no such file or directory"},
	} {
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
}

func TestWhatIsNoSnapshotIsNoAllClear(t *testing.T) {
	for name, content := range map[string]string{
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"true"}}`,
		"rpc.json":     `{"jsonrpc":"2.0","id":1,"result":{"status":"ok"}}`,
		"other.json":   `{"schemaVersion":"1.0","skill":"s","eval_id":"e","tasks":[]}`,
		"nested.json":  `{"snapshot":{"kind":"task-snapshot"}}`,
		"null.json":    `null`,
		"array.json":   `[]`,
	} {
		if got := tapedeck(t, "replay", write(t, name, content)); got.code != exitFailed || got.stdout != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, file := range []string{"../../internal/interop/waza/testdata/results-1.4.json", forge} {
		if got := tapedeck(t, "replay", file); got.code != exitFailed || got.stdout != "" {
			t.Errorf("%s: %+v", file, got)
		}
	}
	for _, content := range []string{`{}`, `{"schemaVersion":"1.0"}`, `{"task":{"testId":"x"}}`, `{"kind":"task-snapshot","x_future":1}`, `{"toolEvents":[],"x_future":1}`} {
		if got := tapedeck(t, "replay", write(t, "a.json", content)); got.code != exitOK {
			t.Errorf("%s: %+v", content, got)
		}
	}
}

func TestReplayOfAFolderSaysWhatItPassesOver(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"renamed.json": `{"kind":"task-snapshot","toolEvents":[{"sequence":2,"tool_name":"t"}]}`, "a-run1.json": `{}`,
		"package.json": `{"name":"x"}`, "notes.txt": "x", "broken.json": "{",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := tapedeck(t, "replay", dir)
	if got.code != exitPartial || strings.Count(got.stdout, "model-replay") != 2 || !strings.Contains(got.stdout, "sequence_gap") {
		t.Errorf("a snapshot is told by its content: %+v", got)
	}
	if !strings.Contains(got.stderr, "3 files were passed over") || !strings.Contains(got.stderr, "package.json") {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "b-run1.json"), []byte(`{"name":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "replay", dir); got.code != exitFailed || !strings.Contains(got.stderr, "b-run1.json") {
		t.Errorf("a file that is named like a snapshot and is none: %+v", got)
	}
	only := t.TempDir()
	if err := os.WriteFile(filepath.Join(only, "package.json"), []byte(`{"name":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "replay", only); got.code != exitFailed || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

func TestReplayOfADeckSaysWhatHasNoTape(t *testing.T) {
	dir, folder := newDeck(t)
	if err := os.Remove(filepath.Join(folder, "tape.json")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"replay", "verify"} {
		if got := tapedeck(t, command, dir); got.code != exitOK || !strings.Contains(got.stderr, "1 traces were passed over") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// TestTracesOfAJoinedRunAreNotMissing: they have no tapes of their own, and need none.
func TestTracesOfAJoinedRunAreNotMissing(t *testing.T) {
	dir := t.TempDir()
	putRun(t, dir, deck.AreaJoined, traceOf("a"), func(tp *tape.Tape) { tp.Sources.TraceIDs = []string{traceOf("a"), traceOf("b")} })
	d, err := deck.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, digit := range []string{"a", "b"} {
		if _, _, err := d.PutPart(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: traceOf(digit)}, []byte(digit)); err != nil {
			t.Fatal(err)
		}
	}
	if got := tapedeck(t, "show", dir); got.code != exitFailed {
		t.Logf("%+v", got)
	}
	if got := tapedeck(t, "verify", dir); strings.Contains(got.stderr, "passed over") {
		t.Errorf("%+v", got)
	}
}

func TestAFailedRunFailsTheGateThatAsksForIt(t *testing.T) {
	failed := variant(t, chain, func(t *tape.Tape) { t.Run.Status = tape.StatusError })
	snapshot := write(t, "a.json", `{"kind":"task-snapshot","result":{"status":"failed"}}`)
	for file, status := range map[string]string{failed: "error", snapshot: "failed"} {
		if got := tapedeck(t, "replay", file); got.code != exitOK || !strings.HasPrefix(got.stdout, "OK model-replay: consistent; run status: "+status) {
			t.Errorf("%+v", got)
		}
		if got := tapedeck(t, "replay", file, "--fail-on-status", "error,failed"); got.code != exitPartial || !strings.Contains(got.stdout, "run_status: the run ended with status "+status) {
			t.Errorf("%+v", got)
		}
		got := tapedeck(t, "replay", file, "--fail-on-status", status, "--json")
		if got.code != exitPartial || !strings.Contains(got.stdout, `"pass": false`) || !strings.Contains(got.stdout, `"kind": "run_status"`) {
			t.Errorf("%+v", got)
		}
		if got := tapedeck(t, "replay", file, "--fail-on-status", "ok,passed"); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	}
	if got := tapedeck(t, "replay", failed, "--fail-on-status", "bad"); got.code != exitFailed || !strings.Contains(got.stderr, `"bad" is unknown`) {
		t.Errorf("%+v", got)
	}
}
