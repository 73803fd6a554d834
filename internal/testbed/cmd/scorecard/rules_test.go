// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

func TestTableOfRulesIsCurrent(t *testing.T) {
	if !sample.Whole() {
		t.Skip("derives the tapes of 3,000 runs: set " + sample.Variable + "=1")
	}
	got, err := rulesOn("../../../../testdata/drawn", recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile("../../../../docs/scorecard.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, _, _ := strings.Cut(rulesHeading, "\n\n")
	_, want, _ := strings.Cut(string(body), heading)
	if diff := cmp.Diff(heading+want, got); diff != "" {
		t.Errorf("docs/scorecard.md is stale (make scorecard rewrites it):\n%s", diff)
	}
}

// lostTool is a run whose tool left no span: the second request alone shows what the call came to. calls
// are those of its truth.
func lostTool(t *testing.T, calls string) []groundtruth.Run {
	t.Helper()
	const (
		question = `{"role":"user","parts":[{"type":"text","content":"How warm is it?"}]}`
		asks     = `{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"weather","arguments":{"city":"Oslo"}}],"finish_reason":"tool_calls"}`
		shows    = `{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":"12 degrees"}]}`
		answers  = `{"role":"assistant","parts":[{"type":"text","content":"It is 12 degrees."}],"finish_reason":"stop"}`
	)
	attribute := func(key, value string) string {
		return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value)
	}
	span := func(id, parent, name string, from, to int, attributes ...string) string {
		return fmt.Sprintf(`{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"%s","parentSpanId":"%s","name":%q,"startTimeUnixNano":"17000000%02d000000000","endTimeUnixNano":"17000000%02d000000000","attributes":[%s]}`,
			id, parent, name, from, to, strings.Join(attributes, ","))
	}
	chat := func(id string, from, to int, in, out string) string {
		return span(id, "0000000000000001", "chat m1", from, to, attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.request.model", "m1"),
			attribute("gen_ai.input.messages", "["+in+"]"), attribute("gen_ai.output.messages", "["+out+"]"))
	}
	spans := []string{
		span("0000000000000001", "", "invoke_agent a", 10, 40, attribute("gen_ai.operation.name", "invoke_agent"), attribute("gen_ai.agent.name", "a")),
		chat("0000000000000002", 11, 15, question, asks),
		chat("0000000000000003", 20, 30, question+","+asks+","+shows, answers),
	}
	dir := filepath.Join(t.TempDir(), "group")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"one.otlp.json": `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"app"},"spans":[` + strings.Join(spans, ",") + `]}]}]}`,
		"one.truth.json": `{"scenario":"one","user_input":"How warm is it?","final_output":"It is 12 degrees.","status":"ok","model":"m1","llm_turns":2,"llm_failures":0,
			"requested_but_not_executed":[],"tool_calls":[` + calls + `]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := groundtruth.Corpus(dir)
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	return runs
}

// A rule that makes a call of what a request shows is right if the call took place, and wrong if it did not.
func TestVerdictOnARule(t *testing.T) {
	const id rule.ID = "recover/unexecuted-calls"
	ran := `{"order":0,"name":"weather","args":{"city":"Oslo"},"args_raw":"{\"city\":\"Oslo\"}","result":"12 degrees","error":null,"llm_order":0}`
	for name, c := range map[string]struct {
		calls string
		want  verdict
	}{
		"it ran":       {ran, verdict{1, 5, 0}}, // the number of calls, and name, arguments, result and oracle entry of this one
		"it never ran": {"", verdict{1, 0, 1}},  // the number of calls
	} {
		t.Run(name, func(t *testing.T) {
			all, err := judgeAll(lostTool(t, c.calls), 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := all.recorded[id]; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if all.mutants == 0 || all.mutated[id].fired == 0 || !strings.Contains(all.markdown(), "| `"+string(id)+"` | 1 |") {
				t.Errorf("%d mutated, %s", all.mutants, all.markdown())
			}
		})
	}
}

func TestTurnsThatNoRuleTouched(t *testing.T) {
	set, err := lostTool(t, "")[0].Evidence()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := untouchedOf(set), (share{1, 0, 2, 1}); got != want { // the first turn alone has a call
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, run := range recorded(t) { // a decision of no rule, such as the choice of the record of a value, touches nothing
		if run.Group != "strands" {
			continue
		}
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		if s := untouchedOf(set); s.untouched != s.tapes || s.turnsUntouched != s.turns || s.turns == 0 {
			t.Errorf("%s: %+v, no tape names a rule", run.Scenario, s)
		}
	}
}

func TestRecordingsWhoseRulesAreJudged(t *testing.T) {
	var all strings.Builder
	if err := judgeRecordings(&all, "../../../../testdata/corpus/agents/gemini-cli", 8); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(all.String(), "6 runs, ") || !strings.Contains(all.String(), "| rule | fired |") {
		t.Error(all.String())
	}
	if err := judgeRecordings(&all, "no such folder", 8); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
