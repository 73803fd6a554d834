// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replayserver

import (
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// ModelOptions compare model calls by the rules by which an oracle compares tool calls. They mask secrets in
// what is reported of live conversations.
func ModelOptions(o oracle.Options) (modelstub.Options, error) {
	mask := redact.Default()
	mask.Mode = redact.ModeMask
	redactor, err := redact.New(mask)
	if err != nil {
		return modelstub.Options{}, err
	}
	options := modelstub.Options{Verifier: o.Verifier, Mask: func(text string) string { return redactor.String("", text, nil) }}
	if o.Rules != nil {
		options.Rules, err = normalise.New(o.Rules.Values)
	}
	return options, err
}

// VolatileOf recognises values that differ from run to run by nature, such as ids and times. Exact recognises
// none.
func VolatileOf(t *tape.Tape, exact bool) *normalise.Volatile {
	if exact {
		return nil
	}
	return &normalise.Volatile{From: t.Run.StartedAt, To: t.Run.EndedAt}
}
