// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/internal/runs"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// noteOutcome notes beside the recorded run how its replay ended.
func (r *rerunning) noteOutcome(ctx context.Context, replayed *tape.Tape) error {
	recorded, outcome := aiwg.OutcomeOf(r.source), aiwg.OutcomeOf(replayed)
	result, err := aiwg.Matching{Strategy: aiwg.Exact, Threshold: aiwg.DefaultThreshold, Measure: aiwg.Measures[0]}.Match(recorded, outcome)
	switch {
	case errors.Is(err, aiwg.ErrNoResponse) && outcome.Failed:
		err = errors.New("the replay failed")
	case err != nil:
		return fmt.Errorf("--note: %w", err)
	}
	return replay.Note(ctx, r.at, outcome, result, err, "")
}

// deck is where the tape of the replay is kept, or one in memory.
func (r *rerunning) deck(ctx context.Context) (*deck.Deck, func() error, error) {
	address, drop := r.f.to, func() {}
	if address == "" {
		name := "replay-" + r.f.id
		address, drop = "mem://"+name, func() { mem.Drop(name) }
	}
	d, err := deck.Open(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return d, func() error {
		defer drop()
		return d.Close()
	}, nil
}

// derive makes tapes of what came, as the collector does it, and returns those of the replay.
func (r *rerunning) derive(ctx context.Context, d *deck.Deck, c *capture) (tapes []*tape.Tape, err error) {
	w := derivationTo(r.f.redactionFlags, r.f.sign, r.source.Run.Tenant, io.Discard, r.stderr)
	if w.gate, err = r.f.gate(); err != nil {
		return nil, err
	}
	w.audit(c.in)
	traces := c.in.set.Split()
	if err := w.write(ctx, d, c.in); err != nil {
		return nil, err
	}
	for _, t := range traces {
		at := deck.Location{Area: deck.AreaReplays, Tenant: r.source.Run.Tenant, ReplayRunID: r.f.id, TraceID: t.TraceID}
		g, found, err := d.Current(ctx, at)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		of, err := runs.Tapes(ctx, d, at, g)
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, of...)
	}
	slices.SortStableFunc(tapes, func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	if len(r.source.Run.Joined) > 0 { // what was joined is compared with what is joined
		for _, j := range reconstruct.Join(traces, reconstruct.Options{Tenant: r.source.Run.Tenant, Producer: derive.Producer()}) {
			tapes = append(tapes, j.Tape)
		}
	}
	return tapes, nil
}

// judge compares the replayed run with the source. Of several runs it takes the one with the most equal events, the earliest of them.
func (r *rerunning) judge(report *rerun.Report, tapes []*tape.Tape, answer *string) (replayed *tape.Tape, err error) {
	if !rerun.HasModelCalls(r.source) && len(r.source.Events) > 0 && len(tapes) > 0 {
		tapes = []*tape.Tape{rerun.ToolCalls(tapes)}
	}
	for _, t := range tapes {
		result, err := compare.Tapes(r.source, t, compare.Options{Level: r.level, Rules: r.rules, Ignore: r.policies.Ignored()})
		if err != nil {
			return nil, err
		}
		if replayed == nil || result.Counts.Equal > report.Comparison.Counts.Equal {
			replayed, report.Comparison = t, result
		}
	}
	for _, t := range tapes {
		if t != replayed {
			report.OtherRuns = append(report.OtherRuns, t.Run.RunID)
		}
	}
	report.Model = r.services.model.Report("")
	for _, o := range r.services.oracle.Reports() {
		if o.ReplayRunID == r.f.id {
			report.Oracle = &o.Report
		}
	}
	if e := r.services.oracleElsewhere; e != nil {
		report.Elsewhere = e.Report()
	}
	for _, m := range r.services.mcp.Reports() {
		report.MCP = &m.MCP
	}
	if replayed != nil {
		report.Replayed = replayed.Run.RunID
		report.Tools = rerun.Layers(replayed, r.asked, func(tool string) bool {
			return slices.Contains(r.f.allowLive, "*") || slices.Contains(r.f.allowLive, tool)
		}, r.f.forkAt)
		if r.copy != nil {
			copied := r.copy.Copied
			if err := copied.InCopy(r.source, replayed, report.Tools, compare.Options{Rules: r.rules, Ignore: r.policies.Ignored()}); err != nil {
				return nil, err
			}
			report.Copy = &copied
		}
	}
	report.Policies = r.policies
	report.Judge(r.source, replayed, answer)
	if report.Verdict != rerun.AsRecorded { // it can be for want of one
		report.Withheld = r.withheld
	}
	return replayed, nil
}

// reportFile is a file with a report in one form; no name is no file.
type reportFile struct {
	name  string
	write func(io.Writer) error
}

func writeReports(files ...reportFile) error {
	for _, file := range files {
		if file.name == "" {
			continue
		}
		var b bytes.Buffer
		if err := file.write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(file.name, b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// exitCodes are the codes of the verdicts.
var exitCodes = map[rerun.Verdict]int{rerun.AsRecorded: exitOK, rerun.Diverged: exitPartial, rerun.NotDone: exitFailed}

// replayPage writes a recorded run and its replay side by side.
func replayPage(w io.Writer, source, replayed sidebyside.Tape, report *rerun.Report) error {
	v := sidebyside.Verdict{Text: report.Said(), Good: report.Verdict == rerun.AsRecorded, Notes: report.Notes()}
	for _, c := range report.Checks {
		v.Checks = append(v.Checks, sidebyside.Check(c))
	}
	return sidebyside.ReplayHTML(w, source, replayed, report.Comparison, v)
}

func (r *rerunning) report(report *rerun.Report, replayed *tape.Tape) error {
	source := sidebyside.Of(r.at.String(), r.source)
	var page sidebyside.Tape
	if replayed != nil {
		page = sidebyside.Of(r.f.id, replayed)
	}
	if err := writeReports(
		reportFile{r.f.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, report.Markdown())
			return err
		}},
		reportFile{r.f.junit, report.JUnit},
		reportFile{r.f.html, func(w io.Writer) error {
			return replayPage(w, source, page, report)
		}},
	); err != nil {
		return err
	}
	if r.flags.asJSON || r.flags.ndjson {
		r.lines = r.flags.ndjson
		if err := r.print(report); err != nil {
			return err
		}
	} else {
		if err := r.write([]byte(report.Text())); err != nil {
			return err
		}
		if replayed != nil && !report.Comparison.Equal {
			if err := sidebyside.Text(r.stdout, source, page, report.Comparison, sidebyside.TextOptions{}); err != nil {
				return err
			}
		}
	}
	if code := exitCodes[report.Verdict]; code != exitOK {
		return &exitError{code: code}
	}
	return nil
}
