// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
)

const evalSet = `{"eval_set_id":"s","eval_cases":[
 {"eval_id":"../a b","conversation":[
  {"user_content":{"parts":[{"text":"one"},{"text":"two"}]},"final_response":{"parts":[{"text":"thinking","thought":true},{"text":"done"}]},
   "intermediate_data":{"tool_uses":[{"name":"search","args":{"q":"stock: #7","camelCase":1.50}},{"name":"mail","args":null}]}},
  {"userContent":{"parts":[{"text":"again"}]},"intermediateData":{"invocationEvents":[{"content":{"parts":[{"functionCall":{"name":"order","args":{"n":1}}}]}},{"content":null}]}},
  {"user_content":{"parts":[{"inline_data":{}}]}}]},
 {"eval_id":"a-b","conversation":[{"user_content":{"parts":[{"text":"again"}]}}]},
 {"eval_id":"simulated","conversation_scenario":{}}]}`

func TestTurnsOfAnEvalSetBecomeCases(t *testing.T) {
	cases, lost, err := ReadADK("set", []byte(evalSet), ADKDefaults())
	if err != nil || len(cases) != 3 || len(lost) != 2 {
		t.Fatalf("%v: %v, lost %q", err, cases, lost)
	}
	for i, want := range []struct{ name, part string }{
		{"a-b-1", "  user_message: \"one\\ntwo\"\nexpect:\n  tools:\n    mode: exact\n    calls:\n      - name: \"search\"\n        args: {\"q\":\"stock: #7\",\"camelCase\":1.50}\n      - name: \"mail\"\n" +
			"  answer:\n    scorer: rouge1\n    min_score: 0.8\n    reference: \"done\"\n"},
		{"a-b-2", "      - name: \"order\"\n        args: {\"n\":1}\n"},
		{"a-b", "    calls: []\n"},
	} {
		if c := cases[i]; c.Name != want.name || !strings.Contains(string(c.File), want.part) {
			t.Errorf("%s: %s", c.Name, c.File)
		}
	}
	if !strings.Contains(strings.Join(cases[2].Lost, ";"), "both cases are for the same runs") {
		t.Errorf("%q", cases[2].Lost)
	}
	dir := t.TempDir()
	for _, c := range cases {
		if _, err := AddImported(dir, c, false); err != nil {
			t.Fatal(err)
		}
	}
	if of, broken, err := Open(dir); err != nil || len(broken) > 0 || len(of) != 3 || of[0].Tape != nil {
		t.Errorf("%v %v %v", of, broken, err)
	}
}

func TestOlderEvalSetsAreRead(t *testing.T) {
	const turns = `[{"query":"one","expected_tool_use":[{"tool_name":"search","tool_input":{"q":1}}],"reference":"done"},{"query":"two","expected_tool_use":[],"reference":""}]`
	for text, name := range map[string]string{turns: "set-1", `[{"name":"evals/mine","data":` + turns + `,"initial_session":{}}]`: "mine-1"} {
		cases, lost, err := ReadADK("set", []byte(text), ADKDefaults())
		if err != nil || len(lost) > 0 || len(cases) != 2 || cases[0].Name != name || !strings.Contains(string(cases[0].File), "- name: \"search\"\n        args: {\"q\":1}\n  answer:") {
			t.Errorf("%s: %v %q %v", text, err, lost, cases)
		}
	}
}

func TestCriteriaOfADKSayHowStrictACaseIs(t *testing.T) {
	for config, want := range map[string]string{
		`{"criteria":{"tool_trajectory_avg_score":1.0}}`:                                                                     "mode: exact",
		`{"criteria":{"tool_trajectory_avg_score":{"threshold":1,"match_type":"IN_ORDER"}}}`:                                 "mode: in_order",
		`{"criteria":{"tool_trajectory_avg_score":{"threshold":1,"matchType":"any_order","ignoreArgs":true}}}`:               "mode: superset\n    calls:\n      - name: \"search\"\n      - name: \"mail\"\n",
		`{"criteria":{"response_match_score":0.5}}`:                                                                          "expect:\n  answer:\n    scorer: rouge1\n    min_score: 0.5\n",
		`{"criteria":{"tool_trajectory_avg_score":{"threshold":1,"match_type":2},"response_match_score":0.0,"safety_v1":1}}`: "mode: superset",
	} {
		c, err := ReadADKCriteria([]byte(config))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		cases, _, err := ReadADK("set", []byte(evalSet), c)
		if err != nil || !strings.Contains(string(cases[0].File), want) {
			t.Errorf("%s: %v\n%s", config, err, cases[0].File)
		}
	}
	c, err := ReadADKCriteria([]byte(`{"criteria":{"tool_trajectory_avg_score":0.5,"safety_v1":{"threshold":0.8},"x":"y"}}`))
	if err != nil || len(c.lost) != 3 {
		t.Errorf("%v: %q", err, c.lost)
	}
	for _, text := range []string{"", "{}", `{"criteria":{"tool_trajectory_avg_score":{"threshold":1,"match_type":"SOME"}}}`} {
		if _, err := ReadADKCriteria([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"", "{}", "[]", `[{"question":"x"}]`} {
		if _, _, err := ReadADK("set", []byte(text), ADKDefaults()); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzReadADK(f *testing.F) {
	f.Add(evalSet)
	f.Add(`[{"query":"one","expected_tool_use":[{"tool_name":"search","tool_input":{"q":1}}],"reference":"done"}]`)
	f.Add(`{"evalCases":[{"conversation":[{"userContent":{"parts":[{"text":"` + "\u2028\x7f" + `"}]},"intermediateData":{"toolUses":[{"name":"","args":[1e400]}]}}]}]}`)
	run := agentRun(f, "done", `{"q":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		cases, _, err := ReadADK("set", []byte(text), ADKDefaults())
		if err != nil {
			return
		}
		for _, c := range cases {
			if err := CheckName(c.Name); err != nil {
				t.Error(err)
			}
			of, err := Read(c.File)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := of.Judge(t.Context(), expect.Of(run, run.Output.Text), expect.Options{}); err != nil {
				t.Error(err)
			}
		}
	})
}
