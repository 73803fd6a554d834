// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// adoptIDs finds the spans of tool calls whose records have other call ids: the instrumentation of the spans
// numbers calls in its own way. A record names the span of its tool; or there are as many calls in records as
// in spans, and each record has the name of its span and was written when that ended.
func (r *arrangement) adoptIDs() {
	ids, records := r.recordedCalls()
	if len(ids) == 0 {
		return
	}
	r.look()
	views := map[*dialect.Source]*spanView{}
	for _, v := range r.tools {
		if records[v.obs.CallID] != nil {
			return // the ids meet
		}
		views[v.source] = v
	}
	r.keepOutermost(views)
	adopted := map[string]*spanView{}
	for _, id := range ids {
		if v := views[r.byID[records[id].Span.ParentSpanID()]]; v != nil {
			adopted[id] = v
		}
	}
	if len(adopted) == 0 && len(ids) == len(views) {
		adopted = byEnd(ids, records, views)
	}
	for id, v := range adopted {
		r.tools[id] = v
	}
}

// recordedCalls returns the ids of the tool calls that stand in records alone, in order of time, with their
// records.
func (r *arrangement) recordedCalls() (ids []string, records map[string]*dialect.Source) {
	records = map[string]*dialect.Source{}
	for _, l := range r.logs {
		if role := roleOfLog(l.Span); role.Class == dialect.Tool && role.Alone && role.CallID != "" && records[role.CallID] == nil {
			records[role.CallID] = l
			ids = append(ids, role.CallID)
		}
	}
	return ids, records
}

// keepOutermost drops the reports of a call that lie below another report of it.
func (r *arrangement) keepOutermost(views map[*dialect.Source]*spanView) {
	var inner []*dialect.Source
	for s := range views {
		up := r.byID[s.Span.ParentSpanID()]
		for n := 0; up != nil && views[up] == nil && n < dialect.MaxReach; n++ {
			up = r.byID[up.Span.ParentSpanID()]
		}
		if up != nil && up != s {
			inner = append(inner, s)
		}
	}
	for _, s := range inner {
		delete(views, s)
	}
}

// byEnd pairs recorded calls with spans in the order in which these ended. It returns nil where a record was
// not written when its span ended, or names another tool.
func byEnd(ids []string, records map[string]*dialect.Source, views map[*dialect.Source]*spanView) map[string]*spanView {
	ended := slices.SortedFunc(maps.Values(views), func(a, b *spanView) int {
		x, y := a.source.Span.SpanID(), b.source.Span.SpanID()
		return cmp.Or(cmp.Compare(a.end, b.end), bytes.Compare(x[:], y[:]))
	})
	paired := map[string]*spanView{}
	for i, id := range ids {
		l, v := records[id], ended[i]
		name := readRecord(l).Name
		if gap(uint64(l.Span.StartTimestamp()), v.end) > logSlack || name != v.obs.Name && name != "" && v.obs.Name != "" {
			return nil
		}
		paired[id] = v
	}
	return paired
}
