// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package codex_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestCodexLeavesOutSpansThatSayNothing(t *testing.T) {
	for _, s := range genaitest.Sources(t, "testdata/codex/retry") {
		if got := genai.IsEvidence(s.ScopeName, s.Span); got != (s.Span.Name() != "fs.read_file") {
			t.Errorf("%s: evidence is %v", s.Span.Name(), got)
		}
	}
}
