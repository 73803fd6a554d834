// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// Note writes, beside each recorded run that was judged, how its replay ended.
func (o *Outcome) Note(ctx context.Context) error {
	if !o.of.All {
		return note(ctx, o.of, o.Tape)
	}
	for i, one := range o.of.Family {
		if err := note(ctx, one, o.replayed[i]); err != nil {
			return err
		}
	}
	return nil
}

// note writes how the replay of one run ended; nothing where none came.
func note(ctx context.Context, of Recording, replayed *tape.Tape) error {
	if replayed == nil {
		return nil
	}
	recorded, outcome := aiwg.OutcomeOf(of.Tape), aiwg.OutcomeOf(replayed)
	result, err := aiwg.Matching{Strategy: aiwg.Exact, Threshold: aiwg.DefaultThreshold, Measure: aiwg.Measures[0]}.Match(recorded, outcome)
	switch {
	case errors.Is(err, aiwg.ErrNoResponse) && outcome.Failed:
		err = errors.New("the replay failed")
	case err != nil:
		return fmt.Errorf("--note: %w", err)
	}
	return replay.Note(ctx, of.At, outcome, result, err, "")
}
