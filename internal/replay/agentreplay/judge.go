// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// judge compares each recorded run with the replayed run that fits it best, and completes the outcome.
func (r *Replay) judge(out *Outcome, tapes []*tape.Tape) error {
	report, source := out.Report, r.of.Tape
	if !rerun.HasModelCalls(source) && len(source.Events) > 0 && len(tapes) > 0 && len(r.of.Family) == 0 {
		tapes = []*tape.Tape{rerun.ToolCalls(tapes)}
	}
	recorded, ignored := r.of.tapes(), r.policies.Ignored()
	for i, t := range recorded {
		if report.Seen && !capture.MadeByTee(t) { // what no model was shown cannot come again
			ignored = append(slices.Clone(ignored), rerun.NotShown...)
			if toldByTranscript(t) { // it has what the model was told, and the question without what the program adds
				ignored = append(ignored, compare.FieldUserMessage) // another one misses its request
			} else {
				recorded[i] = rerun.AsShown(t)
			}
		}
	}
	options := compare.Options{Level: r.o.Level, Rules: r.rules, Ignore: ignored}
	as := &rerun.Reconciler{Normal: r.normal, Names: r.renaming, Served: r.served}
	pairs, err := rerun.Pair(recorded, tapes, options, as)
	if err != nil {
		return err
	}
	out.replayed, report.OtherRuns, report.Policies = pairs.Replayed, pairs.Others, r.policies
	r.reportServices(report)
	if r.copy != nil && len(tapes) > 0 {
		copied := r.copy.Copied
		report.Copy = &copied
	}
	var layered error
	layers := func(source, t *tape.Tape) []rerun.ToolCall {
		tools := rerun.Layers(t, r.asked, r.mayRun, r.o.ForkAt)
		if report.Copy != nil {
			layered = errors.Join(layered, report.Copy.InCopy(source, t, tools, options, as))
		}
		return tools
	}
	if r.of.All {
		out.Tape = report.JudgeRuns(r.of.tapes(), pairs, layers)
	} else {
		r.judgeOne(out, recorded, pairs, layers)
	}
	if report.Verdict != rerun.AsRecorded {
		report.Withheld = r.withheld // the agent may have missed one of them
		report.Headline = cmp.Or(report.Headline, sentence(source, out.Tape, report.Comparison))
		for i := range report.Runs {
			of := &report.Runs[i]
			of.Headline = cmp.Or(of.Headline, sentence(r.of.tapes()[i], out.replayed[i], of.Comparison))
		}
	}
	return layered
}

// judgeOne judges the source alone. The other runs of its family are served, and counted.
func (r *Replay) judgeOne(out *Outcome, recorded []*tape.Tape, pairs rerun.Pairs, layers func(source, t *tape.Tape) []rerun.ToolCall) {
	report := out.Report
	i := slices.Index(r.of.tapes(), r.of.Tape)
	if out.Tape, report.Comparison, report.Tolerated = pairs.Replayed[i], pairs.Comparisons[i], pairs.Tolerated[i]; out.Tape != nil {
		report.Replayed, report.Tools = out.Tape.Run.RunID, layers(recorded[i], out.Tape)
	}
	if len(r.of.Family) > 0 {
		report.Served = r.of.runIDs()
		for j, t := range pairs.Replayed {
			if j != i && t != nil {
				report.Beside++
			}
		}
		report.Model.Unused = slices.DeleteFunc(report.Model.Unused, func(u modelstub.Unused) bool { return u.Run != r.of.Tape.Run.RunID })
	}
	report.Judge(r.of.Tape, out.Tape, out.Said)
}

// mayRun reports whether a tool was allowed to run.
func (r *Replay) mayRun(tool string) bool {
	return slices.Contains(r.o.AllowLive, "*") || slices.Contains(r.o.AllowLive, tool)
}

// reportServices adds what the services of the replay were asked.
func (r *Replay) reportServices(report *rerun.Report) {
	report.Model = r.server.Model.Report("")
	for _, o := range r.server.Oracle.Reports() {
		if o.ReplayRunID == r.id {
			report.Oracle = &o.Report
		}
	}
	if e := r.server.Elsewhere; e != nil {
		report.Elsewhere = e.Report()
	}
	for _, m := range r.server.MCP.Reports() {
		report.MCP = &m.MCP
	}
}

// sentence says where two runs part; "" where they do not.
func sentence(source, replayed *tape.Tape, c *compare.Result) string {
	if replayed == nil || c == nil || c.Equal {
		return ""
	}
	return sidebyside.Sentence(sidebyside.Of("", source), sidebyside.Of("", replayed), c).String()
}
