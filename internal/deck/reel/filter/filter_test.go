// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func TestWhenIsATimeOrAnAge(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), "2026-11-20T12:00:00Z": time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"36h": now.Add(-36 * time.Hour), "7d": now.AddDate(0, 0, -7), "0d": now,
	} {
		if got, err := ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7", "-3h", "7dd", "2026-13-01"} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestListsAreOfProductionUnlessAreasAreAskedFor(t *testing.T) {
	all, runs, production := []deck.Area(nil), []deck.Area{deck.AreaRuns}, []deck.Area{deck.AreaRuns, deck.AreaJoined}
	for name, c := range map[string]struct {
		filter Filter
		want   []deck.Area
	}{
		"nothing is said":       {Filter{Listed: true}, production},
		"no list":               {Filter{}, all},
		"an area":               {Filter{Listed: true, Area: "replays"}, []deck.Area{deck.AreaReplays}},
		"an area, no list":      {Filter{Area: "runs"}, runs},
		"all areas":             {Filter{Listed: true, Area: AllAreas}, all},
		"a column":              {Filter{Listed: true, Is: []string{"status=ok"}, Where: "tool_calls > 2"}, production},
		"an area in a column":   {Filter{Listed: true, Is: []string{"area=replays"}}, all},
		"replays of a run":      {Filter{Listed: true, Is: []string{"replay_of=x"}}, all},
		"a condition":           {Filter{Listed: true, Where: "status = 'ok' AND area = 'replays'"}, all},
		"a condition, replays":  {Filter{Listed: true, Where: "replay_of IS NOT NULL OR replay_run_id = 'x'"}, all},
		"an area over all that": {Filter{Listed: true, Area: "runs", Where: "area <> 'x'"}, runs},
	} {
		for range 2 { // a filter is checked again when ages have moved
			if err := c.filter.Check(time.Now()); err != nil || !slices.Equal(c.filter.Areas(), c.want) {
				t.Errorf("%s: %q, %v", name, c.filter.Areas(), err)
			}
		}
	}
	if err := (&Filter{Area: "nowhere"}).Check(time.Now()); err == nil || !strings.Contains(err.Error(), "--area must be") {
		t.Error(err)
	}
}
