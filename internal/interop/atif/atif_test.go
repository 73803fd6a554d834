// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package atif

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/interoptest"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// published compiles the JSON Schema of Harbor's own models.
func published(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	text, err := os.ReadFile("testdata/harbor-0.25.0-trajectory.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("harbor.json", doc); err != nil {
		tb.Fatal(err)
	}
	return c.MustCompile("harbor.json")
}

// TestCorpusBecomesTrajectories exports every recorded run: Harbor's schema takes it, its own rules hold, and every tool call comes back.
func TestCorpusBecomesTrajectories(t *testing.T) {
	schema := published(t)
	written := 0
	save := os.Getenv("TAPEDECK_ATIF_DIR") // a folder to which the trajectories are written, for Harbor's validator
	for n, recorded := range interoptest.Corpus(t, "../../../testdata/corpus") {
		tp := recorded.Tape
		if document(tp).Get("steps").Len() == 0 {
			continue
		}
		written++
		t.Run(recorded.Name, func(t *testing.T) {
			body, _, run := interoptest.RoundTrip(t, Format, tp)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%v\n%.3000s", err, body)
			}
			if save != "" {
				if err := os.WriteFile(filepath.Join(save, strings.ReplaceAll(recorded.Name, "/", "_")+"-"+strconv.Itoa(n)+".json"), body, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			calls := func(tp *tape.Tape) (list []string) {
				for i := range tp.Events {
					if e := &tp.Events[i]; e.Type == tape.EventToolCall {
						list = append(list, e.ToolCallID+" "+e.Name+" "+e.Args.JSON()+" "+e.Result.JSON())
					}
				}
				return list
			}
			before := calls(tp)
			after := calls(run.Tape)
			for _, c := range before {
				if !strings.Contains(strings.Join(after, "\n"), c) {
					t.Errorf("lost: %s\n%s", c, cmp.Diff(before, after))
				}
			}
			if run.Tape.Run.RunID != tp.Run.RunID {
				t.Error(run.Tape.Run.RunID)
			}
		})
	}
	if written < 200 {
		t.Errorf("only %d trajectories", written)
	}
}

func TestATrajectoryOfHarborBecomesCalls(t *testing.T) {
	data, err := os.ReadFile("testdata/trajectory-1.4.json")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := Decode(data, interop.Options{})
	if err != nil || len(runs) != 1 || len(runs[0].Losses) != 0 {
		t.Fatalf("%+v %v", runs, err)
	}
	tp := runs[0].Tape
	interoptest.CheckTape(t, tp)
	var got []string
	for _, e := range tp.Events {
		got = append(got, string(e.Type)+" "+e.Name+" "+e.StartedAt.Format("15:04:05")+" "+e.Result.Str())
	}
	want := []string{"model_call  10:30:02 ", "tool_call financial_search 10:30:02 GOOGL is at 185.35", "model_call  10:30:05 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if *tp.Input.UserMessage != "What is the price of GOOGL?" || *tp.Output.Text != "It is 185.35." || tp.Config.Model != "gemini-2.5-flash" || *tp.Events[0].Usage.InputTokens != 520 {
		t.Errorf("%+v", tp)
	}
	body, _, err := Encode(tp, runs[0].Oracle, interop.Options{})
	if err != nil || !bytes.Equal(body, data) {
		t.Errorf("it does not come back: %v\n%s", err, cmp.Diff(string(data), string(body)))
	}
}

func TestBadTrajectoriesAreRefused(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"schema_version":"ATIF-v2.0","steps":[]}`, `{"schema_version":"ATIF-v1.7","steps":[]}`,
		`{"schema_version":"ATIF-v1.7","steps":[{"source":"robot","message":""}]}`, `{"schema_version":"ATIF-v1.7","steps":[{"source":"user"}]}`,
		`{"schema_version":"ATIF-v1.7","steps":[{"source":"agent","message":"","tool_calls":{}}]}`} {
		if _, err := Decode([]byte(text), interop.Options{}); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// FuzzDecode: what is read becomes a consistent tape, and comes back as it is.
func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile("testdata/trajectory-1.4.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema_version":"ATIF-v1.7","trajectory_id":"x","agent":{"name":"unknown"},"steps":[{"source":"system","message":"","observation":{"results":[{"content":"1","extra":{"format":"json","answers":"c"}}]}},{"source":"agent","message":[{"type":"image","source":{"path":"a"}},{}],"llm_call_count":0,"tool_calls":[{"tool_call_id":"call_1","arguments":[],"extra":{"made_up_id":true,"raw_arguments":"x","span_ids":["z"],"kind":"mcp"}},{}]},{"source":"user","message":"x","timestamp":"2025-01-01"}],"final_metrics":{"total_cost_usd":1e999,"total_prompt_tokens":-1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := Decode(data, interop.Options{})
		if err != nil {
			return
		}
		body, _, err := Encode(runs[0].Tape, runs[0].Oracle, interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		interoptest.CheckTape(t, runs[0].Tape)
		again, err := Decode(body, interop.Options{})
		if err != nil || len(again[0].Losses) > 0 {
			t.Fatalf("%v %+v\n%s", err, again, body)
		}
	})
}

func TestARunWithoutAnyMessageIsNotHeld(t *testing.T) {
	if _, _, err := Encode(&tape.Tape{}, []oracle.Entry{}, interop.Options{}); err == nil {
		t.Error("written")
	}
}
