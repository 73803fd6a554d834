// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"io"

	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// side is a recorded run and its replay, as a person sees them.
type side struct {
	source, replayed sidebyside.Tape
	comparison       *compare.Result // nil: no replay of it came
	headline         string
}

func sideOf(at replay.Location, id string, source, replayed *tape.Tape, c *compare.Result, headline string) side {
	s := side{source: sidebyside.Of(at.String(), source), headline: headline}
	if replayed != nil {
		s.replayed, s.comparison = sidebyside.Of(id, replayed), c
	}
	return s
}

// sides are the runs that are judged, at least one.
func (o *Outcome) sides() (list []side) {
	r := o.Report
	if !o.of.All {
		return []side{sideOf(o.of.At, r.ReplayRunID, o.of.Tape, o.Tape, r.Comparison, r.Headline)}
	}
	for i, one := range o.of.Family {
		list = append(list, sideOf(one.At, r.ReplayRunID, one.Tape, o.replayed[i], r.Runs[i].Comparison, r.Runs[i].Headline))
	}
	return list
}

// Text writes the report, and each run that is not as recorded beside its replay.
func (o *Outcome) Text(w io.Writer) error {
	if _, err := io.WriteString(w, o.Report.Text()); err != nil {
		return err
	}
	for _, s := range o.sides() {
		if s.comparison == nil || s.comparison.Equal {
			continue
		}
		if err := sidebyside.Text(w, s.source, s.replayed, s.comparison, sidebyside.TextOptions{Headline: s.headline}); err != nil {
			return err
		}
	}
	return nil
}

// Page writes the report as a page, with a recorded run and its replay side by side: the first that is not as
// recorded.
func (o *Outcome) Page(w io.Writer) error {
	sides := o.sides()
	show := sides[0]
	show.comparison, show.headline = o.Report.Comparison, o.Report.Headline
	for _, s := range sides {
		if s.comparison != nil && (show.comparison == nil || show.comparison.Equal && !s.comparison.Equal) {
			show = s
		}
	}
	r := o.Report
	v := sidebyside.Verdict{Headline: show.headline, Text: r.Said(), Good: r.Verdict == rerun.AsRecorded, Notes: r.Notes()}
	for _, c := range r.Checks {
		v.Checks = append(v.Checks, sidebyside.Check(c))
	}
	return sidebyside.ReplayHTML(w, show.source, show.replayed, show.comparison, v)
}
