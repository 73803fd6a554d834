// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/score"
	"github.com/tapedeck/tapedeck/tape"
)

const corpus = "../../testdata/corpus"

var options = reconstruct.Options{
	Producer:  tape.Producer{Name: "tapedeck", Version: "test"},
	Tenant:    "default",
	Redaction: tape.Redaction{Policy: "none"},
}

func runs(t testing.TB) []score.Run {
	t.Helper()
	runs, err := score.Corpus(corpus)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 200 {
		t.Fatalf("only %d recorded runs found", len(runs))
	}
	return runs
}

func tapesOf(set *evidence.Set) []*tape.Tape {
	var tapes []*tape.Tape
	for _, tr := range set.Split() {
		found, _ := reconstruct.Trace(tr, options)
		tapes = append(tapes, found...)
	}
	return tapes
}

// covered are the groups whose runs must be rebuilt without a miss, an error or a silence.
var covered = map[string]bool{
	"forge": true, "vercel-ai-v5": true, "vercel-ai-v7-genai": true, "langchain-openinference": true, "openai-agents-openinference": true, "mcp-openinference": true,
}

func TestTapesHoldWhatReallyHappened(t *testing.T) {
	for _, run := range runs(t) {
		if !covered[run.Group] {
			continue
		}
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			set, err := run.Evidence()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range run.Score(tapesOf(set)) {
				if row.Outcome.Bad() {
					t.Errorf("%s is %s: %s", row.Field, row.Outcome, row.Detail)
				}
			}
		})
	}
}
