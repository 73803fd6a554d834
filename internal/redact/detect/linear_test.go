// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Patterns that are matched without the regular expression give what it gives.
func TestLinearMatchesAreThoseOfThePattern(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	linears := 0
	for _, r := range builtin() {
		if r.pattern == "" {
			continue
		}
		r.once.Do(r.compile)
		for _, sh := range r.shapes {
			if sh.linear == nil {
				continue
			}
			linears++
			matched := 0
			for range 300 {
				text := nearMatch(g, sh.linear[g.IntN(len(sh.linear))])
				var want []int
				if m := sh.re.FindStringSubmatchIndex(text); m != nil {
					start, end := r.valueOf(m)
					want = []int{start, end}
				}
				var got []int
				for _, l := range sh.linear {
					if start, end, _, _, ok := l.match(text, 0); ok {
						got = []int{start, end}
						matched++
						break
					}
				}
				require.Equal(t, want, got, "%s: %v on %q", r.Name, sh.re, text)
			}
			require.Positive(t, matched, r.Name)
		}
	}
	require.Greater(t, linears, 200)
}

// nearMatch makes a text that a row of runs matches, or nearly.
func nearMatch(g *rand.Rand, l *linear) string {
	var b strings.Builder
	any := func(of *class) {
		for {
			if c := byte(g.IntN(128)); of[c] {
				b.WriteByte(c)
				return
			}
		}
	}
	for i := range l.items {
		it := &l.items[i]
		n := it.min
		switch g.IntN(60) {
		case 0:
			n += g.IntN(5)
		case 1:
			n = max(n, it.max)
		case 2:
			n = max(0, n-1)
		}
		for range n {
			any(&it.of)
		}
	}
	b.WriteString([]string{"", " ", "x", "-", "=", "\u00e9", ".", "\n"}[g.IntN(8)])
	return b.String()
}
