// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryAskingWordIsLookedAt: whatever stands around a word, and in whichever case, its label is read.
func TestEveryAskingWordIsLookedAt(t *testing.T) {
	words := slices.Concat(askedWords, askedKeys, []string{"time"})
	for _, set := range []map[string]bool{askedShort, askedCodes} {
		for w := range set {
			words = append(words, w)
		}
	}
	for _, w := range words {
		for _, label := range []string{w, strings.ToUpper(w), "x" + w, "Your " + w + " here", "id#" + strings.ToUpper(w)} {
			if !mayAsk(label) {
				t.Errorf("%q is taken to ask for nothing", label)
			}
		}
	}
	for _, label := range []string{"call_3f1c9a7e5b2d8046", "bash", "gpt-x-large"} {
		if mayAsk(label) {
			t.Errorf("%q is read", label)
		}
	}
}
