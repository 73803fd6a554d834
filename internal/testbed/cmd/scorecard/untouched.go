// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

// share counts tapes and their turns, and those that no rule touched.
type share struct{ tapes, untouched, turns, turnsUntouched int }

func (s *share) add(more share) {
	s.tapes, s.untouched = s.tapes+more.tapes, s.untouched+more.untouched
	s.turns, s.turnsUntouched = s.turns+more.turns, s.turnsUntouched+more.turnsUntouched
}

// untouchedOf counts the tapes of a run. A turn is a model call and the tool calls up to the next one. A rule
// touches it by changing a value of one of them.
func untouchedOf(set *evidence.Set) (s share) {
	opts := options
	opts.Choice = rule.Choice{Explain: true}
	touched := map[*tape.Tape]map[int]bool{} // the events
	opts.Explained = func(e reconstruct.Explanation) {
		touched[e.Tape] = map[int]bool{}
		for _, d := range e.Decisions {
			if d.Field != rule.Refused && slices.Contains(e.Tape.Fidelity.Rules, d.Rule) {
				touched[e.Tape][d.Seq] = true
			}
		}
	}
	for _, t := range reconstruct.All(set.Split(), opts) {
		s.tapes++
		if len(t.Fidelity.Rules) == 0 {
			s.untouched++
		}
		for _, turn := range turnsOf(t) {
			s.turns++
			if !slices.ContainsFunc(turn, func(e tape.Event) bool { return touched[t][e.Seq] }) {
				s.turnsUntouched++
			}
		}
	}
	return s
}

// turnsOf parts the events of a tape before each model call.
func turnsOf(t *tape.Tape) (turns [][]tape.Event) {
	for _, e := range t.Events {
		switch {
		case e.Type == tape.EventModelCall:
			turns = append(turns, []tape.Event{e})
		case len(turns) > 0:
			turns[len(turns)-1] = append(turns[len(turns)-1], e)
		}
	}
	return turns
}

// untouchedTable renders the shares of groups of runs.
func untouchedTable(runs []groundtruth.Run) (string, error) {
	groups, all := map[string]*share{}, share{}
	for _, run := range runs {
		set, err := run.Evidence()
		if err != nil {
			return "", err
		}
		if groups[run.Group] == nil {
			groups[run.Group] = &share{}
		}
		s := untouchedOf(set)
		groups[run.Group].add(s)
		all.add(s)
	}
	var b strings.Builder
	b.WriteString("| group | tapes | untouched | turns | untouched |\n|---|---:|---:|---:|---:|\n")
	line := func(name string, s share) {
		percent := func(part, whole int) float64 { return 100 * float64(part) / float64(max(1, whole)) }
		fmt.Fprintf(&b, "| %s | %d | %.0f %% | %d | %.0f %% |\n", name, s.tapes, percent(s.untouched, s.tapes), s.turns, percent(s.turnsUntouched, s.turns))
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		line(name, *groups[name])
	}
	line("**all**", all)
	return b.String(), nil
}
