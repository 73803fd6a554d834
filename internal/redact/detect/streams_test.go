// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEditsCompose(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	some := func(n int) (edits []edit) {
		for at := 0; at < n; {
			start := at + g.IntN(4)
			end := start + g.IntN(4)
			if end > n {
				break
			}
			if end > start {
				edits = append(edits, edit{start, end, strings.Repeat("xyz", g.IntN(3))})
			}
			at = end + 1
		}
		return edits
	}
	for range 20000 {
		s := "abcdefghijklmnopqrstuvwxyz"[:5+g.IntN(20)]
		first := some(len(s))
		between := apply(s, first)
		second := some(len(between))
		require.Equal(t, apply(between, second), apply(s, compose(len(s), first, second)), "%q %v %v", s, first, second)
	}
}
