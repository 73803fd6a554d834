// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package cause finds the recorded answer whose exchange between a good and a bad run flips the outcome of a replay.
package cause

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Outcome is how a replay ended.
type Outcome string

// The outcomes.
const (
	Good  Outcome = "good"
	Bad   Outcome = "bad"
	Other Outcome = "other" // neither: another answer, or a replay that could not be done
)

// Verdict is what the search found.
type Verdict string

// The verdicts.
const (
	One         Verdict = "one"          // one answer alone flips the outcome
	Trivial     Verdict = "trivial"      // what the model answered in the end does, by which the outcome is judged, and more differs before it
	Together    Verdict = "together"     // several answers do, together
	Interaction Verdict = "interaction"  // one answer flips it where others are exchanged too; which ones was not found
	None        Verdict = "none"         // all answers exchanged do not give the bad outcome
	NotRepeated Verdict = "not_repeated" // a replay of the good run is not good, or one of the bad run not bad
	Flaky       Verdict = "flaky"        // the same mix ended now in one way, now in another
)

// overhead is k of the bound: both runs, the two replays that enclose the flip once more, the answer alone, and the bad run without it.
const overhead = 6

// Trial is a replay.
type Trial struct {
	Exchanged string  `json:"exchanged"` // numbers of answers, such as 1-3,7; none or all
	Outcome   Outcome `json:"outcome"`
	Detail    string  `json:"detail,omitempty"`
}

// Result is the outcome of a search. Its JSON form is part of the contract.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Cause are the answers that flip the outcome when they are exchanged in the good run. The first was found by halving, the others are what
	// it needs.
	Cause []Answer `json:"cause"`
	// Alone says that the first answer of Cause, exchanged alone in the good run, gives the bad outcome; Back that the bad run with this answer
	// alone of the good one gives the good outcome. Nil where it was not asked.
	Alone *bool `json:"alone,omitempty"`
	Back  *bool `json:"back,omitempty"`
	// Differ are all answers in which the runs differ; Unpaired counts the calls that only one of them has.
	Differ   []Answer `json:"differ"`
	Unpaired int      `json:"unpaired"`
	// Replays is how many there were; of them at most Bound = ceil(log2(answers)) + 6 to find the first answer, the others to find what it needs.
	Replays int      `json:"replays"`
	Bound   int      `json:"bound"`
	Trials  []Trial  `json:"trials"`
	Notes   []string `json:"notes"`
}

// Search looks for a cause.
type Search struct {
	Pair *Pair
	// Replay replays a mix, and says how that ended. An error ends the search. detail is for the reader.
	Replay func(ctx context.Context, exchanged func(number int) bool) (o Outcome, detail string, err error)
	// Repeat is how often each mix is replayed; the outcomes have to be the same.
	Repeat int
	// Partners bounds the search for what an answer needs; 0 only says that it needs something.
	Partners int
	// ByAnswer says that the outcome is judged by what the run answers.
	ByAnswer bool

	result *Result
	known  map[string]Outcome
}

// errFlaky ends a search.
var errFlaky = errors.New("flaky")

// Run searches.
func (s *Search) Run(ctx context.Context) (*Result, error) {
	n := len(s.Pair.Answers)
	s.result = &Result{Cause: []Answer{}, Differ: s.Pair.Answers, Unpaired: s.Pair.Unpaired, Bound: bits.Len(uint(max(n-1, 0))) + overhead, Trials: []Trial{}, Notes: []string{}}
	if s.Pair.Answers == nil {
		s.result.Differ = []Answer{}
	}
	s.known = map[string]Outcome{}
	err := s.search(ctx, n)
	if errors.Is(err, errFlaky) {
		s.result.Verdict, err = Flaky, nil
	}
	if err != nil {
		return nil, err
	}
	return s.result, nil
}

func upTo(m int) func(int) bool { return func(number int) bool { return number <= m } }

func only(numbers ...int) func(int) bool {
	set := map[int]bool{}
	for _, n := range numbers {
		set[n] = true
	}
	return func(number int) bool { return set[number] }
}

func (s *Search) note(format string, args ...any) {
	s.result.Notes = append(s.result.Notes, fmt.Sprintf(format, args...))
}

// ask replays a mix that was not replayed before.
func (s *Search) ask(ctx context.Context, exchanged func(int) bool) (Outcome, error) {
	if known, ok := s.known[numbers(exchanged, len(s.Pair.Answers))]; ok {
		return known, nil
	}
	first, err := s.again(ctx, exchanged)
	for i := 1; i < s.Repeat && err == nil; i++ {
		_, err = s.again(ctx, exchanged)
	}
	return first, err
}

// again replays a mix, also one that was replayed before.
func (s *Search) again(ctx context.Context, exchanged func(int) bool) (Outcome, error) {
	name := numbers(exchanged, len(s.Pair.Answers))
	o, detail, err := s.Replay(ctx, exchanged)
	if err != nil {
		return o, err
	}
	s.result.Replays++
	s.result.Trials = append(s.result.Trials, Trial{name, o, detail})
	known, twice := s.known[name]
	s.known[name] = o
	if twice && known != o {
		s.note("the mix with %s exchanged ended %s and then %s: the command, or what judges it, does not do the same twice", name, known, o)
		return o, errFlaky
	}
	return o, nil
}

func (s *Search) search(ctx context.Context, n int) error {
	first, err := s.ask(ctx, upTo(0))
	if err != nil {
		return err
	}
	if first != Good {
		s.result.Verdict = NotRepeated
		s.note("a replay of the good run ended %s", first)
		return nil
	}
	if n == 0 {
		s.result.Verdict = None
		s.note("the runs do not differ in any answer that could be exchanged")
		return nil
	}
	last, err := s.ask(ctx, upTo(n))
	if err != nil {
		return err
	}
	switch {
	case last == Bad:
	case s.Pair.apart:
		s.result.Verdict = None
		s.note("a replay of the good run with all of these answers exchanged ended %s: what makes the bad run bad is not in them", last)
		return nil
	default:
		s.result.Verdict = NotRepeated
		s.note("a replay of the bad run ended %s: what makes it bad is not on its tape", last)
		if last == Good {
			s.result.Verdict = None
		}
		return nil
	}
	at, err := s.halve(ctx, n, upTo)
	if err != nil {
		return err
	}
	// What was found hangs on these two: one that did so by chance is found out here.
	for _, m := range []int{at - 1, at} {
		if _, err := s.again(ctx, upTo(m)); err != nil {
			return err
		}
	}
	if before := s.known[numbers(upTo(at-1), n)]; before == Other {
		s.note("with one answer less the outcome is neither good nor bad")
	}
	s.result.Cause = append(s.result.Cause, s.Pair.Answers[at-1])
	alone, err := s.ask(ctx, only(at))
	if err != nil {
		return err
	}
	without, err := s.ask(ctx, func(number int) bool { return number != at })
	if err != nil {
		return err
	}
	isAlone, isBack := alone == Bad, without == Good
	s.result.Alone, s.result.Back = &isAlone, &isBack
	if !isBack {
		s.note("the bad run with the good answer %d ended %s: %s", at, without,
			map[bool]string{true: "other answers give the bad outcome too", false: "that mix is neither of the two"}[without == Bad])
	}
	if isAlone {
		s.result.Verdict = One
		if a := &s.Pair.Answers[at-1]; s.ByAnswer && s.Pair.isAnswer(a) {
			s.trivial(a)
		}
		return nil
	}
	s.result.Verdict = Interaction
	s.note("answer %d alone ended %s: it needs others before it", at, alone)
	return s.partners(ctx, at)
}

// trivial says what a cause is worth that is the answer by which the outcome is judged: no mix could have shown another one.
func (s *Search) trivial(a *Answer) {
	before := s.Pair.before(a)
	if before == "" {
		s.note("no answer before it differs: what the model was told beside them may, such as its instructions")
		return
	}
	s.result.Verdict = Trivial
	s.note("the outcome is judged by the answer, which is what the model said here, for whatever reason: %s. --model-url lets a model react to the exchanged answers of tools, --check judges by something else", before)
}

// halve finds the least m for which mix(m) is bad, where mix(0) is not and mix(n) is.
func (s *Search) halve(ctx context.Context, n int, mix func(m int) func(int) bool) (int, error) {
	low, high := 0, n
	for high-low > 1 {
		middle := (low + high) / 2
		o, err := s.ask(ctx, mix(middle))
		if err != nil {
			return 0, err
		}
		if o == Bad {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// partners finds the answers without which the one at a number does not flip the outcome. All before it with it do.
func (s *Search) partners(ctx context.Context, at int) error {
	found, most := []int{at}, at-1
	for range s.Partners {
		m, err := s.halve(ctx, most, func(m int) func(int) bool {
			return func(number int) bool { return number <= m || only(found...)(number) }
		})
		if err != nil {
			return err
		}
		found, most = append(found, m), m-1
		s.result.Cause = append(s.result.Cause, s.Pair.Answers[m-1])
		o, err := s.ask(ctx, only(found...))
		if err != nil {
			return err
		}
		if o == Bad {
			s.result.Verdict = Together
			return nil
		}
		if most == 0 {
			break // nothing is left: what was seen contradicts itself
		}
	}
	if s.Partners > 0 {
		s.note("these answers together do not flip the outcome yet: they need more, or the command does not do the same twice")
	}
	return nil
}

// numbers names a mix of n answers.
func numbers(exchanged func(int) bool, n int) string {
	var parts []string
	count := 0
	for i := 1; i <= n; i++ {
		if !exchanged(i) {
			continue
		}
		from := i
		for i < n && exchanged(i+1) {
			i++
		}
		count += i - from + 1
		if parts = append(parts, fmt.Sprint(from)); i > from {
			parts[len(parts)-1] += fmt.Sprint("-", i)
		}
	}
	switch count {
	case 0:
		return "none"
	case n:
		return "all"
	}
	return strings.Join(parts, ",")
}
