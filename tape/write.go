// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// AppendJSON appends the tape as the file holds it, which is one line of compact JSON and a line feed. Members are in the order of the
// format, number literals as recorded.
func (t *Tape) AppendJSON(dst []byte) []byte {
	return append(tapeRecord.AppendJSON(dst, t), '\n')
}

// Seal fills in kind, schema version (when empty) and tape_id. It fails when the tape is beyond what Read accepts.
func (t *Tape) Seal() error {
	t.Kind = Kind
	if t.SchemaVersion == "" {
		t.SchemaVersion = SchemaVersion
	}
	if depth := t.depth(); depth > exactjson.MaxDepth {
		return fmt.Errorf("seal tape %s: %w: a value has %d levels", t.Run.RunID, exactjson.ErrDepth, depth)
	}
	id, err := t.ComputeID()
	if err != nil {
		return fmt.Errorf("seal tape %s: %w", t.Run.RunID, err)
	}
	t.TapeID = id
	return nil
}

// ComputeID returns the tape_id that the content demands: "sha256:" and the hex digest of the canonical form without tape_id. A tape
// with a number out of range has no canonical form; its compact text without tape_id is hashed: "sha256-raw:".
func (t *Tape) ComputeID() (string, error) {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	unsealed := *t
	unsealed.TapeID = ""
	text, err := tapeRecord.AppendCanonical((*buf)[:0], &unsealed)
	prefix := "sha256:"
	if errors.Is(err, exactjson.ErrRange) {
		text, err, prefix = tapeRecord.AppendJSON(text[:0], &unsealed), nil, "sha256-raw:"
	}
	*buf = text
	if err != nil {
		return "", err
	}
	if len(text) > MaxBytes {
		return "", fmt.Errorf("%w: %d bytes", ErrTooLarge, len(text))
	}
	sum := sha256.Sum256(text)
	return prefix + hex.EncodeToString(sum[:]), nil
}

// depth returns the number of levels of the deepest recorded value.
func (t *Tape) depth() int {
	deepest := t.Extensions.Depth()
	see := func(v exactjson.Value) {
		if v.Kind() >= exactjson.Array {
			deepest = max(deepest, v.Depth())
		}
	}
	if t.Input.A2A != nil {
		see(t.Input.A2A.Params)
	}
	for _, tool := range t.Tools {
		see(tool.Parameters)
	}
	for _, m := range t.Messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			see(p.Args)
			see(p.Result)
			see(p.Value)
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		for _, v := range [...]*exactjson.Value{&e.Params, &e.Args, &e.ExecutedArgs, &e.Result, &e.Input, &e.Output, &e.Query, &e.Documents} {
			see(*v)
		}
	}
	return deepest
}
