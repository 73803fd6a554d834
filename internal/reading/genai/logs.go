// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
)

// logSlack is how far a record may lie outside the span it speaks of. Clocks of both are rounded to milliseconds, and a record is
// written a moment after the fact.
const logSlack = uint64(50 * time.Millisecond)

// eventNames are the functions of the dialects that name log events.
var eventNames []func(scope, recorded string) string

// logIndex answers which dialect a log event speaks for.
var logIndex = map[string]*dialect.Dialect{}

// EventName returns the name under which the dialects know a log event. Some producers write it without their prefix, some as an
// attribute only, and Rust's tracing writes the source location in its place.
func EventName(scope, recorded string, m pcommon.Map, body pcommon.Value) string {
	a := decode.Attributes(m)
	if strings.HasPrefix(recorded, "event ") {
		recorded = ""
	}
	decode.FillString(&recorded, a.Text("event.name", "event_name"))
	if recorded == "" {
		recorded = generic.EventOf(a, body) // loggers of structured records have a field of that name
	}
	for _, name := range eventNames {
		recorded = name(scope, recorded)
	}
	return recorded
}

// IsEvidenceLog reports whether a log record belongs to an agent run, by its event name (see EventName) and attributes. A record that says
// neither is evidence if it names a span and its body is certainly the call of a model or a tool.
func IsEvidenceLog(eventName string, record plog.LogRecord) bool {
	m := record.Attributes()
	if d := logDialect(eventName, m); d != nil {
		return d.Log(eventName, decode.Attributes(m)).Class != dialect.Unclassified
	}
	if strings.HasPrefix(eventName, "gen_ai.") || attributeMarks(m) != 0 {
		return true
	}
	if record.SpanID().IsEmpty() || !dialect.MayHoldCall(record.Body()) {
		return false
	}
	alone := pcommon.NewMap()
	record.Body().CopyTo(alone.PutEmpty(LogBody))
	return logDialect(eventName, alone) != nil
}

// LogRunID returns the id of the run that a log record belongs to, which separates runs without a trace id. It is empty if the record
// holds none.
func LogRunID(eventName string, m pcommon.Map) string {
	a := decode.Attributes(m)
	role := dialect.LogRole{Conversation: a.Text(conversationKeys...)}
	if d := logDialect(eventName, m); d != nil {
		role = d.Log(eventName, a)
	}
	if role.Run != "" {
		return role.Run
	}
	return role.Conversation
}

// ownerOfEvent returns the dialect whose event this is, by name or by the name's first word.
func ownerOfEvent(eventName string) *dialect.Dialect {
	if d := logIndex[eventName]; d != nil {
		return d
	}
	if end := strings.IndexByte(eventName, '.'); end > 0 {
		return logIndex[eventName[:end+1]]
	}
	return nil
}

// logDialect returns the dialect whose event this is; for events of producers that nobody knows, the one that goes by their shape.
func logDialect(eventName string, m pcommon.Map) *dialect.Dialect {
	if d := ownerOfEvent(eventName); d != nil {
		return d
	}
	if strings.HasPrefix(eventName, "gen_ai.") || generic.Unknown.Log(eventName, decode.Attributes(m)).Class == dialect.Unclassified || attributeMarks(m)&producer != 0 {
		return nil
	}
	return generic.Unknown
}

// roleOfLog reads the role of a record that travels as a span.
func roleOfLog(record ptrace.Span) dialect.LogRole {
	a := decode.Attributes(record.Attributes())
	if d := logDialect(record.Name(), record.Attributes()); d != nil {
		return d.Log(record.Name(), a)
	}
	if strings.HasPrefix(record.Name(), "gen_ai.") && !record.ParentSpanID().IsEmpty() {
		// events of one model call whose span never came
		return dialect.LogRole{
			Class: dialect.Model, Request: record.ParentSpanID().String(), Conversation: a.Text(conversationKeys...),
			Alone: record.Name() == "gen_ai.choice" || record.Name() == "gen_ai.client.inference.operation.details",
		}
	}
	return dialect.LogRole{}
}

// Arrange assigns the log records of one trace to spans (Source.Logs, in time order). A record goes to the span that it names, else by
// call id, request id or time. The records of a call or run without a span become a source of their own (alone), below the run that
// they belong to. rest are the records that belong to no call or run. Spans and logs must be in order of time.
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
	r.adoptIDs(logs)
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

	// What records may speak of, read when first needed: tools by call id, model calls and outermost runs by start.
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
	obs        *dialect.Observation
	lane       string
	start, end uint64
}

// logCall is a call or run that exists in log records only.
type logCall struct {
	role  dialect.LogRole // of the record that stands for it
	first *dialect.Source // that record
	parts map[string]bool
	logs  []*dialect.Source
	run   *logCall
	under pcommon.SpanID
	start uint64
	end   uint64
}

// additions hands the spans that only add to a call to that call. This is the call above them or, with some dialects, the last
// one beside them that they fit.
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

// adoptIDs finds the spans of tool calls whose records have other call ids, because the instrumentation of the spans numbers calls in its own way.
// A record names the span of its tool, or there are as many calls in records as in spans, and each record has the name of its span
// and was written when that ended.
func (r *arrangement) adoptIDs(logs []*dialect.Source) {
	var ids []string
	records := map[string]*dialect.Source{}
	for _, l := range logs {
		if role := roleOfLog(l.Span); role.Class == dialect.Tool && role.Alone && role.CallID != "" && records[role.CallID] == nil {
			records[role.CallID] = l
			ids = append(ids, role.CallID)
		}
	}
	if len(ids) == 0 {
		return
	}
	r.look()
	var inner []*dialect.Source
	views := map[*dialect.Source]*spanView{}
	for _, v := range r.tools {
		if records[v.obs.CallID] != nil {
			return // the ids meet
		}
		views[v.source] = v
	}
	for s := range views { // only the outermost report of a call
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
	adopted := map[string]*spanView{}
	for _, id := range ids {
		if v := views[r.byID[records[id].Span.ParentSpanID()]]; v != nil {
			adopted[id] = v
		}
	}
	if len(adopted) == 0 && len(ids) == len(views) {
		ended := slices.SortedFunc(maps.Values(views), func(a, b *spanView) int {
			x, y := a.source.Span.SpanID(), b.source.Span.SpanID()
			return cmp.Or(cmp.Compare(a.end, b.end), bytes.Compare(x[:], y[:]))
		})
		for i, id := range ids { // in order of time
			alone := *records[id]
			alone.Logs = []ptrace.Span{alone.Span}
			name := Read(&alone).Name
			if gap(uint64(alone.Span.StartTimestamp()), ended[i].end) > logSlack || name != ended[i].obs.Name && name != "" && ended[i].obs.Name != "" {
				return
			}
			adopted[id] = ended[i]
		}
	}
	for id, v := range adopted {
		r.tools[id] = v
	}
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
		bare := *s
		bare.Logs = nil
		o := Read(&bare)
		if up := r.byID[s.Span.ParentSpanID()]; o.Class == dialect.Tool && up != nil && up != s {
			r.runsTools[up] = true
		}
		v := &spanView{source: s, obs: o, start: uint64(s.Span.StartTimestamp()), end: uint64(s.Span.EndTimestamp())}
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
	if logDialect(l.Span.Name(), l.Span.Attributes()) == nil {
		return named
	}
	at := uint64(l.Span.StartTimestamp())
	r.look()
	if class := r.classOf(named); named != nil && logDialect(l.Span.Name(), l.Span.Attributes()) == generic.Unknown {
		if !role.Alone && (class == role.Class || class == dialect.Structure) {
			return named // what somebody writes by hand names the span that it stands in
		}
		if role.Class == dialect.Tool && class == dialect.Tool && r.reports(named, l) {
			return named
		}
		if role.Class == dialect.Model && class == dialect.Structure && generic.NamesModel(named.Span) && r.onlyOne(named, l) {
			return named
		}
	}
	switch role.Class {
	case dialect.Tool:
		if v := r.tools[role.CallID]; v != nil {
			return v.source
		}
		if class := r.classOf(named); role.CallID == "" && named != nil && (class == dialect.Tool || class == dialect.Structure && r.runsTools[named]) {
			return named // or one of the tool spans right below it, whichever it is
		}
		if role.CallID == "" && !role.Alone {
			return r.toolAt(l)
		}
	case dialect.Model:
		if r.classOf(named) == dialect.Model {
			return named
		}
		return r.modelAt(at, role)
	case dialect.Agent:
		for s, n := named, 0; s != nil && n < dialect.MaxReach; s, n = r.byID[s.Span.ParentSpanID()], n+1 {
			if r.runOf[s] {
				return s
			}
		}
		return r.enclosingRun(at)
	}
	return nil
}

// reports says that a record of a tool speaks of the call whose span it names: both name the same tool, and the span names no other call.
func (r *arrangement) reports(named, l *dialect.Source) bool {
	bare, alone := *named, *l
	bare.Logs, alone.Logs = nil, []ptrace.Span{l.Span}
	call, told := Read(&bare), Read(&alone)
	return call.Name == told.Name && (call.CallID == "" || told.CallID == "" || call.CallID == told.CallID)
}

// onlyOne says that a span is named by one record of such a name alone: one that several calls have is around them.
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
	bare := *s
	bare.Logs = nil
	return Read(&bare).Class
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

// toolAt finds the only tool span of the name that a record says which ran at the moment of the record and holds no result of its own: what the
// record names is the span of somebody else.
func (r *arrangement) toolAt(l *dialect.Source) *dialect.Source {
	alone := *l
	alone.Logs = []ptrace.Span{l.Span}
	name := Read(&alone).Name
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

// add puts a record that no span takes into the call or run it belongs to.
func (r *arrangement) add(l *dialect.Source, role dialect.LogRole) {
	run := r.runs[role.Run]
	if role.Run == "" {
		run = r.runs["\x00"+role.Conversation]
	}
	var c *logCall
	id := ""
	switch role.Class {
	case dialect.Agent:
		if c = run; role.Opens || c == nil {
			c = r.call(nil)
			if role.Run != "" {
				r.runs[role.Run] = c
			}
			r.runs["\x00"+role.Conversation] = c
		}
	case dialect.Tool:
		if id = role.CallID; id == "" {
			id = "\x00" + l.Span.SpanID().String()
		}
	case dialect.Model:
		if role.Request != "" {
			id = "\x01" + role.Request
			break
		}
		lane := role.Conversation + "\x00" + role.Run + "\x00" + role.Lane
		if c = r.lanes[lane]; c == nil || role.Opens || c.parts[role.Part] {
			c = r.call(run)
			r.lanes[lane] = c
		}
	}
	if id != "" {
		if c = r.calls[id]; c == nil {
			c = r.call(run)
			r.calls[id] = c
		}
	}
	if named := r.byID[l.Span.ParentSpanID()]; named != nil {
		c.under = l.Span.ParentSpanID()
	} else if c.run == nil && role.Class != dialect.Agent {
		if s := r.enclosingRun(uint64(l.Span.StartTimestamp())); s != nil {
			c.under = s.Span.SpanID()
		}
	}
	c.take(l, role)
	if c.run != nil {
		c.run.end = max(c.run.end, c.end)
	}
}

func (r *arrangement) call(run *logCall) *logCall {
	c := &logCall{run: run, parts: map[string]bool{}}
	r.made = append(r.made, c)
	return c
}

func (c *logCall) take(l *dialect.Source, role dialect.LogRole) {
	c.logs = append(c.logs, l)
	if role.Part != "" {
		c.parts[role.Part] = true
	}
	end := uint64(l.Span.StartTimestamp())
	start := end
	if lasted := uint64(role.Lasted); role.Lasted > 0 && lasted < start {
		start -= lasted
	}
	if c.start == 0 || start < c.start {
		c.start = start
	}
	c.end = max(c.end, end)
	if role.Alone && c.first == nil {
		c.first, c.role = l, role
	}
}

// sources turns the calls that can stand alone into sources; the records of the others are rest.
func (r *arrangement) sources(rest []*dialect.Source) (alone, left []*dialect.Source) {
	for _, c := range r.made {
		if c.first == nil {
			rest = append(rest, c.logs...)
			continue
		}
		span := ptrace.NewSpan()
		c.first.Span.CopyTo(span)
		span.SetStartTimestamp(pcommon.Timestamp(c.start))
		span.SetEndTimestamp(pcommon.Timestamp(c.end))
		if !c.under.IsEmpty() || c.role.Request == "" {
			span.SetParentSpanID(c.under)
		}
		if c.run != nil && c.run.first != nil {
			span.SetParentSpanID(c.run.first.Span.SpanID())
		}
		s := &dialect.Source{Resource: c.first.Resource, ScopeName: c.first.ScopeName, ScopeVersion: c.first.ScopeVersion, Span: span}
		for _, l := range c.logs {
			s.Logs = append(s.Logs, l.Span)
		}
		alone = append(alone, s)
	}
	return alone, rest
}
