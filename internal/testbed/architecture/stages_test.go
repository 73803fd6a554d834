// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"slices"
	"strings"
	"testing"
)

// stages are the packages of reconstruction in their order. Each knows those before it alone.
var stages = []string{"rule", "chat", "spantree", "place", "fragment", "divide", "join", "ledger", "settle", "recovery", "pairing", "value", "write"}

func TestStagesOfReconstructionKnowThoseBeforeThem(t *testing.T) {
	const wing = "internal/reconstruct"
	found := 0
	for folder, imports := range packages(t) {
		stage, ok := strings.CutPrefix(folder, wing+"/")
		if !ok {
			continue
		}
		at := slices.Index(stages, stage)
		if at < 0 {
			t.Errorf("%s is no stage", folder)
			continue
		}
		found++
		for _, p := range imports {
			if other, ok := strings.CutPrefix(p, module+wing+"/"); ok && slices.Index(stages, other) >= at {
				t.Errorf("%s imports %s, a stage behind it", stage, other)
			} else if p == module+wing {
				t.Errorf("%s imports reconstruct itself", stage)
			}
		}
	}
	if found != len(stages) {
		t.Errorf("%d stages found, %d listed", found, len(stages))
	}
}
