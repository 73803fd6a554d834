// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package where

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func when(text string) (time.Time, error) { return time.Parse(time.DateOnly, text) }

func count(n int64) *int64 { return &n }

func sample() *reel.Meta {
	cost := 0.25
	return &reel.Meta{
		Tenant: "acme", Agent: "clerk", Status: "error", Tools: []string{"search", "http_request"}, Findings: nil, ToolCalls: count(3), OutputTokens: count(5001),
		CostUSD: &cost, StartedAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMicro(), Complete: true, UserMessage: "Where's my 100% parcel?",
	}
}

func TestConditions(t *testing.T) {
	m := sample()
	for text, want := range map[string]bool{
		"status = 'error'": true, "STATUS == 'error'": true, "status <> 'error'": false, "status != 'ok'": true, "status='error'and agent='clerk'": true,
		"status = 'ok' OR tool_calls >= 3": true, "tool_calls > 3": false, "tool_calls < 3.5": true, "tool_calls <= -1": false, "cost_usd = .25": true, "cost_usd = 2.5e-1": true,
		// AND binds closer than OR, NOT closest.
		"status = 'error' OR agent = 'x' AND agent = 'y'": true, "(status = 'error' OR agent = 'x') AND agent = 'y'": false, "NOT status = 'ok' AND agent = 'clerk'": true,
		"NOT (status = 'ok' OR agent = 'clerk')": false, "NOT NOT complete": true,
		"tools = 'search'": true, "tools = 'sear'": false, "tools <> 'search'": false, "tools <> 'x'": true, "NOT tools = 'x'": true, "tools LIKE 'http%'": true, "tools IN ('x', 'search')": true,
		"tools NOT IN ('x')": true, "status IN ('ok','error')": true, "status NOT IN ('ok','error')": false,
		"agent LIKE 'cl_rk'": true, "agent LIKE 'cl_k'": false, "agent NOT LIKE '%x%'": true, "user_message LIKE 'Where''s%parcel_'": true, "agent LIKE ''": false, "agent LIKE '%'": true,
		"started_at >= '2026-11-20'": true, "started_at < '2026-11-20'": false, "started_at BETWEEN '2026-11-20' AND '2026-11-21'": true, "tool_calls NOT BETWEEN 4 AND 9": true,
		"complete": true, "complete = TRUE": true, "complete = false": false, "NOT complete": false, "complete <> false": true,
		// What is null is neither equal nor unequal.
		"grade IS NULL": true, "grade IS NOT NULL": false, "grade = 'offline'": false, "grade <> 'offline'": false, "NOT grade = 'offline'": false, "grade = 'x' OR status = 'error'": true,
		"NOT (grade = 'x' AND status = 'ok')": true, "NOT (grade = 'x' OR status = 'ok')": false, "findings = 'x'": false, "findings <> 'x'": false, "findings IS NULL": true,
	} {
		c, err := Parse(text, when)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Match(m); got != want {
			t.Errorf("%s is %t", text, got)
		}
	}
}

func TestRunsAreFoundByThePromptsThatTheyName(t *testing.T) {
	var kept exactjson.Value
	if err := kept.UnmarshalJSON([]byte(`{"conventions":{"gen_ai.prompt.name":[{"seq":1,"value":"greet"},{"seq":2,"value":"greet"},{"value":"end"}],"gen_ai.prompt.version":[{"seq":1,"value":2}]}}`)); err != nil {
		t.Fatal(err)
	}
	var m reel.Meta
	m.Describe(&tape.Tape{Extensions: kept})
	if want := []string{"greet", "end"}; !slices.Equal(m.PromptName, want) {
		t.Errorf("prompts %v, want %v", m.PromptName, want)
	}
	for text, want := range map[string]bool{"prompt_name = 'greet' AND prompt_version = '2'": true, "prompt_name = 'end'": true, "prompt_name = 'x'": false} {
		c, err := Parse(text, when)
		if err != nil {
			t.Fatal(err)
		}
		if c.Match(&m) != want {
			t.Errorf("%s is %t", text, !want)
		}
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "at character 1: want a column, NOT or a parenthesis, not the end",
		"status":                              "at character 7: want =, <>,",
		"status = error":                      `at character 10: want a text in single quotes, not "error"`,
		`status = "error"`:                    "at character 10: texts stand in single quotes",
		"status = 'error":                     "at character 10: a text that begins here has no end",
		"stat = 'x'":                          `at character 1: there is no column "stat"; there are tenant,`,
		"tape = 'x'":                          `there is no column "tape"`,
		"tool_calls = 'x'":                    "at character 14: want a number, not",
		"tool_calls = 1x":                     "want a number",
		"tool_calls = NaN":                    "want a number",
		"tool_calls LIKE 'x'":                 "LIKE is for texts",
		"started_at > 'soon'":                 "cannot parse",
		"started_at > 7":                      "want a time in single quotes",
		"grade = NULL":                        "say grade IS NULL",
		"grade IS 'x'":                        "want NULL",
		"status IN 'x'":                       `want "(" and values`,
		"status IN ('x'":                      `want "," or ")"`,
		"status NOT = 'x'":                    "want IN, LIKE or BETWEEN",
		"tool_calls BETWEEN 1 9":              "want AND",
		"(status = 'x'":                       `want ")"`,
		"status = 'x' agent":                  "want AND, OR or the end",
		"complete > TRUE":                     "is true or false",
		"status = 'x'; drop":                  `";" means nothing here`,
		strings.Repeat("(", 100) + "complete": "more than 64",
		strings.Repeat("x", maxText+1):        "at most",
	} {
		if _, err := Parse(text, when); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v", text, err)
		}
	}
}

func TestWhatEveryRunHasIsFound(t *testing.T) {
	for text, want := range map[string][]reel.Equal{
		"status = 'error' AND (tools = 'x') AND tool_calls = 3": {{Column: "status", Value: "error"}, {Column: "tools", Value: "x"}},
		"status = 'error' OR tools = 'x'":                       nil,
		"NOT status = 'error'":                                  nil,
		"status = '' AND agent <> 'x' AND agent LIKE 'x'":       nil,
	} {
		c, err := Parse(text, when)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Equal(); !slices.Equal(got, want) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzParse: any text is a condition or a mistake with a place; a condition can be asked, and what it says every run has, every run has that it takes.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"status = 'error' AND NOT (tools IN ('a','b') OR tool_calls BETWEEN 1 AND 2.5)", "agent LIKE '%_''' or complete", "started_at<'2026-01-01'", "x='", "((("} {
		f.Add(text)
	}
	m := sample()
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text, when)
		if err != nil {
			if c != nil || !(strings.HasPrefix(err.Error(), "at character ") || len(text) > maxText) {
				t.Errorf("%v", err)
			}
			return
		}
		taken := c.Match(m)
		for _, e := range c.Equal() {
			if taken && !(&compare{e.Column, "=", e.Value}).matches(m) {
				t.Errorf("%s: taken without %v", text, e)
			}
		}
		negative, err := Parse("NOT ("+text+")", when)
		if err == nil && taken && negative.Match(m) {
			t.Errorf("%s and its negation are true", text)
		}
		if err != nil && errors.Unwrap(err) != nil {
			t.Error(err)
		}
	})
}

func (n *compare) matches(m *reel.Meta) bool { return n.eval(m) == yes }
