// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package experiment

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
)

// late takes what is written as late as a busy machine may.
type late struct{ got bytes.Buffer }

func (l *late) Write(p []byte) (int, error) {
	time.Sleep(1200 * time.Millisecond) // the time itself is what is tested: pipes were given up a second after the end
	return l.got.Write(p)
}

func TestWhatAScorerWroteIsReadAfterItsEnd(t *testing.T) {
	var out late
	c := command{argv: []string{"/bin/sh", "-c", "echo 0.5"}, timeout: time.Minute}
	if err := c.run(t.Context(), contract.ScoreCase{}, &out, io.Discard); err != nil || out.got.String() != "0.5\n" {
		t.Errorf("%q: %v", out.got.String(), err)
	}
}
