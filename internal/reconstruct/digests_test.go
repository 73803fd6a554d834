// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	processors "runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var (
	updateDigests = flag.Bool("digests.update", false, "write the digests of all tapes of the corpus")
	foreignFolder = flag.String("digests.folder", "", "compare the tapes of every OTLP file below this folder too")
	foreignFile   = flag.String("digests.file", "", "file with the digests of that folder, written where it is missing")
)

// digestsFile holds a line for each run of the corpus: its name, the digest of its tapes as it was recorded,
// and one under each mutation, in the order of groundtruth.Mutations. "-" stands for a mutation that changes
// nothing.
const digestsFile = "testdata/digests.txt"

// mutatedEvery is how many runs there are for each that is mutated where a part of the corpus is taken.
const mutatedEvery = 16

// digestOf is that of all tapes of a set: the joined runs first, then the others.
func digestOf(set *evidence.Set) string { return digestOfTapes(reconstruct.All(set.Split(), options)) }

// digestOfTapes leaves out which rules the tapes name, and the attributes that they keep as recorded: it is
// about what is decided.
func digestOfTapes(tapes []*tape.Tape) string {
	h := sha256.New()
	for _, t := range tapes {
		one := *t
		one.Fidelity.Rules, one.SchemaVersion = nil, "1.0" // that of the tapes whose digests were committed first
		one.Extensions = exactjson.Value{}
		if others := slices.DeleteFunc(slices.Clone(t.Extensions.Members()), func(m exactjson.Member) bool { return m.Name == "conventions" }); len(others) > 0 {
			one.Extensions = exactjson.ObjectValue(others...)
		}
		h.Write(one.AppendJSON(nil))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

func digestsOf(run groundtruth.Run, mutated bool) (string, error) {
	set, err := run.Evidence()
	if err != nil {
		return "", err
	}
	line := digestOf(set)
	for _, m := range groundtruth.Mutations {
		if !mutated {
			break
		}
		changed, ok, err := m.Apply(run)
		if err != nil {
			return "", err
		}
		digest := "-"
		if ok {
			if set, err = changed.Evidence(); err != nil {
				return "", err
			}
			digest = digestOf(set)
		}
		line += " " + digest
	}
	return line, nil
}

// drawn reports a run whose mutations are looked at where not all are.
func drawn(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%mutatedEvery == 0
}

// TestTapesOfTheCorpusStayAsTheyAre compares all tapes of the corpus, as recorded and under every mutation,
// with those that were committed. A change of a tape is a commit of its own, with its reason and the new
// digests.
func TestTapesOfTheCorpusStayAsTheyAre(t *testing.T) {
	if *foreignFolder != "" {
		compareFolder(t)
	}
	whole := *updateDigests || sample.Whole()
	known := map[string]string{}
	if body, err := os.ReadFile(digestsFile); err == nil {
		for line := range strings.Lines(string(body)) {
			name, digests, _ := strings.Cut(strings.TrimSpace(line), " ")
			known[name] = digests
		}
	} else if !*updateDigests {
		t.Fatal(err)
	}
	all := runs(t)
	found := make([]string, len(all))
	each(len(all), func(i int) {
		name := all[i].Group + "/" + all[i].Scenario
		got, err := digestsOf(all[i], whole || drawn(name))
		if err != nil {
			t.Error(err)
			return
		}
		found[i] = name + " " + got
		if *updateDigests {
			return
		}
		want := strings.Fields(known[name])
		for k, digest := range strings.Fields(got) {
			as := "recorded"
			if k > 0 {
				as = groundtruth.Mutations[k-1].Name
			}
			if k >= len(want) || want[k] != digest {
				t.Errorf("%s (%s): other tapes than before, or a new run (if they are right: -run TapesOfTheCorpus -digests.update)", name, as)
			}
		}
	})
	if len(known) != len(all) && !*updateDigests {
		t.Errorf("%d runs, %d of them in %s (-run TapesOfTheCorpus -digests.update writes it)", len(all), len(known), digestsFile)
	}
	if *updateDigests {
		slices.Sort(found)
		if err := os.WriteFile(digestsFile, []byte(strings.Join(found, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// each calls f for every number below n, on all processors.
func each(n int, f func(i int)) {
	next := make(chan int)
	var wait sync.WaitGroup
	for range processors.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// compareFolder does so for telemetry that lies elsewhere.
func compareFolder(t *testing.T) {
	t.Helper()
	groups := map[string][]string{}
	err := filepath.WalkDir(*foreignFolder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".jsonl")) && !strings.HasSuffix(path, ".truth.json") {
			stem, _, _ := strings.Cut(filepath.Base(path), ".")
			groups[filepath.Join(filepath.Dir(path), stem)] = append(groups[filepath.Join(filepath.Dir(path), stem)], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(groups))
	lines := make([]string, len(names))
	each(len(names), func(i int) {
		set := evidence.NewSet()
		for _, path := range groups[names[i]] {
			for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
				if err != nil {
					break // no telemetry
				}
				set.AddTraces(document.Traces)
				set.AddLogs(document.Logs)
			}
		}
		name, _ := filepath.Rel(*foreignFolder, names[i])
		lines[i] = fmt.Sprintf("%s %s\n", name, digestOf(set))
	})
	got := []byte(strings.Join(lines, ""))
	before, err := os.ReadFile(*foreignFile)
	if err != nil {
		if err := os.WriteFile(*foreignFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if bytes.Equal(before, got) {
		return
	}
	was := strings.SplitAfter(string(before), "\n")
	for i, line := range lines {
		if i >= len(was) || was[i] != line {
			t.Errorf("other tapes than before: %s", strings.TrimSpace(line))
		}
	}
}
