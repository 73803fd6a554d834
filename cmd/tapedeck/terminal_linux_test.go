// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
)

// openTerminal opens a terminal, and returns what a person would read there, line by line.
func openTerminal(t *testing.T) (*os.File, *bufio.Reader) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return tty, bufio.NewReader(screen)
}

func TestALineForAPersonHasNoAddress(t *testing.T) {
	written := derive.Written{RunID: "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", URL: "file:///deck/tape.json", Status: "ok", Grade: "offline", Events: 5, ToolCalls: 1}
	tty, screen := openTerminal(t)
	for _, c := range []struct {
		out  io.Writer
		want string
	}{
		{tty, "4bf92f35  ok  offline  events: 5, tool calls: 1, findings: 0"},
		{struct{ io.Writer }{tty}, `"url":"file:///deck/tape.json"`}, // as with --json
	} {
		if err := reportTape(c.out, written); err != nil {
			t.Fatal(err)
		}
		if line, err := screen.ReadString('\n'); err != nil || !strings.Contains(line, c.want) {
			t.Errorf("%q, %v; want %q", line, err, c.want)
		}
	}
}

func TestProgressIsALineOfATerminalAlone(t *testing.T) {
	tty, screen := openTerminal(t)
	far := newProgressLine(tty)
	far.show("%d requests read", 7)
	far.show("%d requests read", 8) // too soon
	far.clear()
	far.clear()
	if _, err := fmt.Fprintln(tty, "done"); err != nil {
		t.Fatal(err)
	}
	if line, err := screen.ReadString('\n'); err != nil || line != "\r\x1b[K7 requests read\r\x1b[Kdone\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	var elsewhere strings.Builder
	newProgressLine(&elsewhere).show("7")
	if elsewhere.Len() > 0 {
		t.Errorf("%q", elsewhere.String())
	}
}
