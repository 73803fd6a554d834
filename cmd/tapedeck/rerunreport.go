// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// noteOutcomes notes beside each recorded run that is judged how its replay ended.
func (r *rerunning) noteOutcomes(ctx context.Context, replayed *tape.Tape) error {
	if !r.all {
		return r.noteOutcome(ctx, recording{tape: r.source, at: r.at}, replayed)
	}
	for i, one := range r.family {
		if err := r.noteOutcome(ctx, one, r.replayed[i]); err != nil {
			return err
		}
	}
	return nil
}

// noteOutcome notes beside a recorded run how its replay ended; nothing where none came.
func (r *rerunning) noteOutcome(ctx context.Context, of recording, replayed *tape.Tape) error {
	if replayed == nil {
		return nil
	}
	recorded, outcome := aiwg.OutcomeOf(of.tape), aiwg.OutcomeOf(replayed)
	result, err := aiwg.Matching{Strategy: aiwg.Exact, Threshold: aiwg.DefaultThreshold, Measure: aiwg.Measures[0]}.Match(recorded, outcome)
	switch {
	case errors.Is(err, aiwg.ErrNoResponse) && outcome.Failed:
		err = errors.New("the replay failed")
	case err != nil:
		return fmt.Errorf("--note: %w", err)
	}
	return replay.Note(ctx, of.at, outcome, result, err, "")
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
func (r *rerunning) derive(ctx context.Context, d *deck.Deck, in *ingest.Batch) (tapes []*tape.Tape, err error) {
	sign, err := r.f.sign.signer()
	if err != nil {
		return nil, err
	}
	gate, err := r.f.gate()
	if err != nil {
		return nil, err
	}
	w := &ingest.Writer{Options: derive.Options{Options: generation.Options{Sign: sign}, Gate: gate}, Tenant: r.source.Run.Tenant, Say: sayer(r.stderr)}
	w.CloseAudit(in)
	traces := in.Set.Split()
	if err := w.Write(ctx, d, in); err != nil {
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
	if slices.ContainsFunc(r.tapes(), func(t *tape.Tape) bool { return len(t.Run.Joined) > 0 }) { // what was joined is compared with what is joined
		for _, j := range reconstruct.Join(traces, reconstruct.Options{Tenant: r.source.Run.Tenant, Producer: generation.Producer()}) {
			tapes = append(tapes, j.Tape)
		}
	}
	return tapes, nil
}

// judge compares the replayed runs with those of the source, each with the one that fits it best.
func (r *rerunning) judge(report *rerun.Report, tapes []*tape.Tape, answer *string) (replayed *tape.Tape, err error) {
	if !rerun.HasModelCalls(r.source) && len(r.source.Events) > 0 && len(tapes) > 0 && len(r.family) == 0 {
		tapes = []*tape.Tape{rerun.ToolCalls(tapes)}
	}
	recorded, ignored := r.tapes(), r.policies.Ignored()
	for i, t := range recorded {
		if report.Seen && !capture.MadeByTee(t) { // to the recording belongs what no model was shown
			recorded[i], ignored = rerun.AsShown(t), append(slices.Clone(ignored), rerun.NotShown...)
		}
	}
	options := compare.Options{Level: r.level, Rules: r.rules, Ignore: ignored}
	as := &rerun.Reconciler{Normal: r.normal, Names: r.renaming, Served: r.served}
	pairs, err := rerun.Pair(recorded, tapes, options, as)
	if err != nil {
		return nil, err
	}
	r.replayed = pairs.Replayed
	report.OtherRuns = pairs.Others
	report.Model = r.services.Model.Report("")
	for _, o := range r.services.Oracle.Reports() {
		if o.ReplayRunID == r.f.id {
			report.Oracle = &o.Report
		}
	}
	if e := r.services.Elsewhere; e != nil {
		report.Elsewhere = e.Report()
	}
	for _, m := range r.services.MCP.Reports() {
		report.MCP = &m.MCP
	}
	report.Policies = r.policies
	var layered error
	layers := func(source, t *tape.Tape) []rerun.ToolCall {
		tools := rerun.Layers(t, r.asked, func(tool string) bool {
			return slices.Contains(r.f.allowLive, "*") || slices.Contains(r.f.allowLive, tool)
		}, r.f.forkAt)
		if report.Copy != nil {
			layered = errors.Join(layered, report.Copy.InCopy(source, t, tools, options, as))
		}
		return tools
	}
	if r.copy != nil && len(tapes) > 0 {
		copied := r.copy.Copied
		report.Copy = &copied
	}
	if r.all {
		replayed = report.JudgeRuns(r.tapes(), pairs, layers)
	} else {
		i := slices.Index(r.tapes(), r.source)
		if replayed, report.Comparison, report.Tolerated = pairs.Replayed[i], pairs.Comparisons[i], pairs.Tolerated[i]; replayed != nil {
			report.Replayed, report.Tools = replayed.Run.RunID, layers(recorded[i], replayed)
		}
		if len(r.family) > 0 {
			report.Served = r.runIDs()
			for j, t := range pairs.Replayed {
				if j != i && t != nil {
					report.Beside++
				}
			}
			report.Model.Unused = slices.DeleteFunc(report.Model.Unused, func(u modelstub.Unused) bool { return u.Run != r.source.Run.RunID })
		}
		report.Judge(r.source, replayed, answer)
	}
	if report.Verdict != rerun.AsRecorded { // it can be for want of one
		report.Withheld = r.withheld
		report.Headline = cmp.Or(report.Headline, sentence(r.source, replayed, report.Comparison))
		for i := range report.Runs {
			of := &report.Runs[i]
			of.Headline = cmp.Or(of.Headline, sentence(r.tapes()[i], r.replayed[i], of.Comparison))
		}
	}
	return replayed, layered
}

// sentence says where two runs part; "" where they do not.
func sentence(source, replayed *tape.Tape, c *compare.Result) string {
	if replayed == nil || c == nil || c.Equal {
		return ""
	}
	return sidebyside.Sentence(sidebyside.Of("", source), sidebyside.Of("", replayed), c).String()
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
func replayPage(w io.Writer, source, replayed sidebyside.Tape, report *rerun.Report, comparison *compare.Result, headline string) error {
	v := sidebyside.Verdict{Headline: headline, Text: report.Said(), Good: report.Verdict == rerun.AsRecorded, Notes: report.Notes()}
	for _, c := range report.Checks {
		v.Checks = append(v.Checks, sidebyside.Check(c))
	}
	return sidebyside.ReplayHTML(w, source, replayed, comparison, v)
}

func (r *rerunning) report(report *rerun.Report, replayed *tape.Tape) error {
	sides := r.sides(report, replayed)
	source, page, comparison, headline := sides[0].source, sides[0].replayed, report.Comparison, report.Headline
	for _, s := range sides {
		if s.comparison != nil && (comparison == nil || comparison.Equal && !s.comparison.Equal) { // the page shows the first that is not as recorded
			source, page, comparison, headline = s.source, s.replayed, s.comparison, s.headline
		}
	}
	if err := writeReports(
		reportFile{r.f.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, report.Markdown())
			return err
		}},
		reportFile{r.f.junit, report.JUnit},
		reportFile{r.f.html, func(w io.Writer) error {
			return replayPage(w, source, page, report, comparison, headline)
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
		for _, s := range sides {
			if s.comparison == nil || s.comparison.Equal {
				continue
			}
			if err := sidebyside.Text(r.stdout, s.source, s.replayed, s.comparison, sidebyside.TextOptions{Headline: s.headline}); err != nil {
				return err
			}
		}
	}
	if code := exitCodes[report.Verdict]; code != exitOK {
		return &exitError{code: code}
	}
	return nil
}
