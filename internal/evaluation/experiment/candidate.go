// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Candidate is the changed agent. It replays one run at a time.
type Candidate interface {
	// Replay replays a run. An error ends the experiment; what befalls the run alone is the failure of what it returns.
	Replay(ctx context.Context, c *Case, t *tape.Tape, input contract.TraceInput) (Replayed, error)
	// Close ends the candidate. It says how often it had to be started again, and the end of what it wrote.
	Close() (restarts int, log string)
}

// Replayed is what a candidate did with a run.
type Replayed struct {
	Output  contract.ReplayOutput
	Failure *execlane.Failure // why the run was not replayed; nil: it was
	Tools   Tools
	Models  *Models // nil: the candidate does not say how its model calls were answered
	Effort  Effort  // without the time it took
	Runner  string  // what the candidate calls itself
	Ended   string  // how a command failed, "" when it did not
	// Facts are told to scorers beside the answer.
	Facts map[string]any
}

// Lanes opens candidates that speak whatifd-exec/1. Their tool calls are answered by the tape of the run, and before it by override, which may be nil.
func Lanes(p *Plan, config execlane.Config, options oracle.Options, override []oracle.Entry) (func(context.Context) (Candidate, error), error) {
	l := lanes{plan: p, options: options}
	if override != nil {
		var err error
		if l.override, err = oracle.New(override, options); err != nil {
			return nil, fmt.Errorf("override: %w", err)
		}
	}
	return func(ctx context.Context) (Candidate, error) {
		lane, err := execlane.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		return &laneCandidate{lanes: l, lane: lane}, nil
	}, nil
}

type lanes struct {
	plan     *Plan
	options  oracle.Options
	override *oracle.Oracle // nil: none
}

type laneCandidate struct {
	lanes
	lane *execlane.Lane
}

// Close implements Candidate.
func (l *laneCandidate) Close() (restarts int, log string) {
	log = l.lane.Log()
	_ = l.lane.Close() // its answers are there
	return l.lane.Restarts(), log
}

// Replay implements Candidate.
func (l *laneCandidate) Replay(ctx context.Context, c *Case, t *tape.Tape, input contract.TraceInput) (r Replayed, err error) {
	recorded, err := oracle.New(oracle.FromTape(t), l.options)
	if err != nil {
		return r, fmt.Errorf("run %s: %w", c.RunID, err)
	}
	a := &answers{policy: l.plan.Policy, session: recorded.NewSession(0)}
	if l.override != nil {
		a.override = l.override.NewSession(0)
	}
	change := contract.ReplayConfig{SystemPrompt: l.plan.Change.SystemPrompt, Model: l.plan.Change.Model, Overrides: l.plan.Change.Overrides}
	result, err := l.lane.Replay(ctx, input, change, a.lookup)
	who := l.lane.Identity()
	r.Runner = strings.TrimSpace(who.Name + " " + who.Version)
	r.Output, r.Tools = result.Output, a.tools()
	switch {
	case errors.As(err, &r.Failure):
		r.Output.Text = ""
		return r, nil
	case err != nil:
		return r, err
	case a.err != nil:
		r.Failure = &execlane.Failure{Code: execlane.Exception, Message: a.err.Error()}
	case a.missed != "": // the runner went on without an answer: what it said then says nothing
		r.Failure = &execlane.Failure{Code: execlane.CacheMiss, Message: "no recorded answer for tool " + a.missed, Details: map[string]any{"tool_name": a.missed}}
	}
	if len(r.Output.ToolSpans) == 0 { // runners need not say which tools they called
		r.Output.ToolSpans = a.called
	}
	r.Effort = effortSaid(r.Output.Metadata)
	return r, nil
}

// effortSaid is what a runner says that it used, as members of its metadata: input_tokens and output_tokens, or an object usage that holds them.
func effortSaid(metadata map[string]json.RawMessage) (e Effort) {
	if usage, err := contract.Object(metadata["usage"]); err == nil {
		metadata = usage
	}
	for _, of := range []struct {
		names []string
		into  **int64
	}{{[]string{"input_tokens", "prompt_tokens"}, &e.InputTokens}, {[]string{"output_tokens", "completion_tokens"}, &e.OutputTokens}} {
		for _, name := range of.names {
			var n int64
			if json.Unmarshal(metadata[name], &n) == nil && n >= 0 && string(metadata[name]) != "null" {
				*of.into = &n
				break
			}
		}
	}
	return e
}

// answers answers the tool calls of one replay.
type answers struct {
	policy   contract.Policy
	session  *oracle.Session
	override *oracle.Session // nil: none
	replaced int             // answers of the override
	called   []contract.ToolSpan
	missed   string // the first tool without an answer
	err      error
}

func (a *answers) lookup(tool string, args json.RawMessage) execlane.Answer {
	answer := a.answer(tool, string(args))
	text := string(args)
	a.called = append(a.called, contract.ToolSpan{Name: tool, Kind: "tool", Args: slices.Clone(args), Input: &text, Output: answer.Text})
	return answer
}

func (a *answers) answer(tool, args string) execlane.Answer {
	q := oracle.Query{ToolName: tool, ArgsText: args}
	if a.override != nil {
		if answer, err := a.override.Answer(q); err == nil && answer.Outcome.Served() {
			a.replaced++
			return execlane.Answer{Text: &answer.Entry.Response}
		}
	}
	answer, err := a.session.Answer(q)
	switch {
	case err != nil:
		a.err = err
	case answer.Outcome.Served():
		return execlane.Answer{Text: &answer.Entry.Response}
	case a.missed == "" && answer.Outcome != oracle.Live && a.policy != contract.Live:
		a.missed = tool
	}
	return execlane.Answer{}
}

// tools says how the calls were answered.
func (a *answers) tools() Tools {
	t := Tools{Overridden: a.replaced}
	report := a.session.Report()
	t.Add(&report)
	if a.policy == contract.Live {
		t.Live, t.Missed = t.Live+len(t.Missed), nil
	}
	return t
}

// Add counts what a session of an oracle reports.
func (t *Tools) Add(r *oracle.Report) {
	outcomes := r.Calls.Outcomes
	t.Served += outcomes[oracle.Hit] + outcomes[oracle.RecordedError]
	t.Failed += outcomes[oracle.RecordedError]
	t.Exhausted += outcomes[oracle.Exhausted]
	t.Live += outcomes[oracle.Live]
	t.Unused += r.Entries.Unused
	for _, c := range r.NotExact {
		switch {
		case c.Outcome.Served():
			t.NotExact++
			for _, l := range c.Labels {
				t.Approx = addOnce(t.Approx, string(l))
			}
		case c.Outcome != oracle.Live: // missed, or refused
			t.Missed = append(t.Missed, fmt.Sprintf("%s: %s", c.ToolName, c.Reason))
		}
	}
	slices.Sort(t.Approx)
}

func addOnce(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
