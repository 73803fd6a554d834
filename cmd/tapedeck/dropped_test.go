// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// droppedRuns makes a deck of reels of runs of which a policy keeps the first alone.
func droppedRuns(t *testing.T, runs int) (address string) {
	t.Helper()
	address = "file://" + t.TempDir() + "/deck"
	d, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		policy := keep.Config{Agents: []string{"nobody"}}
		if i == 0 {
			policy.Agents = []string{"coder"}
		}
		w := derive.NewReelWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}, Keep: &policy}, reel.DefaultLimits)
		set := evidence.NewSet()
		set.AddTraces(agentload.New(uint64(i + 1)).Trace(agentload.Short))
		tr := set.Split()[0]
		if _, _, err := w.Deliver(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true, First: true, Idle: w.Flush}); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// TestRunsWithoutContentAreListedAndSayWhy: they are no errors, and other commands pass them over.
func TestRunsWithoutContentAreListedAndSayWhy(t *testing.T) {
	address := droppedRuns(t, 3)
	if got := tapedeck(t, "ls", address); got.code != exitOK || strings.Count(got.stdout, " dropped\n") != 2 || strings.Count(got.stdout, " agent\n") != 1 {
		t.Error(got)
	}
	dropped := lines(t, tapedeck(t, "ls", address, "--json", "--columns", "run_id,trace_id", "--where", "keep = 'dropped'").stdout)
	if len(dropped) != 2 || dropped[0].URL != "" || dropped[0].RunID == "" {
		t.Fatalf("%+v", dropped)
	}
	if got := tapedeck(t, "ls", address, "--format", "refs"); strings.Count(got.stdout, "\n") != 1 {
		t.Error(got)
	}
	if got := tapedeck(t, "stats", address, "--json"); !strings.Contains(got.stdout, `"keep":{"agent":1,"dropped":2}`) {
		t.Error(got)
	}
	for _, ref := range []string{dropped[0].RunID, dropped[0].TraceID, dropped[0].TraceID[:10]} {
		if got := tapedeck(t, "show", ref, "--deck", address); got.code == exitOK || !strings.Contains(got.stderr, "keep policy") {
			t.Error(ref, got)
		}
	}
	if got := tapedeck(t, "verify", address); got.code != exitOK || strings.Count("\n"+got.stdout, "\nok ") != 1 || strings.Contains(got.stderr, "passed over") {
		t.Error(got)
	}
	if got := tapedeck(t, "gc", address, "--erase", dropped[0].RunID, "--yes"); got.code != exitOK || !strings.Contains(got.stdout, `"removed":true`) {
		t.Error(got)
	}
	if got := tapedeck(t, "verify", address, "--erased"); got.code != exitOK || !strings.Contains(got.stdout, `"clear":true`) {
		t.Error(got)
	}
	if left := lines(t, tapedeck(t, "ls", address, "--json", "--columns", "run_id").stdout); len(left) != 2 {
		t.Errorf("%d runs are left", len(left))
	}
}
