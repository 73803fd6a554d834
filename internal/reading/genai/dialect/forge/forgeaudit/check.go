// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forgeaudit

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
)

// check follows the hash chains, verifies the signatures, and notes on each record what speaks against it. It
// returns the problems in the order of the records, and how many signatures were not checked.
func (s *Stream) check(records []*record) (problems []Problem, unchecked int) {
	broken := breaks(records)
	for _, r := range records {
		gap := broken[r]
		carries, invalid := s.keys.signed(r.body)
		complain := func(integrity, reason string, used bool) {
			r.integrity = integrity
			problems = append(problems, Problem{Name: r.name, Line: r.line, Reason: reason, Used: used})
		}
		switch {
		case len(s.keys) == 0:
			if carries {
				unchecked++
			}
			if gap != "" {
				complain(forge.AuditChainBroken, gap+"; nothing is taken from it", false)
			}
		case !carries:
			complain(forge.AuditUnsigned, "it is not signed, and keys were given; nothing is taken from it", false)
		case invalid != "":
			complain(forge.AuditSignatureInvalid, invalid+"; nothing is taken from it", false)
		case gap != "":
			complain(forge.AuditChainBrokenSigned, gap+"; its own signature is valid", true)
		}
	}
	return problems, unchecked
}

// breaks returns why records are not confirmed where chains end. The record that names the hash of another
// confirms it. The last record of a stream has none, and the first record of a file may follow one that was
// not given: neither is a break. A stream that goes on later, from another record, is a break.
func breaks(records []*record) map[*record]string {
	bySum := map[string]*record{}
	followers := map[string][]*record{}
	for _, r := range records {
		bySum[r.sum] = r
		if r.previous != "" && r.previous != genesis {
			followers[r.previous] = append(followers[r.previous], r)
		}
	}
	begin := begins(records, bySum)
	heads := map[string]*[2]*record{} // of each agent, the two latest that follow a record which is not there
	for _, r := range records {
		if r.previous == "" || r.previous == genesis || bySum[r.previous] != nil {
			continue
		}
		latest := heads[r.entity]
		if latest == nil {
			latest = &[2]*record{}
			heads[r.entity] = latest
		}
		switch {
		case latest[0] == nil || latest[0].at.Before(r.at):
			latest[0], latest[1] = r, latest[0]
		case latest[1] == nil || latest[1].at.Before(r.at):
			latest[1] = r
		}
	}
	goesOn := func(r *record) bool {
		latest := heads[r.entity]
		return latest != nil && slices.ContainsFunc(latest[:], func(h *record) bool { return h != nil && h != begin[r] && !h.at.Before(r.at) })
	}
	broken := map[*record]string{}
	for _, r := range records {
		switch {
		case r.previous == "":
		case len(followers[r.previous]) > 1:
			broken[r] = "hash chain: another record claims the same place"
		case len(followers[r.sum]) == 0 && goesOn(r):
			broken[r] = "hash chain: no record confirms it, and the stream goes on after one that is missing or was changed"
		}
	}
	return broken
}

// begins tells for every record where its chain begins.
func begins(records []*record, bySum map[string]*record) map[*record]*record {
	begin := make(map[*record]*record, len(records))
	for _, r := range records {
		var path []*record
		at := r
		for begin[at] == nil {
			path = append(path, at)
			before := bySum[at.previous]
			if before == nil {
				begin[at] = at
				break
			}
			at = before
		}
		for _, p := range path {
			begin[p] = begin[at]
		}
	}
	return begin
}
