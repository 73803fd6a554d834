// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

// What marks the place of a cut while a run is read never stands on a tape.
func TestNoTapeHoldsAMarkOfACut(t *testing.T) {
	runs := drawn(groundtruth.Mutations[0], recorded(t), 3)
	for _, m := range groundtruth.Mutations {
		if !strings.HasPrefix(m.Name, "values cut") {
			continue
		}
		err := eachMutated(m, runs, func(name string, _ groundtruth.Run, tapes []*tape.Tape) {
			for _, tp := range tapes {
				text := string(tp.AppendJSON(nil))
				if strings.ContainsAny(text, "\uFDD0\uFDD1") || strings.Contains(strings.ToLower(text), `\ufdd0`) {
					t.Errorf("%s: %s holds a mark", m.Name, name)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
