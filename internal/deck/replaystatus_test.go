// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"errors"
	"strings"
	"testing"
)

func TestReplayStatusesAreOnePerContentAndRun(t *testing.T) {
	d, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	location := Location{Area: AreaRuns, Tenant: "A tenant", TraceID: strings.Repeat("ab", 16)}
	a, b := strings.Repeat("1", 16), strings.Repeat("2", 16)
	for i, c := range []struct {
		root, body string
		created    bool
	}{{a, "one", true}, {a, "one", false}, {a, "two", true}, {b, "three", true}} {
		if created, err := d.PutReplayStatus(t.Context(), location, c.root, []byte(c.body)); err != nil || created != c.created {
			t.Errorf("%d: %v, %v", i, created, err)
		}
	}
	for root, want := range map[string]int{a: 2, b: 1, "": 3} {
		if got, err := d.ReplayStatuses(t.Context(), location, root); err != nil || len(got) != want {
			t.Errorf("%q: %d records, %v", root, len(got), err)
		}
	}
	for p, err := range d.Locations(t.Context()) {
		t.Errorf("a record is taken for a place: %v, %v", p, err)
	}
	if _, err := d.PutReplayStatus(t.Context(), location, "../x", nil); !errors.Is(err, ErrBadKey) {
		t.Error(err)
	}
	if _, err := d.Bury(t.Context(), location, Burial{Reason: ReasonRetention}); err != nil {
		t.Fatal(err)
	}
	elsewhere := location
	elsewhere.Area = AreaUndecided
	if n, err := d.RemoveReplayStatuses(t.Context(), elsewhere); err != nil || n != 0 {
		t.Errorf("the records of another place: %d, %v", n, err)
	}
	if n, err := d.RemoveReplayStatuses(t.Context(), location); err != nil || n != 3 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := d.PutReplayStatus(t.Context(), location, a, []byte("late")); !errors.Is(err, ErrBuried) {
		t.Error(err)
	}
}
