// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"slices"
	"strings"
)

// ShortIDs shortens run ids to what Find takes: the first digits of the trace id, and of the root span id where a trace has several runs. An id is as long as it must
// be to name one of the runs that were added; a deck may have more of them. The zero value has none. It is not safe for concurrent use.
type ShortIDs struct {
	byPrefix map[string][]string // run ids by their first digits
}

// ShortID is the short id of a run of which no others are known.
func ShortID(runID string) string { return new(ShortIDs).Of(runID) }

// minRootDigits is how many digits of a root span id tell the runs of a trace apart for a person.
const minRootDigits = 4

// Add notes a run.
func (s *ShortIDs) Add(runID string) {
	k, ok := prefixOf(runID)
	if !ok || slices.Contains(s.byPrefix[k], runID) {
		return
	}
	if s.byPrefix == nil {
		s.byPrefix = map[string][]string{}
	}
	s.byPrefix[k] = append(s.byPrefix[k], runID)
}

// prefixOf reports whether an id has the form of a run id. Another one has no shorter form.
func prefixOf(runID string) (string, bool) {
	trace, root, ok := strings.Cut(runID, "-")
	if !ok || len(trace) != 32 || !isHex(trace) || !validRoot(root) {
		return "", false
	}
	return trace[:minIDPrefix], true
}

// Of returns the short id of a run, and notes it.
func (s *ShortIDs) Of(runID string) string {
	k, ok := prefixOf(runID)
	if !ok {
		return runID
	}
	s.Add(runID)
	trace, root, _ := strings.Cut(runID, "-")
	digits, rootDigits := minIDPrefix, 0
	for _, other := range s.byPrefix[k] {
		otherTrace, otherRoot, _ := strings.Cut(other, "-")
		switch {
		case other == runID:
		case otherTrace == trace:
			rootDigits = max(rootDigits, minRootDigits, common(root, otherRoot)+1)
		default:
			digits = max(digits, common(trace, otherTrace)+1)
		}
	}
	if rootDigits > 0 {
		return trace[:digits] + "-" + root[:rootDigits]
	}
	return trace[:digits]
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
