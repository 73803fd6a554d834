// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

// TestAnInterruptedTailShowsWhatIsOpen sends the program the signal of Ctrl-C while the root of a run has not come.
func TestAnInterruptedTailShowsWhatIsOpen(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, stderr := &bytes.Buffer{}, newLines()
	cmd := exec.CommandContext(t.Context(), self, "tail", "--listen", "127.0.0.1:0", "--redact", "off")
	cmd.Env = append(os.Environ(), programVariable+"=1")
	cmd.Stdout, cmd.Stderr = out, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	address := ""
	for address == "" {
		select {
		case line := <-stderr.came:
			_, address, _ = strings.Cut(line, "OTEL_EXPORTER_OTLP_ENDPOINT=")
		case err := <-ended:
			t.Fatalf("%v\n%s", err, stderr)
		}
	}
	withoutRoot := spansOf(t, researched, func(s ptrace.Span) bool { return s.ParentSpanID() != pcommon.SpanID{} })
	if err := otlpsend.HTTP(t.Context(), address, withoutRoot); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !strings.HasPrefix(out.String(), "5666c55d ") || !strings.Contains(out.String(), "unfinished") || !strings.Contains(stderr.String(), "1 line; not complete: 5666c55d") {
		t.Errorf("%v\n%s\n%s", err, out, stderr)
	}
}
