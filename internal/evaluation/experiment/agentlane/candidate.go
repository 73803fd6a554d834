// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentlane is the candidate of an experiment that is a command: each run is a replay of it.
package agentlane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

// configVariable tells the command of the change, as JSON.
const configVariable = "TAPEDECK_REPLAY_CONFIG"

// Candidate implements experiment.Candidate.
type Candidate struct {
	Options agentreplay.Options
	// Digest is that of the plan. The ids of the replays follow from it and from the run.
	Digest string
}

// New returns the candidate of a change. The model and the system prompt of the change also count for the
// model that the options name.
func New(o agentreplay.Options, change experiment.Change) (*Candidate, error) {
	if o.Candidate != nil {
		model := *o.Candidate
		if change.Model != nil {
			model.Model = *change.Model
		}
		model.SystemPrompt = change.SystemPrompt
		o.Candidate = &model
	}
	config, err := json.Marshal(contract.ReplayConfig{SystemPrompt: change.SystemPrompt, Model: change.Model, Overrides: change.Overrides})
	if err != nil {
		return nil, err
	}
	o.Variables = []rerun.Variable{{Name: configVariable, Value: string(config)}}
	return &Candidate{Options: o}, nil
}

// Close implements experiment.Candidate.
func (c *Candidate) Close() (int, string) { return 0, "" }

// Replay implements experiment.Candidate.
func (c *Candidate) Replay(ctx context.Context, of *experiment.Case, t *tape.Tape, _ contract.TraceInput) (out experiment.Replayed, err error) {
	log := &tail{}
	o := c.Options
	o.Stderr = log
	o.Say = func(format string, args ...any) { _, _ = fmt.Fprintf(log, "tapedeck: "+format+"\n", args...) }
	sum := sha256.Sum256([]byte(c.Digest + "\x00" + of.Tenant + "/" + of.RunID))
	id := fmt.Sprintf("replay-%x", sum[:6]) // a replay that a kill cut off is replaced when it is made again
	replayed, err := agentreplay.Run(ctx, o, agentreplay.Recording{Tape: t}, id)
	switch {
	case ctx.Err() != nil, errors.Is(err, rerun.ErrNotRun):
		return out, err
	case err != nil:
		out.Failure = &execlane.Failure{Code: execlane.Exception, Message: err.Error()}
		return out, nil
	}
	out = resultOf(t, replayed)
	if out.Failure = c.failureOf(replayed, &out); out.Failure != nil {
		out.Failure.Details["exit_code"] = replayed.Report.Exit.Code
		if end := log.kept.String(); end != "" {
			out.Failure.Details["log"] = end[max(0, len(end)-1000):]
		}
	}
	return out, nil
}

// maxLog is how many bytes of what a command writes are kept at least.
const maxLog = 64 << 10

// tail keeps the end of what is written. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(b)
	if over := t.kept.Len() - maxLog; over > maxLog {
		t.kept.Next(over)
	}
	return len(b), nil
}
