// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/experiment/execlane"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Experiment is a plan with what is needed to carry it out.
type Experiment struct {
	Plan    *Plan
	Journal *Journal
	Runner  execlane.Config
	Scorers []Scorer // in the order of the plan
	Shard   Shard
	Workers int
	// MaxRuns and MaxTime bound what one call replays; 0 is no bound. What is left is replayed by the next call.
	MaxRuns int
	MaxTime time.Duration
	// Open reads the tape of a case, Oracle makes its recorded answers.
	Open   func(ctx context.Context, c *Case) (*tape.Tape, error)
	Oracle oracle.Options
	// Override is laid over the recorded answers; nil is none.
	Override []oracle.Entry
	// Redact takes secrets out of what the candidate says before it is kept; nil keeps it as it is.
	Redact func(text string) string
	// Progress is called after each case, one call at a time.
	Progress func(done, of int, c *Case, o *Outcome)
}

// Summary is what one call of Run did.
type Summary struct {
	Replayed int               `json:"replayed"` // by this call
	Left     int               `json:"left"`     // of the shard, for a bound
	Restarts int               `json:"restarts"` // of runners
	Runner   execlane.Identity `json:"runner"`
	Log      string            `json:"-"` // the end of what a runner wrote
}

// Run replays what has no outcome yet. An error says what ended it; outcomes up to then are kept.
func (x *Experiment) Run(ctx context.Context) (Summary, error) {
	var s Summary
	var todo []*Case
	total := 0
	for i := range x.Plan.Cases {
		c := &x.Plan.Cases[i]
		if !x.Shard.Holds(c) {
			continue
		}
		if total++; x.Journal.Done(c) == nil {
			todo = append(todo, c)
		}
	}
	done := total - len(todo)
	if x.MaxRuns > 0 && len(todo) > x.MaxRuns {
		s.Left = len(todo) - x.MaxRuns
		todo = todo[:x.MaxRuns]
	}
	if len(todo) == 0 {
		return s, nil
	}
	override, err := x.override()
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	if x.MaxTime > 0 {
		timer := time.AfterFunc(x.MaxTime, func() { close(stop) })
		defer timer.Stop()
	}
	next := make(chan *Case)
	go func() {
		defer close(next)
		for _, c := range todo {
			select { // a bound that is reached comes before more work
			case <-stop:
				return
			default:
			}
			select {
			case next <- c:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	var mu sync.Mutex
	var working sync.WaitGroup
	for range min(max(x.Workers, 1), len(todo)) {
		working.Go(func() {
			lane, err := execlane.Open(ctx, x.Runner)
			if err != nil {
				cancel(err)
				return
			}
			for c := range next {
				o, err := x.replay(ctx, lane, c, override)
				if err == nil {
					o.redact(x.Redact)
					err = x.Journal.Add(o)
				}
				if err != nil {
					cancel(err)
					break
				}
				mu.Lock()
				s.Replayed++
				done++
				if x.Progress != nil {
					x.Progress(done, total, c, o)
				}
				mu.Unlock()
			}
			log := lane.Log()
			_ = lane.Close() // its answers are there
			mu.Lock()
			defer mu.Unlock()
			s.Restarts += lane.Restarts()
			s.Runner, s.Log = lane.Identity(), log
		})
	}
	working.Wait()
	s.Left += len(todo) - s.Replayed
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return s, nil
}

func (x *Experiment) override() (*oracle.Oracle, error) {
	if x.Override == nil {
		return nil, nil
	}
	o, err := oracle.New(x.Override, x.Oracle)
	if err != nil {
		return nil, fmt.Errorf("override: %w", err)
	}
	return o, nil
}

// replay replays a case and scores it. An error ends the experiment; what befalls the case alone is in its outcome.
func (x *Experiment) replay(ctx context.Context, lane *execlane.Lane, c *Case, override *oracle.Oracle) (*Outcome, error) {
	o := &Outcome{RunID: c.RunID, Tenant: c.Tenant}
	t, err := x.Open(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		o.Failure = &execlane.Failure{Code: "trace_invalid", Message: err.Error()}
		return o, nil
	}
	input, err := traceInput(t)
	if err != nil {
		o.Failure = &execlane.Failure{Code: "trace_schema_mismatch", Message: err.Error(), Details: map[string]any{"missing_field": "user_message"}}
		return o, nil
	}
	recorded, err := oracle.New(oracle.FromTape(t), x.Oracle)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.RunID, err)
	}
	a := &answers{policy: x.Plan.Policy, session: recorded.NewSession(0)}
	if override != nil {
		a.override = override.NewSession(0)
	}
	change := contract.ReplayConfig{SystemPrompt: x.Plan.Change.SystemPrompt, Model: x.Plan.Change.Model, Overrides: x.Plan.Change.Overrides}
	result, err := lane.Replay(ctx, input, change, func(tool string, args json.RawMessage) execlane.Answer { return a.lookup(tool, args) })
	o.Tools, o.Withheld = a.tools, result.Output.Withheld
	slices.Sort(o.Tools.Approx)
	o.Tools.Unused = a.session.Report().Entries.Unused
	switch {
	case errors.As(err, &o.Failure):
		o.Text = ""
		return o, nil
	case err != nil:
		return nil, err
	case a.err != nil:
		o.Failure = &execlane.Failure{Code: execlane.Exception, Message: a.err.Error()}
		return o, nil
	case a.missed != "": // the runner went on without an answer: what it said then says nothing
		o.Text = result.Output.Text
		o.Failure = &execlane.Failure{Code: execlane.CacheMiss, Message: "no recorded answer for tool " + a.missed, Details: map[string]any{"tool_name": a.missed}}
		return o, nil
	}
	o.Text = result.Output.Text
	if len(result.Output.ToolSpans) == 0 { // runners need not say which tools they called
		for _, name := range a.called {
			result.Output.ToolSpans = append(result.Output.ToolSpans, contract.ToolSpan{Name: name, Kind: "tool"})
		}
	}
	asked := contract.ScoreCase{TraceID: t.Run.TraceID, Cohort: c.Cohort, Input: input, Original: traceOutput(t), Replayed: result.Output, Metadata: map[string]any{}}
	for i := range x.Scorers {
		score, err := x.Scorers[i].of(ctx, asked)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		o.Scores = append(o.Scores, score)
	}
	return o, nil
}
