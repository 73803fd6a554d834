// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// TestInputsAfterTheConventions derives inputs that were written after the text of the GenAI conventions.
// Beside what other inputs expect, "holds" are texts that the tape holds, "lacks" texts that it does not.
func TestInputsAfterTheConventions(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/conventions/*.expect.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d inputs, %v", len(paths), err)
	}
	for _, path := range paths {
		input := strings.TrimSuffix(path, ".expect.json")
		t.Run(filepath.Base(input), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			if err := json.Unmarshal(body, &want); err != nil {
				t.Fatal(err)
			}
			tapes := derived(recorded(t, input, ".jsonl"), rule.Choice{})
			wrong := want.differences(tapes)
			text := writtenAs(tapes)
			holds, _ := member[[]string](want, "holds")
			for _, s := range holds {
				if !strings.Contains(text, s) {
					wrong = append(wrong, "does not hold "+s)
				}
			}
			lacks, _ := member[[]string](want, "lacks")
			for _, s := range lacks {
				if strings.Contains(text, s) {
					wrong = append(wrong, "holds "+s)
				}
			}
			if len(wrong) > 0 {
				t.Errorf("%s\n%s\n%s", strings.Join(wrong, "\n"), saidOf(tapes), text)
			}
		})
	}
}

// writtenAs returns tapes as they are written, one below the other.
func writtenAs(tapes []*tape.Tape) string {
	var all []byte
	for _, tp := range tapes {
		all = append(tp.AppendJSON(all), '\n')
	}
	return string(all)
}
