// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/interop/auditrelay"
	"github.com/tapedeck/tapedeck/internal/reading/otlpserver"
)

// auditSink is what a collector received.
type auditSink struct {
	mu    sync.Mutex
	lines []string
	tags  []string
	some  chan struct{}
}

func (*auditSink) AddTraces(ptrace.Traces) {}

func (s *auditSink) AddLogs(ld plog.Logs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rl := range ld.ResourceLogs().All() {
		if tag, ok := rl.Resource().Attributes().Get("replay_run_id"); ok {
			s.tags = append(s.tags, tag.Str())
		}
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				s.lines = append(s.lines, record.Body().Str()+"\n")
			}
		}
	}
	select {
	case s.some <- struct{}{}:
	default:
	}
}

func (s *auditSink) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// auditCollector receives OTLP.
func auditCollector(t *testing.T) (*auditSink, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	sink, done := &auditSink{some: make(chan struct{}, 1)}, make(chan error, 1)
	go func() {
		_, err := otlpserver.Listen(ctx, listener, sink, math.MaxInt)
		done <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return sink, "http://" + listener.Addr().String()
}

func auditCounts(t *testing.T, line string) (c auditrelay.Counts) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return c
}

func TestTheStderrOfAnAgentReachesACollector(t *testing.T) {
	recorded, err := os.ReadFile(forgeAudit)
	if err != nil {
		t.Fatal(err)
	}
	sink, to := auditCollector(t)
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"audit", "--to", to + "/", "--replay-run-id", "r17"}, strings.NewReader("Forge starts\n"+string(recorded)), &stdout, &stderr)
	n := strings.Count(string(recorded), "\n")
	if code != exitOK || auditCounts(t, stdout.String()) != (auditrelay.Counts{Forwarded: n, Other: 1}) || stderr.String() != "Forge starts\n" {
		t.Errorf("%d %s%s", code, &stdout, &stderr)
	}
	if strings.Join(sink.lines, "") != string(recorded) || len(sink.tags) == 0 || slices.ContainsFunc(sink.tags, func(tag string) bool { return tag != "r17" }) {
		t.Errorf("%d lines, %q", len(sink.lines), sink.tags)
	}
	for want, args := range map[string][]string{
		"--to is missing": {"audit"}, "--to: want http": {"audit", "--to", "http://u:hunter2@h"}, "--drain must be": {"audit", "--to", to, "--drain", "0s"},
		"--listen: want unix:PATH": {"audit", "--to", to, "--listen", "http://0.0.0.0:1"}, "no such file": {"audit", "--to", to, "--listen", "unix:" + filepath.Join(t.TempDir(), "no", "s")},
	} {
		if got := tapedeck(t, args...); got.code != exitFailed || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	dead := freeAddress(t)
	stdout.Reset()
	stderr.Reset()
	code = run(t.Context(), []string{"audit", "--to", "http://" + dead, "--drain", "1ns"}, strings.NewReader(string(recorded)), &stdout, &stderr)
	if code != exitPartial || auditCounts(t, stdout.String()).Lost != n {
		t.Errorf("%d %s%s", code, &stdout, &stderr)
	}
}

func TestTheSocketAndThePostsOfAnAgentReachACollector(t *testing.T) {
	recorded, err := os.ReadFile(forgeAudit)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "audit.sock")
	for listen, send := range map[string]func(at string) error{
		"unix:" + socket: func(string) error {
			conn, err := net.Dial("unix", socket)
			if err == nil {
				_, err = conn.Write(recorded)
				_ = conn.Close()
			}
			return err
		},
		"http://127.0.0.1:0/audit": func(at string) error {
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Post(at, "application/x-ndjson", strings.NewReader(string(recorded)))
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		},
	} {
		for range 2 { // the second time, what is left of the first is in nobody's way
			sink, to := auditCollector(t)
			ctx, interrupt := context.WithCancel(t.Context())
			r, w := io.Pipe()
			code := make(chan int, 1)
			var stderr strings.Builder
			go func() {
				code <- run(ctx, []string{"audit", "--to", to, "--listen", listen}, strings.NewReader(""), w, &stderr)
				_ = w.Close()
			}()
			lines := json.NewDecoder(r)
			var started serving
			if err := lines.Decode(&started); err != nil {
				t.Fatalf("%d %s", <-code, &stderr)
			}
			if err := send(started.Listening); err != nil {
				t.Error(err)
			}
			n := strings.Count(string(recorded), "\n")
			for sink.Len() < n {
				<-sink.some
			}
			interrupt()
			var counts auditrelay.Counts
			if err := lines.Decode(&counts); err != nil || <-code != exitOK || counts != (auditrelay.Counts{Forwarded: n}) || strings.Join(sink.lines, "") != string(recorded) || len(sink.tags) > 0 {
				t.Errorf("%s: %v %+v %s", listen, err, counts, &stderr)
			}
		}
	}
}
