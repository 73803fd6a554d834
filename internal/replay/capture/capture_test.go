// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
)

// The files that records refer to are read when the command has ended. So the doctor asks for no content.
func TestBodiesInFilesBecomeEvidence(t *testing.T) {
	dir := t.TempDir()
	bodies, err := agentprofile.OpenBodies(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bodies.Close() }()
	file := filepath.Join(dir, "bodies", "a.request.json")
	seen := doctor.NewReceiver()
	c := &Capture{In: ingest.NewBatch(nil, nil), Bodies: bodies, Also: seen}
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName("com.anthropic.claude_code.events")
	record := sl.LogRecords().AppendEmpty()
	record.SetTraceID([16]byte{1})
	record.SetTimestamp(1_700_000_000_000_000_000)
	for name, value := range map[string]string{"event.name": "api_request_body", "session.id": "s", "prompt.id": "p", "body_ref": file} {
		record.Attributes().PutStr(name, value)
	}
	c.AddLogs(ld)
	if err := os.WriteFile(file, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`), 0o600); err != nil { // after the record
		t.Fatal(err)
	}
	if err := c.Release(&harness.Facts{}, nil); err != nil {
		t.Fatal(err)
	}
	items := c.In.Set.Items()
	if !slices.ContainsFunc(items, func(i evidence.Item) bool {
		body, ok := i.Span.Attributes().Get("body")
		return ok && strings.Contains(body.AsString(), `"hi"`)
	}) {
		t.Errorf("%d items without the body", len(items))
	}
	for _, source := range seen.Diagnose().Sources {
		for _, m := range source.Missing {
			if m.Code == "external_content" {
				t.Errorf("%+v", m)
			}
		}
	}
}
