// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

// TestSelectFindsWhatAWalkFinds: in pieces and whole, twice, buried, whatever the filter.
func TestSelectFindsWhatAWalkFinds(t *testing.T) {
	mem.Drop("select")
	r := rand.New(rand.NewPCG(seed.Of(t), 1))
	d := openDeck(t, "mem://select", deck.LayoutReels)
	for i, run := range corpus(t, 40) {
		sets := []*evidence.Set{setOf(t, run)}
		if i%4 == 0 {
			sets = split(r, sets[0])
		}
		deliver(t, d, sets...)
		if i%5 == 0 {
			deliver(t, d, sets...) // again, in another reel
		}
	}
	var all []view.Run
	ctx := context.Background()
	walk := func() (all []view.Run) {
		for run, err := range view.Runs(ctx, d, nil) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, run)
		}
		slices.SortFunc(all, byRun)
		return all
	}
	all = walk()
	if len(all) < 20 {
		t.Fatalf("%d runs", len(all))
	}
	buried := all[3].Location()
	if _, err := d.PutTombstone(ctx, buried, deck.Burial{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	before := len(all)
	d = openDeck(t, "mem://select", deck.LayoutReels)
	if all = walk(); len(all) >= before {
		t.Fatal("nothing is buried")
	}
	check := func(q view.Query, want []view.Run) {
		t.Helper()
		var got []view.Run
		for run, err := range view.Select(ctx, d, q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, run)
		}
		slices.SortFunc(got, byRun)
		if diff := gocmp.Diff(addresses(want), addresses(got)); diff != "" {
			t.Errorf("%+v: %s", q.Equal, diff)
		}
		if q.Columns == nil {
			for i := range min(len(got), len(want)) {
				if diff := gocmp.Diff(want[i].Meta, got[i].Meta); diff != "" {
					t.Errorf("%s: %s", want[i].RunID, diff)
				}
			}
		}
	}
	check(view.Query{}, all)
	check(view.Query{Columns: []string{"agent"}}, all)
	for range 60 {
		of := &all[r.IntN(len(all))]
		column := []string{"agent", "service", "tools", "models", "status", "grade", "findings", "trace_id"}[r.IntN(8)]
		v, _ := of.Value(column)
		e := reel.Equal{Column: column}
		switch v := v.(type) {
		case string:
			e.Value = v
		case []string:
			e.Value = v[r.IntN(len(v))]
		default:
			continue
		}
		least := int64(r.IntN(4))
		test := func(m *reel.Meta) bool { return m.ToolCalls != nil && *m.ToolCalls >= least }
		has := func(m *reel.Meta) bool {
			switch v, _ := m.Value(column); v := v.(type) {
			case string:
				return v == e.Value
			case []string:
				return slices.Contains(v, e.Value)
			}
			return false
		}
		var want []view.Run
		for _, run := range all {
			if has(&run.Meta) && test(&run.Meta) {
				want = append(want, run)
			}
		}
		q := view.Query{Equal: []reel.Equal{e}, Filter: []string{"tool_calls"}, Test: test}
		check(q, want)
		// The first ones are among what a limit leaves.
		q.First, q.Last, q.Limit = "started_at", r.IntN(2) == 0, 1+r.IntN(5)
		slices.SortFunc(want, func(a, b view.Run) int {
			order := cmp.Compare(a.StartedAt, b.StartedAt)
			if q.Last {
				order = -order
			}
			return cmp.Or(order, byRun(a, b))
		})
		found := map[string]bool{}
		for run, err := range view.Select(ctx, d, q) {
			if err != nil {
				t.Fatal(err)
			}
			found[run.Ref.Key] = true
		}
		for _, run := range want[:min(q.Limit, len(want))] {
			if !found[run.Ref.Key] {
				t.Errorf("limit %d leaves %s out", q.Limit, run.RunID)
			}
		}
	}
}

func byRun(a, b view.Run) int { return cmp.Compare(a.RunID, b.RunID) }

func addresses(runs []view.Run) (keys []string) {
	for _, r := range runs {
		keys = append(keys, r.Ref.Key)
	}
	return keys
}
