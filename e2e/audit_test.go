// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/collector/pdata/plog"
)

// TestAuditStreamsReachTheirSubjects sends two recorded audit streams through the example, one of them of a replay, while NATS comes late.
func TestAuditStreamsReachTheirSubjects(t *testing.T) {
	s := newSides(t)
	natsAddress, auditAddress := freeAddress(t), freeAddress(t)
	p := s.collectorWith(slim, t.TempDir(), []string{"NATS_URL=nats://" + natsAddress, "AUDIT_GRPC_ENDPOINT=" + auditAddress, "AUDIT_HTTP_ENDPOINT=" + freeAddress(t)},
		"--config", example(t, "examples/replaysplit/audit.yaml"))

	_, port, err := net.SplitHostPort(natsAddress)
	if err != nil {
		t.Fatal(err)
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: number, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	if !broker.ReadyForConnections(patience) {
		t.Fatal("NATS did not start")
	}
	conn, err := nats.Connect("nats://" + natsAddress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AUDIT", Subjects: []string{"auditEvent", "replayEvent"}}); err != nil {
		t.Fatal(err)
	}

	want := map[string][]string{}
	for agent, tag := range map[string]string{"stock-helper": "", "price-helper": "r-1"} {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		subject := "auditEvent"
		if tag != "" {
			rl.Resource().Attributes().PutStr("replay_run_id", tag)
			subject = "replayEvent"
		}
		text := readFile(t, filepath.Join(repository, "testdata/corpus/forge/"+agent+".audit.ndjson"))
		records := rl.ScopeLogs().AppendEmpty().LogRecords()
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			records.AppendEmpty().Body().SetStr(line)
			want[subject] = append(want[subject], line)
		}
		exportLogs(t, dial(t, auditAddress), ld)
	}
	for subject, lines := range want {
		c, err := js.OrderedConsumer(t.Context(), "AUDIT", jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range lines {
			m, err := c.Next(jetstream.FetchMaxWait(patience))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(m.Data()))
		}
		if diff := cmp.Diff(lines, got); diff != "" {
			t.Errorf("%s:\n%s", subject, diff)
		}
	}
	if n := metrics(t, p)["exporter_audit_nats_published_records"]; n != len(want["auditEvent"])+len(want["replayEvent"]) {
		t.Errorf("%d records published", n)
	}
	if left := (at{t, s.deck}).contents(); len(left) != 0 {
		t.Errorf("audit records lie in the deck: %d objects", len(left))
	}
	stop(t, p)
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
