// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every place of every word is found, and nothing else, whatever stands beside it and however long the text is.
func TestWordsAreFoundWhereverTheyStand(t *testing.T) {
	words := []string{"key=", "keys", "password", "passwo", "pass word", "sig\"", "sig_", "\u043f\u0430\u0440\u043e\u043b\u044c", "://a", "line", "linear", "online key", "aaaa", "aaaab", "$1$a", "x_y-", "session "}
	k := newKeywords(words)
	rnd := rand.New(rand.NewPCG(1, 1))
	between := []string{"", "", " ", "a", "k", "\"", "_", "\n", "\xd0", "\x00", "`", "@", "the line of keys "}
	for range 600 {
		var b strings.Builder
		for range 1 + rnd.IntN(60) {
			w := words[rnd.IntN(len(words))]
			switch rnd.IntN(4) {
			case 0:
				w = accentsUpper(strings.Map(func(r rune) rune {
					if r >= 'a' && r <= 'z' {
						return r - 'a' + 'A'
					}
					return r
				}, w))
			case 1:
				w = w[:rnd.IntN(len(w))]
			}
			b.WriteString(w)
			b.WriteString(between[rnd.IntN(len(between))])
		}
		s := b.String()
		var got []wordAt
		var store [4]wordAt
		for i := 0; i < len(s); {
			from := i
			var found []wordAt
			i, found = k.next(s, i, store[:0])
			require.Greater(t, i, from)
			got = append(got, found...)
		}
		var want []wordAt
		lower := []byte(s)
		for i, c := range lower {
			lower[i] = lowered[c]
		}
		for id, w := range words {
			for at := range lower {
				if strings.HasPrefix(string(lower[at:]), w) {
					want = append(want, wordAt{at, id})
				}
			}
		}
		require.ElementsMatch(t, want, got, "%q", s)
		require.Equal(t, len(want) > 0, k.any(s))
	}
}

func TestMarksSayWhatDetectorsWaitFor(t *testing.T) {
	for b := range 256 {
		s := "plain words " + string([]byte{byte(b)}) + " and more"
		has := marksOf(s)
		require.Equal(t, strings.Contains(s, "@"), has&markAt != 0, "%q", s)
		require.Equal(t, strings.Contains(s, ":"), has&markColon != 0, "%q", s)
		require.Equal(t, strings.Contains(s, "~"), has&markTilde != 0, "%q", s)
		require.Equal(t, strings.Contains(s, `\`), has&markEscape != 0, "%q", s)
		require.Equal(t, strings.ContainsAny(s, "%+"), has&markPercent != 0, "%q", s)
		require.Equal(t, strings.ContainsAny(s, "{["), has&markBracket != 0, "%q", s)
		require.Equal(t, strings.Contains(s, "\n"), has&markData != 0, "%q", s)
		require.Equal(t, hasDigit(s), has&markDigit != 0, "%q", s)
		require.Equal(t, foldable(s), has&markFold != 0, "%q", s)
	}
	require.Equal(t, allMarks, marksOf(strings.Repeat("a", maxMarked+1)))
}

func TestTheLastGapOfEightBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 20_000 {
		b := make([]byte, 8)
		for i := range b {
			b[i] = "aZ09+/-_ \"*,.:\x00\x80\xff"[rnd.IntN(17)]
		}
		want := 0
		for i, c := range b {
			if c < '+' {
				want = i + 1
			}
		}
		require.Equal(t, want, behindGap8(load(string(b), 0)), "%q", b)
		require.False(t, want > 0 && !slices.ContainsFunc(b, func(c byte) bool { return !isBase64(c) }))
	}
}

// A name is judged once as long as it is remembered, also when many are new.
func TestNamesAreRememberedAndForgotten(t *testing.T) {
	var c keyCache
	classified := 0
	get := func(name string) *Name {
		return c.get(name, func(string) *Name { classified++; return &Name{} })
	}
	first := get("first")
	for i := range 100 {
		get("name" + strings.Repeat("x", i))
	}
	require.Same(t, first, get("first"))
	require.Equal(t, 101, classified)
	for i := range 3 * maxCachedKeys {
		get("name" + string(rune('a'+i%26)) + strings.Repeat("y", i%200) + string(rune(0x4e00+i%20000)))
	}
	require.LessOrEqual(t, len(*c.settled.Load())+len(c.fresh), 2*maxCachedKeys)
	get(strings.Repeat("n", maxKeyBytes+1))
	require.NotContains(t, *c.settled.Load(), strings.Repeat("n", maxKeyBytes+1))
}
