// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a terminal of so many rows, and what has been written to it when it is closed.
func terminal(t *testing.T, rows uint16) (tty *os.File, written func() string) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("no terminals here, as in a sandbox without /dev/ptmx: ", err)
	}
	t.Cleanup(func() { _ = ptmx.Close() })
	if err := unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: 80}); err != nil {
		t.Fatal(err)
	}
	all := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(ptmx) // ends with an error when the terminal is closed
		all <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	return tty, func() string {
		_ = tty.Close()
		return <-all
	}
}

func TestWhatIsLongerThanTheTerminalGoesThroughThePager(t *testing.T) {
	long, short := strings.Repeat("a line\n", 30), "one\ntwo\n"
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\necho paged $(wc -l) $TAPEDECK_REDACTION_KEY $LESS\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(keyVariable, "secret")
	t.Setenv("LESS", "")
	t.Setenv("PAGER", "cat")
	for _, c := range []struct {
		name, pager, text, want string
	}{
		{"fits", pager, short, short},
		{"is longer", pager, long, "paged 30 FRX\n"}, // without the key
		{"no pager", "cat", long, long},
		{"a pager that is not there", "/no/such/pager", long, long},
		{"a pager that is left early", "true", long, ""},
	} {
		t.Setenv("TAPEDECK_PAGER", c.pager)
		tty, written := terminal(t, 20)
		err := paged(t.Context(), tty, func(w io.Writer) error { _, err := io.WriteString(w, c.text); return err })
		if got := written(); err != nil || got != c.want {
			t.Errorf("%s: %v, %q, want %q", c.name, err, got, c.want)
		}
	}
	tty, written := terminal(t, 20)
	failed := fmt.Errorf("half of it")
	err := paged(t.Context(), tty, func(w io.Writer) error { _, _ = io.WriteString(w, long); return failed })
	if got := written(); got != long || err == nil {
		t.Errorf("what was written before an error: %v, %q", err, got)
	}
}
