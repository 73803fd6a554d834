// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestBootstrapIsThatOfWhatifd(t *testing.T) {
	var golden struct {
		FirstRandom []string `json:"first_random"`
		Choices     []int    `json:"first_choices_of_range8_k16"`
		Vectors     map[string]struct {
			Deltas []float64
			Median string `json:"median_wire"`
			Lower  string `json:"ci_lower_wire"`
			Upper  string `json:"ci_upper_wire"`
		}
	}
	read(t, "testdata/bootstrap-golden.json", &golden)
	random := newTwister(DefaultBootstrap.Seed)
	for i, want := range golden.FirstRandom {
		if got := strconv.FormatFloat(random.float64(), 'g', -1, 64); got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
	random = newTwister(DefaultBootstrap.Seed)
	for i, want := range golden.Choices {
		if got := int(random.float64() * 8); got != want {
			t.Errorf("choice %d is %d, want %d", i, got, want)
		}
	}
	if len(golden.Vectors) < 5 {
		t.Fatalf("%d vectors", len(golden.Vectors))
	}
	for name, v := range golden.Vectors {
		before := slices.Clone(v.Deltas)
		got, err := DefaultBootstrap.Interval(v.Deltas)
		if err != nil {
			t.Fatal(err)
		}
		if Decimal(got.Median) != v.Median || Decimal(got.Lower) != v.Lower || Decimal(got.Upper) != v.Upper {
			t.Errorf("%s: %s [%s, %s], want %s [%s, %s]", name, Decimal(got.Median), Decimal(got.Lower), Decimal(got.Upper), v.Median, v.Lower, v.Upper)
		}
		if !slices.Equal(before, v.Deltas) {
			t.Errorf("%s: the deltas were changed", name)
		}
	}
}

func TestBootstrapRefuses(t *testing.T) {
	for name, b := range map[string]Bootstrap{"no resamples": {0, 1, 0.95}, "level 0": {10, 1, 0}, "level 1": {10, 1, 1}, "level NaN": {10, 1, math.NaN()}} {
		if _, err := b.Interval([]float64{1}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := DefaultBootstrap.Interval(nil); err == nil {
		t.Error("no deltas are taken")
	}
}

// scenario is a verdict of whatifd 0.3.0. Its deltas are null where a run was not replayed.
type scenario struct {
	Scenario string
	Shape    Shape `json:"experiment_shape"`
	Verdict  State `json:"verdict_state"`
	ExitCode int   `json:"exit_code"`
	Deltas   map[string][]*float64
	Cohorts  []struct {
		Name                       string
		Selected, Replayed, Scored int
		Improved                   int     `json:"improved_count"`
		Unchanged                  int     `json:"unchanged_count"`
		Regressed                  int     `json:"regressed_count"`
		Median                     *string `json:"median_delta"`
		Lower                      *string `json:"ci_lower"`
		Upper                      *string `json:"ci_upper"`
		Reason                     *string `json:"ci_unavailable_reason"`
		Floors                     []struct {
			Rule     string
			Severity Severity
			Observed any
		} `json:"floor_failures"`
	} `json:"cohort_results"`
	Findings []Finding `json:"decision_findings"`
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func TestVerdictsAreThoseOfWhatifd(t *testing.T) {
	var scenarios []scenario
	read(t, "testdata/verdict-golden.json", &scenarios)
	if len(scenarios) != 15 {
		t.Fatalf("%d scenarios", len(scenarios))
	}
	for _, s := range scenarios {
		t.Run(s.Scenario, func(t *testing.T) {
			var cohorts []Cohort
			for _, name := range slices.Sorted(maps.Keys(s.Deltas)) {
				c := Cohort{Name: name, Selected: len(s.Deltas[name])}
				for _, d := range s.Deltas[name] {
					if d != nil {
						c.Deltas = append(c.Deltas, *d)
					}
				}
				c.Replayed = len(c.Deltas)
				cohorts = append(cohorts, c)
			}
			v, err := Judge(s.Shape, cohorts, DefaultPolicy, DefaultBootstrap)
			if err != nil {
				t.Fatal(err)
			}
			want := s.ExitCode
			if want == 2 { // whatifd's code for inconclusive also means that nothing could be done
				want = 3
			}
			if v.State != s.Verdict || v.State.ExitCode() != want {
				t.Errorf("verdict %s, exit %d; want %s, %d", v.State, v.State.ExitCode(), s.Verdict, want)
			}
			if len(v.Cohorts) != len(s.Cohorts) {
				t.Fatalf("%d cohorts, want %d", len(v.Cohorts), len(s.Cohorts))
			}
			for i, want := range s.Cohorts {
				got := v.Cohorts[i]
				if got.Name != want.Name || got.Selected != want.Selected || got.Replayed != want.Replayed || got.Scored != want.Scored ||
					got.Improved != want.Improved || got.Unchanged != want.Unchanged || got.Regressed != want.Regressed ||
					got.Median != text(want.Median) || got.Lower != text(want.Lower) || got.Upper != text(want.Upper) || got.NoInterval != text(want.Reason) {
					t.Errorf("cohort %+v\nwant %+v", got, want)
				}
				if len(got.FloorFailures) != len(want.Floors) {
					t.Fatalf("floors %+v, want %+v", got.FloorFailures, want.Floors)
				}
				for j, f := range want.Floors {
					if g := got.FloorFailures[j]; g.Rule != f.Rule || g.Severity != f.Severity {
						t.Errorf("floor %+v, want %+v", g, f)
					}
				}
			}
			if len(v.Findings) != len(s.Findings) {
				t.Fatalf("findings %+v\nwant %+v", v.Findings, s.Findings)
			}
			for i, want := range s.Findings {
				if got := v.Findings[i]; got.Code != want.Code || got.Severity != want.Severity || got.Message != want.Message || !maps.Equal(got.Details, want.Details) {
					t.Errorf("finding %+v\nwant %+v", got, want)
				}
			}
		})
	}
}

// Replays that failed are not hidden behind those that were scored.
func TestWhatWasNotReplayedIsNeverShip(t *testing.T) {
	better := func(n int) (d []float64) {
		for range n {
			d = append(d, 1)
		}
		return d
	}
	for name, cohorts := range map[string][]Cohort{
		"half of the baseline": {{Failure, 10, 10, better(10)}, {Baseline, 20, 9, make([]float64, 9)}},
		"half of the failures": {{Failure, 20, 9, better(9)}, {Baseline, 10, 10, make([]float64, 10)}},
		"replayed, not scored": {{Failure, 10, 10, better(4)}, {Baseline, 10, 10, make([]float64, 10)}},
		"nothing":              {},
	} {
		if v, err := Judge(FailureRescue, cohorts, DefaultPolicy, DefaultBootstrap); err != nil || v.State != Inconclusive {
			t.Errorf("%s: %s %v", name, v.State, err)
		}
	}
}

func TestSignTest(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	for _, c := range []struct {
		better, worse, same int
		want                string
	}{{0, 0, 4, "1.000"}, {5, 0, 0, "0.062"}, {0, 5, 9, "0.062"}, {10, 0, 0, "0.002"}, {9, 1, 0, "0.021"}, {5, 5, 1, "1.000"}, {1, 0, 0, "1.000"}} {
		var deltas []float64
		for i := range c.better + c.worse + c.same {
			switch {
			case i < c.better:
				deltas = append(deltas, 1)
			case i < c.better+c.worse:
				deltas = append(deltas, -1)
			default:
				deltas = append(deltas, 0.01)
			}
		}
		random.Shuffle(len(deltas), func(i, j int) { deltas[i], deltas[j] = deltas[j], deltas[i] })
		if p, _ := SignTest(deltas, 0.05); Decimal(p) != c.want {
			t.Errorf("%+v: %s", c, Decimal(p))
		}
	}
}
