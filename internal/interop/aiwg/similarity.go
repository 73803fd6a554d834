// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Measure tells how alike two texts are, from 0 to 1. Its name is part of every result that it gave.
type Measure struct {
	Name string
	Of   func(a, b string) float64
}

// TokenCosine is the measure that needs nothing but the texts. It is the cosine between the counts of their words and numbers, after NFC and
// without regard to case, white space and punctuation. It knows nothing of meaning. A paraphrase is far from its original, and a text in which
// "not" was added is close. It is a floor under noise in wording, not a judge.
var TokenCosine = Measure{Name: "token-cosine", Of: tokenCosine}

// TrigramCosine is the same over sequences of three characters: for languages that do not part their words, and for texts with many
// inflected or misspelt words.
var TrigramCosine = Measure{Name: "trigram-cosine", Of: trigramCosine}

// Measures are those that can be named.
var Measures = []Measure{TokenCosine, TrigramCosine}

func folded(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }

func tokenCosine(a, b string) float64 {
	return cosine(a, b, func(s string, count func(string)) {
		for _, token := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }) {
			count(token)
		}
	})
}

func trigramCosine(a, b string) float64 {
	return cosine(a, b, func(s string, count func(string)) {
		runes := []rune(strings.ToLower(s))
		for i := 0; i+3 <= len(runes); i++ {
			count(string(runes[i : i+3]))
		}
	})
}

// cosine is 1 for texts that are equal after folding, also when they have no tokens at all.
func cosine(a, b string, tokens func(string, func(string))) float64 {
	a, b = folded(a), folded(b)
	if a == b {
		return 1
	}
	counts := func(s string) map[string]int64 {
		m := map[string]int64{}
		tokens(s, func(token string) { m[token]++ })
		return m
	}
	x, y := counts(a), counts(b)
	var dot, xx, yy int64
	for token, n := range x {
		dot += n * y[token]
		xx += n * n
	}
	for _, n := range y {
		yy += n * n
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	// The sums are of integers, so the order of the map does not matter. The result is never 1, because the texts differ.
	return math.Min(float64(dot)/(math.Sqrt(float64(xx))*math.Sqrt(float64(yy))), math.Nextafter(1, 0))
}
