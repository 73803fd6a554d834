// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Attributes of log records that travel as spans. What a span has no field for stands in attributes of the span.
const (
	LogBody           = "log.record.body"
	LogEventName      = "log.record.event_name"
	LogScopeName      = "log.record.scope.name"
	LogSeverityNumber = "log.record.severity_number"
	LogSeverityText   = "log.record.severity_text"
	LogFlags          = "log.record.flags"
	LogObservedTime   = "log.record.observed_time" // ns since 1970; absent where it is the time of the record
)

// LogEnvelope names the attributes that say how a record was carried, and nothing about the run.
var LogEnvelope = []string{LogSeverityNumber, LogSeverityText, LogFlags, LogObservedTime}

// logRole says what a log record speaks of.
type logRole struct {
	// class is Agent for a whole run, Model or Tool for one call; Unclassified is no evidence.
	class Class
	// part names what the record adds to its call: the same part twice is two calls. Empty parts may repeat.
	part string
	// opens starts a new call, alone stands for one where no span does.
	opens, alone bool
	// callID and request identify the call, run and conversation what it belongs to, lane the agent within: calls of different
	// lanes may interleave.
	callID, request, run, conversation, lane string
	// atStart says that the record is written when the call begins; else it is written when it ends, after lasted.
	atStart bool
	lasted  time.Duration
}

// logSlack is how far a record may lie outside the span it speaks of: their clocks are rounded to milliseconds, and a record is
// written a moment after the fact.
const logSlack = uint64(50 * time.Millisecond)

// maxReach bounds how far a span or record is looked for around another, so that hostile traces cost no more than long ones.
const maxReach = 256

// eventNames are the functions of the dialects that name log events.
var eventNames []func(scope, recorded string) string

// logIndex answers which dialect a log event speaks for.
var logIndex = map[string]*Dialect{}

// EventName is the name of a log event in the form that the dialects know. Some producers write it without their prefix, some only
// as an attribute, and Rust's tracing puts the place in the source into the record's own field.
func EventName(scope, recorded string, m pcommon.Map) string {
	a := attributes(m)
	if strings.HasPrefix(recorded, "event ") {
		recorded = ""
	}
	str(&recorded, a.str("event.name", "event_name"))
	for _, name := range eventNames {
		recorded = name(scope, recorded)
	}
	return recorded
}

// IsEvidenceLog reports whether a log record belongs to an agent run, by its event name (see EventName) and attributes.
func IsEvidenceLog(eventName string, m pcommon.Map) bool {
	if d := logDialect(eventName); d != nil {
		return d.log(eventName, attributes(m)).class != Unclassified || tagMarks(m) != 0
	}
	return strings.HasPrefix(eventName, "gen_ai.") || attributeMarks(m)|tagMarks(m) != 0
}

// LogRunID returns the id of the run that a log record belongs to: what tells runs apart when no trace does. Empty when the record
// holds none.
func LogRunID(eventName string, m pcommon.Map) string {
	a := attributes(m)
	role := logRole{conversation: a.str(conversationKeys...)}
	if d := logDialect(eventName); d != nil {
		role = d.log(eventName, a)
	}
	if role.run != "" {
		return role.run
	}
	return role.conversation
}

// logDialect returns the dialect whose event this is, by name or by the name's first word.
func logDialect(eventName string) *Dialect {
	if d := logIndex[eventName]; d != nil {
		return d
	}
	if end := strings.IndexByte(eventName, '.'); end > 0 {
		return logIndex[eventName[:end+1]]
	}
	return nil
}

// roleOfLog reads the role of a record that travels as a span.
func roleOfLog(record ptrace.Span) logRole {
	a := attributes(record.Attributes())
	if d := logDialect(record.Name()); d != nil {
		return d.log(record.Name(), a)
	}
	if strings.HasPrefix(record.Name(), "gen_ai.") && !record.ParentSpanID().IsEmpty() {
		// events of one model call whose span never came
		return logRole{
			class: Model, request: record.ParentSpanID().String(), conversation: a.str(conversationKeys...),
			alone: record.Name() == "gen_ai.choice" || record.Name() == "gen_ai.client.inference.operation.details",
		}
	}
	return logRole{}
}

// Arrange hands the log records of one trace to the spans they speak of (Source.Logs, in time order): the span they name, or the
// one of their call id, their request id or their time. Where no span speaks of a call or a run, its records become a source of
// their own, with all of them as its Logs, below the run they belong to. Records that speak of nothing are returned as rest.
// Spans and logs are in order of time.
func Arrange(spans, logs []*Source) (alone, rest []*Source) {
	logs = slices.Clone(logs)
	slices.SortStableFunc(logs, compareLogs)
	r := &arrangement{byID: make(map[pcommon.SpanID]*Source, len(spans)), spans: spans, calls: map[string]*logCall{}, lanes: map[string]*logCall{}, runs: map[string]*logCall{}}
	for _, s := range spans {
		if _, twice := r.byID[s.Span.SpanID()]; !twice {
			r.byID[s.Span.SpanID()] = s
		}
	}
	r.additions()
	for _, d := range Dialects {
		if d.assign == nil {
			continue
		}
		own := func(l *Source) bool { return logDialect(l.Span.Name()) == d }
		if i := slices.IndexFunc(logs, own); i >= 0 {
			ownAlone, ownRest := d.assign(spans, slices.DeleteFunc(slices.Clone(logs), func(l *Source) bool { return !own(l) }))
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
		if role.class == Unclassified {
			rest = append(rest, l)
			continue
		}
		r.add(l, role)
	}
	made, rest := r.sources(rest)
	return append(alone, made...), rest
}

// compareLogs orders records by time, then by the number that their producer gave them.
func compareLogs(a, b *Source) int {
	if c := cmp.Compare(a.Span.StartTimestamp(), b.Span.StartTimestamp()); c != 0 {
		return c
	}
	x, y := attributes(a.Span.Attributes()).count("event.sequence"), attributes(b.Span.Attributes()).count("event.sequence")
	if x != nil && y != nil {
		if c := cmp.Compare(*x, *y); c != 0 {
			return c
		}
	}
	i, j := a.Span.SpanID(), b.Span.SpanID()
	return bytes.Compare(i[:], j[:])
}

// arrangement is the state of Arrange.
type arrangement struct {
	spans []*Source
	byID  map[pcommon.SpanID]*Source

	// What records may speak of, read when first needed: tools by call id, model calls and outermost runs by start.
	read   bool
	tools  map[string]*spanView
	models []*spanView
	outer  []*spanView
	runOf  map[*Source]bool
	// runsTools are the spans right above tool spans.
	runsTools map[*Source]bool

	made  []*logCall
	calls map[string]*logCall // by call or request id
	lanes map[string]*logCall // the last model call of a lane
	runs  map[string]*logCall // by run id, and the last one of a conversation
}

// spanView is what deciding about log records needs to know of a span.
type spanView struct {
	source     *Source
	obs        *Observation
	lane       string
	start, end uint64
}

// logCall is a call or run that exists in log records only.
type logCall struct {
	role  logRole // of the record that stands for it
	first *Source // that record
	parts map[string]bool
	logs  []*Source
	run   *logCall
	under pcommon.SpanID
	start uint64
	end   uint64
}

// additions hands the spans that only add to a call to it: the one above them or, with some dialects, the last one beside
// them that they fit.
func (r *arrangement) additions() {
	for i, s := range r.spans {
		d := adding(s)
		if d == nil {
			continue
		}
		call := r.callAbove(s, d)
		if d.addsTo != nil {
			call = nil
			for j := i - 1; j >= max(0, i-maxReach) && call == nil; j-- {
				if c := r.spans[j]; len(c.Also) == 0 && c.ScopeName == s.ScopeName && adding(c) == nil && d.addsTo(s.Span, c.Span) {
					call = c
				}
			}
		}
		if call != nil {
			call.Also, s.addition = append(call.Also, s.Span), true
		}
	}
}

func (r *arrangement) callAbove(s *Source, d *Dialect) *Source {
	own, _ := classOf(d, s)
	if own != Tool {
		own = Model
	}
	for up, n := r.byID[s.Span.ParentSpanID()], 0; up != nil && n < maxReach; up, n = r.byID[up.Span.ParentSpanID()], n+1 {
		if class, _ := classOf(d, up); class == own && adding(up) == nil {
			return up
		}
	}
	return nil
}

func adding(s *Source) *Dialect {
	for _, d := range Dialects {
		if d.adds != nil && d.adds(s.Span) && scopeMarks(s.ScopeName)&(1<<slices.Index(Dialects, d)) != 0 {
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
	r.tools, r.runOf, r.runsTools = map[string]*spanView{}, map[*Source]bool{}, map[*Source]bool{}
	var runs []*spanView
	for _, s := range r.spans {
		bare := *s
		bare.Logs = nil
		o := Read(&bare)
		if up := r.byID[s.Span.ParentSpanID()]; o.Class == Tool && up != nil && up != s {
			r.runsTools[up] = true
		}
		v := &spanView{source: s, obs: o, start: uint64(s.Span.StartTimestamp()), end: uint64(s.Span.EndTimestamp())}
		v.lane = attributes(s.Span.Attributes()).str("agent_id")
		switch {
		case o.Class == Tool && o.CallID != "":
			if first := r.tools[o.CallID]; first == nil || first.obs.MCPLeg && !o.MCPLeg {
				r.tools[o.CallID] = v
			}
		case o.Class == Model:
			r.models = append(r.models, v)
		case o.Class == Agent && o.RunSpan:
			r.runOf[s] = true
			runs = append(runs, v)
		}
	}
	slices.SortStableFunc(r.models, byStart)
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
	for i := n - 1; i >= max(0, n-maxReach); i-- {
		if at <= views[i].end+logSlack {
			out = append(out, views[i])
		}
	}
	return out
}

// spanOf finds the span that a record speaks of.
func (r *arrangement) spanOf(l *Source, role logRole) *Source {
	named := r.byID[l.Span.ParentSpanID()]
	if logDialect(l.Span.Name()) == nil {
		return named
	}
	at := uint64(l.Span.StartTimestamp())
	r.look()
	switch role.class {
	case Tool:
		if v := r.tools[role.callID]; v != nil {
			return v.source
		}
		if class := r.classOf(named); role.callID == "" && named != nil && (class == Tool || class == Structure && r.runsTools[named]) {
			return named // or one of the tool spans right below it, whichever it is
		}
	case Model:
		if r.classOf(named) == Model {
			return named
		}
		return r.modelAt(at, role)
	case Agent:
		for s, n := named, 0; s != nil && n < maxReach; s, n = r.byID[s.Span.ParentSpanID()], n+1 {
			if r.runOf[s] {
				return s
			}
		}
		return r.enclosingRun(at)
	}
	return nil
}

func (r *arrangement) classOf(s *Source) Class {
	if s == nil {
		return Unclassified
	}
	bare := *s
	bare.Logs = nil
	return Read(&bare).Class
}

// modelAt finds the model call that a moment lies in, else the one that ended, or starts, next to it.
func (r *arrangement) modelAt(at uint64, role logRole) *Source {
	var best *spanView
	var distance uint64
	within := false
	for _, v := range around(r.models, at) {
		if role.lane != "" && v.lane != "" && role.lane != v.lane {
			continue
		}
		if role.request != "" && v.obs.ResponseID == role.request {
			return v.source
		}
		inside := at >= v.start && at <= v.end
		if within && !inside {
			continue
		}
		d := gap(at, v.end)
		if role.atStart {
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

// enclosingRun returns the only outermost run span whose time holds a moment.
func (r *arrangement) enclosingRun(at uint64) *Source {
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
func (r *arrangement) add(l *Source, role logRole) {
	run := r.runs[role.run]
	if role.run == "" {
		run = r.runs["\x00"+role.conversation]
	}
	var c *logCall
	id := ""
	switch role.class {
	case Agent:
		if c = run; role.opens || c == nil {
			c = r.call(nil)
			if role.run != "" {
				r.runs[role.run] = c
			}
			r.runs["\x00"+role.conversation] = c
		}
	case Tool:
		if id = role.callID; id == "" {
			id = "\x00" + l.Span.SpanID().String()
		}
	case Model:
		if role.request != "" {
			id = "\x01" + role.request
			break
		}
		lane := role.conversation + "\x00" + role.run + "\x00" + role.lane
		if c = r.lanes[lane]; c == nil || role.opens || c.parts[role.part] {
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
	} else if c.run == nil && role.class != Agent {
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

func (c *logCall) take(l *Source, role logRole) {
	c.logs = append(c.logs, l)
	if role.part != "" {
		c.parts[role.part] = true
	}
	end := uint64(l.Span.StartTimestamp())
	start := end
	if lasted := uint64(role.lasted); role.lasted > 0 && lasted < start {
		start -= lasted
	}
	if c.start == 0 || start < c.start {
		c.start = start
	}
	c.end = max(c.end, end)
	if role.alone && c.first == nil {
		c.first, c.role = l, role
	}
}

// sources turns the calls that can stand alone into sources; the records of the others are rest.
func (r *arrangement) sources(rest []*Source) (alone, left []*Source) {
	for _, c := range r.made {
		if c.first == nil {
			rest = append(rest, c.logs...)
			continue
		}
		span := ptrace.NewSpan()
		c.first.Span.CopyTo(span)
		span.SetStartTimestamp(pcommon.Timestamp(c.start))
		span.SetEndTimestamp(pcommon.Timestamp(c.end))
		if !c.under.IsEmpty() || c.role.request == "" {
			span.SetParentSpanID(c.under)
		}
		if c.run != nil && c.run.first != nil {
			span.SetParentSpanID(c.run.first.Span.SpanID())
		}
		s := &Source{Resource: c.first.Resource, ScopeName: c.first.ScopeName, ScopeVersion: c.first.ScopeVersion, Span: span}
		for _, l := range c.logs {
			s.Logs = append(s.Logs, l.Span)
		}
		alone = append(alone, s)
	}
	return alone, rest
}
