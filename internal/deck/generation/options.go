// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Options are what a generation depends on beside the evidence.
type Options struct {
	// Producer names the program; its config digest is computed from the rest of the options.
	Producer tape.Producer
	// Formats default to DefaultFormats. The tape is always made. So is the oracle in a generation of several
	// runs: it shows a reader that one of them still lacks its tape.
	Formats []string
	// Replay tells replays from production; nil is segregation.Default.
	Replay *segregation.Rules
	// Bounds limit what one derivation takes in. A bound of zero is that of DefaultBounds.
	Bounds Bounds
	// Revision is that of the derivation; zero is Revision.
	Revision int
	// Sign signs every tape; nil signs none. It changes no tape, so it is no part of the config digest.
	Sign *signature.Signer
	// Explained is told how each tape came about; nil is nobody. It changes no tape, so it is no part of the
	// config digest.
	Explained func(reconstruct.Explanation)
}

// Bounds limit what one derivation takes in. Evidence beyond them stays in the deck, and a finding on the
// tapes says so.
type Bounds struct {
	// Bytes and Items bound the content of the evidence, see evidence.Union. The result does not depend on
	// how the evidence is split into parts.
	Bytes int64
	Items int
	// Parts bounds how many parts are read: those whose names come first.
	Parts int
}

// DefaultBounds are twice what agentrun passes on at once, and more late parts than any run has. In memory,
// pdata takes two to three times these bytes, and so does a tape.
var DefaultBounds = Bounds{Bytes: 128 << 20, Items: 100_000, Parts: 1000}

// String is the finding about evidence that exceeds the bounds. It does not depend on how far.
func (b Bounds) String() string {
	return fmt.Sprintf("made of the earliest evidence only: there is more than %d spans and log records, %d bytes or %d parts", b.Items, b.Bytes, b.Parts)
}

// Validate reports an unknown format or a negative bound.
func (o Options) Validate() error {
	known := KnownFormats()
	for _, f := range o.Formats {
		if !slices.Contains(known, f) {
			return fmt.Errorf("unknown format %q, want %v", f, known)
		}
	}
	if b := o.Bounds; b.Bytes < 0 || b.Items < 0 || b.Parts < 0 {
		return errors.New("a bound is less than nothing")
	}
	return nil
}
