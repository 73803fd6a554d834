// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScorecardIsCurrent(t *testing.T) {
	got, err := document("../../../testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../../docs/scorecard.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/scorecard.md is stale (make scorecard rewrites it):\n%s", diff)
	}
}
