// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/rand/v2"
	"testing"
)

// A text whose brackets close each other does not end inside, whatever stands in it.
func TestClosedTextDoesNotEndInside(t *testing.T) {
	const pieces = `{}[]"\\:, a1é` + "\n"
	random := rand.New(rand.NewPCG(1, 2))
	closed := 0
	for range 400_000 {
		text := []byte(`{"a":[`)[:random.IntN(7)]
		for range random.IntN(12) {
			text = append(text, pieces[random.IntN(len(pieces))])
		}
		text = append(text, `"]}`[random.IntN(4):]...)
		if !isClosed(string(text)) {
			continue
		}
		closed++
		if _, inside := closeCut(string(text), maxCutNesting); inside {
			t.Fatalf("%q", text)
		}
	}
	if closed < 1000 {
		t.Errorf("%d texts are closed", closed)
	}
}
