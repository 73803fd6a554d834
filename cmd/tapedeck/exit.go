// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

// Exit codes. docs/cli.md says what they mean for each command.
const (
	exitOK      = 0 // everything done, or everything consistent
	exitPartial = 1 // derive: some input refused; resolve: some content not fetched; verify: a check failed
	exitFailed  = 2 // nothing done, cannot load, or misuse
)

// exitError ends a command with a code. Its message, if any, is printed by run.
type exitError struct {
	code int
	err  error // nil: everything is said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitCode prints what an error says and returns the code it stands for. Everything that is not an exitError is misuse or cannot load.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var e *exitError
	if errors.As(err, &e) {
		code = e.code
		if e.err == nil {
			return code
		}
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	complain(stderr, err)
	return code
}

// complain writes an error as one line. Names of files and the like may hold anything, so it is made safe for a terminal.
func complain(stderr io.Writer, err error) {
	say(stderr, "%s", err.Error())
}

// say writes a diagnostic as one line.
func say(stderr io.Writer, format string, args ...any) {
	text := timeline.Clean(fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintf(stderr, "tapedeck: %s\n", strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; "))
}
