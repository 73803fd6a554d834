// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentlane

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Failures of a replay, beside those of execlane.
const (
	ModelMissed = "model_call_miss" // a model call that is not recorded
	ToolRanLive = "tool_ran_live"   // a tool ran that was not declared
	NoTelemetry = "no_telemetry"    // the command left no run
	NoAnswer    = "no_answer"       // the run has no answer, and did not fail
)

// resultOf is what an experiment knows of a replay, but for its failure.
func resultOf(t *tape.Tape, of *agentreplay.Outcome) (out experiment.Replayed) {
	report, replayed := of.Report, of.Tape
	out.Models = modelsOf(&report.Model)
	out.Tools = toolsOf(t, of.Oracle)
	if o := report.Policies.Override; o != nil {
		out.Tools.Overridden = o.Answers()
	}
	for _, call := range report.Tools {
		if ranLive(&call) && !call.Free { // the oracle has counted those that are free
			out.Tools.Live++
		}
	}
	out.Output.Metadata = map[string]json.RawMessage{}
	out.Facts = map[string]any{"exit_code": report.Exit.Code}
	switch {
	case report.Exit.Refused != "":
		out.Ended = report.Exit.Refused
	case report.Exit.Code != 0 && !report.Exit.Stopped:
		out.Ended = fmt.Sprintf("exit code %d", report.Exit.Code)
	}
	if replayed != nil {
		out.Effort = experiment.EffortOf(replayed)
		out.Output.ToolSpans = experiment.ToolSpans(replayed)
		out.Facts["status"], out.Facts["run_id"] = string(replayed.Run.Status), replayed.Run.RunID
		if out.Ended == "" && replayed.Run.Status == tape.StatusError {
			out.Ended = "the run says that it failed"
		}
	}
	if answer := answerOf(of); answer != nil {
		out.Output.Text = *answer
	}
	return out
}

// answerOf is the answer as it came; nil for none. What a program prints ends in a line break, which is no
// part of it.
func answerOf(of *agentreplay.Outcome) *string {
	switch {
	case of.Said != nil:
		text := strings.TrimRight(*of.Said, "\r\n")
		return &text
	case of.Tape != nil:
		return of.Tape.Output.Text
	}
	return nil
}

func ranLive(call *rerun.ToolCall) bool {
	return call.Layer == rerun.LayerLive || call.Layer == rerun.LayerUnknown
}

// failureOf says why a run was not replayed; nil where it was. A call that the tape could not answer goes
// before what the command made of it.
func (c *Candidate) failureOf(of *agentreplay.Outcome, out *experiment.Replayed) *execlane.Failure {
	fail := func(code, format string, args ...any) *execlane.Failure {
		return &execlane.Failure{Code: code, Message: fmt.Sprintf(format, args...), Details: map[string]any{}}
	}
	ofTool := func(tool string, f *execlane.Failure) *execlane.Failure {
		f.Details["tool_name"] = tool
		return f
	}
	undeclared := slices.IndexFunc(of.Report.Tools, func(call rerun.ToolCall) bool { return ranLive(&call) && !call.Allowed && !call.Free })
	switch {
	case of.Report.Exit.TimedOut:
		f := fail(execlane.Timeout, "no end within %v", c.Options.Timeout)
		f.Retryable = true
		return f
	case len(out.Models.Missed) > 0:
		return fail(ModelMissed, "no recorded answer for model call %s", out.Models.Missed[0])
	case len(out.Tools.Missed) > 0:
		tool, _, _ := strings.Cut(out.Tools.Missed[0], ":")
		return ofTool(tool, fail(execlane.CacheMiss, "no recorded answer for tool %s", out.Tools.Missed[0]))
	case of.Tape == nil:
		return fail(NoTelemetry, "no run came; tapedeck doctor says what an agent has to switch on, and replay --print-env which variables it does not get")
	case undeclared >= 0:
		tool := of.Report.Tools[undeclared].Name
		return ofTool(tool, fail(ToolRanLive, "the tool %s ran itself; --allow-live declares one that may", tool))
	case answerOf(of) == nil && out.Ended == "":
		return fail(NoAnswer, "the telemetry of the replay does not hold its answer; --answer says where else it is")
	}
	return nil
}

// modelsOf counts the model calls of a replay.
func modelsOf(report *modelstub.Report) *experiment.Models {
	m := &experiment.Models{Calls: len(report.Calls), Answered: experiment.Answered{Live: report.Live, Unused: len(report.Unused)}}
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, call := range report.Calls {
		switch {
		case call.Outcome == modelstub.Live:
			if call.Reason != "" { // the model could not be asked
				m.Missed = append(m.Missed, fmt.Sprintf("%d: %s", call.Call, call.Reason))
			}
		case call.Outcome.Served():
			m.Served++
			if len(call.Labels) > 0 {
				m.NotExact++
			}
			for _, l := range call.Labels {
				add(&m.Approx, string(l))
			}
			for _, name := range call.MadeUp {
				add(&m.MadeUp, name)
			}
		default:
			if call.Outcome == modelstub.Exhausted {
				m.Exhausted++
			}
			why := strconv.Itoa(call.Call) + ": " + string(call.Outcome)
			if d := call.Nearest; d != nil {
				why += fmt.Sprintf(", differs from event %d at %s", d.Seq, d.Place)
			}
			m.Missed = append(m.Missed, why)
		}
	}
	slices.Sort(m.Approx)
	slices.Sort(m.MadeUp)
	return m
}

// toolsOf counts the tool calls of a replay. Recorded ones that no session served are unused.
func toolsOf(t *tape.Tape, sessions []*oracle.Report) (tools experiment.Tools) {
	served, total := 0, 0
	for _, of := range sessions {
		tools.Add(of)
		served += of.Entries.Served + of.Entries.Passed
		total = of.Entries.Total
	}
	if total == 0 {
		total = len(oracle.FromTape(t))
	}
	tools.Unused = max(0, total-served)
	return tools
}
