// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/tape"
)

// Statement is what the signature of a sealed tape vouches for: the tape, and the parts that it was made of.
func Statement(t *tape.Tape, parts []string) signature.Statement {
	return signature.Statement{TapeID: t.TapeID, Oracle: t.SiblingDigests().Get(tape.OracleFile).Str(), Evidence: slices.Compact(slices.Sorted(slices.Values(parts)))}
}

// AddSignatures puts the signature of each tape beside it.
func (d *Deriver) AddSignatures(runs []deck.RunFiles, tapes []*tape.Tape, parts []string) {
	if d.Sign == nil {
		return
	}
	for i, t := range tapes {
		of := Statement(t, parts)
		runs[i].Files = append(runs[i].Files, deck.File{Name: signature.FileName(d.Sign.KeyID()), Body: d.Sign.Sign(of).File(of), ContentType: applicationJSON})
	}
}
