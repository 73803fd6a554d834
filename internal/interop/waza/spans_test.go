// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// evaluated derives the runs of the evaluation whose spans the dialect is tested with.
func evaluated(t *testing.T) []*tape.Tape {
	t.Helper()
	set := evidence.NewSet()
	for document, err := range otlpfile.ReadFile("../../reading/genai/dialect/waza/testdata/eval.otlp.json", nil, otlpfile.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		set.AddTraces(document.Traces)
	}
	return reconstruct.All(set.Split(), reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
}

func TestWhatWazaSaysOfARunStandsInItsSnapshot(t *testing.T) {
	var names []string
	for _, tp := range evaluated(t) {
		body, _, err := Encode(tp, oracle.FromTape(tp), interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(body)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, FileName(tp))
		for path, want := range map[[2]string]string{
			{"evalId"}: "run-1760000000", {"task", "displayName"}: map[string]string{"read-note": "Read a note", "say-hi": "Say hi"}[tp.Run.TaskID], {"task", "testId"}: tp.Run.TaskID, {"evalName"}: "nightly", {"skill"}: "notes", {"wazaVersion"}: "0.38.9", {"engine", "type"}: "copilot-sdk", {"engine", "modelId"}: "gpt-4o",
		} {
			got := s.doc.Get(path[0])
			if path[1] != "" {
				got = got.Get(path[1])
			}
			if got.Str() != want {
				t.Errorf("%s: %v is %s, want %q", FileName(tp), path, got.JSON(), want)
			}
		}
		runs, err := Decode(body, interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := Encode(runs[0].Tape, runs[0].Oracle, interop.Options{NoLosses: true}); err != nil || string(again) != string(body) {
			t.Errorf("%s read and written again: %v\n%s", FileName(tp), err, again)
		}
	}
	if want := []string{"read-note-run1.json", "say-hi-run1.json", "read-note-run2.json"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}
