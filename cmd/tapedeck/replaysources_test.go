// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// Tapedeck stays outside of a lockdown: it reads the tape from where the command cannot get, and keeps that of the replay there.
func TestATapeInAnObjectStoreIsReplayedInALockdown(t *testing.T) {
	service := decktest.S3(t)
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	made := commanded(t, "record", "--to", service.URL, "--", os.Args[0])
	if made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	base, query := replay.SplitURL(service.URL)
	kept := base + "/kept" + query
	flags := []string{lines(t, made.stdout)[0].URL, "--input", "stdin", "--to", kept}
	if runtime.GOOS == "linux" {
		flags = append(flags, "--require-lockdown")
	}
	code, r := replayed(t, "oracle", flags...)
	if code != exitOK || failed(r) != "" || r.Lockdown != (runtime.GOOS == "linux") {
		t.Fatalf("code %d: %s %+v", code, failed(r), r)
	}
	if got := tapedeck(t, "ls", kept, "--format", "json", "--area", "replays"); got.code != exitOK || !strings.Contains(got.stdout, r.ReplayRunID) {
		t.Errorf("%+v", got)
	}
}

// A run whose calls lie in a trace each is joined, and so is what came of its replay before the two are compared.
func TestAJoinedRunIsReplayedAsAWhole(t *testing.T) {
	t.Setenv(agentVariable, "split")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	made := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--", os.Args[0])
	ref := ""
	for _, line := range lines(t, made.stdout) {
		if strings.Contains(line.URL, "/joined/") {
			ref = line.URL
		}
	}
	if made.code != exitOK || ref == "" {
		t.Fatalf("%+v", made)
	}
	code, r := replayed(t, "split", ref, "--input", "stdin")
	if code != exitOK || failed(r) != "" || len(r.Model.Calls) != 2 || len(r.Tools) != 1 || r.Comparison.Counts.Equal != 3 {
		t.Fatalf("code %d: %s %+v", code, failed(r), r)
	}
	t.Setenv(stockVariable, "eight apples in the cellar")
	if code, r = replayed(t, "split-live", ref, "--input", "stdin"); code != exitPartial || !strings.Contains(failed(r), "model calls were recorded") {
		t.Errorf("with another result: code %d: %s %+v", code, failed(r), r)
	}
}

// A server can listen before it is ready: a URL says when it is, and nothing is asked before.
func TestAServerIsAskedWhenItsURLSaysThatItIsReady(t *testing.T) {
	url := recordedAgent(t)
	address := freeAddress(t)
	ask := []string{url, "--input", "http:POST http://" + address + "/ask", "--answer", "http"}
	if code, r := replayed(t, "slow-server", append(ask, "--wait-for", "http://"+address+"/ready")...); code != exitOK || failed(r) != "" {
		t.Errorf("code %d: %s %+v", code, failed(r), r)
	}
	_, port, _ := net.SplitHostPort(address)
	if code, r := replayed(t, "slow-server", append(ask, "--wait-for", port)...); code == exitOK || r.Exit.Refused == "" {
		t.Errorf("a port alone: code %d: %+v", code, r)
	}
}

// BenchmarkReplay replays a run of 51 calls, 26 of a model and 25 of a tool, and tells the CPU seconds of this program and those of what it started:
// the agent, and the first process of its namespaces.
func BenchmarkReplay(b *testing.B) {
	used := func(who int) time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.Setenv(countsVariable, "25")
	url := recordedAgent(b)
	b.Setenv(agentVariable, "oracle")
	var own, started time.Duration
	for b.Loop() {
		before, beforeStarted := used(syscall.RUSAGE_SELF), used(syscall.RUSAGE_CHILDREN)
		got := commanded(b, "replay", "--json", url, "--input", "stdin", "--", os.Args[0])
		own, started = own+used(syscall.RUSAGE_SELF)-before, started+used(syscall.RUSAGE_CHILDREN)-beforeStarted
		var r rerun.Report
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != exitOK || len(r.Tools)+len(r.Model.Calls) != 51 {
			b.Fatalf("%v: %+v", err, got)
		}
	}
	b.ReportMetric(own.Seconds()/float64(b.N), "CPU-s/replay")
	b.ReportMetric(started.Seconds()/float64(b.N), "agent-CPU-s/replay")
}
