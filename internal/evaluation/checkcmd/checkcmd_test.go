// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package checkcmd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func ran(t *testing.T, text string, timeout time.Duration) (Result, error) {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c.Timeout, c.Env = timeout, []string{"PATH=/usr/bin:/bin"}
	return c.Run(t.Context(), Files{Tape: "/some/tape.json", Report: "/some/report.json"})
}

func TestACommandIsToldTheFiles(t *testing.T) {
	r, err := ran(t, `sh -c 'echo "$0 $TAPEDECK_TAPE $TAPEDECK_REPORT"; exit 3' --tape={tape}`, time.Minute)
	if err != nil || r.Code != 3 || !r.Told() || strings.TrimSpace(r.Output) != "--tape=/some/tape.json /some/tape.json /some/report.json" {
		t.Errorf("%+v: %v", r, err)
	}
}

func TestWhatIsNoJudgementIsNone(t *testing.T) {
	for text, want := range map[string]Result{
		`sh -c 'exit 125'`:   {Code: CannotTell},
		`sh -c 'kill -9 $$'`: {Code: -1, Killed: true},
	} {
		if r, err := ran(t, text, time.Minute); err != nil || r.Told() || r.Code != want.Code || r.Killed != want.Killed {
			t.Errorf("%s: %+v: %v", text, r, err)
		}
	}
	if r, err := ran(t, `sh -c 'sleep 60 & wait'`, 50*time.Millisecond); err != nil || r.Told() || !r.TimedOut {
		t.Errorf("%+v: %v", r, err)
	}
	for _, text := range []string{"/nonexistent/check", "sh -c /nonexistent/check"} {
		if _, err := ran(t, text, time.Minute); !errors.Is(err, ErrNotRun) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Parse("  "); err == nil {
		t.Error("an empty command")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Command{Argv: []string{"sleep", "60"}, Timeout: time.Minute}).Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWhatACommandWritesIsBounded(t *testing.T) {
	if r, err := ran(t, `sh -c 'yes | head -c 1000000'`, time.Minute); err != nil || r.Code != 0 || len(r.Output) != maxOutput {
		t.Errorf("%d: %v", len(r.Output), err)
	}
}
