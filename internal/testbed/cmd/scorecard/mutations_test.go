// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

// sampled is how many runs there are for each that is mutated here; make scorecard mutates all of them.
const sampled = 4

// limits are the defects that are known under each mutation, among the sampled runs: values that are wrong or silent, tapes too many.
var limits = map[string][3]int{
	"unknown vendor":            {2, 0, 0},
	"no tool spans":             {5, 0, 0},
	"generic tool names":        {3, 0, 0},
	"foreign call ids":          {2, 0, 0},
	"unknown envelope":          {0, 0, 0},
	"every span twice":          {3, 0, 0},
	"model calls wrapped":       {4, 0, 0},
	"no root":                   {1, 0, 0},
	"two traces":                {0, 0, 1},
	"content in span events":    {0, 0, 0},
	"content in log records":    {1, 0, 0},
	"other words in messages":   {1, 0, 0},
	"items instead of messages": {1, 0, 0},
	"results as user messages":  {1, 0, 0},
	"two traces, clock behind":  {6, 0, 3},
	"no parents":                {10, 0, 37},
}

func TestMutatedRunsKeepWhatTheyHold(t *testing.T) {
	runs := recorded(t)
	for i, m := range groundtruth.Mutations {
		var sample []groundtruth.Run
		for j, run := range runs {
			if j%sampled == i%sampled {
				sample = append(sample, run)
			}
		}
		got, err := mutate(m, sample)
		if err != nil {
			t.Fatal(err)
		}
		if got.runs == 0 || got.outcomes[groundtruth.Exact] < 10*got.runs/2 {
			t.Errorf("%s: %d values of %d runs are exact", m.Name, got.outcomes[groundtruth.Exact], got.runs)
		}
		have := [3]int{got.outcomes[groundtruth.Wrong], got.outcomes[groundtruth.Silent], got.extra}
		for k, what := range []string{"wrong", "silent", "extra tapes"} {
			if have[k] > limits[m.Name][k] {
				t.Errorf("%s: %d %s, at most %d were known", m.Name, have[k], what, limits[m.Name][k])
			}
		}
		t.Logf("%q: {%d, %d, %d},", m.Name, have[0], have[1], have[2])
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
