// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func lossPaths(losses []interop.Loss, what interop.What) (paths []string) {
	for _, l := range losses {
		if l.What == what {
			paths = append(paths, l.Path)
		}
	}
	return paths
}

// The runs of waza's own results.json are read: from the snapshot that it names, or from what it says itself where that is not there. Both are the same run.
func TestResultsAreRead(t *testing.T) {
	results := readTestdata(t, "results-1.4.json")
	if !Detect(results) {
		t.Error("it is not known")
	}
	asked := ""
	from, err := Decode(results, interop.Options{Sibling: func(path string) ([]byte, error) {
		asked = path
		return readTestdata(t, "snapshot-1.0.json"), nil
	}})
	if err != nil || len(from) != 1 || asked != "snapshot-1.0.json" {
		t.Fatalf("%v: %d runs, asked for %q", err, len(from), asked)
	}
	if changed := lossPaths(from[0].Losses, interop.Changed); len(changed) > 0 {
		t.Errorf("waza's own files are said to differ: %v", changed)
	}
	snapshot, err := Decode(readTestdata(t, "snapshot-1.0.json"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if from[0].Tape.TapeID != snapshot[0].Tape.TapeID {
		t.Error("the run is not that of the snapshot")
	}
	gone := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	alone, err := Decode(results, interop.Options{Sibling: gone})
	if err != nil || !slices.Contains(lossPaths(alone[0].Losses, interop.Dropped), "tasks.0.runs.0.snapshot_path") {
		t.Fatalf("%v %+v", err, alone[0].Losses)
	}
	a, b := alone[0].Tape, snapshot[0].Tape
	if a.Run.TaskID != b.Run.TaskID || len(a.Events) != 1 || a.Events[0].Name != b.Events[0].Name || !a.Events[0].Args.Equal(b.Events[0].Args) || *a.Output.Text != *b.Output.Text || a.Config.Model != b.Config.Model {
		t.Errorf("%+v\n%+v", a, b)
	}
	if doc := a.Extensions.Get(name).Get("snapshot"); doc.Get("evalId").Str() != "compatibility-run" || !at(doc, "task.golden").True() || at(doc, "result.validations.answer.score").IsAbsent() {
		t.Errorf("%s", doc.JSON())
	}
	// What the two say otherwise is named, and the snapshot is taken.
	other := strings.Replace(strings.Replace(string(results), `"final_output": "ready"`, `"final_output": "steady"`, 1), `"eval_id": "compatibility-run"`, `"eval_id": "another"`, 1)
	runs, err := Decode([]byte(other), interop.Options{Sibling: func(string) ([]byte, error) { return readTestdata(t, "snapshot-1.0.json"), nil }})
	if err != nil || !slices.Equal(lossPaths(runs[0].Losses, interop.Changed), []string{"tasks.0.runs.0.eval_id", "tasks.0.runs.0.final_output"}) || *runs[0].Tape.Output.Text != "ready" {
		t.Errorf("%v %+v", err, runs[0].Losses)
	}
	for text, want := range map[string]string{
		`{"eval_id":"x","tasks":[]}`: "they hold no run", `{"eval_id":"x","tasks":[1]}`: "tasks.0: not an object with runs", `{"eval_id":"x","tasks":[{"runs":[7]}]}`: "tasks.0.runs.0: not an object",
		`{"schemaVersion":"2.0","eval_id":"x","tasks":[{"runs":[{}]}]}`: "this version reads 1.x", `{"eval_id":"x","tasks":[{"runs":[{"run_number":"one"}]}]}`: "runNumber",
	} {
		if _, err := Decode([]byte(text), interop.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Decode(results, interop.Options{Sibling: func(string) ([]byte, error) { return []byte(`{"kind":"x"}`), nil }}); !errors.Is(err, interop.ErrNotFormat) {
		t.Errorf("something else as a snapshot: %v", err)
	}
}

// A results.json says of a run what its snapshot says: eval, skill, task, golden, run number, tool events, output, validations and status, as waza's own tests hold it.
func TestResultsAreWritten(t *testing.T) {
	first := string(readTestdata(t, "snapshot-1.0.json"))
	v, err := exactjson.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	second := put(put(v, []string{"task", "runNumber"}, exactjson.IntValue(2)), []string{"result", "status"}, exactjson.StringValue("failed"))
	second = put(second, []string{"result", "validations", "answer", "score"}, exactjson.FloatValue(0.5))
	in, out := int64(7), int64(3)
	list := []Exported{{Path: "s/b-run2.json", Snapshot: render(second)}, {Path: "s/a-run1.json", Snapshot: []byte(first), Usage: tape.RunUsage{InputTokens: &in, OutputTokens: &out}}}
	body, err := Results(list)
	if err != nil {
		t.Fatal(err)
	}
	r, err := exactjson.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := exactjson.Parse(string(readTestdata(t, "results-1.4.json")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"schemaVersion", "eval_id", "eval_name", "skill", "timestamp"} {
		if !r.Get(name).Equal(theirs.Get(name)) {
			t.Errorf("%s: %s, want %s", name, r.Get(name).JSON(), theirs.Get(name).JSON())
		}
	}
	task, run := r.Get("tasks").At(0), r.Get("tasks").At(0).Get("runs").At(0)
	for _, of := range []struct {
		name       string
		got, wants exactjson.Value
	}{
		{"test_id", task, theirs.Get("tasks").At(0)}, {"display_name", task, theirs.Get("tasks").At(0)}, {"golden", task, theirs.Get("tasks").At(0)},
		{"run_number", run, theirs.Get("tasks").At(0).Get("runs").At(0)}, {"status", run, theirs.Get("tasks").At(0).Get("runs").At(0)}, {"tool_events", run, theirs.Get("tasks").At(0).Get("runs").At(0)},
		{"final_output", run, theirs.Get("tasks").At(0).Get("runs").At(0)}, {"validations", run, theirs.Get("tasks").At(0).Get("runs").At(0)},
	} {
		if !of.got.Get(of.name).Equal(of.wants.Get(of.name)) {
			t.Errorf("%s: %s, want %s", of.name, of.got.Get(of.name).JSON(), of.wants.Get(of.name).JSON())
		}
	}
	if run.Get("snapshot_path").Str() != "s/a-run1.json" || at(run, "session_digest.usage.output_tokens").JSON() != "3" || task.Get("runs").Len() != 2 || task.Get("status").Str() != "failed" {
		t.Errorf("%s", task.JSON())
	}
	if s := r.Get("summary"); s.JSON() != `{"total_tests":1,"succeeded":0,"failed":1,"errors":0,"skipped":0,"success_rate":0,"aggregate_score":0.75,"weighted_score":0.75,"min_score":0.75,"max_score":0.75,"std_dev":0,"duration_ms":20}` {
		t.Errorf("%s", s.JSON())
	}
	slices.Reverse(list)
	if again, err := Results(list); err != nil || string(again) != string(body) {
		t.Errorf("in another order: %v", err)
	}
	list[0].Snapshot = render(put(v, []string{"evalId"}, exactjson.StringValue("another")))
	if _, err := Results(list); !errors.Is(err, ErrEvaluations) {
		t.Errorf("two evaluations: %v", err)
	}
	// What is written is read: each run from its snapshot, and nothing is said to differ.
	runs, err := Decode(body, interop.Options{Sibling: func(path string) ([]byte, error) {
		return map[string][]byte{"s/a-run1.json": []byte(first), "s/b-run2.json": render(second)}[path], nil
	}})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v: %d", err, len(runs))
	}
	for _, run := range runs {
		if changed := lossPaths(run.Losses, interop.Changed); len(changed) > 0 {
			t.Errorf("%v", changed)
		}
	}
}

func FuzzResults(f *testing.F) {
	f.Add(readTestdata(f, "results-1.4.json"))
	f.Add([]byte(`{"eval_id":"x","tasks":[{"test_id":"t","runs":[{"run_number":1,"snapshot_path":"p","validations":{"a":{}}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := Decode(data, interop.Options{})
		if err != nil {
			return
		}
		var list []Exported
		for _, r := range runs {
			body, _, err := Encode(r.Tape, r.Oracle, interop.Options{NoLosses: true})
			if err != nil {
				return
			}
			list = append(list, Exported{Path: "p", Snapshot: body, Usage: r.Tape.Usage})
		}
		if body, err := Results(list); err == nil {
			if _, err := Decode(body, interop.Options{}); err != nil {
				t.Errorf("what was written is not read: %v", err)
			}
		}
	})
}
