// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package agentreplay

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

func recording(t *testing.T) Recording {
	t.Helper()
	body, err := os.ReadFile("../../../tape/testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := tape.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	return Recording{Tape: recorded}
}

func options(script string) Options {
	return Options{
		Argv: []string{"sh", "-c", script}, Input: rerun.Input{Kind: "arg"}, Template: rerun.DefaultTemplate, Turns: "recorded", Answer: AnswerStdout,
		Timeout: time.Minute, Grace: time.Second, Shut: rerun.ShutNot, Level: compare.Results, Stderr: io.Discard, Say: func(string, ...any) {},
		OpenDeck: func(ctx context.Context, id string) (*deck.Deck, func() error, error) {
			d, err := deck.Open(ctx, "mem://"+id)
			return d, func() error { defer mem.Drop(id); return d.Close() }, err
		},
	}
}

func TestOneSetOfOptionsServesManyReplays(t *testing.T) {
	of, o := recording(t), options(`echo "$0 in $TAPEDECK_REPLAY_RUN_ID"; exit 3`)
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			id := fmt.Sprintf("replay-%d", i)
			out, err := Run(t.Context(), o, of, id)
			if err != nil {
				t.Error(err)
				return
			}
			want := *of.Tape.Input.UserMessage + " in " + id + "\n"
			if out.Report.ReplayRunID != id || out.Report.Exit.Code != 3 || out.Report.Verdict == rerun.AsRecorded || out.Tape != nil || out.Said == nil || *out.Said != want || *out.Answer() != want {
				t.Errorf("%+v", out.Report)
			}
		})
	}
	running.Wait()
}

func TestTheEnvironmentIsListedWithoutARun(t *testing.T) {
	o := options("exit 3")
	o.Variables = []rerun.Variable{{Name: "OWN", Value: "1"}}
	r, err := New(o, recording(t), "replay-env")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := r.Environment()
	if text := strings.Join(lines, "\n"); err != nil || !strings.Contains(text, "TAPEDECK_REPLAY_RUN_ID=replay-env") || !strings.Contains(text, "OPENAI_BASE_URL=http://127.0.0.1:PORT/v1") {
		t.Errorf("%s %v", text, err)
	}
}

func TestWhatWantsOneRunIsRefusedForAFamily(t *testing.T) {
	one := recording(t)
	family := Recording{Tape: one.Tape, Family: []Recording{one, one}, All: true}
	for want, change := range map[string]func(*Options){
		"--fork-at wants one run":       func(o *Options) { o.Answer, o.ForkAt = AnswerTelemetry, 2 },
		"--answer stdout wants one run": func(*Options) {},
	} {
		o := options("true")
		change(&o)
		if _, err := New(o, family, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPartsOfAJoinedRunAreNoRunsOfTheirOwn(t *testing.T) {
	of := func(id string, joined ...string) Recording {
		return Recording{Tape: &tape.Tape{Run: tape.Run{RunID: id, Joined: joined}}}
	}
	left := whole([]Recording{of("a"), of("b"), of("ab", "a", "b"), of("c")})
	if len(left) != 2 || left[0].Tape.Run.RunID != "ab" || left[1].Tape.Run.RunID != "c" {
		t.Errorf("%+v", left)
	}
}
