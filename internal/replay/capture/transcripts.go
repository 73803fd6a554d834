// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
)

// sessionKeys are attributes by which telemetry and transcripts name a session.
var sessionKeys = []string{"session.id", "conversation.id", "gen_ai.conversation.id"}

// sessionNames are the sessions that telemetry or a transcript names, each with its traces.
type sessionNames map[string]map[pcommon.TraceID]bool

func (s sessionNames) add(m pcommon.Map, trace pcommon.TraceID) {
	for _, key := range sessionKeys {
		v, ok := m.Get(key)
		if !ok || v.Str() == "" {
			continue
		}
		if s[v.Str()] == nil {
			s[v.Str()] = map[pcommon.TraceID]bool{}
		}
		if !trace.IsEmpty() {
			s[v.Str()][trace] = true
		}
	}
}

// sessions lists what the held telemetry names, with the name of the service of a trace.
func (c *Capture) sessions(trace pcommon.TraceID) (names sessionNames, service string) {
	names = sessionNames{}
	for _, d := range c.held {
		switch d.Signal {
		case otlpfile.SignalTraces:
			for _, rs := range d.Traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, span := range ss.Spans().All() {
						if names.add(span.Attributes(), span.TraceID()); span.TraceID() == trace {
							service = serviceName(rs.Resource(), service)
						}
					}
				}
			}
		case otlpfile.SignalLogs:
			for _, record := range records(d.Logs) {
				names.add(record.Attributes(), record.TraceID())
			}
		}
	}
	return names, service
}

func serviceName(r pcommon.Resource, otherwise string) string {
	if v, ok := r.Attributes().Get("service.name"); ok {
		return v.Str()
	}
	return otherwise
}

func records(ld plog.Logs) (list []plog.LogRecord) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				list = append(list, record)
			}
		}
	}
	return list
}

// mostTranscripts bounds the files that are looked at.
const mostTranscripts = 100_000

// AddTranscripts adds what a program has written down of the sessions that its telemetry names, as evidence
// of the trace with most evidence: one run, told by spans and by its transcript. A session that began before
// the command is left to the import, because its earlier prompts are runs of their own. So is a session of
// several traces, unless the telemetry of the program tells neither requests nor answers.
func (c *Capture) AddTranscripts(p *agentprofile.Profile, began time.Time) {
	folder := p.TranscriptFolder(c.Environ)
	trace, some := mainTrace(c.held)
	if folder == "" || !some {
		return
	}
	names, service := c.sessions(trace)
	looked := 0
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if looked++; err != nil || looked > mostTranscripts || !entry.Type().IsRegular() || filepath.Ext(path) != ".jsonl" {
			return nil // what cannot be read is no transcript of this run
		}
		if info, err := entry.Info(); err == nil && !info.ModTime().Before(began) {
			c.addTranscript(path, &told{trace, service, names, began, p.Requests, p.Lacks == ""})
		}
		return nil
	})
}

// told is what the telemetry tells of the run that a transcript may be of.
type told struct {
	trace    pcommon.TraceID
	service  string
	names    sessionNames
	began    time.Time
	requests string // the event of the lines that tell requests, "" where any may
	content  bool   // of what was asked and answered
}

// addTranscript adds one file, if it is of a session that the telemetry names.
func (c *Capture) addTranscript(path string, of *told) {
	var lines []plog.Logs
	first := pcommon.Timestamp(0)
	own, tells := sessionNames{}, of.requests == ""
	for doc, err := range foreign.ReadFile(path, nil, otlpfile.Options{}) {
		if err != nil {
			c.Say("%s", err.Error())
			continue
		}
		for _, record := range records(doc.Logs) {
			one := sessionNames{}
			if one.add(record.Attributes(), of.trace); of.names.traces(one) < 0 {
				return
			}
			maps.Copy(own, one)
			tells = tells || record.EventName() == of.requests
			if at := record.Timestamp(); first == 0 || at < first {
				first = at
			}
			record.SetTraceID(of.trace)
		}
		for _, rl := range doc.Logs.ResourceLogs().All() {
			rl.Resource().Attributes().PutStr("service.name", of.service)
		}
		lines = append(lines, doc.Logs)
	}
	switch {
	case len(lines) == 0:
	case first.AsTime().Before(of.began.Truncate(time.Second)): // programs round the times of lines
		c.Say("%s tells of a session that began earlier: tapedeck import makes tapes of it", path)
	case !tells:
		c.Say("%s holds no requests, and is left aside: tapedeck import makes tapes of it", path)
	case of.content && of.names.traces(own) > 1:
		c.Say("%s tells of several runs, and is left aside: tapedeck import makes tapes of it", path)
	default:
		for _, ld := range lines {
			c.AddLogs(ld)
		}
		c.Say("the transcript is evidence of the run, too: %s", path)
	}
}

// traces counts the traces of the sessions that another list names, -1 where it names none of them.
func (s sessionNames) traces(of sessionNames) (n int) {
	n = -1
	for name := range of {
		if traces, ok := s[name]; ok {
			n = max(n, len(traces))
		}
	}
	return n
}
