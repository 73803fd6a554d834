// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

// Exit codes. They mean the same for all commands; docs/cli.md says what each command finds.
const (
	exitOK        = 0
	exitPartial   = 1
	exitFailed    = 2
	exitNoVerdict = 3
)

// exitHelp stands below the help of every command.
const exitHelp = `
Exit codes:
  0  done, and nothing was found
  1  done, and something was found: a difference, a failure, a gap
  2  not done: misuse, or something could not be read, written or run
  3  done, and too little for a verdict (experiment, suite check)
`

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

// exitCode prints what an error says and returns the code it stands for. Everything that is not an exitError
// is misuse or cannot load.
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

// complain writes an error as one line. Names of files and the like may hold anything, so it is made safe for
// a terminal.
func complain(stderr io.Writer, err error) {
	say(stderr, "%s", err.Error())
}

// isStoreError tells an error of the storage service from one of what it holds.
func isStoreError(err error) bool {
	_, ok := errors.AsType[*deck.StoreError](err)
	return ok
}

// sayer is say for packages that do not know the command line.
func sayer(stderr io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { say(stderr, format, args...) }
}

// say writes a diagnostic as one line.
func say(stderr io.Writer, format string, args ...any) {
	text := timeline.Clean(fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintf(stderr, "tapedeck: %s\n", strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; "))
}

// lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// concurrent makes a writer safe for concurrent use. A file already is, and a command can have it as its own.
func concurrent(w io.Writer) io.Writer {
	switch w.(type) {
	case *os.File, *lockedWriter:
		return w
	}
	return &lockedWriter{w: w}
}
