// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package foreign_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var (
	update = flag.Bool("update", false, "write the generated part of docs/import.md")
	folder = flag.String("imports", root+"testdata/imports", "the folder with the recordings")
	values = flag.Bool("values", false, "log each value that is not right, and how tapes differ from those of OTLP")
)

const (
	root     = "../../../../"
	document = root + "docs/import.md"
	begin    = "<!-- generated from testdata/imports by `go test ./internal/reading/imports/foreign -update` -->\n"
	end      = "<!-- end of the generated part -->\n"
)

// held is what the recordings of one kind came to.
type held struct {
	runs, byOTLP, same, defects, recovered int
	outcomes                               map[groundtruth.Outcome]int
	grades                                 map[tape.Grade]int
}

// TestImportsHoldWhatHappened compares the tapes of each recording with what the tools and the model server
// saw, and with those of the same run by OTLP. A recording is testdata/imports/KIND/GROUP/SCENARIO.json.zst
// or the files in SCENARIO.files, of a run of testdata/corpus/agents or testdata/imports/runs. Of all true
// values at most 3 in 1000 may be wrong, missed or silent.
func TestImportsHoldWhatHappened(t *testing.T) {
	corpus := map[string]groundtruth.Run{}
	for _, dir := range []string{root + "testdata/corpus/agents", *folder} {
		runs, err := groundtruth.Corpus(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			corpus[r.Group+"/"+r.Scenario] = r
		}
	}
	kinds := map[string]*held{}
	err := filepath.WalkDir(*folder, func(path string, entry fs.DirEntry, err error) error {
		files := []string{path}
		switch {
		case err != nil || strings.HasSuffix(path, ".md"):
			return err
		case entry.Name() == "runs":
			return fs.SkipDir
		case strings.HasSuffix(path, ".files"):
			if files, _, err = foreign.Files(path); err != nil {
				return err
			}
		case entry.IsDir():
			return nil
		}
		parts := strings.Split(filepath.ToSlash(path), "/")
		scenario, _, _ := strings.Cut(parts[len(parts)-1], ".")
		group := parts[len(parts)-2]
		run, ok := corpus[group+"/"+scenario]
		if !ok {
			t.Errorf("%s: no run of this name", path)
			return nil
		}
		kind := parts[len(parts)-3]
		if kinds[kind] == nil {
			kinds[kind] = &held{outcomes: map[groundtruth.Outcome]int{}, grades: map[tape.Grade]int{}}
		}
		kinds[kind].add(t, files, run)
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, h := range kinds {
		total := 0
		for _, n := range h.outcomes {
			total += n
		}
		t.Logf("%s: %d runs, %d tapes as by OTLP, %v, %v", kind, h.runs, h.same, h.outcomes, h.grades)
		if h.runs < 5 || 1000*h.defects > 3*total {
			t.Errorf("%s: %d runs; %d of %d values are wrong, missed or silent", kind, h.runs, h.defects, total)
		}
	}
	checkDocument(t, table(kinds))
}

var options = reconstruct.Options{Producer: tape.Producer{Name: "tapedeck"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}

func (h *held) add(t *testing.T, files []string, run groundtruth.Run) {
	t.Helper()
	path := files[0]
	set := evidence.NewSet()
	var told []exactjson.Value
	for _, name := range files {
		for doc, err := range foreign.ReadFile(name, nil, otlpfile.Options{}) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			told = append(told, asJSON(t, doc))
			set.AddTraces(doc.Traces)
			set.AddLogs(doc.Logs)
		}
	}
	tapes := reconstruct.All(set.Split(), options)
	h.runs++
	for _, made := range tapes {
		h.grades[made.Fidelity.Grade]++
		for _, e := range made.Events {
			for _, label := range e.Provenance {
				if label == tape.Recovered {
					h.recovered++
				}
			}
		}
	}
	for _, row := range run.ToldBy(told...).Score(tapes) {
		h.outcomes[row.Outcome]++
		if row.Outcome.Bad() {
			if h.defects++; *values {
				t.Logf("%s: %s %s %.300s", path, row.Field, row.Outcome, row.Detail)
			}
		}
	}
	if len(run.Files) == 0 {
		return
	}
	h.byOTLP++
	other, err := run.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	switch diff := differ(tapes, reconstruct.All(other.Split(), options)); {
	case diff == "":
		h.same++
	case *values:
		t.Logf("%s differs from OTLP\n%.1500s", path, diff)
	}
}

// asJSON is a document as OTLP/JSON.
func asJSON(t *testing.T, doc otlpfile.Document) exactjson.Value {
	t.Helper()
	body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(doc.Traces)
	if doc.Signal == otlpfile.SignalLogs {
		body, err = (&plog.JSONMarshaler{}).MarshalLogs(doc.Logs)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := exactjson.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// differ says in what tapes differ that stand for the same runs: what was asked, returned and said, ids and
// times apart.
func differ(a, b []*tape.Tape) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d tapes, not %d", len(a), len(b))
	}
	start := func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) }
	slices.SortStableFunc(a, start)
	slices.SortStableFunc(b, start)
	var differences strings.Builder
	for i := range a {
		result, err := compare.Tapes(b[i], a[i], compare.Options{Level: compare.All})
		if err != nil {
			return err.Error()
		}
		if !result.Equal {
			text, _ := json.Marshal(map[string]any{"input": result.Input, "output": result.Output, "first": result.First})
			differences.Write(text)
		}
	}
	return differences.String()
}

func table(kinds map[string]*held) string {
	var b strings.Builder
	b.WriteString("\n| recordings | runs | exact | absent | wrapped | missed | wrong | silent | no tape | recovered | tapes as by OTLP | grades |\n|---|" + strings.Repeat("---:|", 9) + "---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		h := kinds[kind]
		fmt.Fprintf(&b, "| %s | %d |", kind, h.runs)
		for _, o := range groundtruth.Outcomes {
			fmt.Fprintf(&b, " %d |", h.outcomes[o])
		}
		var grades []string
		for _, g := range slices.Sorted(maps.Keys(h.grades)) {
			grades = append(grades, fmt.Sprintf("%s %d", g, h.grades[g]))
		}
		fmt.Fprintf(&b, " %d | %d of %d | %s |\n", h.recovered, h.same, h.byOTLP, strings.Join(grades, ", "))
	}
	return b.String() + "\n"
}

func checkDocument(t *testing.T, want string) {
	t.Helper()
	if *folder != root+"testdata/imports" {
		return
	}
	body, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), begin)
	_, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatalf("%s has lost the marks of its generated part", document)
	}
	page := before + begin + want + end + after
	if *update {
		if err := os.WriteFile(document, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(page, string(body)); diff != "" {
		t.Errorf("%s is stale (go test ./internal/reading/imports/foreign -update):\n%s", document, diff)
	}
}
