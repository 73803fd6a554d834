// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// sampled is how many runs there are for each that is mutated in make test-all. make test mutates a quarter
// of these, make scorecard all runs.
const sampled = 4

// limits are the defects that are known under each mutation, among the sampled runs: values that are wrong or silent, tapes too many, and runs whose
// tape claims tools that its oracle does not serve, or serves and does not claim.
var limits = map[string][5]int{
	"unknown vendor":               {0, 0, 0, 0, 1},
	"no tool spans":                {0, 0, 0, 1, 0},
	"generic tool names":           {0, 0, 0, 0, 0},
	"foreign call ids":             {0, 0, 0, 0, 0},
	"unknown envelope":             {0, 0, 0, 0, 0},
	"every span twice":             {0, 0, 0, 1, 0},
	"model calls wrapped":          {0, 0, 0, 0, 0},
	"no root":                      {0, 0, 0, 0, 1},
	"two traces":                   {0, 0, 0, 0, 0},
	"content in span events":       {0, 0, 0, 1, 0}, // gemini-cli/research_chain, as without a mutation: its truth is disputed
	"content in log records":       {0, 0, 0, 0, 0},
	"two traces, clock behind":     {0, 0, 0, 0, 1},
	"no parents":                   {0, 0, 0, 0, 1},
	"other words in messages":      {0, 0, 0, 0, 0},
	"items instead of messages":    {0, 0, 0, 0, 0},
	"results as user messages":     {0, 0, 0, 0, 1},
	"tools' clock behind":          {24, 0, 1, 3, 4},
	"times in seconds":             {30, 0, 2, 3, 3},
	"times in milliseconds":        {0, 0, 0, 0, 0},
	"no call ids on tools":         {3, 0, 0, 0, 0},
	"structured values":            {0, 0, 0, 0, 0},
	"bytes":                        {0, 0, 0, 1, 0},
	"values cut at 256 characters": {10, 2, 3, 1, 8},
	"values cut at 1000 bytes":     {3, 0, 0, 1, 7},
}

func TestMutatedRunsKeepWhatTheyHold(t *testing.T) {
	runs, every := recorded(t), uint32(sample.Of(4*sampled, sampled))
	for i, m := range groundtruth.Mutations {
		var taken []groundtruth.Run
		for _, run := range runs {
			// by its name, so that a run that joins the corpus changes nothing for the others
			if crc32.ChecksumIEEE([]byte(run.Group+"/"+run.Scenario))%every == uint32(i%sampled) {
				taken = append(taken, run)
			}
		}
		got, err := mutate(m, taken)
		if err != nil {
			t.Fatal(err)
		}
		if got.runs == 0 || got.outcomes[groundtruth.Exact] < 10*got.runs/2 {
			t.Errorf("%s: %d values of %d runs are exact", m.Name, got.outcomes[groundtruth.Exact], got.runs)
		}
		n := countClaims(got.claimed)
		have := [5]int{got.outcomes[groundtruth.Wrong], got.outcomes[groundtruth.Silent], got.extra, n.broken, n.unclaimed}
		for k, what := range []string{"wrong", "silent", "extra tapes", "claimed and not served", "served and not claimed"} {
			if have[k] > limits[m.Name][k] {
				t.Errorf("%s: %d %s, at most %d were known", m.Name, have[k], what, limits[m.Name][k])
			}
		}
		t.Logf("%q: {%d, %d, %d, %d, %d},", m.Name, have[0], have[1], have[2], have[3], have[4])
	}
}

func TestListNamesWhatIsNotRight(t *testing.T) {
	runs := slices.DeleteFunc(slices.Clone(recorded(t)), func(r groundtruth.Run) bool {
		return r.Group+"/"+r.Scenario != "gemini-cli/research_chain" && r.Group+"/"+r.Scenario != "vercel-ai-v5/plain_answer"
	})
	var list strings.Builder
	if err := listMutated(&list, groundtruth.Mutations, runs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(list.String(), "every span twice\tgemini-cli/research_chain\tclaims tools: true\tserved: false") || strings.Contains(list.String(), "vercel-ai-v5") {
		t.Errorf("listed\n%s", list.String())
	}
}

func TestRecordingsAreScored(t *testing.T) {
	var all strings.Builder
	if err := scoreRecordings(&all, "../../../../testdata/corpus/agents/gemini-cli", true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(all.String(), "gemini-cli/research_chain\tclaims tools: true\tserved: false") || !strings.Contains(all.String(), "1 groups\t6 runs\t0 of") {
		t.Errorf("%s", all.String())
	}
	if err := scoreRecordings(&all, "no such folder", false); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// A mutation depends on nothing but the recording.
func TestMutationsAreDeterministic(t *testing.T) {
	runs := recorded(t)
	for i, m := range groundtruth.Mutations {
		run := runs[i*len(runs)/len(groundtruth.Mutations)]
		var before []byte
		for range 2 {
			mutated, ok, err := m.Apply(run)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			set, err := mutated.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			got, err := set.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			if before != nil && string(before) != string(got) {
				t.Errorf("%s of %s/%s differs", m.Name, run.Group, run.Scenario)
			}
			before = got
		}
	}
}
