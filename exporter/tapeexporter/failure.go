// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"errors"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
)

// failure is what stands behind an attempt that failed. It is the attribute "cause" of the metric.
type failure string

const (
	// refused: the store needs an operator (a missing bucket, a missing right). It is tried again like an outage: operators mend
	// buckets, and evidence that is dropped never comes back.
	refused failure = "refused"
	// full: the store has no room. It is tried again: somebody makes room, and evidence that is dropped never comes back.
	full failure = "full"
	// failed: the store is away, or the attempt ran out of time. It is tried again.
	failed failure = "failed"
	// underivable: the evidence is durable, because a part is written before anything is derived, but no tape can be made. A neighbouring part is
	// damaged, or reconstruction cannot take the trace. Trying again would fail the same way and take the place of other traces.
	underivable failure = "underivable"
	// tooLarge: the evidence exceeds one object. Neither time nor an operator can help.
	tooLarge failure = "too_large"
)

// words are what the log says of a failure that the next attempts will meet too.
func (f failure) words() string {
	switch f {
	case refused:
		return "the store refuses; nothing is lost, and writing goes on as soon as the cause is mended"
	case full:
		return "the deck is full; nothing is lost, and writing goes on as soon as there is room"
	case failed:
		return "the deck cannot be written; nothing is lost, and writing goes on as soon as the store answers"
	default:
		return ""
	}
}

// failureOf takes what it does not know for an outage: repeating is the error that costs nothing.
func failureOf(err error) failure {
	switch {
	case errors.Is(err, deck.ErrTooLarge):
		return tooLarge
	case errors.Is(err, generation.ErrUnderivable), errors.Is(err, deck.ErrCorrupt):
		return underivable
	case deck.IsFull(err):
		return full
	case deck.IsPermanent(err):
		return refused
	default:
		return failed
	}
}
