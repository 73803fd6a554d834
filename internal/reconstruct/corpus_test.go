// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

const corpus = "../../testdata/corpus"

var options = reconstruct.Options{
	Producer:  tape.Producer{Name: "tapedeck", Version: "test"},
	Tenant:    "default",
	Redaction: tape.Redaction{Policy: "none"},
}

// readCorpus parses the recorded runs once for all tests. Nothing changes a run: Evidence reads its files anew.
var readCorpus = sync.OnceValues(func() ([]groundtruth.Run, error) { return groundtruth.Corpus(corpus) })

func runs(t testing.TB) []groundtruth.Run {
	t.Helper()
	runs, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 200 {
		t.Fatalf("only %d recorded runs found", len(runs))
	}
	return slices.Clone(runs)
}

// tapesOf rebuilds the runs of every trace on its own.
func tapesOf(set *evidence.Set) []*tape.Tape {
	var tapes []*tape.Tape
	for _, tr := range set.Split() {
		found, _ := reconstruct.Trace(tr, options)
		tapes = append(tapes, found...)
	}
	return tapes
}

// open are defects that are known and not mended yet.
var open = map[string]bool{
	"llamaindex-openinference/handoff (stripped)": true,
}

func TestTapesHoldWhatReallyHappened(t *testing.T) {
	bad := map[string]bool{}
	for _, run := range runs(t) {
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			set, err := run.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range run.Score(reconstruct.All(set.Split(), options)) {
				field := run.Group + "/" + run.Scenario + " " + row.Field
				defect := row.Outcome.Bad() || row.Outcome == groundtruth.Wrapped
				if defect && groundtruth.Disputed[field] == "" && !open[field] {
					t.Errorf("%s is %s: %s", row.Field, row.Outcome, row.Detail)
				}
				bad[field] = bad[field] || defect
			}
		})
	}
	for field := range groundtruth.Disputed {
		if !bad[field] {
			t.Errorf("%s is right, and no longer disputed", field)
		}
	}
	for field := range open {
		if strings.HasSuffix(field, " (proof)") || strings.HasSuffix(field, " (stripped)") {
			continue // checked where they are found
		}
		if !bad[field] {
			t.Errorf("%s is right, and no longer open", field)
		}
	}
}
