// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

func recorded(t *testing.T) []groundtruth.Run {
	t.Helper()
	runs, err := groundtruth.Corpus("../../../../testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestScorecardIsCurrent(t *testing.T) {
	runs := recorded(t)
	got, err := document(runs)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile("../../../../docs/scorecard.md")
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := strings.Cut(string(body), mutationsHeading) // see TestMutatedRunsKeepWhatTheyHold
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/scorecard.md is stale (make scorecard rewrites it):\n%s", diff)
	}
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := embed(got, string(readme))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(readme), shown); diff != "" {
		t.Errorf("the total in README.md is stale (make scorecard rewrites it):\n%s", diff)
	}
}
