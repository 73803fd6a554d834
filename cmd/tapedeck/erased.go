// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// erasedSums is the last line of verify --erased. The order of its fields is part of the contract.
type erasedSums struct {
	Summary struct {
		Erased  int  `json:"erased"`  // traces
		Parts   int  `json:"parts"`   // that were buried alone
		Objects int  `json:"objects"` // that were searched
		Found   int  `json:"found"`   // places that hold something of what was erased
		Failed  int  `json:"failed"`  // objects that could not be read
		Clear   bool `json:"clear"`
	} `json:"summary"`
}

// verifyErased searches a deck for what was erased.
func verifyErased(ctx context.Context, address string, stdout, stderr io.Writer) (err error) {
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var looked scrub.Erased
	var sums erasedSums
	s := &sums.Summary
	for r, err := range scrub.FindErased(ctx, d, &looked) {
		if err != nil {
			return err
		}
		if r.Err != "" {
			s.Failed++
			complain(stderr, fmt.Errorf("%s: %s", r.Key, r.Err))
		} else {
			s.Found++
		}
		if err := writeJSON(stdout, r); err != nil {
			return err
		}
	}
	s.Erased, s.Parts, s.Objects = looked.Traces, looked.Parts, looked.Objects
	s.Clear = s.Found == 0 && s.Failed == 0
	if err := writeJSON(stdout, sums); err != nil || s.Clear {
		return err
	}
	return &exitError{code: exitPartial}
}
