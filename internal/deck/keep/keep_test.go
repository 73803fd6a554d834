// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func of(edit func(*tape.Tape)) []*tape.Tape {
	t := &tape.Tape{Run: tape.Run{Status: tape.StatusOK, DurationMS: 2000, Agent: tape.Agent{Name: "triage-eu"}}, Fidelity: tape.Fidelity{
		Grade: tape.GradeOffline, Findings: []tape.Finding{{Code: tape.CodeArgsEmpty}},
	}, Verdicts: []tape.Verdict{{Name: "correctness", Value: exactjson.IntValue(0)}, {Name: "helpful", Label: "no"}}}
	if edit != nil {
		edit(t)
	}
	return []*tape.Tape{t}
}

func TestDecide(t *testing.T) {
	failed := of(func(t *tape.Tape) { t.Run.Status = tape.StatusError })
	for _, c := range []struct {
		config Config
		tapes  []*tape.Tape
		want   Reason
	}{
		{Config{}, failed, Dropped},
		{Config{Errors: true}, of(nil), Dropped},
		{Config{Errors: true}, failed, Errors},
		{Config{Errors: true}, append(of(nil), failed...), Errors},
		{Config{Grades: []string{"inspect", "offline"}}, of(nil), Grade},
		{Config{Grades: []string{"inspect"}}, of(nil), Dropped},
		{Config{Findings: []string{"args_empty"}}, of(nil), Finding},
		{Config{Findings: []string{"truncated"}}, of(nil), Dropped},
		{Config{Verdicts: []string{"correctness<0.5"}}, of(nil), Verdict},
		{Config{Verdicts: []string{"correctness>0.5", "helpful=no"}}, of(nil), Verdict},
		{Config{Verdicts: []string{"correctness>0.5", "polite"}}, of(nil), Dropped},
		{Config{Agents: []string{"triage-*"}}, of(nil), Agent},
		{Config{Agents: []string{"triage"}}, of(nil), Dropped},
		{Config{SlowerThan: 2 * time.Second}, of(nil), Dropped},
		{Config{SlowerThan: 1999 * time.Millisecond}, of(nil), Slow},
		{Config{Percent: 100}, nil, Percent},
	} {
		if got := c.config.Decide(c.tapes, "a run"); got != c.want {
			t.Errorf("%+v: %s, want %s", c.config, got, c.want)
		}
	}
}

// TestPercentIsAShareOfIDs: the share is what was asked for, and what a smaller share takes, a larger one
// takes too.
func TestPercentIsAShareOfIDs(t *testing.T) {
	const all = 20_000
	small, large := Config{Percent: 2.5}, Config{Percent: 25}
	kept := map[string]int{}
	for i := range all {
		id := fmt.Sprint(i)
		a, b := small.Decide(nil, id), large.Decide(nil, id)
		kept[string(a)+" "+string(b)]++
	}
	if n := kept["percent dropped"]; n > 0 {
		t.Errorf("%d runs are in 2.5 %% and not in 25 %%", n)
	}
	if n := kept["percent percent"]; n < 400 || n > 600 {
		t.Errorf("%d of %d are 2.5 %%", n, all)
	}
	if n := kept["percent percent"] + kept["dropped percent"]; n < 4700 || n > 5300 {
		t.Errorf("%d of %d are 25 %%", n, all)
	}
}

func TestJoined(t *testing.T) {
	in := func(id string) *tape.Tape { return &tape.Tape{Run: tape.Run{ConversationID: id}} }
	called := in("b")
	called.Run.CorrelationID = "c"
	for want, tapes := range map[string][]*tape.Tape{"trace": {in("")}, "a": {in("b"), in(""), in("a")}, "c": {called}} {
		if got := Joined("trace", tapes); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Config{Errors: true, Grades: []string{"partial", "inspect"}, Findings: []string{"span_gap"}, Agents: []string{"a*"}, SlowerThan: time.Second, Percent: 10}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, bad := range map[string]Config{
		"no runs are named":              {},
		`unknown grade "bad"`:            {Grades: []string{"bad"}},
		`unknown code "bad"`:             {Findings: []string{"bad"}},
		`verdicts: "a<b": want NAME`:     {Verdicts: []string{"a<b"}},
		`"[" is no name and no pattern`:  {Agents: []string{"["}},
		`"" is no name and no pattern`:   {Agents: []string{""}},
		"slower_than must not be less":   {SlowerThan: -1},
		"percent must be from 0 to 100":  {Percent: 101},
		"percent must be from 0 to 100 ": {Percent: math.NaN()},
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%+v: %v, want %s", bad, err, want)
		}
	}
}
