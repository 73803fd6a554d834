// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/tape"
)

// Statement is what a signature of a sealed tape vouches for, that was made of parts.
func Statement(t *tape.Tape, parts []string) signature.Statement {
	return signature.Statement{TapeID: t.TapeID, Oracle: t.SiblingDigests().Get(tape.OracleFile).Str(), Evidence: slices.Compact(slices.Sorted(slices.Values(parts)))}
}

// sign puts the signature of each tape beside it. The gate has seen the files before: a signature is random to whoever looks for secrets.
func (w *Writer) sign(runs []deck.RunFiles, tapes []*tape.Tape, parts []string) {
	if w.options.Sign == nil {
		return
	}
	for i, t := range tapes {
		of := Statement(t, parts)
		runs[i].Files = append(runs[i].Files, deck.File{Name: signature.FileName(w.options.Sign.KeyID()), Body: w.options.Sign.Sign(of).File(of), ContentType: applicationJSON})
	}
}

// unsigned tells whether tapes of a generation that is there lack the signature of this writer.
func (w *Writer) unsigned(state deck.LocationState, gen deck.Generation) bool {
	i := slices.IndexFunc(state.Generations, func(g deck.GenerationState) bool { return g.Generation == gen })
	return w.options.Sign != nil && i >= 0 && slices.ContainsFunc(state.Generations[i].Runs, func(r deck.Run) bool {
		return len(r.Files) > 0 && !slices.Contains(r.Files, signature.FileName(w.options.Sign.KeyID()))
	})
}
