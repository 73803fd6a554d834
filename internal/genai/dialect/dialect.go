// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package dialect defines what a dialect is: the row of the table (Dialect), one recorded item (Source) and what it says
// (Observation). It also holds the readers that several dialects share.
//
// Each folder below is one vendor or convention, with its rows, its mapping functions, its tests and its fixtures. Those packages
// import decode and this package; some also import semconv, or the package of the convention that they extend. They never import
// genai, which holds the table.
package dialect

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
)

// LogScope is the scope of log records that travel as spans; see package evidence.
const LogScope = "tapedeck.log"

// Dialect is one way of writing a run into telemetry. The table is in order of detection: the first that matches a span is its
// primary dialect, later ones fill what it leaves open.
type Dialect struct {
	// ID is the name on the tape, Name the one in the documents.
	ID, Name string
	// Scopes are exact scope names, ScopePrefixes their beginnings, Marks the beginnings of attribute keys, each up to and
	// including its first dot or colon, or further where that beginning is shared. One match is enough.
	Scopes        []string
	ScopePrefixes []string
	Marks         []string
	// Root says which span stands for a whole run; empty when the dialect has no run spans and there is no root to wait for.
	Root string
	// Rooted says that every call of the dialect lies below a run span: without one, something is missing.
	Rooted bool
	// Encoded says that every tool result is written JSON-encoded and is decoded exactly once.
	Encoded bool
	// Switch is the setting that turns the capture of content on.
	Switch string
	// Events are the names of log events, or their beginnings up to and including the first dot.
	Events []string
	// Log tells the role of each log event (nil without Events).
	Log func(eventName string, a decode.Attributes) LogRole
	// EventName returns the name under which the dialect knows a log event that its producer writes under another one, or under none
	// (nil: as recorded). Records of other scopes keep their name.
	EventName func(scope, recorded string) string
	// Assign hands the dialect's own log records to the spans they speak of, where ids do not say so (nil: the rules of Arrange). It
	// returns the calls that exist in records only, and the records that speak of nothing.
	Assign func(spans, logs []*Source) (alone, rest []*Source)
	// Adds says that a span only adds to the call of its kind above it.
	Adds func(span ptrace.Span) bool
	// AddsTo says that a call beside the span is the one it adds to (nil: the call stands above).
	AddsTo func(span, call ptrace.Span) bool
	// Member says which spans of its scopes are evidence, where most are not (nil: all).
	Member func(span ptrace.Span) bool
	// MarkedOnly says that a span of its scopes counts only where an attribute or event of any dialect marks it.
	MarkedOnly bool
	// Classify tells the class of a span from its name and few attributes; runSpan says that it stands for a whole run.
	Classify func(s *Source) (class Class, runSpan bool)
	// Read fills the observation; its Class is set already.
	Read func(s *Source, o *Observation)
}

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

// LogRole says what a log record speaks of.
type LogRole struct {
	// Class is Agent for a whole run, Model or Tool for one call; Unclassified is no evidence.
	Class Class
	// Part names what the record adds to its call: the same part twice is two calls. Empty parts may repeat.
	Part string
	// Opens says that the record starts a new call, Alone that it stands for a call where no span does.
	Opens, Alone bool
	// CallID and Request identify the call, Run and Conversation what it belongs to, Lane the agent within it: calls of different
	// lanes may interleave.
	CallID, Request, Run, Conversation, Lane string
	// AtStart says that the record is written when the call begins; else it is written when the call ends, Lasted after its begin.
	AtStart bool
	Lasted  time.Duration
}

// MaxReach bounds how far a span or record is looked for around another, so that hostile traces cost no more than long ones.
const MaxReach = 256

// CompareLogs orders records by time, then by the number that their producer gave them.
func CompareLogs(a, b *Source) int {
	if c := cmp.Compare(a.Span.StartTimestamp(), b.Span.StartTimestamp()); c != 0 {
		return c
	}
	x, y := decode.Attributes(a.Span.Attributes()).Count("event.sequence"), decode.Attributes(b.Span.Attributes()).Count("event.sequence")
	if x != nil && y != nil {
		if c := cmp.Compare(*x, *y); c != 0 {
			return c
		}
	}
	i, j := a.Span.SpanID(), b.Span.SpanID()
	return bytes.Compare(i[:], j[:])
}

// HasPrefixed reports whether a span has an attribute whose key begins with one of the prefixes.
func HasPrefixed(span ptrace.Span, prefixes ...string) bool {
	for key := range span.Attributes().All() {
		for _, p := range prefixes {
			if strings.HasPrefix(key, p) {
				return true
			}
		}
	}
	return false
}
