// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// replayOf writes a tape that differs from another in its ids, and in what change does.
func replayOf(t *testing.T, original []byte, change func(*tape.Tape)) string {
	t.Helper()
	tp, err := tape.Read(original)
	if err != nil {
		t.Fatal(err)
	}
	tp.Run.TraceID = strings.Repeat("5", 32)
	tp.Run.RunID = tp.Run.TraceID + "-" + tp.Run.RootSpanID
	tp.Run.ReplayRunID = "replay-1"
	change(tp)
	return sealed(t, tp)
}

func TestMatchIsNotedAndComposedOnRead(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"file": func(t *testing.T) string { return "file://" + t.TempDir() },
		"s3":   func(t *testing.T) string { return decktest.S3(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			to := address(t)
			line := lines(t, tapedeck(t, "derive", forge, "--to", to, "--redact", "off").stdout)[0]
			original := []byte(tapedeck(t, "show", line.URL, "--json").stdout)
			status := func() string {
				got := tapedeck(t, "export", line.URL, "--format", "aiwg")
				var doc struct {
					Status struct {
						Replayed bool   `json:"replayed"`
						Count    int    `json:"replay_count"`
						Match    string `json:"match_status"`
					} `json:"replay_status"`
				}
				if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != exitOK {
					t.Fatalf("%v %+v", err, got)
				}
				body, _ := json.Marshal(doc.Status)
				return string(body)
			}
			if got := status(); got != `{"replayed":false,"replay_count":0,"match_status":"not_replayed"}` {
				t.Error(got)
			}
			same := replayOf(t, original, func(*tape.Tape) {})
			other := replayOf(t, original, func(tp *tape.Tape) {
				text := *tp.Output.Text + " and more"
				tp.Output.Text = &text
				tp.Run.TraceID = strings.Repeat("6", 32)
				tp.Run.RunID = tp.Run.TraceID + "-" + tp.Run.RootSpanID
				tp.Run.EndedAt = tp.Run.EndedAt.Add(1e9)
			})
			for range 2 { // noted twice is noted once
				if got := tapedeck(t, "match", line.URL, same, "--record"); got.code != exitOK || !strings.Contains(got.stdout, `"match_status":"exact_match"`) || !strings.Contains(got.stdout, `"noted":true`) {
					t.Errorf("%+v", got)
				}
			}
			if got := status(); got != `{"replayed":true,"replay_count":1,"match_status":"exact_match"}` {
				t.Error(got)
			}
			if got := tapedeck(t, "match", line.URL, other, "--record"); got.code != exitPartial || got.stderr != "" {
				t.Errorf("%+v", got)
			}
			if got := status(); got != `{"replayed":true,"replay_count":2,"match_status":"partial_match"}` && got != `{"replayed":true,"replay_count":2,"match_status":"no_match"}` {
				t.Error(got)
			}
			if got := tapedeck(t, "verify", to); got.code != exitOK {
				t.Errorf("the notes disturb verify: %+v", got)
			}
			if again := []byte(tapedeck(t, "show", line.URL, "--json").stdout); string(again) != string(original) {
				t.Error("the tape has changed")
			}
			if got := tapedeck(t, "match", same, same, "--record"); got.code != exitFailed || got.stdout != "" {
				t.Errorf("noted nowhere: %+v", got)
			}
		})
	}
}

func TestMatchTakesSnapshotsAndSaysWhatCannotBeCompared(t *testing.T) {
	dir := t.TempDir()
	golden := filepath.Join("../../tape/testdata/full.tape.json")
	exported := conversions(t, tapedeck(t, "export", golden, "--format", "aiwg", "--json", "-o", dir).stdout)
	if len(exported) != 1 {
		t.Fatal("not exported")
	}
	snapshot := exported[0].Files[0]
	for _, strategy := range []string{"exact", "semantic", "structural"} {
		if got := tapedeck(t, "match", golden, snapshot, "--strategy", strategy); got.code != exitOK || !strings.Contains(got.stdout, `"strategy":"`+strategy+`"`) {
			t.Errorf("%s: %+v", strategy, got)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	failed := replayOf(t, data, func(tp *tape.Tape) {
		tp.Output.Text, tp.Run.Status = nil, tape.StatusError
	})
	if got := tapedeck(t, "match", golden, failed); got.code != exitPartial || !strings.Contains(got.stdout, `"error":"the replay failed"`) {
		t.Errorf("%+v", got)
	}
	silent := replayOf(t, data, func(tp *tape.Tape) { tp.Output.Text, tp.Run.Status = nil, tape.StatusOK })
	for _, args := range [][]string{
		{golden, silent}, {silent, golden}, {golden}, {golden, golden, "--strategy", "fuzzy"}, {golden, golden, "--threshold", "0"}, {golden, golden, "--threshold", "NaN"},
		{golden, golden, "--measure", "oracle"}, {golden, write(t, "bad.json", `{"snapshot_id":1,"captured_at":"","config":{}}`)}, {golden, write(t, "worse.json", "{")},
		{golden, dir}, {golden, "s3://x?secret=1&&"},
	} {
		if got := tapedeck(t, append([]string{"match"}, args...)...); got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestOnlyAReplayOfTheRunIsNoted(t *testing.T) {
	dir := t.TempDir()
	answer, asked, other := "the answer", "the question", "another question"
	run := func(area deck.Area, digit string, change func(*tape.Tape)) string {
		return putRun(t, dir, area, traceOf(digit), func(tp *tape.Tape) {
			tp.Output.Text, tp.Input.UserMessage, tp.Run.EndedAt = &answer, &asked, aDay
			change(tp)
		})
	}
	recorded := run(deck.AreaRuns, "a", func(*tape.Tape) {})
	for digit, c := range map[string]struct {
		area   deck.Area
		change func(*tape.Tape)
		want   string // of the refusal; "" where it is noted
	}{
		"b": {deck.AreaReplays, func(tp *tape.Tape) { tp.Run.ReplayRunID = "r" }, ""},
		"c": {deck.AreaRuns, func(*tape.Tape) {}, "it has no replay tag"},
		"d": {deck.AreaReplays, func(tp *tape.Tape) { tp.Run.ReplayRunID, tp.Input.UserMessage = "r", &other }, "it was asked something else"},
		"e": {deck.AreaReplays, func(tp *tape.Tape) { replays(tp, recorded); tp.Input.UserMessage = &other }, ""},
		"f": {deck.AreaReplays, func(tp *tape.Tape) { replays(tp, traceOf("a")) }, ""},
		"0": {deck.AreaReplays, func(tp *tape.Tape) { replays(tp, traceOf("b")) }, "it says that it replays"},
	} {
		id := run(c.area, digit, c.change)
		got := tapedeck(t, "match", recorded, id, "--deck", dir, "--record")
		if c.want == "" {
			if got.code != exitOK || !strings.Contains(got.stdout, `"noted":true`) {
				t.Errorf("%s: %+v", digit, got)
			}
			continue
		}
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: %+v", digit, got)
		}
		if got := tapedeck(t, "match", recorded, id, "--deck", dir, "--record", "--force"); got.code != exitOK || !strings.Contains(got.stdout, `"noted":true`) || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s --force: %+v", digit, got)
		}
		if !noteSays(t, dir, c.want) {
			t.Errorf("%s: the note does not say that it was forced", digit)
		}
	}
	for _, force := range [][]string{nil, {"--force"}} {
		if got := tapedeck(t, append([]string{"match", recorded, recorded, "--deck", dir, "--record"}, force...)...); got.code != exitFailed || !strings.Contains(got.stderr, "it is the same run") {
			t.Errorf("%v: %+v", force, got)
		}
	}
}

// replays says on a tape what it is a replay of.
func replays(tp *tape.Tape, of string) {
	tp.Run.ReplayRunID = "r"
	v := exactjson.ObjectValue(exactjson.Member{Name: "of", Value: exactjson.StringValue(of)})
	tp.Extensions = exactjson.ObjectValue(exactjson.Member{Name: "replay", Value: v})
}

// noteSays looks for a remark in the notes of a deck.
func noteSays(t *testing.T, dir, want string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if r, err := aiwg.ReadRecord(data); err == nil && strings.HasPrefix(r.Note, "forced: ") && strings.Contains(r.Note, want) {
			found = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
