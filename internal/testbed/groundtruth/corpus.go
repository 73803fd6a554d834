// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Run is one recorded run with its truth.
type Run struct {
	Group    string // framework and instrumentation
	Scenario string
	Files    []string // telemetry, traces and logs
	truth    value
	held     func() *telemetry // what the files hold, read when first asked for

	recording *recording // in place of the files
}

// Corpus finds the recorded runs below a folder, sorted.
func Corpus(dir string) ([]Run, error) {
	var runs []Run
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".truth.json") {
			return err
		}
		run, err := load(path)
		if err == nil && len(run.Files) > 0 {
			runs = append(runs, run)
		}
		return err
	})
	return runs, err
}

// Live is a run that was just watched. Its telemetry lies elsewhere, so a value that the tape lacks counts as one that the telemetry lacks.
func Live(truth exactjson.Value) Run {
	return Run{truth: truth, held: func() *telemetry { return newTelemetry() }}
}

// ToldBy is the run as other telemetry tells it: what that lacks counts as absent.
func (r Run) ToldBy(documents ...exactjson.Value) Run {
	r.held = sync.OnceValue(func() *telemetry { return newTelemetry(documents...) })
	return r
}

func load(truthFile string) (Run, error) {
	body, err := os.ReadFile(truthFile)
	if err != nil {
		return Run{}, err
	}
	truth, err := exactjson.Parse(strings.TrimSpace(string(body)))
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", truthFile, err)
	}
	dir := filepath.Dir(truthFile)
	stem := strings.TrimSuffix(filepath.Base(truthFile), ".truth.json")
	names := fileNames(truth.Get("trace_files"), stem+".otlp.json")
	names = append(names, fileNames(truth.Get("log_files"), stem+".logs.json")...)
	run := Run{Group: filepath.Base(dir), Scenario: stem, truth: truth}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			run.Files = append(run.Files, path)
		} else if !os.IsNotExist(err) {
			return Run{}, err
		}
	}
	run.held = sync.OnceValue(func() *telemetry { return readTelemetry(run.Files) })
	return run, nil
}

// readTelemetry reads files that lie in the corpus, so a failure is a mistake in the corpus.
func readTelemetry(files []string) *telemetry {
	var documents []value
	for _, path := range files {
		body, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		document, err := exactjson.Parse(strings.TrimSpace(string(body)))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", path, err))
		}
		documents = append(documents, document)
	}
	return newTelemetry(documents...)
}

func fileNames(list value, otherwise string) []string {
	var names []string
	for _, m := range list.Members() {
		name := m.Value.Get("file").Str()
		if name == "" {
			name = m.Value.Str()
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{otherwise}
	}
	return names
}

// Evidence reads the telemetry of the run.
func (r Run) Evidence() (*evidence.Set, error) {
	if r.recording != nil {
		return r.recording.evidence(), nil
	}
	set := evidence.NewSet()
	for _, path := range r.Files {
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				return nil, err
			}
			set.AddTraces(document.Traces)
			set.AddLogs(document.Logs)
		}
	}
	return set, nil
}

// Score compares the tapes of a run with its truth. A scenario is one run: a second tape with events is a run that was split.
func (r Run) Score(tapes []*tape.Tape) []Row {
	if len(tapes) == 0 {
		return []Row{{Field: "run.count", Outcome: NoTape}}
	}
	wanted := 1
	if n, ok := r.truth.Get("runs").Int(); ok {
		wanted = max(wanted, int(n))
	}
	// tapes with nothing in them count too: whoever opens the deck has to look through them
	count := Row{Field: "run.count", Outcome: Exact}
	if len(tapes) > wanted {
		count = Row{Field: "run.count", Outcome: Wrong, Detail: fmt.Sprintf("%d tapes for %d run(s)", len(tapes), wanted)}
	}
	full := slices.DeleteFunc(slices.Clone(tapes), func(t *tape.Tape) bool { return t.Usage.ModelCalls+t.Usage.ToolCalls == 0 })
	if len(full) == 0 {
		full = tapes
	}
	if wanted > 1 && wanted == len(full) {
		slices.SortStableFunc(full, func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
		return append(r.score(together(full)), count)
	}
	best := full[0]
	for _, t := range full {
		if t.Usage.ToolCalls > best.Usage.ToolCalls || t.Usage.ToolCalls == best.Usage.ToolCalls && len(t.Events) > len(best.Events) {
			best = t
		}
	}
	return append(r.score(best, oracle.FromTape(best)), count)
}

func (r Run) score(t *tape.Tape, entries []oracle.Entry) []Row {
	s := &scorer{truth: r.truth, tape: t, held: r.held, oracle: entries}
	return s.run()
}

// together lays the events and entries of several tapes one behind the other; the first tape stands for the rest.
func together(tapes []*tape.Tape) (*tape.Tape, []oracle.Entry) {
	all := *tapes[0]
	all.Events = nil
	var entries []oracle.Entry
	for _, t := range tapes {
		offset := len(all.Events)
		for _, e := range t.Events {
			e.Seq += offset
			all.Events = append(all.Events, e)
		}
		for _, e := range oracle.FromTape(t) {
			e.Seq += offset
			entries = append(entries, e)
		}
	}
	return &all, entries
}

// Table counts outcomes by group.
type Table map[string]map[Outcome]int

// Add counts rows.
func (t Table) Add(group string, rows []Row) {
	if t[group] == nil {
		t[group] = map[Outcome]int{}
	}
	for _, r := range rows {
		t[group][r.Outcome]++
	}
}

// Markdown renders the table.
func (t Table) Markdown() string {
	groups := slices.Sorted(maps.Keys(t))
	var b strings.Builder
	b.WriteString("| group |")
	for _, o := range Outcomes {
		fmt.Fprintf(&b, " %s |", o)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(Outcomes)) + "\n")
	total := map[Outcome]int{}
	for _, g := range groups {
		fmt.Fprintf(&b, "| %s |", g)
		for _, o := range Outcomes {
			fmt.Fprintf(&b, " %d |", t[g][o])
			total[o] += t[g][o]
		}
		b.WriteString("\n")
	}
	b.WriteString("| **all** |")
	for _, o := range Outcomes {
		fmt.Fprintf(&b, " **%d** |", total[o])
	}
	return b.String() + "\n"
}
