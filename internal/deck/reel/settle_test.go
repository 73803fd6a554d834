// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// left are the entries that a settling leaves.
func (s *settled) left(level int) (list []piece) {
	for i, m := range s.rows {
		e := *s.from[i]
		e.Meta = m
		if m.TapeBytes == 0 {
			e.TapeBytes = 0
		}
		list = append(list, piece{&e, level})
	}
	// The first row of a part has its evidence.
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.Part] {
			p.EvidenceBytes = 0
		}
		seen[p.Part] = true
	}
	return list
}

// TestTwoThatSettleAtOnceLoseNothing: each merges its reels beside those of the other as they were, and takes its own away. What is left is what was.
func TestTwoThatSettleAtOnceLoseNothing(t *testing.T) {
	dropped := 0
	for seed := range uint64(9000) {
		r := rand.New(rand.NewPCG(seed, 9))
		digests := []string{strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)}
		reels := make([][]piece, 2+r.IntN(3)) // of some levels
		var all []*Entry
		for i := range reels {
			level := r.IntN(3)
			for _, part := range digests[:1+r.IntN(3)] {
				parts := slices.Clone(digests[:1+r.IntN(3)])
				m := Meta{Tenant: "t", TraceID: strings.Repeat("1", 32), Area: []string{"runs", "undecided", "replays"}[r.IntN(3)], Part: part, EvidenceBytes: 9}
				if m.Area == "replays" {
					m.ReplayRunID = fmt.Sprintf("replay-%d", r.IntN(3))
				}
				if r.IntN(3) > 0 {
					m.Parts, m.Items, m.Revision, m.Producer, m.TapeBytes = parts, int64(len(parts)), int64(r.IntN(2)), "[]", 5
					m.RootSpanID = hexOf(1, 16)
					m.RunID, m.TapeID = m.TraceID+"-"+m.RootSpanID, fmt.Sprintf("%s-%d-%d", m.RootSpanID, len(parts), m.Revision)
				}
				if r.IntN(8) < int(seed%9) { // in every ninth seed all, in others none
					m.Keep, m.EvidenceBytes, m.TapeBytes = KeepDropped, 0, 0
				}
				reels[i] = append(reels[i], piece{&Entry{Meta: m}, level})
				all = append(all, &Entry{Meta: m})
			}
		}
		want := Unite(all)
		// Three compactors: each takes some reels, perhaps the same ones.
		var after []piece
		taken := map[int]bool{}
		for range 3 {
			var merged, others []piece
			level := 0
			for i, rows := range reels {
				if r.IntN(2) == 0 {
					merged, taken[i], level = append(merged, rows...), true, max(level, rows[0].level+1)
				} else {
					others = append(others, rows...)
				}
			}
			if len(merged) > 0 {
				s := settle(merged, others, 0)
				dropped += len(merged) - len(s.rows)
				after = append(after, s.left(level)...)
			}
		}
		var rows []*Entry
		for _, p := range after {
			rows = append(rows, p.Entry)
		}
		for i := range reels {
			for _, p := range reels[i] {
				if !taken[i] {
					rows = append(rows, p.Entry)
				}
			}
		}
		got := Unite(rows)
		if a, b := unionOf(want), unionOf(got); a != b {
			t.Fatalf("seed %d\n got %s\nwant %s", seed, b, a)
		}
		for _, part := range want.Parts {
			if got.evidence(part) == nil && !want.Dropped {
				t.Fatalf("seed %d: the evidence of %.8s is lost", seed, part)
			}
		}
	}
	if dropped < 1000 {
		t.Errorf("only %d rows were dropped", dropped)
	}
}
