// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
)

func TestOnlyAuditRecordsAreTapped(t *testing.T) {
	var passed strings.Builder
	tap := &auditTap{w: &passed}
	record := `{"event":"session_start","schema_version":"1.0","prev_hash":"00"}`
	for _, part := range []string{"banner\n{not json}\n" + record[:20], record[20:] + "\n{\"event\":\"x\"}\n", strings.Repeat("y", maxAuditLine+1), "\n" + record} {
		if n, err := tap.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	tap.into(ingest.NewBatch(nil, nil))
	if len(tap.lines) != 2 || tap.lines[0] != record || tap.lines[1] != record || tap.lost != 1 || !strings.HasSuffix(passed.String(), record) {
		t.Errorf("%d lines, %d lost", len(tap.lines), tap.lost)
	}
}
