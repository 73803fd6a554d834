// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package dialect defines what a dialect is: the row of the table (Dialect), one recorded item (Source) and
// what it says (Report). It also holds the readers that several dialects share.
//
// Each folder below is one vendor or convention, with its rows, its mapping functions, its tests and its
// fixtures. Those packages import decode and this package; some also import semconv, or the package of the
// convention that they extend. They never import genai, which holds the table.
package dialect

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// LogScope is the scope of log records that travel as spans; see package evidence.
const LogScope = "tapedeck.log"

// TeeScope is the scope of spans that were made of model calls which passed over HTTP; see package modeltap.
const TeeScope = "tapedeck.tee"

// WorkspaceScope is the scope of what a folder held before a run; see package workspace. It is evidence of
// the trace and no part of the run.
const WorkspaceScope = "tapedeck.workspace"

// Dialect describes one way of writing a run into telemetry. The first dialect of the table that matches a
// span is its primary dialect; later ones fill the fields that it leaves open.
type Dialect struct {
	// ID is the name on the tape, Name the one in the documents.
	ID, Name string
	// Scopes are exact scope names, ScopePrefixes beginnings of scope names. Marks are beginnings of
	// attribute keys, each up to and including its first dot or colon, or longer if other dialects share that
	// beginning. One match is enough.
	Scopes        []string
	ScopePrefixes []string
	Marks         []string
	// Shape recognises a span by its keys and values, where no scope and no mark is that of a producer. One
	// dialect has it, the last one.
	Shape func(span ptrace.Span) bool
	// Member reports whether a span of the scopes is evidence (nil: each is).
	Member func(span ptrace.Span) bool
	// MarkedOnly says that a span of the scopes is evidence only if an attribute or event of any dialect
	// marks it.
	MarkedOnly bool
	// Root describes the span that stands for a whole run, for the documents: Classify says which span is
	// one. It is empty if the dialect has no run spans.
	Root string
	// Rooted says that every call of the dialect lies below a run span. Without one, the run is incomplete.
	Rooted bool
	// Rootless tells items of a version that writes no run span, where others do.
	Rootless func(s *Source) bool
	// Encoded says that every tool result is JSON text and is decoded exactly once, for the documents: Read
	// hands true to decode.Result.
	Encoded bool
	// Switch is the setting that turns the capture of content on, in words. Settings are the environment
	// variables in it; what else it names is set in code or in a file of the program, where nobody outside of
	// it can set it.
	Switch   string
	Settings []Setting
	// Flags are those of record that bring the telemetry, where the program emits none.
	Flags string

	Records
	Additions
	Repairs

	// Classify returns the class of a span, from its name and few attributes, and whether it stands for a
	// whole run.
	Classify func(s *Source) (class Class, runSpan bool)
	// Read fills the draft of a span. The class of the draft is set already.
	Read func(s *Source, o *Draft)
}

// Records describes the log records of a dialect.
type Records struct {
	// Events are the names of log events, or their beginnings up to and including the first dot.
	Events []string
	// Log returns the role of a log event (nil without Events).
	Log func(eventName string, a decode.Attributes) LogRole
	// EventName returns the name under which the dialect knows a log event that its producer writes under
	// another name or under none. It returns the name as recorded for records of other scopes. Nil: every
	// name is as recorded.
	EventName func(scope, recorded string) string
	// Assign assigns the records to spans where their ids do not (nil: the rules of genai.Arrange). alone are
	// the calls that only records report, rest the records that belong to no call or run.
	Assign func(spans, logs []*Source) (alone, rest []*Source)
}

// Additions tells the spans that add to other calls.
type Additions struct {
	// Adds reports whether a span only adds to another call: the nearest one of its kind above.
	Adds func(span ptrace.Span) bool
	// AddsTo reports whether a span adds to a call beside it (nil: it adds to the call above).
	AddsTo func(span, call ptrace.Span) bool
}

// Repairs tells what producers are known to do, and puts it right.
type Repairs struct {
	// ScopeQuirks returns the quirks of a scope, whichever dialect reads its spans (nil: no scope has any).
	ScopeQuirks func(scope string) Quirks
	// Hooks put right what producers with a quirk write.
	Hooks []Hook
}

// Setting is an environment variable that decides whether content is captured.
type Setting struct {
	Name  string // after Unset it may end in *, for all names that begin so
	Value string
	Unset bool // it turns the capture off: it must not be set
	// Yields says that others read the same variable and want another value: theirs is set.
	Yields bool
	// Optional says that content is captured without it, and more with it.
	Optional bool
}

// Attributes of log records that travel as spans. They hold what a span has no field for.
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

// LogRole describes what a log record reports.
type LogRole struct {
	// Class is Agent for a record of a whole run, Model or Tool for a record of one call, and Unclassified
	// for a record that is no evidence.
	Class Class
	// Part names what the record adds to its call. A second record with the same part belongs to another
	// call; records without a part may repeat.
	Part string
	// Opens says that the record starts a new call, Alone that it stands for a call where no span does.
	Opens, Alone bool
	// CallID and Request identify the call. Run and Conversation identify what it belongs to, Lane the agent
	// within it. Calls of different lanes may interleave.
	CallID, Request, Run, Conversation, Lane string
	// AtStart says that the record is written when the call begins. Other records are written when the call
	// ends, Lasted after its begin.
	AtStart bool
	Lasted  time.Duration
}

// MaxReach bounds how many spans or records are searched around another one, so that a hostile trace costs no
// more than a long one.
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
