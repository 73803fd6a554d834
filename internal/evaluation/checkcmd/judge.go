// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package checkcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/tapedeck/tapedeck/tape"
)

// Judge runs a command on tapes, which it writes to files of a folder of its own.
type Judge struct {
	Command
	dir string
}

// NewJudge makes the folder. Close removes it.
func NewJudge(c Command) (*Judge, error) {
	dir, err := os.MkdirTemp("", "tapedeck-check-")
	return &Judge{c, dir}, err
}

// Close removes the folder.
func (j *Judge) Close() error { return os.RemoveAll(j.dir) }

// Recorded judges a tape. The answer is empty where the tape has none.
func (j *Judge) Recorded(ctx context.Context, t *tape.Tape) (Result, error) {
	var answer []byte
	if t.Output.Text != nil {
		answer = []byte(*t.Output.Text)
	}
	return j.run(ctx, map[string][]byte{Tape: t.AppendJSON(nil), Answer: answer})
}

// Replayed judges a replay of a recording, by its tape, its report and its answer.
func (j *Judge) Replayed(ctx context.Context, recording, replayed *tape.Tape, report any, answer string) (Result, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(report); err != nil {
		return Result{}, err
	}
	return j.run(ctx, map[string][]byte{
		Tape: replayed.AppendJSON(nil), Recording: recording.AppendJSON(nil), Report: text.Bytes(), Answer: []byte(answer),
	})
}

// fileNames are the names of the files, each in a folder of its own: a tape has its usual name.
var fileNames = map[string]string{Tape: tape.TapeFile, Recording: tape.TapeFile, Report: "report.json", Answer: "answer.txt"}

func (j *Judge) run(ctx context.Context, bodies map[string][]byte) (Result, error) {
	files := Files{}
	for name, body := range bodies {
		files[name] = filepath.Join(j.dir, name, fileNames[name])
		if err := os.MkdirAll(filepath.Dir(files[name]), 0o700); err != nil {
			return Result{}, err
		}
		if err := os.WriteFile(files[name], body, 0o600); err != nil {
			return Result{}, err
		}
	}
	return j.Run(ctx, files)
}
