// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"errors"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/derive"
)

// failure is what stands behind an attempt that failed. It is the attribute "cause" of the metric.
type failure string

const (
	// refused: the store needs an operator (a missing bucket, a missing right). It is tried again like an outage: operators mend
	// buckets, and evidence that is dropped never comes back.
	refused failure = "refused"
	// failed: the store is away, or the attempt ran out of time. It is tried again.
	failed failure = "failed"
	// underivable: the evidence is durable, because a part is written before anything is derived, but no tape can be made: a
	// neighbouring part is damaged, or reconstruction cannot take the trace. Trying again would fail the same way and take the place of other traces.
	underivable failure = "underivable"
	// tooLarge: the evidence exceeds one object. Neither time nor an operator can help.
	tooLarge failure = "too_large"
)

// failureOf takes what it does not know for an outage: repeating is the error that costs nothing.
func failureOf(err error) failure {
	switch {
	case errors.Is(err, deck.ErrTooLarge):
		return tooLarge
	case errors.Is(err, derive.ErrUnderivable), errors.Is(err, deck.ErrCorrupt):
		return underivable
	case deck.IsPermanent(err):
		return refused
	default:
		return failed
	}
}
