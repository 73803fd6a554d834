// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
)

// logSlack is how far a record may lie outside the span it speaks of. The clocks of both are rounded to
// milliseconds, and a record is written a moment after the fact.
const logSlack = uint64(50 * time.Millisecond)

// Arrange assigns the log records of one trace to spans (Source.Logs, in time order). A record goes to the
// span that it names, else by call id, request id or time. The records of a call or run without a span become
// a source of their own (alone), below the run that they belong to. rest are the records that belong to no
// call or run. Spans and logs must be in order of time.
func Arrange(spans, logs []*dialect.Source) (alone, rest []*dialect.Source) {
	logs = slices.Clone(logs)
	slices.SortStableFunc(logs, dialect.CompareLogs)
	r := &arrangement{logs: logs, byID: make(map[pcommon.SpanID]*dialect.Source, len(spans)), spans: spans, calls: map[string]*logCall{}, lanes: map[string]*logCall{}, runs: map[string]*logCall{}}
	for _, s := range spans {
		if _, twice := r.byID[s.Span.SpanID()]; !twice {
			r.byID[s.Span.SpanID()] = s
		}
	}
	r.additions()
	r.adoptIDs()
	for _, d := range Dialects {
		if d.Assign == nil {
			continue
		}
		own := func(l *dialect.Source) bool { return logDialect(l.Span.Name(), l.Span.Attributes()) == d }
		if i := slices.IndexFunc(logs, own); i >= 0 {
			ownAlone, ownRest := d.Assign(spans, slices.DeleteFunc(slices.Clone(logs), func(l *dialect.Source) bool { return !own(l) }))
			alone, rest = append(alone, ownAlone...), append(rest, ownRest...)
			logs = slices.DeleteFunc(logs, own)
		}
	}
	for _, l := range logs {
		role := roleOfLog(l.Span)
		if s := r.spanOf(l, role); s != nil {
			s.Logs = append(s.Logs, l.Span)
			continue
		}
		if role.Class == dialect.Unclassified {
			rest = append(rest, l)
			continue
		}
		r.add(l, role)
	}
	made, rest := r.sources(rest)
	return append(alone, made...), rest
}

// arrangement is the state of Arrange.
type arrangement struct {
	spans []*dialect.Source
	byID  map[pcommon.SpanID]*dialect.Source

	// What records may speak of, read when first needed: tools by call id, model calls and outermost runs by
	// start.
	read   bool
	tools  map[string]*spanView
	ran    []*spanView // tools by start, with an id or without
	models []*spanView
	outer  []*spanView
	runOf  map[*dialect.Source]bool
	// runsTools are the spans right above tool spans.
	runsTools map[*dialect.Source]bool

	logs  []*dialect.Source
	named map[recordName]int // how many records there are, read when first needed

	made  []*logCall
	calls map[string]*logCall // by call or request id
	lanes map[string]*logCall // the last model call of a lane
	runs  map[string]*logCall // by run id, and the last one of a conversation
}

// recordName is the span that a record names, and its own name.
type recordName struct {
	span pcommon.SpanID
	name string
}

// spanView is what deciding about log records needs to know of a span.
type spanView struct {
	source     *dialect.Source
	obs        *dialect.Report
	lane       string
	start, end uint64
}

// additions hands the spans that only add to a call to that call. This is the call above them or, with some
// dialects, the last call beside them that they fit.
func (r *arrangement) additions() {
	for i, s := range r.spans {
		d := adding(s)
		if d == nil {
			continue
		}
		call := r.callAbove(s, d)
		if d.AddsTo != nil {
			call = nil
			for j := i - 1; j >= max(0, i-dialect.MaxReach) && call == nil; j-- {
				if c := r.spans[j]; len(c.Also) == 0 && c.ScopeName == s.ScopeName && adding(c) == nil && d.AddsTo(s.Span, c.Span) {
					call = c
				}
			}
		}
		if call != nil {
			call.Also, s.Addition = append(call.Also, s.Span), true
		}
	}
}

func (r *arrangement) callAbove(s *dialect.Source, d *dialect.Dialect) *dialect.Source {
	own, _ := classOf(d, s)
	if own != dialect.Tool {
		own = dialect.Model
	}
	for up, n := r.byID[s.Span.ParentSpanID()], 0; up != nil && n < dialect.MaxReach; up, n = r.byID[up.Span.ParentSpanID()], n+1 {
		if class, _ := classOf(d, up); class == own && adding(up) == nil {
			return up
		}
	}
	return nil
}

func adding(s *dialect.Source) *dialect.Dialect {
	for _, d := range Dialects {
		if d.Adds != nil && d.Adds(s.Span) && scopeMarks(s.ScopeName)&(1<<slices.Index(Dialects, d)) != 0 {
			return d
		}
	}
	return nil
}

// look reads the spans that records may speak of.
func (r *arrangement) look() {
	if r.read {
		return
	}
	r.read = true
	r.tools, r.runOf, r.runsTools = map[string]*spanView{}, map[*dialect.Source]bool{}, map[*dialect.Source]bool{}
	var runs []*spanView
	for _, s := range r.spans {
		v := &spanView{source: s, obs: readBare(s), start: uint64(s.Span.StartTimestamp()), end: uint64(s.Span.EndTimestamp())}
		o := v.obs
		if up := r.byID[s.Span.ParentSpanID()]; o.Class == dialect.Tool && up != nil && up != s {
			r.runsTools[up] = true
		}
		v.lane = decode.Attributes(s.Span.Attributes()).Text("agent_id")
		if o.Class == dialect.Tool {
			r.ran = append(r.ran, v)
		}
		switch {
		case o.Class == dialect.Tool && o.CallID != "":
			if first := r.tools[o.CallID]; first == nil || first.obs.MCPLeg && !o.MCPLeg {
				r.tools[o.CallID] = v
			}
		case o.Class == dialect.Model:
			r.models = append(r.models, v)
		case o.Class == dialect.Agent && o.RunSpan:
			r.runOf[s] = true
			runs = append(runs, v)
		}
	}
	slices.SortStableFunc(r.models, byStart)
	slices.SortStableFunc(r.ran, byStart)
	slices.SortStableFunc(runs, byStart)
	end := uint64(0)
	for _, v := range runs { // those within an earlier one are sub-agents
		if v.end > end || len(r.outer) == 0 {
			r.outer, end = append(r.outer, v), v.end
		}
	}
}

// readBare reads a span without its log records.
func readBare(s *dialect.Source) *dialect.Report {
	bare := *s
	bare.Logs = nil
	return Read(&bare)
}

// readRecord reads a log record as if it stood for a call by itself.
func readRecord(l *dialect.Source) *dialect.Report {
	alone := *l
	alone.Logs = []ptrace.Span{l.Span}
	return Read(&alone)
}

func byStart(a, b *spanView) int {
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c
	}
	return cmp.Compare(b.end, a.end)
}

// around lists the views, latest first, that lie around a moment.
func around(views []*spanView, at uint64) []*spanView {
	n, _ := slices.BinarySearchFunc(views, at+logSlack+1, func(v *spanView, t uint64) int { return cmp.Compare(v.start, t) })
	var out []*spanView
	for i := n - 1; i >= max(0, n-dialect.MaxReach); i-- {
		if at <= views[i].end+logSlack {
			out = append(out, views[i])
		}
	}
	return out
}

// spanOf finds the span that a record speaks of.
func (r *arrangement) spanOf(l *dialect.Source, role dialect.LogRole) *dialect.Source {
	named := r.byID[l.Span.ParentSpanID()]
	d := logDialect(l.Span.Name(), l.Span.Attributes())
	if d == nil {
		return named
	}
	r.look()
	if named != nil && d == generic.Unknown && r.meansNamed(named, l, role) {
		return named
	}
	switch role.Class {
	case dialect.Tool:
		return r.toolOf(named, l, role)
	case dialect.Model:
		if r.classOf(named) == dialect.Model {
			return named
		}
		return r.modelAt(uint64(l.Span.StartTimestamp()), role)
	case dialect.Agent:
		for s, n := named, 0; s != nil && n < dialect.MaxReach; s, n = r.byID[s.Span.ParentSpanID()], n+1 {
			if r.runOf[s] {
				return s
			}
		}
		return r.enclosingRun(uint64(l.Span.StartTimestamp()))
	}
	return nil
}

// meansNamed reports that a record of an unknown producer speaks of the span that it names. A record that
// somebody writes by hand names the span that it stands in.
func (r *arrangement) meansNamed(named, l *dialect.Source, role dialect.LogRole) bool {
	class := r.classOf(named)
	switch {
	case !role.Alone && (class == role.Class || class == dialect.Structure):
		return true
	case role.Class == dialect.Tool:
		return class == dialect.Tool && r.reports(named, l)
	case role.Class == dialect.Model:
		return class == dialect.Structure && generic.NamesModel(named.Span) && r.onlyOne(named, l)
	}
	return false
}

// toolOf finds the span of the tool call that a record speaks of. A record without a call id may name a span
// right above tool spans, and speak of whichever of these.
func (r *arrangement) toolOf(named, l *dialect.Source, role dialect.LogRole) *dialect.Source {
	if v := r.tools[role.CallID]; v != nil {
		return v.source
	}
	if role.CallID != "" {
		return nil
	}
	if class := r.classOf(named); named != nil && (class == dialect.Tool || class == dialect.Structure && r.runsTools[named]) {
		return named
	}
	if !role.Alone {
		return r.toolAt(l)
	}
	return nil
}

// reports says that a record of a tool speaks of the call whose span it names: both name the same tool, and
// the span names no other call.
func (r *arrangement) reports(named, l *dialect.Source) bool {
	call, told := readBare(named), readRecord(l)
	return call.Name == told.Name && (call.CallID == "" || told.CallID == "" || call.CallID == told.CallID)
}

// onlyOne says that one record alone of such a name names the span. A span that several name is around their
// calls.
func (r *arrangement) onlyOne(named, l *dialect.Source) bool {
	if r.named == nil {
		r.named = map[recordName]int{}
		for _, l := range r.logs {
			r.named[recordName{l.Span.ParentSpanID(), l.Span.Name()}]++
		}
	}
	return r.named[recordName{named.Span.SpanID(), l.Span.Name()}] == 1
}

func (r *arrangement) classOf(s *dialect.Source) dialect.Class {
	if s == nil {
		return dialect.Unclassified
	}
	return readBare(s).Class
}

// modelAt finds the model call that a moment lies in, else the one that ended, or starts, next to it.
func (r *arrangement) modelAt(at uint64, role dialect.LogRole) *dialect.Source {
	var best *spanView
	var distance uint64
	within := false
	for _, v := range around(r.models, at) {
		if role.Lane != "" && v.lane != "" && role.Lane != v.lane {
			continue
		}
		if role.Request != "" && v.obs.ResponseID == role.Request {
			return v.source
		}
		inside := at >= v.start && at <= v.end
		if within && !inside {
			continue
		}
		d := gap(at, v.end)
		if role.AtStart {
			d = gap(at, v.start)
		}
		if best == nil || inside && !within || d < distance {
			best, distance, within = v, d, inside
		}
	}
	if best == nil {
		return nil
	}
	return best.source
}

// toolAt finds the only tool span that has the name of the record, ran at its moment and holds no result. The
// record names the span of somebody else.
func (r *arrangement) toolAt(l *dialect.Source) *dialect.Source {
	name := readRecord(l).Name
	var found *dialect.Source
	for _, v := range around(r.ran, uint64(l.Span.StartTimestamp())) {
		if v.obs.Name != name || v.obs.Result.Present() {
			continue
		}
		if found != nil {
			return nil
		}
		found = v.source
	}
	return found
}

// enclosingRun returns the only outermost run span whose time holds a moment.
func (r *arrangement) enclosingRun(at uint64) *dialect.Source {
	r.look()
	if runs := around(r.outer, at); len(runs) == 1 {
		return runs[0].source
	}
	return nil
}

func gap(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return b - a
}
