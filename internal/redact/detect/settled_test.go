// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
	"sync/atomic"
	"testing"
)

// What the rules that do not guess have found clean may hold what the others guess: the memory keeps both verdicts apart, for whole texts, for long strings of
// JSON as they are spelled, and for streams.
func TestAVerdictOfCertainRulesIsNoneOfAllRules(t *testing.T) {
	const guess = "tn.write(b\"Winter2024!rmra15\") and then some words"
	long := `{"text":"` + strings.Repeat(`a line of text\n`, maxKeyBytes/2) + strings.ReplaceAll(guess, `"`, `\"`) + `"}`
	stream := `[{"delta":"tn.write(b\"Winter20"},{"delta":"24!rmra15\") and then some words"}]`
	for _, text := range []string{guess, `{"text":"` + strings.ReplaceAll(guess, `"`, `\"`) + `"}`, long, stream} {
		d := masking(t)
		search := func(sure bool) int {
			p := &Walk{r: d, rep: &Report{}, dry: true, sure: sure}
			p.Value("content", text)
			return int(p.Found())
		}
		for range 2 { // the second time everything is remembered
			if n := search(true); n != 0 {
				t.Errorf("%d hits of rules that do not guess in %.80q", n, text)
			}
			if n := search(false); n == 0 {
				t.Errorf("nothing was found in %.80q behind a search by the rules that do not guess", text)
			}
		}
	}
}

// A result is searched again until a search finds nothing. That costs one search of a text without a hit, and at most two of the result for each round: by the
// rules that do not guess, and by all.
func TestSettlingCostsABoundedNumberOfSearches(t *testing.T) {
	d := masking(t)
	d.Remember(false)
	d.work = &atomic.Int64{}
	const filler = "a line of words that say nothing about what we look for\n"
	looked := func(text string) float64 {
		d.work.Store(0)
		d.Walk(nil).Value("content", text)
		return float64(d.work.Load()) / float64(len(text))
	}
	clean := strings.Repeat(filler, 400)
	once := looked(clean)
	one := looked(clean + "password: Winter2024!rmra15\n" + clean)
	// A hit cuts its text into two, which are searched again before the result is.
	if most := (2 + 2) * once * 1.1; one > most || one < 3*once*0.9 {
		t.Errorf("%.2f bytes were looked at for each of a text with one hit, %.2f of one without: at most %.2f", one, once, most)
	}
	hard := "mysql -p" + strings.Repeat("A", 12) + "token=&x=eyJhbGciOiJIUzI1NiJ9."
	for n := range 9 {
		text := clean + strings.Repeat(hard+"\\u0026password: \\\"", n) + "password: Winter2024!rmra15\n" + clean
		if got, most := looked(text), (2+2*maxRounds)*once*1.1; got > most {
			t.Errorf("%d: %.2f bytes were looked at for each of the text, at most %.2f", n, got, most)
		}
	}
}
