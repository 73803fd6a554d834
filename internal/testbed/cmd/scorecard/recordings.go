// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

// scored is what became of the runs of one group.
type scored struct {
	values, bad     int
	claimed, agreed int
	broken          int            // runs whose tape claims to serve the tools and does not
	tapes, empty    int            // all tapes, and those without an event
	fields          map[string]int // what is not right
}

// scoreRecordings compares the runs below a folder, as package recorder writes them, with their truths. It writes a line for each group that is not
// all right, the worst first, and the total; with values, a line for each value and claim that is not right before them.
func scoreRecordings(w io.Writer, dir string, values bool) error {
	runs, err := groundtruth.Corpus(dir)
	if err != nil {
		return err
	}
	groups, all := map[string]*scored{}, &scored{}
	for _, run := range runs {
		set, err := run.Evidence()
		if err != nil {
			return fmt.Errorf("%s/%s: %w", run.Group, run.Scenario, err)
		}
		tapes := tapesOf(set, rule.Choice{})
		g := groups[run.Group]
		if g == nil {
			g = &scored{fields: map[string]int{}}
			groups[run.Group] = g
		}
		g.tapes += len(tapes)
		for _, t := range tapes {
			if len(t.Events) > 0 {
				continue
			}
			g.empty++
			if values {
				fmt.Fprintf(w, "%s/%s\ttape without events\n", run.Group, run.Scenario)
			}
		}
		rows := run.Score(tapes)
		g.values += len(rows)
		for _, row := range rows {
			if !row.Outcome.Bad() {
				continue
			}
			g.bad++
			g.fields[row.Field+" "+string(row.Outcome)]++
			if values {
				fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\n", run.Group, run.Scenario, row.Field, row.Outcome, row.Detail)
			}
		}
		if c, ok := run.Claim(tapes); ok {
			g.claimed++
			if c.Tools && !c.Served {
				g.broken++
			}
			if c.Tools == c.Served {
				g.agreed++
			} else if values {
				fmt.Fprintf(w, "%s/%s\tclaims tools: %t\tserved: %t\t%s\n", run.Group, run.Scenario, c.Tools, c.Served, c.Why)
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b].bad, groups[a].bad), cmp.Compare(a, b))
	})
	for _, name := range names {
		g := groups[name]
		all.values, all.bad, all.claimed, all.agreed = all.values+g.values, all.bad+g.bad, all.claimed+g.claimed, all.agreed+g.agreed
		all.broken, all.tapes, all.empty = all.broken+g.broken, all.tapes+g.tapes, all.empty+g.empty
		if g.bad > 0 || g.agreed < g.claimed || g.empty > 0 {
			fmt.Fprintf(w, "%s\t%d of %d values\tgrades %d of %d\t", name, g.bad, g.values, g.agreed, g.claimed)
			for _, field := range slices.Sorted(maps.Keys(g.fields)) {
				fmt.Fprintf(w, " %s %d", field, g.fields[field])
			}
			if g.empty > 0 {
				fmt.Fprintf(w, " tapes without events %d", g.empty)
			}
			fmt.Fprintln(w)
		}
	}
	_, err = fmt.Fprintf(w, "%s\t%d groups\t%d runs\t%d of %d values are not right (%.2f %%)\tgrades agree in %d of %d (%.1f %%): %d claimed and not served, %d served and not claimed\t%d tapes, %d without events\n",
		dir, len(groups), len(runs), all.bad, all.values, 100*float64(all.bad)/float64(max(1, all.values)), all.agreed, all.claimed, 100*float64(all.agreed)/float64(max(1, all.claimed)),
		all.broken, all.claimed-all.agreed-all.broken, all.tapes, all.empty)
	return err
}
