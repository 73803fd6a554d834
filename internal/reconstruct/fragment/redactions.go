// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"maps"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

// Redactions are the markers of evidence, by their text, and how many items carry none.
type Redactions struct {
	Markers  map[string]handover.Marker
	Items    int
	Unmarked int
}

func RedactionsOf(set *evidence.Set) Redactions {
	r := Redactions{Markers: map[string]handover.Marker{}}
	// Items in canonical order share resources; those of one resource stand together.
	var last ptrace.ResourceSpans
	marked := false
	for _, item := range set.View() {
		if r.Items == 0 || item.Resource != last {
			last = item.Resource
			var m handover.Marker
			if m, marked = handover.MarkerOf(last.Resource().Attributes()); marked {
				r.Markers[m.String()] = m
			}
		}
		r.Items++
		if !marked {
			r.Unmarked++
		}
	}
	return r
}

// And is what two bodies of evidence say together.
func (r Redactions) And(other Redactions) Redactions {
	sum := Redactions{Markers: map[string]handover.Marker{}, Items: r.Items + other.Items, Unmarked: r.Unmarked + other.Unmarked}
	maps.Copy(sum.Markers, r.Markers)
	maps.Copy(sum.Markers, other.Markers)
	return sum
}
