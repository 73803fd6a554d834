// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"

	"github.com/tapedeck/tapedeck/tape"
)

// Check is a tape.Check: the proof on the tape is the one that the tape gives.
func Check(t *tape.Tape, _ map[string][]byte) []tape.Problem {
	recorded, got := t.Fidelity.Proof, Prove(t)
	if recorded.Expected == got.Expected && recorded.Served == got.Served && recorded.Mismatched == got.Mismatched && recorded.Unverifiable == got.Unverifiable &&
		recorded.Recorded == got.Recorded {
		return nil
	}
	return []tape.Problem{{Code: tape.ProblemProof, Path: "fidelity.proof", Detail: fmt.Sprintf(
		"the tape proves expected %d, served %d, mismatched %d, unverifiable %d, recorded %d",
		got.Expected, got.Served, got.Mismatched, got.Unverifiable, got.Recorded)}}
}
