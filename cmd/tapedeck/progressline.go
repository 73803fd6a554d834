// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
)

// progressLine is the last line of a terminal, which says how far a command has come. Elsewhere it says
// nothing.
type progressLine struct {
	terminal io.Writer // nil where nobody reads
	shown    time.Time // when the line was written last
	open     bool      // a line is there
}

// newProgressLine returns the line of a command that writes messages to stderr.
func newProgressLine(stderr io.Writer) *progressLine {
	if !isTerminal(stderr) {
		return &progressLine{}
	}
	return &progressLine{terminal: stderr}
}

// show replaces the line, five times a second at most.
func (p *progressLine) show(format string, args ...any) {
	if p.terminal == nil || time.Since(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown, p.open = time.Now(), true
	fmt.Fprintf(p.terminal, "\r\x1b[K"+format, args...)
}

// clear takes the line away, before another one is written.
func (p *progressLine) clear() {
	if p.open {
		p.open = false
		fmt.Fprint(p.terminal, "\r\x1b[K")
	}
}
