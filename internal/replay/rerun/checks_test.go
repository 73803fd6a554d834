// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// counted is a report of a session in which one call had an outcome.
func counted(outcome oracle.Outcome) *oracle.Report {
	return &oracle.Report{Calls: oracle.CallCounts{Total: 1, Outcomes: map[oracle.Outcome]int{outcome: 1}}}
}

// happened is what a replay is judged by.
type happened struct {
	report   *Report
	replayed **tape.Tape
	answer   *string
}

// elsewhere puts an oracle of another server in place of that of the replay.
func (h happened) elsewhere(e Elsewhere) { h.report.Oracle, h.report.Elsewhere = nil, &e }

// TestTheReportSaysWhichTelemetryIsLeftAside: of a recording that a transcript told, that what came is not
// compared, and how much came.
func TestTheReportSaysWhichTelemetryIsLeftAside(t *testing.T) {
	source := asked("How many?")
	for aside, want := range map[int]string{0: "none; ", 7: "7 spans and log records, left aside"} {
		r := &Report{Seen: true, Aside: aside}
		r.Judge(source, source, nil)
		if !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Name == "telemetry came" && c.OK && strings.HasPrefix(c.Detail, want) }) {
			t.Errorf("%d: %+v", aside, r.Checks)
		}
	}
}

// Each check of a replay is ok for the recorded run itself. One change of what happened makes it false, and
// nothing else. A check that is added without such a change fails the test.
func TestEveryCheckOfAReplayCanFail(t *testing.T) {
	said, other := "99 units", "98 units"
	source, changed := asked("How many?"), asked("How many?")
	for _, of := range []*tape.Tape{source, changed} {
		of.Output.Text = &said
		of.Events = []tape.Event{{Seq: 1, Type: tape.EventToolCall, Name: "count", ArgsHash: "h"}}
	}
	changed.Events[0].Name = "guess"
	compared := func(replayed *tape.Tape) *compare.Result {
		r, err := compare.Tapes(source, replayed, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// what happened in a replay that is as recorded
	asRecorded := func() (r *Report, replayed *tape.Tape, answer string) {
		return &Report{
			Model:  modelstub.Report{Turns: 1, Calls: []*modelstub.Call{{Call: 1, Outcome: modelstub.Hit}}},
			Oracle: counted(oracle.Hit), MCP: counted(oracle.Hit),
			Tools: []ToolCall{{Seq: 1, Name: "count", Layer: LayerOracle}}, Comparison: compared(source),
			Copy: &Copied{Ran: 1, AsRecorded: 1}, Evidence: &Evidence{Watched: true},
		}, source, said
	}
	cases := map[string][]func(h happened){
		"the command ended": {
			func(h happened) { h.report.Exit.TimedOut = true },
			func(h happened) { h.report.Exit.Code = 1 },
		},
		"the command answered": {func(h happened) { h.report.Exit.Refused = "status 500" }},
		"telemetry came":       {func(h happened) { *h.replayed = nil }},
		"a replay of the run came": {func(h happened) { // others that its command made did
			*h.replayed, h.report.Beside, h.report.Served = nil, 1, []string{"a", "b"}
		}},
		"model calls were recorded": {func(h happened) {
			h.report.Model.Missed, h.report.Model.Calls[0].Outcome = 1, modelstub.NoTurn
		}},
		"the model that was named answered": {func(h happened) {
			h.report.Policies.Model = &Candidate{}
			h.report.Model.Live, h.report.Model.Calls[0].Outcome, h.report.Model.Calls[0].Reason = 1, modelstub.Live, "502 Bad Gateway"
		}},
		"recorded model calls were asked for": {func(h happened) { h.report.Model.Unused = []modelstub.Unused{{Seq: 1}} }},
		"tool calls were recorded (oracle)": {
			func(h happened) { h.report.Oracle = counted(oracle.NoEntry) },
			func(h happened) { h.elsewhere(Elsewhere{Calls: 1, Outcomes: counted(oracle.Exhausted).Calls.Outcomes}) },
		},
		"tool calls were recorded (mcp)": {func(h happened) { h.report.MCP = counted(oracle.NoEntry) }},
		"the oracle answered":            {func(h happened) { h.elsewhere(Elsewhere{Calls: 1, Broken: 1, Problem: "401"}) }},
		"no tool ran live": {
			func(h happened) { h.report.Tools[0].Layer = LayerLive },
			func(h happened) { h.report.Tools[0].Layer = LayerUnknown },
		},
		"tools that ran in the copy did as recorded": {func(h happened) { h.report.Copy.Different = []string{"count differs in result"} }},
		"what was seen agrees with what the report says": {func(h happened) {
			withCommand := *source
			withCommand.Events = slices.Clone(source.Events)
			withCommand.Events[0].Args = exactjson.ObjectValue(exactjson.Member{Name: "command", Value: exactjson.StringValue("wc -l notes")})
			*h.replayed = &withCommand
			h.report.Evidence.all = []lockdown.Program{{Path: "/bin/sh", Argv: []string{"sh", "-c", "wc -l notes"}, Count: 1}}
		}},
		CheckEvents: {func(h happened) { h.report.Comparison = compared(changed) }},
		CheckAnswer: {func(h happened) { *h.answer = other }},
	}
	names := map[string]bool{}
	for name, changes := range cases {
		names[name] = true
		for i, change := range changes {
			r, replayed, answer := asRecorded()
			r.Judge(source, replayed, &answer)
			if r.Verdict != AsRecorded || slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK }) {
				t.Fatalf("the recorded run itself: %s, %+v", r.Verdict, r.Checks)
			}
			change(happened{r, &replayed, &answer})
			r.Judge(source, replayed, &answer)
			for _, c := range r.Checks {
				if c.OK == (c.Name == name) {
					t.Errorf("%s, change %d: %+v", name, i+1, c)
				}
			}
			if !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Name == name }) {
				t.Errorf("%s, change %d: it is not among the checks", name, i+1)
			}
			if r.Verdict == AsRecorded || strings.Contains(r.Text(), "as recorded\n") {
				t.Errorf("%s, change %d: %s", name, i+1, r.Text())
			}
		}
	}
	// Without telemetry nobody knows which tools ran.
	r, _, answer := asRecorded()
	r.Tools = nil
	r.Judge(source, nil, &answer)
	if slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Name == "no tool ran live" }) {
		t.Errorf("without telemetry: %+v", r.Checks)
	}
	code, err := os.ReadFile("report.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{"CheckEvents": CheckEvents, "CheckAnswer": CheckAnswer}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`r\.check\((?:"([^"]+)"|(Check\w+))`).FindAllStringSubmatch(string(code), -1) {
		found[m[1]+constants[m[2]]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(tried string) bool { return strings.HasPrefix(tried, name) }) {
			t.Errorf("nothing makes the check %q fail", name)
		}
	}
	if len(found) < 10 {
		t.Errorf("%d checks were found in report.go", len(found))
	}
}

// TestAMissedModelCallSaysWhatAChangedPromptNeeds, unless a model is asked already.
func TestAMissedModelCallSaysWhatAChangedPromptNeeds(t *testing.T) {
	var r Report
	said := func() bool { return strings.Contains(strings.Join(r.Notes(), "\n"), "--model-url URL asks one") }
	if said() {
		t.Error("nothing was missed")
	}
	if r.Model.Missed = 1; !said() {
		t.Errorf("%v", r.Notes())
	}
}
