// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package foreign_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// TestWhatTheCollectorsExportersWriteIsTheSameEvidence: each folder of testdata/collector holds what one
// exporter wrote of the same spans, in one of its encodings and compressions.
func TestWhatTheCollectorsExportersWriteIsTheSameEvidence(t *testing.T) {
	folders, err := filepath.Glob("testdata/collector/*-*")
	if err != nil || len(folders) < 11 {
		t.Fatal(len(folders), err)
	}
	var first []byte
	for _, folder := range folders {
		files, others, err := foreign.Files(folder)
		if err != nil || others > 0 || len(files) == 0 {
			t.Errorf("%s: %d files, %d others, %v", folder, len(files), others, err)
		}
		set := evidence.NewSet()
		for _, file := range files {
			for doc, err := range foreign.ReadFile(file, nil, otlpfile.Options{}) {
				if err != nil {
					t.Fatal(err)
				}
				set.AddTraces(doc.Traces)
			}
		}
		body, err := set.Canonical()
		if err != nil || set.Len() == 0 {
			t.Fatal(folder, err)
		}
		if first == nil {
			first = body
		} else if !bytes.Equal(first, body) {
			t.Errorf("%s holds other evidence", folder)
		}
	}
}
