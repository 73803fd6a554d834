// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/interoptest"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
	"github.com/tapedeck/tapedeck/tape"
)

// TestSnapshotsOfWazaComeBackByteForByte: whatever waza's own types write goes through a tape unchanged, without a loss.
func TestSnapshotsOfWazaComeBackByteForByte(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(seed.Of(t), 0))}
	for n := range 300 {
		m := g.model()
		body := marshal(t, m)
		if n%3 == 0 {
			m.SchemaVersion = "1.1"
			m.WorkspaceFiles = []modelFile{{Path: "a.txt", Content: "<a>\n", SHA256: hexDigest([]byte("<a>\n"))}}
			m.Checkpoints = []modelCheckpoint{{AfterTurn: 1, Status: "passed", Validations: map[string]modelGrader{}}, {AfterTurn: 2, Status: "failed", Stopped: true}}
			if n%2 == 0 {
				m.CommandInvocations = []modelCommand{{Command: "ls", Args: []string{"-l"}, ResponseIndex: 1}}
			}
			m.Evidence = sealed(t, m)
			body = marshal(t, m)
		}
		runs, err := Decode(body, interop.Options{})
		if err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		if len(runs[0].Losses) > 0 {
			t.Fatalf("%+v:\n%s", runs[0].Losses, body)
		}
		after, losses, err := Encode(runs[0].Tape, runs[0].Oracle, interop.Options{})
		if err != nil || losses != nil {
			t.Fatalf("%v %+v", err, losses)
		}
		if diff := cmp.Diff(string(body), string(after)); diff != "" {
			t.Fatal(diff)
		}
		interoptest.CheckTape(t, runs[0].Tape)
		if name, want := FileName(runs[0].Tape), fmt.Sprintf("%s-run%d.json", slug(m.Task.TestID), m.Task.RunNumber); name != want {
			t.Fatalf("%s, want %s", name, want)
		}
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

type generator struct{ *rand.Rand }

func (g generator) maybe() bool { return g.IntN(2) == 0 }

func (g generator) text() string {
	pool := []string{"", "a", "two words", "<b>&amp;\u2028\u2029</b>", "line\nbreak\t\"quoted\" \\", "日本語 🎛", "\x7f\x01\b\f", "task/with:odd?name", "[REDACTED]"}
	return pool[g.IntN(len(pool))]
}

func (g generator) texts() []string {
	var list []string
	for range g.IntN(3) {
		list = append(list, g.text())
	}
	return list
}

func (g generator) value(depth int) any {
	switch g.IntN(8 - min(depth, 2)) {
	case 0:
		return float64(g.IntN(100)) / 8
	case 1:
		return float64(g.Int64N(1 << 53))
	case 2:
		return g.text()
	case 3:
		return g.maybe()
	case 4:
		return []any{}
	case 5:
		return nil
	case 6:
		return []any{g.value(depth + 1), g.value(depth + 1)}
	default:
		return g.object(depth + 1)
	}
}

func (g generator) object(depth int) map[string]any {
	m := map[string]any{}
	for range g.IntN(4) {
		m[fmt.Sprint("k", g.IntN(5), g.text())] = g.value(depth)
	}
	return m
}

func (g generator) grader(name string) modelGrader {
	m := modelGrader{Identifier: name, Type: "text", Score: float64(g.IntN(5)) / 4, Weight: 1, Passed: g.maybe(), Feedback: g.text(), DurationMs: g.Int64N(9)}
	if g.maybe() {
		m.Details = g.object(0)
	}
	return m
}

func (g generator) model() model {
	var m model
	m.SchemaVersion, m.Kind, m.WazaVersion, m.CreatedAt = "1.0", "task-snapshot", g.text(), "2026-01-02T03:04:05.678Z"
	m.EvalID, m.EvalName, m.Skill = g.text(), g.text(), g.text()
	m.Task = modelTask{TestID: g.text(), DisplayName: g.text(), Golden: g.maybe(), Tags: g.texts(), RunNumber: g.IntN(3)}
	m.Engine = modelEngine{Type: g.text(), ModelID: g.text(), JudgeModel: g.text(), TimeoutSec: g.IntN(2)}
	if g.maybe() {
		zero, half, seed := 0.0, 0.5, 0
		m.Engine.Temperature, m.Engine.TopP, m.Engine.Seed = &zero, &half, &seed
	}
	m.Prompt.Message, m.Prompt.FollowUps = g.text(), g.texts()
	if g.maybe() {
		m.Prompt.Context = g.object(0)
		m.Prompt.Instructions = []modelInstructed{{Path: "AGENTS.md", SHA256: strings.Repeat("a", 64)}, {Path: "x"}}
		m.Fixtures = []modelFixture{{Path: "a/b", Size: 1, SHA256: strings.Repeat("b", 64)}, {Path: "empty", SHA256: strings.Repeat("c", 64)}}
		m.Env.AllowList, m.Env.Captured, m.Env.DeniedKeys = []string{"CI", "GO*"}, map[string]string{"GOOS": "linux", "CI": "", "GO_TOKEN": "[REDACTED]"}, []string{"HOME"}
	}
	for i := range g.IntN(4) {
		e := modelEvent{Turn: i, Sequence: i + 1, ToolCallID: g.text(), ToolName: g.text(), Success: g.maybe(), DurationMs: g.Int64N(3)}
		if g.maybe() {
			e.Args = g.object(0)
		}
		if g.maybe() {
			e.Result = g.value(0)
		}
		if !e.Success {
			e.Error = g.text()
		}
		m.ToolEvents = append(m.ToolEvents, e)
	}
	m.Redaction.Policy, m.Redaction.AppliedRules, m.Redaction.RedactionCount = "default", []string{"email", "jwt"}[:g.IntN(3)], g.IntN(3)
	m.Result.Status = []string{"passed", "failed", "error", "skipped", "n/a"}[g.IntN(5)]
	m.Result.FinalOutput, m.Result.ErrorMsg, m.Result.DurationMs = g.text(), g.text(), g.Int64N(3)
	if g.maybe() {
		m.Result.Validations = map[string]modelGrader{"good": g.grader("good"), "_output_contains": g.grader("x")}
	}
	return m
}

func TestLossesOfSnapshotsAreExact(t *testing.T) {
	corpus, err := os.ReadFile("testdata/snapshot-1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	usual, _ := through(t, `{"toolEvents":[{"sequence":1,"tool_name":"a"}]}`)
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"the corpus of waza": {string(corpus), []string{"added result.validations.answer.feedback", "added result.validations.answer.duration_ms"}},
		"usual":              {usual, nil},
		"another layout":     {strings.Replace(usual, "  ", "\t", 1), []string{"layout "}},
		"unknown members":    {strings.Replace(usual, `"kind"`, `"later": {"b": 1, "a": [null]}, "kind"`, 1), []string{"layout "}},
		"a gap":              {strings.Replace(usual, `"sequence": 1`, `"sequence": 2`, 1), []string{"changed toolEvents.0.sequence"}},
		"null":               {strings.Replace(usual, `"success": false`, `"success": false, "error": null`, 1), []string{"dropped toolEvents.0.error"}},
		"another zone":       {strings.Replace(usual, "0001-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", 1), []string{"changed createdAt"}},
		"empty":              {`{"toolEvents":[],"evalId":""}`, nil},
	} {
		runs, err := Decode([]byte(c.file), interop.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, l := range runs[0].Losses {
			if name == "empty" {
				continue // everything that is always written is added
			}
			got = append(got, string(l.What)+" "+l.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// through sends a snapshot through a tape.
func through(t *testing.T, file string) (string, *tape.Tape) {
	t.Helper()
	runs, err := Decode([]byte(file), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := Encode(runs[0].Tape, runs[0].Oracle, interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return string(body), runs[0].Tape
}
