// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// matchersOf compiles a rule and returns what it is matched with.
func matchersOf(r *rule) (list []*matcher) {
	r.once.Do(r.compile)
	for _, sh := range r.shapes {
		for _, m := range []*matcher{sh.re, sh.tail} {
			if m != nil {
				list = append(list, m)
			}
		}
	}
	return list
}

// An automaton says that a text holds no match exactly where package regexp finds none: of every pattern of the rules, in texts that are nearly matches.
func TestAutomataAgreeWithRegexp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	units := hostileUnits()
	all := slices.Sorted(maps.Keys(units))
	odd := []string{"\n", " ", "\"", "\u017f", "\u212a", "\u00e9", "\xff", "\xe2\x82", "_", "1", "a", "K", "\x00", "="}
	automata := 0
	for _, r := range builtin() {
		if r.pattern == "" {
			continue
		}
		for _, m := range matchersOf(r) {
			if m.auto == nil {
				continue
			}
			automata++
			for range 30 {
				example := units[r.Name+": example"]
				if rnd.IntN(4) == 0 {
					example = units[all[rnd.IntN(len(all))]]
				}
				b := []byte(example)
				for range rnd.IntN(3) {
					at := rnd.IntN(len(b) + 1)
					b = slices.Insert(b, at, []byte(odd[rnd.IntN(len(odd))])...)
				}
				s := strings.Repeat(string(b), 1+rnd.IntN(3))
				s = s[rnd.IntN(1+len(s)/4):]
				looked, may := m.may(s)
				require.Equal(t, m.MatchString(s), may, "%s: %q", m, s)
				require.LessOrEqual(t, looked, len(s))
			}
		}
	}
	require.Greater(t, automata, 100)
}

// A text that leads to ever new states is left to package regexp, and an automaton that has been given up finds its way back. States stay bounded.
func TestAutomataAreBounded(t *testing.T) {
	m := newMatcher(`[ab]*a[ab]{14}c`, true) // its automaton has 2^15 states
	rnd := rand.New(rand.NewPCG(4, 4))
	b := make([]byte, 4096)
	gaveUp := 0
	for range 100 {
		for i := range b {
			b[i] = "ab"[rnd.IntN(2)]
		}
		if looked, may := m.may(string(b)); may {
			require.Less(t, looked, len(b))
			gaveUp++
		}
		require.LessOrEqual(t, len(m.auto.states), maxAutoStates)
	}
	require.Positive(t, gaveUp)
	require.LessOrEqual(t, m.auto.made.Load(), autoCredit+m.auto.walked.Load()/autoPrice+2) // the last one, and the begin of all
	_, may := m.may(string(b) + "c")
	require.True(t, may)
}

func TestAutomataAreShared(t *testing.T) {
	m := newMatcher(`(?i)key[ \t]*=[ \t]*"([a-z0-9]{8,40})"`, true)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(5, uint64(n)))
			for range 300 {
				s := strings.Repeat("key = ", rnd.IntN(3)) + `key="` + strings.Repeat("a", rnd.IntN(60)) + `"`
				if _, may := m.may(s); may != m.MatchString(s) {
					t.Errorf("%q: %t", s, may)
				}
			}
		})
	}
	all.Wait()
}

func FuzzAutomaton(f *testing.F) {
	for _, pattern := range []string{`a`, `\bkey\b`, `(?i)k[s-\x{17f}]+$`, `(?m)^a|b$`, `(?s).*\B_`, `[^\n]{0,20}?x\z`, `(a|ab)(c|bcd)*`, `\pL+\d`} {
		f.Add(pattern, "a key, \u212aS\u017f\nabcd_x1\xff")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil || len(pattern) > 200 || len(s) > 2000 {
			return
		}
		if pattern = re.String(); len(pattern) > 1000 { // as the patterns of rules are
			return
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return
		}
		for _, floating := range []bool{false, true} {
			m := newMatcher(pattern, floating)
			for range 2 { // the second time by known steps
				looked, may := m.may(s)
				if want := m.MatchString(s); may != want && (want || m.auto != nil && m.auto.made.Load() < autoCredit) {
					t.Fatalf("%q of %q, floating %t: %t after %d bytes", pattern, s, floating, may, looked)
				}
			}
		}
	})
}
