// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// The cohorts with a meaning: runs that should become better, and runs that must not become worse.
const (
	Failure  = "failure"
	Baseline = "baseline"
)

// Shape is what an experiment asks.
type Shape string

// The shapes. FailureRescue asks whether failures are mended without harm to the baseline, RegressionCheck whether the baseline is harmed.
const (
	FailureRescue   Shape = "failure_rescue"
	RegressionCheck Shape = "regression_check"
)

// Required returns the cohorts that have to be there.
func (s Shape) Required() []string {
	if s == RegressionCheck {
		return []string{Baseline}
	}
	return []string{Failure, Baseline}
}

// Policy is what a verdict is measured by.
type Policy struct {
	MaxRegression  float64 `json:"max_baseline_regression_ratio"` // more of the baseline may not become worse
	MinImprovement float64 `json:"min_failure_improvement_ratio"` // at least so many failures have to become better
	Epsilon        float64 `json:"practical_delta_epsilon"`       // a smaller delta is no change
	Floor          Floor   `json:"trust_floor"`
}

// Floor is what must have been measured before anything is judged.
type Floor struct {
	Selected int     `json:"min_selected"`
	Replayed int     `json:"min_replayed"`
	Scored   int     `json:"min_scored"`
	Validity float64 `json:"min_replay_validity_ratio"` // replayed of selected
}

// DefaultPolicy is that of whatifd, with its floor of version 1.
var DefaultPolicy = Policy{MaxRegression: 0.10, MinImprovement: 0.50, Epsilon: 0.05, Floor: Floor{5, 5, 5, 0.50}}

// Severity orders findings.
type Severity string

// The severities. A finding that BlocksAll makes a verdict inconclusive, one that BlocksShip makes it don't ship.
const (
	Info       Severity = "info"
	BlocksShip Severity = "blocks_ship"
	BlocksAll  Severity = "blocks_all"
)

// Finding is a reason of a verdict.
type Finding struct {
	Code     string            `json:"code"`
	Severity Severity          `json:"severity"`
	Message  string            `json:"message"`
	Details  map[string]string `json:"details,omitempty"`
}

// FloorFailure is a floor that a cohort did not reach.
type FloorFailure struct {
	Rule      string   `json:"rule"`
	Observed  string   `json:"observed"`
	Threshold string   `json:"threshold"`
	Severity  Severity `json:"severity"`
}

// Cohort is what was measured of a cohort.
type Cohort struct {
	Name     string
	Selected int
	Replayed int
	Deltas   []float64 // of the runs that were scored: replayed − original
}

// CohortResult is what a cohort came to. Numbers are texts with three decimals, so that they are the same everywhere.
type CohortResult struct {
	Name      string `json:"name"`
	Selected  int    `json:"selected"`
	Replayed  int    `json:"replayed"`
	Scored    int    `json:"scored"`
	Improved  int    `json:"improved"`
	Unchanged int    `json:"unchanged"`
	Regressed int    `json:"regressed"`
	// Median, Lower and Upper are empty where too little was scored for an interval: NoInterval says so.
	Median     string `json:"median_delta,omitempty"`
	Lower      string `json:"ci_lower,omitempty"`
	Upper      string `json:"ci_upper,omitempty"`
	NoInterval string `json:"no_interval,omitempty"`
	// SignTest is the probability of the observed or a more uneven division of better and worse by chance.
	SignTest      string         `json:"sign_test_p,omitempty"`
	FloorFailures []FloorFailure `json:"floor_failures,omitempty"`

	median float64
}

// State is a verdict.
type State string

// The verdicts.
const (
	Ship         State = "ship"
	DontShip     State = "dont_ship"
	Inconclusive State = "inconclusive"
)

// Verdict is what an experiment came to, with its reasons.
type Verdict struct {
	State    State          `json:"verdict"`
	Cohorts  []CohortResult `json:"cohorts"` // by name
	Findings []Finding      `json:"findings"`
}

const tooSmall = "sample_too_small"

// Judge judges the cohorts. Cohorts that the shape does not ask for are shown and do not count.
func Judge(shape Shape, cohorts []Cohort, policy Policy, bootstrap Bootstrap) (Verdict, error) {
	v := Verdict{Findings: []Finding{}}
	for _, c := range cohorts {
		r, err := policy.measure(c, slices.Contains(shape.Required(), c.Name), bootstrap)
		if err != nil {
			return Verdict{}, fmt.Errorf("cohort %s: %w", c.Name, err)
		}
		v.Cohorts = append(v.Cohorts, r)
	}
	slices.SortFunc(v.Cohorts, func(a, b CohortResult) int { return cmp.Compare(a.Name, b.Name) })
	failure, baseline := v.cohort(Failure), v.cohort(Baseline)
	if r := failure; r != nil && r.Scored > 0 {
		if share := ratio(r.Improved, r.Scored); share < policy.MinImprovement {
			v.find("failure_improvement_below_threshold", BlocksShip, fmt.Sprintf("failure cohort improvement rate %s below threshold %s (%d/%d traces improved)",
				Decimal(share), Decimal(policy.MinImprovement), r.Improved, r.Scored), "observed", Decimal(share), "threshold", Decimal(policy.MinImprovement))
		}
	}
	if r := baseline; r != nil && r.Scored > 0 {
		if share := ratio(r.Regressed, r.Scored); share > policy.MaxRegression {
			v.find("baseline_regression_above_threshold", BlocksShip, fmt.Sprintf("baseline cohort regression rate %s exceeds threshold %s (%d/%d traces regressed)",
				Decimal(share), Decimal(policy.MaxRegression), r.Regressed, r.Scored), "observed", Decimal(share), "threshold", Decimal(policy.MaxRegression))
		}
	}
	if r := failure; shape == FailureRescue && r != nil && r.NoInterval == "" {
		epsilon := Decimal(policy.Epsilon)
		if r.median > policy.Epsilon {
			v.find("improvement_observed", Info, fmt.Sprintf("failure cohort median delta %s above practical-delta threshold %s (improvement observed)", r.Median, epsilon),
				"median_delta", r.Median, "threshold", epsilon)
		} else {
			v.find("practical_delta_below_threshold", BlocksShip, fmt.Sprintf("failure cohort median delta %s <= practical-delta threshold %s", r.Median, epsilon),
				"median_delta", r.Median, "threshold", epsilon)
		}
	}
	floors := false
	for i := range v.Cohorts {
		r := &v.Cohorts[i]
		floors = floors || len(r.FloorFailures) > 0
		if r.NoInterval != "" && slices.Contains(shape.Required(), r.Name) {
			v.find("ci_unavailable_for_required_cohort", BlocksAll, fmt.Sprintf("CI unavailable for required cohort '%s': %s", r.Name, r.NoInterval), "cohort", r.Name, "reason", r.NoInterval)
		}
	}
	for _, name := range shape.Required() {
		if v.cohort(name) == nil {
			v.find("required_cohort_absent", BlocksAll, fmt.Sprintf("required cohort '%s' matched zero traces (absent) — check the cohort classifier / selection filters; nothing was assigned to this cohort", name), "cohort", name)
		}
	}
	switch {
	case floors || v.has(BlocksAll):
		v.State = Inconclusive
	case v.has(BlocksShip):
		v.State = DontShip
	default:
		v.State = Ship
	}
	return v, nil
}

func (p Policy) measure(c Cohort, required bool, bootstrap Bootstrap) (CohortResult, error) {
	r := CohortResult{Name: c.Name, Selected: c.Selected, Replayed: c.Replayed, Scored: len(c.Deltas)}
	for _, d := range c.Deltas {
		switch {
		case d > p.Epsilon:
			r.Improved++
		case d < -p.Epsilon:
			r.Regressed++
		default:
			r.Unchanged++
		}
	}
	if r.Scored > 0 {
		chance, _ := SignTest(c.Deltas, p.Epsilon)
		r.SignTest = Decimal(chance)
	}
	if r.Scored < max(p.Floor.Scored, 1) {
		r.NoInterval = tooSmall
	} else {
		interval, err := bootstrap.Interval(c.Deltas)
		if err != nil {
			return r, err
		}
		r.median = interval.Median
		r.Median, r.Lower, r.Upper = Decimal(interval.Median), Decimal(interval.Lower), Decimal(interval.Upper)
	}
	if !required {
		return r, nil
	}
	for _, f := range []struct {
		rule            string
		observed, floor int
	}{
		{"min_selected_per_required_cohort", r.Selected, p.Floor.Selected},
		{"min_replayed_per_required_cohort", r.Replayed, p.Floor.Replayed},
		{"min_scored_per_required_cohort", r.Scored, p.Floor.Scored},
	} {
		if f.observed < f.floor {
			r.FloorFailures = append(r.FloorFailures, FloorFailure{f.rule, strconv.Itoa(f.observed), strconv.Itoa(f.floor), BlocksAll})
		}
	}
	if validity := ratio(r.Replayed, r.Selected); validity < p.Floor.Validity {
		r.FloorFailures = append(r.FloorFailures, FloorFailure{"min_replay_validity_ratio_per_required_cohort", Decimal(validity), Decimal(p.Floor.Validity), BlocksShip})
	}
	return r, nil
}

func (v *Verdict) cohort(name string) *CohortResult {
	if i := slices.IndexFunc(v.Cohorts, func(c CohortResult) bool { return c.Name == name }); i >= 0 {
		return &v.Cohorts[i]
	}
	return nil
}

func (v *Verdict) has(severity Severity) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Severity == severity })
}

func (v *Verdict) find(code string, severity Severity, message string, details ...string) {
	f := Finding{code, severity, message, map[string]string{}}
	for i := 0; i < len(details); i += 2 {
		f.Details[details[i]] = details[i+1]
	}
	v.Findings = append(v.Findings, f)
}

// ExitCode is what a program ends with: 0 ship, 1 don't ship, 3 inconclusive. 2 stands for what could not be
// done.
func (s State) ExitCode() int {
	switch s {
	case Ship:
		return 0
	case DontShip:
		return 1
	}
	return 3
}

// Decimal is a number with three decimals.
func Decimal(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

func ratio(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
