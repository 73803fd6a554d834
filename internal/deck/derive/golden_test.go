// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

var update = flag.Bool("update", false, "rewrite the golden tapes")

// goldenScenarios are reviewed by eye when they change: a chain of calls, a sub-agent, a failure.
var goldenScenarios = []string{"research_chain", "handoff", "tool_error_retry", "happy", "two_agents", "truncated_redacted"}

// TestGoldenTapes keeps tapes of every dialect as files, so that a change of what is rebuilt shows in a review.
func TestGoldenTapes(t *testing.T) {
	for _, run := range corpusRuns(t) {
		if !slices.Contains(goldenScenarios, run.Scenario) {
			continue
		}
		t.Run(run.Group+"/"+run.Scenario, func(t *testing.T) {
			got := golden(t, run)
			path := filepath.Join("../../../testdata/golden", run.Group, run.Scenario+".json")
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (write it with -update, and read it)", err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the tape changed; read the difference, then -update:\n%.4000s", diff)
			}
		})
	}
}

// golden renders the tapes of a run, joined as the command line joins them, indented.
func golden(t *testing.T, run groundtruth.Run) []byte {
	t.Helper()
	set, err := run.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	options := reconstruct.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}
	for _, tp := range reconstruct.All(set.Split(), options) {
		if err := tp.Seal(); err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&out, tp.AppendJSON(nil), "", " "); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
