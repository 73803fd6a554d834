// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

// Bounds are the expectations that the columns of a run answer.
type Bounds struct {
	AllowedTools   []string   `yaml:"allowed_tools"`
	ForbiddenTools []string   `yaml:"forbidden_tools"`
	MaxTurns       *int64     `yaml:"max_turns"` // model calls
	MaxToolCalls   *int64     `yaml:"max_tool_calls"`
	MaxTokens      *int64     `yaml:"max_tokens"` // in and out
	MaxDuration    string     `yaml:"max_duration"`
	Status         texts      `yaml:"status"`
	NoFindings     texts      `yaml:"no_findings"` // codes
	MinGrade       tape.Grade `yaml:"min_grade"`
	Verdict        texts      `yaml:"verdict"` // conditions, as those of ls --verdict

	duration time.Duration
	verdicts []func(*reel.Meta) bool // of each condition
}

// bound is one of them.
type bound struct {
	name    string
	columns []string // that judge looks at
	judge   func(*reel.Meta) []Failure
}

// Grades, the best first.
var grades = []tape.Grade{tape.GradeOffline, tape.GradeTools, tape.GradeModel, tape.GradePartial, tape.GradeInspect}

var statuses = []string{string(tape.StatusOK), string(tape.StatusError), string(tape.StatusInterrupted), string(tape.StatusIncomplete)}

func (b *Bounds) check() (err error) {
	for name, most := range map[string]*int64{"max_turns": b.MaxTurns, "max_tool_calls": b.MaxToolCalls, "max_tokens": b.MaxTokens} {
		if most != nil && *most < 0 {
			err = errors.Join(err, fmt.Errorf("%s is %d: want 0 or more", name, *most))
		}
	}
	if b.MaxDuration != "" {
		d, wrong := time.ParseDuration(b.MaxDuration)
		if wrong != nil || d < 0 {
			err = errors.Join(err, fmt.Errorf("max_duration is %.40q: want a time such as 30s or 5m", b.MaxDuration))
		}
		b.duration = d
	}
	for _, status := range b.Status {
		if !slices.Contains(statuses, status) {
			err = errors.Join(err, fmt.Errorf("status is %.40q: want %s", status, strings.Join(statuses, ", ")))
		}
	}
	for _, code := range b.NoFindings {
		if unknown := filter.KnownCode(code); unknown != nil {
			err = errors.Join(err, fmt.Errorf("no_findings: %w", unknown))
		}
	}
	b.verdicts = nil
	for _, condition := range b.Verdict {
		holds, wrong := filter.Verdict(condition)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("verdict: %w", wrong))
		}
		b.verdicts = append(b.verdicts, holds)
	}
	if b.MinGrade != "" && !slices.Contains(grades, b.MinGrade) {
		err = errors.Join(err, fmt.Errorf("min_grade is %.40q: want offline, tools, model, partial or inspect", string(b.MinGrade)))
	}
	return err
}

// Columns are those that the expectations look at.
func (e *Expect) Columns() (names []string) {
	if e == nil {
		return nil
	}
	for _, b := range e.Bounds.list() {
		names = append(names, b.columns...)
	}
	return names
}

// list is what is expected.
func (b *Bounds) list() (list []bound) {
	if b.AllowedTools != nil {
		expected := "only " + strings.Join(b.AllowedTools, ", ")
		if len(b.AllowedTools) == 0 {
			expected = "no tool"
		}
		list = append(list, tools("allowed_tools", expected, func(name string) bool { return !slices.Contains(b.AllowedTools, name) }))
	}
	if len(b.ForbiddenTools) > 0 {
		list = append(list, tools("forbidden_tools", "none of "+strings.Join(b.ForbiddenTools, ", "), func(name string) bool { return slices.Contains(b.ForbiddenTools, name) }))
	}
	if b.MaxTurns != nil {
		list = append(list, most("max_turns", *b.MaxTurns, []string{"model_calls"}, func(m *reel.Meta) *int64 { return m.ModelCalls }))
	}
	if b.MaxToolCalls != nil {
		list = append(list, most("max_tool_calls", *b.MaxToolCalls, []string{"tool_calls"}, func(m *reel.Meta) *int64 { return m.ToolCalls }))
	}
	if b.MaxTokens != nil {
		list = append(list, most("max_tokens", *b.MaxTokens, []string{"input_tokens", "output_tokens"}, tokens))
	}
	if b.MaxDuration != "" {
		list = append(list, bound{"max_duration", []string{"started_at", "ended_at", "duration_ms"}, b.took})
	}
	if len(b.Status) > 0 {
		list = append(list, bound{"status", []string{"status"}, func(m *reel.Meta) []Failure {
			return unless(slices.Contains(b.Status, m.Status), "status", strings.Join(b.Status, " or "), m.Status)
		}})
	}
	if len(b.NoFindings) > 0 {
		list = append(list, bound{"no_findings", []string{"findings"}, func(m *reel.Meta) []Failure {
			found := slices.DeleteFunc(slices.Clone(m.Findings), func(code string) bool { return !slices.Contains(b.NoFindings, code) })
			return unless(len(found) == 0, "no_findings", "none of "+strings.Join(b.NoFindings, ", "), strings.Join(found, ", "))
		}})
	}
	if b.MinGrade != "" {
		list = append(list, bound{"min_grade", []string{"grade"}, func(m *reel.Meta) []Failure {
			at := slices.Index(grades, tape.Grade(m.Grade))
			return unless(at >= 0 && at <= slices.Index(grades, b.MinGrade), "min_grade", string(b.MinGrade)+" or better", m.Grade)
		}})
	}
	for i, condition := range b.Verdict {
		list = append(list, bound{"verdict", []string{"verdicts"}, func(m *reel.Meta) []Failure {
			return unless(b.verdicts[i](m), "verdict", condition, verdictsOf(m, condition))
		}})
	}
	return list
}

// verdictsOf are the verdicts of the name that a condition is about.
func verdictsOf(m *reel.Meta, condition string) string {
	name := condition
	if at := strings.IndexAny(condition, "<>=!"); at >= 0 {
		name = strings.TrimSpace(condition[:at])
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(m.Verdicts), func(v string) bool { return v != name && !strings.HasPrefix(v, name+"=") }), ", ")
}

func (b *Bounds) took(m *reel.Meta) []Failure {
	const name = "max_duration"
	expected := "at most " + timeline.Duration(b.duration.Milliseconds())
	if m.StartedAt == 0 || m.EndedAt == 0 {
		return unless(false, name, expected, "")
	}
	return unless(m.DurationMS <= b.duration.Milliseconds(), name, expected, timeline.Duration(m.DurationMS))
}

// tools is about the names of the tools that were called.
func tools(name, expected string, wrong func(tool string) bool) bound {
	return bound{name, []string{"tools"}, func(m *reel.Meta) []Failure {
		found := slices.DeleteFunc(slices.Clone(m.Tools), func(tool string) bool { return !wrong(tool) })
		return unless(len(found) == 0, name, expected, strings.Join(found, ", "))
	}}
}

// most is about a number that may be this high. What is not recorded does not hold: nobody knows.
func most(name string, limit int64, columns []string, of func(*reel.Meta) *int64) bound {
	return bound{name, columns, func(m *reel.Meta) []Failure {
		n, found := of(m), ""
		if n != nil {
			found = fmt.Sprint(*n)
		}
		return unless(n != nil && *n <= limit, name, fmt.Sprintf("at most %d", limit), found)
	}}
}

// tokens are those in and out, nil where the tape says neither.
func tokens(m *reel.Meta) *int64 {
	var sum int64
	for _, n := range []*int64{m.InputTokens, m.OutputTokens} {
		if n != nil {
			sum += *n
		}
	}
	if m.InputTokens == nil && m.OutputTokens == nil {
		return nil
	}
	return &sum
}

func unless(holds bool, name, expected, found string) []Failure {
	if holds {
		return nil
	}
	if found == "" {
		found = "that it is not recorded"
	}
	return []Failure{{name, cut(expected), cut(found)}}
}
