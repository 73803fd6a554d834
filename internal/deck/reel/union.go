// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Entry is a row and where it lies.
type Entry struct {
	Meta
	file  *File
	group int
	row   int64
}

// Trace is what the rows of one trace are together.
type Trace struct {
	// Location is where the trace lies: with the replays if any row does, else in production if any row does.
	Location deck.Location
	// Parts are the digests of its evidence, sorted.
	Parts []string
	// Current is the derivation from exactly these parts, the one of most items and the newest revision. It is nil if there is none: then the tapes are
	// to be derived from the parts.
	Current *Derivation
	// Entries are all rows, in the order of compare, each once.
	Entries []*Entry
	// Dropped tells that no row has content: a policy kept nothing of the trace. Current is then the newest
	// derivation that was made of any of its evidence, and Parts names that evidence, which lies nowhere.
	Dropped bool
}

// Derivation is the tapes that one call of a writer has made.
type Derivation struct {
	deck.Generation
	Formats []string
	Runs    []*Entry // by root span id; none if the evidence holds no run
	of      []string // the parts
}

// Unite makes one of the rows of one trace. What it returns does not depend on their order, nor on which reels they lie in, nor on how often a row is there.
func Unite(rows []*Entry) *Trace {
	t := &Trace{Entries: slices.Clone(rows)}
	slices.SortStableFunc(t.Entries, func(a, b *Entry) int { return a.order(b) })
	t.Entries = slices.CompactFunc(t.Entries, func(a, b *Entry) bool { return a.sameRow(&b.Meta) })
	// Rows without content say nothing of a trace that has content elsewhere.
	t.Dropped = len(t.Entries) > 0 && !slices.ContainsFunc(t.Entries, func(e *Entry) bool { return !e.Dropped() })
	var area deck.Area
	for _, e := range t.Entries {
		t.Location.Tenant, t.Location.TraceID = e.Tenant, e.TraceID
		switch have := deck.Area(e.Area); {
		case have == deck.AreaReplays:
			if area != have || e.ReplayRunID < t.Location.ReplayRunID {
				t.Location.ReplayRunID = e.ReplayRunID
			}
			area = have
		case area == "" || area == deck.AreaUndecided:
			area = have
		}
		if e.Part != "" && e.Dropped() == t.Dropped {
			t.Parts = append(t.Parts, e.Part)
		}
	}
	t.Location.Area = area
	slices.Sort(t.Parts)
	t.Parts = slices.Compact(t.Parts)
	derivations := map[deck.Generation]*Derivation{}
	for _, e := range t.Entries {
		if len(e.Parts) == 0 || e.Dropped() != t.Dropped || !t.Dropped && !slices.Equal(e.Parts, t.Parts) {
			continue // made of less, or of what was taken away since
		}
		g := e.Generation()
		d := derivations[g]
		if d == nil {
			d = &Derivation{Generation: g, Formats: e.Formats, of: e.Parts}
			derivations[g] = d
		}
		if i := slices.IndexFunc(d.Runs, func(have *Entry) bool { return have.RootSpanID == e.RootSpanID }); e.RunID != "" && i < 0 {
			d.Runs = append(d.Runs, e)
		} else if e.RunID != "" && d.Runs[i].Signature == "" && e.Signature != "" {
			d.Runs[i] = e // the same tape, signed
		}
		if t.Current == nil || t.Current.Compare(g) < 0 {
			t.Current = d
		}
	}
	if t.Dropped {
		t.Parts = nil
	}
	if t.Current != nil {
		t.Parts = t.Current.of
		slices.SortFunc(t.Current.Runs, func(a, b *Entry) int { return strings.Compare(a.RootSpanID, b.RootSpanID) })
	}
	return t
}

// WithTapes tells whether the tapes of all runs are stored, and not only what the columns say of them: the others are to be derived from the parts.
func (d *Derivation) WithTapes() bool {
	return !slices.ContainsFunc(d.Runs, func(e *Entry) bool { return e.TapeBytes == 0 })
}

// evidenceAlone tells whether the rows have runs and none has its tape: whoever wrote them wants it so.
func (t *Trace) evidenceAlone() bool {
	runs := slices.ContainsFunc(t.Entries, func(e *Entry) bool { return e.RunID != "" })
	return runs && !slices.ContainsFunc(t.Entries, func(e *Entry) bool { return e.TapeBytes > 0 })
}

// order is compare, and of rows that say the same the one first that has content: in the reel that has it.
func (e *Entry) order(o *Entry) int {
	return cmp.Or(e.compare(&o.Meta), strings.Compare(e.Area, o.Area), strings.Compare(e.ReplayRunID, o.ReplayRunID), strings.Compare(e.TapeID, o.TapeID),
		slices.Compare(e.Parts, o.Parts), strings.Compare(dropped(e), dropped(o)), strings.Compare(e.Signature, o.Signature), -cmp.Compare(e.EvidenceBytes, o.EvidenceBytes), -cmp.Compare(e.TapeBytes, o.TapeBytes), strings.Compare(e.Keep, o.Keep))
}

// dropped orders rows with content before those without.
func dropped(e *Entry) string {
	if e.Dropped() {
		return e.Keep
	}
	return ""
}

// sameRow tells rows of which one is enough: the same run by the same derivation from the same part, or the same part without a run.
func (m *Meta) sameRow(o *Meta) bool {
	return m.compare(o) == 0 && m.Area == o.Area && m.ReplayRunID == o.ReplayRunID && m.TapeID == o.TapeID && slices.Equal(m.Parts, o.Parts) && m.Dropped() == o.Dropped() && m.Signature == o.Signature &&
		(m.EvidenceBytes == o.EvidenceBytes || o.EvidenceBytes == 0) && (m.TapeBytes == o.TapeBytes || o.TapeBytes == 0)
}

// Keep is why the content of the trace was kept: what the first of its rows with content says.
func (t *Trace) Keep() string {
	i := slices.IndexFunc(t.Entries, func(e *Entry) bool { return e.Dropped() == t.Dropped })
	if i < 0 {
		return ""
	}
	return t.Entries[i].Keep
}

// evidence is a row that has the evidence of a part; nil if none has.
func (t *Trace) evidence(part string) *Entry {
	i := slices.IndexFunc(t.Entries, func(e *Entry) bool { return e.Part == part && e.EvidenceBytes > 0 })
	if i < 0 {
		return nil
	}
	return t.Entries[i]
}
