// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"math/rand/v2"
	"slices"
)

// Place says where a rule stands among those of its stage.
type Place struct {
	ID ID
	// After lists the rules of the stage that stand before it wherever both are applied.
	After []ID
	// Fixed marks a rule that no other one is moved across.
	Fixed bool
}

// Drawn lists the rules of a stage in an order that their places permit, drawn by a seed. 0 leaves them in
// the order in which they stand.
func Drawn[R any](seed uint64, rules []R, placeOf func(R) Place) []R {
	if seed == 0 {
		return rules
	}
	random := rand.New(rand.NewPCG(seed, 0))
	out := make([]R, 0, len(rules))
	for len(rules) > 0 {
		end := slices.IndexFunc(rules, func(r R) bool { return placeOf(r).Fixed })
		switch end {
		case -1:
			end = len(rules)
		case 0:
			out, rules = append(out, rules[0]), rules[1:]
			continue
		}
		out, rules = append(out, permuted(random, slices.Clone(rules[:end]), placeOf)...), rules[end:]
	}
	return out
}

// permuted takes one after the other of the rules that stand after none of those that are left.
func permuted[R any](random *rand.Rand, left []R, placeOf func(R) Place) (out []R) {
	for len(left) > 0 {
		var free []int
		for i, r := range left {
			after := placeOf(r).After
			if !slices.ContainsFunc(left, func(other R) bool { return slices.Contains(after, placeOf(other).ID) }) {
				free = append(free, i)
			}
		}
		if len(free) == 0 { // a cycle, which a test refuses
			return append(out, left...)
		}
		i := free[random.IntN(len(free))]
		out, left = append(out, left[i]), slices.Delete(left, i, i+1)
	}
	return out
}
