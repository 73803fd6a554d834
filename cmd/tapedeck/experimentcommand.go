// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Failures of replays of a command, beside those of runners.
const (
	modelMissed  = "model_call_miss" // a model call that is not recorded
	toolRanLive  = "tool_ran_live"   // a tool ran that nobody declared
	noTelemetry  = "no_telemetry"    // the command left no run
	noAnswer     = "no_answer"       // the run has no answer, and did not fail
	configToEnv  = "TAPEDECK_REPLAY_CONFIG"
	mostOfOutput = 64 << 10 // bytes of what a command writes that are kept
)

// commandCandidate is a candidate that is a command: each run is a replay of it, as replay does it.
type commandCandidate struct {
	options agentreplay.Options
	digest  string // of the plan
}

// commandCandidate reads the flags of the command, once for all runs.
func (f *experimentFlags) commandCandidate(argv []string, plan *experiment.Plan) (*commandCandidate, error) {
	if plan.Policy == contract.Live {
		return nil, errors.New("--tool-policy live is for runners; with a command --live, --read-through and --allow-live name the tools that may run")
	}
	command := f.command
	command.redactionFlags, command.match, command.timeout, command.override, command.compare = f.redactionFlags, f.match, f.timeout, f.override, string(compare.Results)
	o, err := command.options(argv, io.Discard)
	if err != nil {
		return nil, err
	}
	if err := command.openKeys(&o, io.Discard); err != nil {
		return nil, err
	}
	if o.Candidate != nil {
		if plan.Change.Model != nil {
			o.Candidate.Model = *plan.Change.Model
		}
		o.Candidate.SystemPrompt = plan.Change.SystemPrompt
	}
	config, err := json.Marshal(contract.ReplayConfig{SystemPrompt: plan.Change.SystemPrompt, Model: plan.Change.Model, Overrides: plan.Change.Overrides})
	if err != nil {
		return nil, err
	}
	o.Variables = []rerun.Variable{{Name: configToEnv, Value: string(config)}}
	if o.Input.Server() && f.workers > 1 && o.Shut != rerun.ShutNamespace {
		return nil, errors.New("a command that is a server listens at one port: --workers 1, or --lockdown namespace, which gives each a loopback of its own")
	}
	return &commandCandidate{options: o}, nil
}

// Close implements experiment.Candidate.
func (c *commandCandidate) Close() (int, string) { return 0, "" }

// Replay implements experiment.Candidate.
func (c *commandCandidate) Replay(ctx context.Context, of *experiment.Case, t *tape.Tape, _ contract.TraceInput) (out experiment.Replayed, err error) {
	log := &tail{most: mostOfOutput}
	o := c.options
	o.Stderr = concurrent(log)
	o.Say = sayer(o.Stderr)
	sum := sha256.Sum256([]byte(c.digest + "\x00" + of.Tenant + "/" + of.RunID))
	id := fmt.Sprintf("replay-%x", sum[:6]) // a replay that is made again takes the place of the one that a kill cut off
	replayed, err := agentreplay.Run(ctx, o, agentreplay.Recording{Tape: t}, id)
	switch {
	case ctx.Err() != nil, errors.Is(err, rerun.ErrNotRun):
		return out, err
	case err != nil:
		out.Failure = &execlane.Failure{Code: execlane.Exception, Message: err.Error()}
		return out, nil
	}
	return c.outcome(t, replayed, log), nil
}

// tail keeps the end of what is written.
type tail struct {
	kept bytes.Buffer
	most int
}

func (t *tail) Write(b []byte) (int, error) {
	t.kept.Write(b)
	if over := t.kept.Len() - t.most; over > t.most {
		t.kept.Next(over)
	}
	return len(b), nil
}

// outcome says what became of a replay. What the tape could not answer comes before what the command made of it.
func (c *commandCandidate) outcome(t *tape.Tape, of *agentreplay.Outcome, log *tail) (out experiment.Replayed) {
	report, replayed := of.Report, of.Tape
	out.Models = modelsOf(&report.Model)
	out.Tools = toolsOf(t, of.Oracle)
	if o := report.Policies.Override; o != nil {
		out.Tools.Overridden = o.Answers()
	}
	undeclared := ""
	for _, call := range report.Tools {
		if call.Layer != rerun.LayerLive && call.Layer != rerun.LayerUnknown {
			continue
		}
		if !call.Free { // those were counted by the oracle
			out.Tools.Live++
		}
		if !call.Allowed && !call.Free && undeclared == "" {
			undeclared = call.Name
		}
	}
	var answer *string
	out.Output.Metadata = map[string]json.RawMessage{}
	out.Facts = map[string]any{"exit_code": report.Exit.Code}
	switch {
	case report.Exit.Refused != "":
		out.Ended = report.Exit.Refused
	case report.Exit.Code != 0 && !report.Exit.Stopped:
		out.Ended = fmt.Sprintf("exit code %d", report.Exit.Code)
	}
	if replayed != nil {
		answer = replayed.Output.Text
		out.Effort = experiment.EffortOf(replayed)
		out.Output.ToolSpans = experiment.ToolSpans(replayed)
		out.Facts["status"], out.Facts["run_id"] = string(replayed.Run.Status), replayed.Run.RunID
		if out.Ended == "" && replayed.Run.Status == tape.StatusError {
			out.Ended = "the run says that it failed"
		}
	}
	if of.Said != nil {
		text := strings.TrimRight(*of.Said, "\r\n") // what a program prints ends in a line break
		answer = &text
	}
	if answer != nil {
		out.Output.Text = *answer
	}
	fail := func(code, format string, args ...any) {
		out.Failure = &execlane.Failure{Code: code, Message: fmt.Sprintf(format, args...), Details: map[string]any{"exit_code": report.Exit.Code}}
		if end := log.kept.String(); end != "" {
			out.Failure.Details["log"] = end[max(0, len(end)-1000):]
		}
	}
	switch {
	case report.Exit.TimedOut:
		fail(execlane.Timeout, "no end within %v", c.options.Timeout)
		out.Failure.Retryable = true
	case len(out.Models.Missed) > 0:
		fail(modelMissed, "no recorded answer for model call %s", out.Models.Missed[0])
	case len(out.Tools.Missed) > 0:
		tool, _, _ := strings.Cut(out.Tools.Missed[0], ":")
		fail(execlane.CacheMiss, "no recorded answer for tool %s", out.Tools.Missed[0])
		out.Failure.Details["tool_name"] = tool
	case replayed == nil:
		fail(noTelemetry, "no run came; tapedeck doctor says what an agent has to switch on, and replay --print-env which variables it does not get")
	case undeclared != "":
		fail(toolRanLive, "the tool %s ran itself; --allow-live declares one that may", undeclared)
		out.Failure.Details["tool_name"] = undeclared
	case answer == nil && out.Ended == "":
		fail(noAnswer, "the telemetry of the replay does not hold its answer; --answer says where else it is")
	}
	return out
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
			if call.Reason != "" { // the model that was named could not be asked
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

// toolsOf counts the tool calls of a replay that the oracle and the MCP server were asked for. What neither of them served is unused.
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

// ofThePlan are the flags that decide what a replay comes to, and stand nowhere else in the plan of an experiment.
var ofThePlan = []string{
	"rules", "tools", "live", "read-through", "refuse", "redaction-key-scope", "redact",
	"input", "template", "wait-for", "answer", "turns", "allow-live", "preload", "allow-framework", "lockdown", "require-lockdown", "allow-host", "env", "env-from", "model-url",
}

// settingsOf are those of the flags that were given; what is a file, by its digest.
func settingsOf(cmd *cobra.Command, names ...string) (map[string]string, error) {
	var list map[string]string
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		value := flag.Value.String()
		var files []string
		switch {
		case name == "rules", name == "system-prompt", name == "redact" && !slices.Contains([]string{redact.PolicyDefault, redact.PolicyStrict, redactOff}, value):
			files = []string{value}
		case name == "tools":
			files, _ = cmd.Flags().GetStringArray(name) // it is one
		}
		for i, file := range files {
			sum, err := execlane.DigestOfFile(file)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", name, err)
			}
			if files[i] = "sha256 " + sum; i == len(files)-1 {
				value = strings.Join(files, ", ")
			}
		}
		if list == nil {
			list = map[string]string{}
		}
		list[name] = value
	}
	return list, nil
}

// readOverrides reads --change overrides=FILE: an oracle file, whose answers are laid over the recorded ones, or an object of the runner's configuration.
func readOverrides(file string) (object map[string]any, isOracle bool, err error) {
	data, err := readBounded(file, tape.MaxBytes)
	if err != nil {
		return nil, false, err
	}
	if _, err := oracle.Read(data); err == nil {
		return nil, true, nil
	}
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, false, fmt.Errorf("%s is neither an oracle file nor a JSON object: %w", file, cmp.Or(err, errors.New("it is null")))
	}
	return object, false, nil
}
