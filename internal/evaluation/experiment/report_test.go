// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func failure() *execlane.Failure {
	return &execlane.Failure{Code: execlane.CacheMiss, Message: "m", Details: map[string]any{"tool_name": "t"}}
}

// hostile is a text that would be markup, or reach for something, where it is not escaped.
const hostile = `</td><script>alert(1)</script><img src=http://evil.test/x onerror=x> | [a](http://evil.test) "'` + "\x1b[31m` \n"

func outcome(run string, delta float64) *Outcome {
	in, out, args, result := int64(100), int64(20), `{"q":"`+run+`"}`, "answer "+hostile
	return &Outcome{
		RunID: run, Tenant: "default", Text: "now " + run + hostile, Scores: []Score{{Scorer: "exec:x", Original: 0.5, Replayed: 0.5 + delta}}, Runner: "r 1",
		Tools:    Tools{Answered: Answered{Served: 2, NotExact: 1, Approx: []string{"redacted"}, Unused: 1}},
		Models:   &Models{Calls: 1, Answered: Answered{Served: 1}},
		Recorded: Effort{InputTokens: &in, OutputTokens: &out}, Replayed: Effort{InputTokens: &out, OutputTokens: &out},
		Steps: []Step{{Tool: "search", Args: &args, Result: &result}},
	}
}

// recordedTape is what the evidence of a report is read from.
func recordedTape() *tape.Tape {
	asked, said := "asked "+hostile, "recorded "+hostile
	t := &tape.Tape{TapeID: "t"}
	t.Run.RunID, t.Run.Status = "recorded", tape.StatusOK
	t.Input.UserMessage, t.Output.Text = &asked, &said
	args := exactjson.ObjectValue(exactjson.Member{Name: "q", Value: exactjson.StringValue(hostile)})
	t.Events = []tape.Event{{Seq: 1, Type: tape.EventToolCall, Name: "search", Args: args, ArgsHash: tape.ArgsHash(args), Result: exactjson.StringValue("was"), Status: tape.EventOK}}
	return t
}

// reportOf is a report of so many failures and as many runs of the baseline: the failures become better but for one, which becomes worse; one run was not replayed, one not scored.
func reportOf(t *testing.T, runs int) *Report {
	t.Helper()
	p := plan(0)
	p.Cohorts = []Selection{{Cohort: statistics.Failure, Rule: "status=error", Matched: runs, Limit: 3}}
	p.Shape, p.Runner, p.Change.Model = statistics.FailureRescue, "exec:x "+hostile, new(string)
	j := &Journal{done: map[string]*Outcome{}}
	for i := range 2 * runs {
		c := Case{Cohort: []string{statistics.Failure, statistics.Baseline}[i%2], RunID: fmt.Sprintf("run-%03d", i), Tenant: "default", TapeID: "t", Ref: "ref"}
		p.Cases = append(p.Cases, c)
		o := outcome(c.RunID, []float64{0.25, 0}[i%2])
		switch i {
		case 0:
			o.Scores[0].Replayed = 0.125
		case 2:
			o.Failure, o.Scores = failure(), nil
			o.Tools.Missed, o.Tools.Exhausted = []string{"search: exhausted"}, 1
		case 4:
			o.Scores[0] = Score{Scorer: "exec:x", Failed: hostile}
		}
		if err := j.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return judged(t, p, j)
}

// judged is the report on what a journal holds of a plan.
func judged(t *testing.T, p *Plan, j *Journal) *Report {
	t.Helper()
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReport(p, j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	tag     = regexp.MustCompile(`<[a-zA-Z!/][^>]*>`)
	allowed = regexp.MustCompile(`^</?(html|head|meta|main|title|style|body|section|header|h1|h2|p|b|span|table|thead|tbody|tr|th|td|details|summary|code|div|ul|li|mark|br|dl|dt|dd)( (lang|class|id|charset|name|content|http-equiv|scope|tabindex)="[^"]*")*( open)?>$|^<!DOCTYPE html>$`)
)

// The page holds nothing but its own markup, whatever a run said; it loads nothing, shows the evidence side by side, and has the same bytes each time.
func TestTheReportIsAPageThatLoadsNothing(t *testing.T) {
	r := reportOf(t, 12)
	var pages [2]bytes.Buffer
	for i := range pages {
		if err := r.HTML(t.Context(), &pages[i], func(context.Context, *Case) (*tape.Tape, error) { return recordedTape(), nil }); err != nil {
			t.Fatal(err)
		}
	}
	page := pages[0].String()
	if page != pages[1].String() {
		t.Error("twice the same report, and other bytes")
	}
	for _, found := range tag.FindAllString(page, -1) {
		if !allowed.MatchString(found) {
			t.Errorf("%s is in the page", found)
		}
	}
	if strings.Contains(page, "<script") || strings.ContainsRune(page, '\x1b') || !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Errorf("%.600s", page)
	}
	// Three that became better and the one that became worse, with what was recorded and what came.
	if n := strings.Count(page, `id="run-`); n != 4 || strings.Count(page, "recorded <mark>")+strings.Count(page, ">recorded") == 0 {
		t.Errorf("%d runs side by side", n)
	}
	for _, want := range []string{"tokens in", "-80.0 %", "it calls itself r 1", "tool_cache_miss: 1", "redacted: 12"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not in the page", want)
		}
	}
	var gone bytes.Buffer
	if err := r.HTML(t.Context(), &gone, func(context.Context, *Case) (*tape.Tape, error) { return nil, errors.New("gone " + hostile) }); err != nil || !strings.Contains(gone.String(), "The recorded run cannot be shown: gone") {
		t.Errorf("%v", err)
	}
}

// What was missed and what ran out is counted, also of runs that were not replayed for it.
func TestEveryCallReachesTheReport(t *testing.T) {
	r := reportOf(t, 12)
	v := r.Validity[1] // failure
	if v.Cohort != statistics.Failure || v.Replayed != 11 || v.Scored != 10 || v.Approximate != 11 || v.UnusedTapes != 11 {
		t.Errorf("%+v", v)
	}
	if a := v.Tools; a.Served != 24 || a.Missed != 1 || a.Exhausted != 1 || a.NotExact != 12 || a.Unused != 12 || a.Why["redacted"] != 12 || v.Models.Served != 12 {
		t.Errorf("%+v %+v", a, v.Models)
	}
	if e := r.Efforts[1]; e.Tokens.Runs != 11 || e.Input.Recorded != 1100 || e.Input.Replayed != 220 || e.Input.MedianReplayed != 20 || e.Duration.Runs != 0 {
		t.Errorf("%+v", e)
	}
	var b strings.Builder
	if err := r.Markdown(&b); err != nil || strings.Contains(b.String(), "<script") || strings.ContainsRune(b.String(), '\x1b') || regexp.MustCompile(`[^\\]\]\(`).MatchString(b.String()) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Whatever the rest looks like: where less than the floor was replayed or scored, the verdict is inconclusive, and at the floor it is not.
func TestTooLittleReplayedIsNeverShip(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	states := map[statistics.State]int{}
	for range 400 {
		p := plan(0)
		p.Shape = statistics.FailureRescue
		p.Bootstrap.Resamples = 50 // the interval decides nothing
		j := &Journal{done: map[string]*Outcome{}}
		counts := map[string]*[3]int{}
		for _, cohort := range []string{statistics.Failure, statistics.Baseline} {
			n := &[3]int{}
			counts[cohort] = n
			replays := random.Float64()
			for i := range 3 + random.IntN(12) {
				c := Case{Cohort: cohort, RunID: fmt.Sprintf("%s-%d", cohort, i), Tenant: "default"}
				p.Cases = append(p.Cases, c)
				o := outcome(c.RunID, 0.25)
				n[0]++
				switch {
				case random.Float64() > replays+0.3:
					o.Failure = failure()
				case random.IntN(12) == 0:
					n[1]++
					o.Scores[0].Failed = "x"
				default:
					n[1]++
					n[2]++
				}
				if random.IntN(40) == 0 { // not tried
					if o.Failure == nil {
						n[1]--
						if o.Scores[0].Failed == "" {
							n[2]--
						}
					}
					continue
				}
				if err := j.Add(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := judged(t, p, j)
		enough := true
		for _, n := range counts {
			enough = enough && n[0] >= 5 && n[1] >= 5 && n[2] >= 5 && 2*n[1] >= n[0]
		}
		states[r.State]++
		if (r.State == statistics.Ship) != enough || !enough && r.State != statistics.Inconclusive {
			t.Fatalf("%v: %s", counts, r.State)
		}
	}
	if states[statistics.Ship] < 50 || states[statistics.Inconclusive] < 50 {
		t.Errorf("%v tell too little", states)
	}
}

// The verdict turns at the documented limits: at them it holds, one run beyond it does not.
func TestTheVerdictTurnsAtTheLimits(t *testing.T) {
	verdict := func(better, failures, worse, baseline int, delta float64) statistics.State {
		p := plan(0)
		p.Shape = statistics.FailureRescue
		p.Bootstrap.Resamples = 50
		j := &Journal{done: map[string]*Outcome{}}
		add := func(cohort string, n, changed int, by float64) {
			for i := range n {
				c := Case{Cohort: cohort, RunID: fmt.Sprintf("%s-%d", cohort, i), Tenant: "default"}
				p.Cases = append(p.Cases, c)
				o := outcome(c.RunID, 0)
				if i < changed {
					o.Scores[0].Original, o.Scores[0].Replayed = 0, by
					if by < 0 {
						o.Scores[0].Original, o.Scores[0].Replayed = -by, 0
					}
				}
				if err := j.Add(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		add(statistics.Failure, failures, better, delta)
		add(statistics.Baseline, baseline, worse, -0.25)
		return judged(t, p, j).State
	}
	for _, c := range []struct {
		better, failures, worse, baseline int
		delta                             float64
		want                              statistics.State
	}{
		{11, 20, 0, 20, 0.5, statistics.Ship},
		{9, 20, 0, 20, 0.5, statistics.DontShip},     // less than half became better
		{20, 20, 2, 20, 0.5, statistics.Ship},        // 0.10 is allowed
		{20, 20, 3, 20, 0.5, statistics.DontShip},    // 0.15 is not
		{20, 20, 0, 20, 0.05, statistics.DontShip},   // a change of exactly epsilon is none
		{20, 20, 0, 20, 0.0625, statistics.Ship},     // one above it is
		{5, 5, 0, 5, 0.5, statistics.Ship},           // as few as the floor allows
		{4, 4, 0, 20, 0.5, statistics.Inconclusive},  // one less
		{20, 20, 0, 4, 0.5, statistics.Inconclusive}, // of the other cohort
		{4, 4, 20, 20, 0.5, statistics.Inconclusive}, // and the floor comes before what was measured
		{11, 21, 0, 20, 0.5, statistics.Ship},        // more than half
		{10, 20, 0, 20, 0.5, statistics.Ship},        // exactly half, and the median delta is above epsilon
		{10, 21, 0, 20, 0.5, statistics.DontShip},    // less than half, and the median is no change
	} {
		if got := verdict(c.better, c.failures, c.worse, c.baseline, c.delta); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
