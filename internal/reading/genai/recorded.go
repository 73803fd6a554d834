// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

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

// add puts a record that no span takes into the call or run it belongs to.
func (r *arrangement) add(l *dialect.Source, role dialect.LogRole) {
	c := r.callOf(l, role)
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

// callOf finds or makes the call or run of a record: by id, else, of a model call, by the lane of its agent.
func (r *arrangement) callOf(l *dialect.Source, role dialect.LogRole) *logCall {
	run := r.runs[role.Run]
	if role.Run == "" {
		run = r.runs["\x00"+role.Conversation]
	}
	id := ""
	switch role.Class {
	case dialect.Agent:
		return r.runCall(run, role)
	case dialect.Tool:
		if id = role.CallID; id == "" {
			id = "\x00" + l.Span.SpanID().String()
		}
	case dialect.Model:
		if role.Request == "" {
			return r.laneCall(run, role)
		}
		id = "\x01" + role.Request
	}
	c := r.calls[id]
	if c == nil {
		c = r.call(run)
		r.calls[id] = c
	}
	return c
}

// runCall returns the run that a record of a whole run speaks of.
func (r *arrangement) runCall(run *logCall, role dialect.LogRole) *logCall {
	if run != nil && !role.Opens {
		return run
	}
	c := r.call(nil)
	if role.Run != "" {
		r.runs[role.Run] = c
	}
	r.runs["\x00"+role.Conversation] = c
	return c
}

// laneCall returns the last model call of a lane, or a new one where the record opens one or adds a part
// twice.
func (r *arrangement) laneCall(run *logCall, role dialect.LogRole) *logCall {
	lane := role.Conversation + "\x00" + role.Run + "\x00" + role.Lane
	c := r.lanes[lane]
	if c == nil || role.Opens || c.parts[role.Part] {
		c = r.call(run)
		r.lanes[lane] = c
	}
	return c
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

// sources turns the calls that can stand alone into sources. The records of the others are added to rest.
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
