// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScorecardIsCurrent(t *testing.T) {
	got, err := document("../../../../testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../../../docs/scorecard.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
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
		t.Errorf("the table in README.md is stale (make scorecard rewrites it):\n%s", diff)
	}
}
