// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestEveryAskingWordIsFound: whatever stands around a word, and in whichever case, it is found in its label.
func TestEveryAskingWordIsFound(t *testing.T) {
	alone := map[string]asks{}
	for _, w := range askedKeys {
		alone[w] = asksKey
	}
	for _, w := range askedWords {
		alone[w] = asksPassword
	}
	apart := slices.Concat(slices.Collect(maps.Keys(askedShort)), slices.Collect(maps.Keys(askedCodes)), []string{"time"})
	around := func(w string) []string {
		return []string{w, strings.ToUpper(w), "x" + w, "Your " + w + " here", "id#" + strings.ToUpper(w), "Ihr Schlüssel: " + w, strings.Repeat("x", 180-len(w)) + w}
	}
	for w, want := range alone {
		for _, label := range around(w) {
			if a, _ := askedBy(label); a < want {
				t.Errorf("%q asks for %d by %q, want %d", label, a, w, want)
			}
		}
	}
	for _, w := range apart {
		for _, label := range around(w) {
			if _, found := askedBy(label); !found {
				t.Errorf("%q is not found in %q", w, label)
			}
		}
	}
	for _, label := range []string{"call_3f1c9a7e5b2d8046", "bash", "gpt-x-large", "a", "passage", "two-factors"} {
		a, _ := askedBy(label)
		if want := slices.ContainsFunc(slices.Concat(askedKeys, askedWords), func(w string) bool { return strings.Contains(label, w) }); (a != asksNothing) != want {
			t.Errorf("%q asks for %d", label, a)
		}
	}
}
