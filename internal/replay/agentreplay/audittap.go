// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"bytes"
	"io"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/interop/auditrelay"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// auditTap passes the standard error of a command on, and keeps the audit records in it. Every Forge agent
// writes its audit stream there.
type auditTap struct {
	w io.Writer

	mu    sync.Mutex
	line  []byte
	long  bool // the line exceeds maxAuditLine
	bytes int
	lines []string
	lost  int
}

// Bounds of what is kept: bytes of a line, and of all lines.
const (
	maxAuditLine = 1 << 20
	maxAudit     = 64 << 20
)

// Write implements io.Writer.
func (a *auditTap) Write(b []byte) (int, error) {
	a.mu.Lock()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if a.long = a.long || len(a.line)+len(part) > maxAuditLine; !a.long {
			a.line = append(a.line, part...)
		}
		if ended {
			a.end()
		}
		rest = after
	}
	a.mu.Unlock()
	return a.w.Write(b)
}

func (a *auditTap) end() {
	line, long := string(a.line), a.long
	a.line, a.long = a.line[:0], false
	if long {
		a.lost++ // it may have been a record
		return
	}
	if _, ok := auditrelay.IsRecord([]byte(line)); !ok {
		return
	}
	if a.bytes += len(line); a.bytes > maxAudit {
		a.lost++
		return
	}
	a.lines = append(a.lines, line)
}

// into adds the records to the evidence of the replay.
func (a *auditTap) into(in *ingest.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.line) > 0 {
		a.end()
	}
	for i, line := range a.lines {
		_ = in.Add(otlpfile.Document{Signal: otlpfile.SignalAudit, Name: "stderr", Line: i + 1, Audit: line}) // a line that is no record is no evidence
	}
}
