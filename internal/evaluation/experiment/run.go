// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/tape"
)

// Experiment is a plan with what is needed to carry it out.
type Experiment struct {
	Plan    *Plan
	Journal *Journal
	Scorers []Scorer // in the order of the plan
	Shard   Shard
	Workers int
	// Candidate opens the candidate of a worker.
	Candidate func(ctx context.Context) (Candidate, error)
	// MaxRuns and MaxTime bound what one call replays; 0 is no bound. What is left is replayed by the next call.
	MaxRuns int
	MaxTime time.Duration
	// MaxTokens bounds what replays and judges use, those of earlier calls included: no run is begun when they have used so many. 0 is no bound.
	MaxTokens int64
	// Open reads the tape of a case.
	Open func(ctx context.Context, c *Case) (*tape.Tape, error)
	// Now is the clock by which replays are timed; nil is that of the machine.
	Now func() time.Time
	// Redact takes secrets out of what the candidate says before it is kept; nil keeps it as it is.
	Redact func(text string) string
	// Progress is called after each case, one call at a time.
	Progress func(done, of int, c *Case, o *Outcome)
}

// Summary is what one call of Run did.
type Summary struct {
	Replayed int    // by this call
	Left     int    // of the shard, for a bound
	Restarts int    // of runners
	Tokens   int64  // that replays and judges used, of this shard, those of earlier calls included
	Log      string // the end of what a runner wrote
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
		} else {
			s.Tokens += x.Journal.Done(c).Tokens()
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	stop := sync.OnceFunc(func() { close(stopped) })
	if x.MaxTokens > 0 && s.Tokens >= x.MaxTokens {
		stop()
	}
	if x.MaxTime > 0 {
		timer := time.AfterFunc(x.MaxTime, stop)
		defer timer.Stop()
	}
	next := make(chan *Case)
	go func() {
		defer close(next)
		for _, c := range todo {
			select { // a bound that is reached comes before more work
			case <-stopped:
				return
			default:
			}
			select {
			case next <- c:
			case <-stopped:
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
			candidate, err := x.Candidate(ctx)
			if err != nil {
				cancel(err)
				return
			}
			for c := range next {
				o, err := x.One(ctx, candidate, c)
				if err == nil {
					err = x.Journal.Add(o)
				}
				if err != nil {
					cancel(err)
					break
				}
				mu.Lock()
				s.Replayed++
				done++
				if s.Tokens += o.Tokens(); x.MaxTokens > 0 && s.Tokens >= x.MaxTokens {
					stop()
				}
				if x.Progress != nil {
					x.Progress(done, total, c, o)
				}
				mu.Unlock()
			}
			restarts, log := candidate.Close()
			mu.Lock()
			defer mu.Unlock()
			s.Restarts += restarts
			s.Log = cmp.Or(log, s.Log)
		})
	}
	working.Wait()
	s.Left += len(todo) - s.Replayed
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return s, nil
}

// One replays a case, and keeps no outcome. An error says what kept it from being made.
func (x *Experiment) One(ctx context.Context, candidate Candidate, c *Case) (*Outcome, error) {
	o, err := x.replay(ctx, candidate, c)
	if err == nil {
		o.redact(x.Redact)
	}
	return o, err
}

// replay replays a case and scores it. An error ends the experiment; what befalls the case alone is in its outcome.
func (x *Experiment) replay(ctx context.Context, candidate Candidate, c *Case) (*Outcome, error) {
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
	now := x.Now
	if now == nil {
		now = time.Now
	}
	begun := now()
	r, err := candidate.Replay(ctx, c, t, input)
	if err != nil {
		return nil, err
	}
	o.Failure, o.Text, o.Tools, o.Models, o.Withheld, o.Runner, o.Ended = r.Failure, r.Output.Text, r.Tools, r.Models, r.Output.Withheld, r.Runner, r.Ended
	o.Recorded, o.Replayed = EffortOf(t), r.Effort
	if x.Plan.Timed {
		took := now().Sub(begun).Milliseconds()
		o.Recorded.DurationMS, o.Replayed.DurationMS = &t.Run.DurationMS, &took
	}
	o.keep(r.Output.ToolSpans)
	if o.Failure != nil {
		return o, nil
	}
	asked := contract.ScoreCase{TraceID: t.Run.TraceID, Cohort: c.Cohort, Input: input, Original: traceOutput(t), Replayed: r.Output, Metadata: r.Facts}
	if asked.Metadata == nil {
		asked.Metadata = map[string]any{}
	}
	for i := range x.Scorers {
		score, err := x.Scorers[i].of(ctx, asked)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		o.Scores = append(o.Scores, score)
	}
	return o, nil
}
