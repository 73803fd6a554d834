// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package filter chooses among the runs of a deck by their columns, as people and configurations say it.
package filter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/reel/where"
	"github.com/tapedeck/tapedeck/tape"
)

// Filter is what a run must be; the zero Filter takes all.
type Filter struct {
	Is           []string // COLUMN=VALUE each; a list has the value among its own
	Where        string   // a condition as in SQL, see package where
	Verdicts     []string // conditions on verdicts each, see Verdict
	Since, Until string   // when the run started: a time, a day, or an age such as 7d
	Area         string   // AllAreas, "", or one of deck.Areas
	Tenant       string
	// Listed is for lists of runs and their sums: without Area they are those of production. A condition on
	// an area, or on what only replays have, leaves it to the condition.
	Listed bool

	equal   []reel.Equal
	columns []string // that tests look at
	tests   []func(*reel.Meta) bool
	areas   []deck.Area // nil is all
}

// AllAreas is the Area of whoever wants the runs of all.
const AllAreas = "all"

// production are the areas in which runs of production lie. The traces of a joined run need no tapes of their
// own: it may be all that shows them.
var production = []deck.Area{deck.AreaRuns, deck.AreaJoined}

// ofReplays are the columns that tell replays from production.
var ofReplays = []string{"area", "replay_of", "replay_run_id"}

// Check reads the filter; ages count from now. Its errors name the field as a flag.
func (f *Filter) Check(now time.Time) error {
	f.equal, f.columns, f.tests, f.areas = nil, nil, nil, nil
	for _, text := range f.Is {
		column, want, ok := strings.Cut(text, "=")
		if _, known := (&reel.Meta{}).Value(column); !ok || !known {
			return fmt.Errorf("--is %q: want COLUMN=VALUE with one of %s", text, strings.Join(reel.Columns(), ", "))
		}
		if column == "findings" && want != "" {
			if err := KnownCode(want); err != nil {
				return err
			}
		}
		f.is(column, want)
	}
	for _, text := range f.Verdicts {
		test, err := Verdict(text)
		if err != nil {
			return fmt.Errorf("--verdict %w", err)
		}
		f.columns = append(f.columns, "verdicts")
		f.tests = append(f.tests, test)
	}
	if f.Where != "" {
		c, err := where.Parse(f.Where, func(text string) (time.Time, error) { return ParseTime(text, now) })
		if err != nil {
			return fmt.Errorf("--where: %w", err)
		}
		f.equal = append(f.equal, c.Equal()...)
		f.columns = append(f.columns, c.Columns()...)
		f.tests = append(f.tests, c.Match)
	}
	switch {
	case f.Area == AllAreas:
	case f.Area != "":
		f.areas = []deck.Area{deck.Area(f.Area)}
		if !slices.Contains(deck.Areas(), f.areas[0]) {
			return fmt.Errorf("--area must be runs, joined, replays, undecided or all, not %q", f.Area)
		}
	case f.Listed && !f.asksFor(ofReplays):
		f.areas = production
	}
	for i, text := range []string{f.Since, f.Until} {
		if text == "" {
			continue
		}
		at, err := ParseTime(text, now)
		if err != nil {
			return fmt.Errorf("--%s: %w", []string{"since", "until"}[i], err)
		}
		limit := at.UnixMicro()
		f.columns = append(f.columns, "started_at")
		f.tests = append(f.tests, func(m *reel.Meta) bool { return m.StartedAt != 0 && (m.StartedAt >= limit) == (i == 0) })
	}
	return nil
}

// asksFor tells whether a condition looks at one of the columns.
func (f *Filter) asksFor(columns []string) bool {
	return slices.ContainsFunc(f.columns, func(c string) bool { return slices.Contains(columns, c) }) ||
		slices.ContainsFunc(f.equal, func(e reel.Equal) bool { return slices.Contains(columns, e.Column) })
}

// Areas are those whose runs are taken, nil for all. The filter is checked.
func (f *Filter) Areas() []deck.Area { return f.areas }

// KnownCode refuses what is the code of no finding: no run has it, which would look like good news.
func KnownCode(want string) error {
	nearest, least := tape.FindingKinds[0].Code, len(want)+1000
	for _, kind := range tape.FindingKinds {
		if string(kind.Code) == want {
			return nil
		}
		if d := distance(want, string(kind.Code)); d < least {
			nearest, least = kind.Code, d
		}
	}
	return fmt.Errorf("no finding has the code %.60q; the nearest is %s", want, nearest)
}

// distance is how many letters have to be added, removed or replaced to make b of the first 60 letters of a.
func distance(a, b string) int {
	a = a[:min(len(a), 60)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := last
			if a[i] != b[j] {
				replaced++
			}
			last = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// is takes runs of which a column is a value, or has it.
func (f *Filter) is(column, want string) {
	if want != "" && reel.IsText(column) && column != "area" { // the area of a row is not yet that of its trace
		f.equal = append(f.equal, reel.Equal{Column: column, Value: want})
		return
	}
	f.columns = append(f.columns, column)
	f.tests = append(f.tests, func(m *reel.Meta) bool {
		v, _ := m.Value(column)
		if list, ok := v.([]string); ok {
			return slices.Contains(list, want)
		}
		return v != nil && Text(v) == want || v == nil && want == ""
	})
}

// Query is a query for the runs that the filter takes. The filter is checked.
func (f *Filter) Query(q view.Query) view.Query {
	q.Equal, q.Filter = f.equal, f.columns
	if f.areas != nil || f.Tenant != "" {
		q.Want = func(l deck.Location) bool {
			return (f.areas == nil || slices.Contains(f.areas, l.Area)) && l.Of(f.Tenant)
		}
	}
	if len(f.tests) > 0 {
		q.Test = func(m *reel.Meta) bool {
			return !slices.ContainsFunc(f.tests, func(test func(*reel.Meta) bool) bool { return !test(m) })
		}
	}
	return q
}

// Wants tells whether a run is taken, area and tenant left aside; it is nil if all are. The filter is checked.
func (f *Filter) Wants() func(*reel.Meta) bool {
	if len(f.equal) == 0 && len(f.tests) == 0 {
		return nil
	}
	q := f.Query(view.Query{})
	return q.Takes
}

// ParseTime reads a time, a day, or an age.
func ParseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	var days int
	if _, err := fmt.Sscanf(text, "%dd", &days); err == nil && text == fmt.Sprintf("%dd", days) && days >= 0 && days < 36500 {
		return now.AddDate(0, 0, -days), nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time (2026-11-20, 2026-11-20T12:00:00Z) and no age (36h, 7d)", text)
}

// Text is the value of a column as text; "" for one that is not known.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case []string:
		return strings.Join(v, ",")
	}
	return fmt.Sprint(v)
}
