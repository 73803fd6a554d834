// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// maxIDBytes is the longest id that is taken; a longer one is malformed.
	maxIDBytes = 256
	// maxIDs bounds how many different ids are kept: two are a conflict, and more say nothing new.
	maxIDs = 16
)

// Scan collects the tags of the telemetry that it is shown. The zero value with its rules is ready; it is not safe for concurrent use.
type Scan struct {
	Rules *Rules

	tags Tags
}

// Verdict says to which side a run belongs.
type Verdict struct {
	// Replay is false for production.
	Replay bool
	// ID is the replay_run_id. It is [Unnamed] if the tag names none, and empty for production. If there are several ids it is the smallest.
	ID string
	// Of is what the replay replays, as an attribute or the tag itself names it. It is empty if neither does.
	Of string
	// Conflicting tells that there are several ids, Malformed that a tag is empty or is no id.
	Conflicting, Malformed bool
}

// Verdict returns the decision on everything that was scanned.
func (s *Scan) Verdict() Verdict { return s.tags.Verdict() }

// Tags returns what was found. It is the scan's own until the next Reset.
func (s *Scan) Tags() Tags { return s.tags }

// namedIn finds the id of a run or a tape within a tag, such as "nightly-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331".
var namedIn = regexp.MustCompile(`\b[0-9a-f]{32}-[0-9a-f]{16}\b|\bsha256:[0-9a-f]{64}\b`)

// Found tells whether a tag or marker was found.
func (s *Scan) Found() bool { return s.tags.Replay() }

// Reset forgets what was scanned.
func (s *Scan) Reset() { *s = Scan{Rules: s.Rules, tags: Tags{IDs: s.tags.IDs[:0], Of: s.tags.Of[:0]}} }

// Around scans what all spans of a scope have in common.
func (s *Scan) Around(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans) {
	s.Attributes(rs.Resource().Attributes())
	s.Attributes(ss.Scope().Attributes())
}

// Span scans the attributes of a span, its events and links. A note (see [AppendNotes]) says what it says under any rules.
func (s *Scan) Span(scopeName string, span ptrace.Span) {
	if scopeName == NoteScope {
		s.note(span.Attributes())
		return
	}
	s.Attributes(span.Attributes())
	if events := span.Events(); events.Len() > 0 {
		for i := range events.Len() {
			s.Attributes(events.At(i).Attributes())
		}
	}
	if links := span.Links(); links.Len() > 0 {
		for i := range links.Len() {
			s.Attributes(links.At(i).Attributes())
		}
	}
}

// Attributes scans attributes of anything: a resource, a scope, a log record, a data point.
func (s *Scan) Attributes(m pcommon.Map) {
	for key := range m.All() {
		if s.Rules.among(key) {
			s.all(m)
			return
		}
	}
}

// all looks at every attribute: a hostile sender may write a key twice.
func (s *Scan) all(m pcommon.Map) {
	for key, value := range m.All() {
		switch s.Rules.keys[key] {
		case tagKey:
			s.tag(value)
		case ofKey:
			if id, ok := idOf(value); ok {
				s.tags.Of = insert(s.tags.Of, id)
			}
		case baggageKey:
			s.baggage(value)
		case markerKey:
			s.tags.Marked = s.tags.Marked || marks(value, s.Rules.markers[key])
		}
	}
}

func (s *Scan) tag(value pcommon.Value) {
	if id, ok := idOf(value); ok {
		s.tags.IDs = insert(s.tags.IDs, id)
	} else {
		s.tags.Malformed = true
	}
}

// idOf reads an id. A number is an id; everything else that is no text, and text that nobody would name a run by, is not.
func idOf(value pcommon.Value) (string, bool) {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		id := strings.TrimSpace(value.Str())
		return id, validID(id)
	case pcommon.ValueTypeInt:
		return strconv.FormatInt(value.Int(), 10), true
	default:
		return "", false
	}
}

func validID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// baggage reads a W3C baggage header, or a list of them as the semantic conventions record headers.
func (s *Scan) baggage(value pcommon.Value) {
	switch value.Type() {
	case pcommon.ValueTypeStr:
		for member := range strings.SplitSeq(value.Str(), ",") {
			s.baggageMember(member)
		}
	case pcommon.ValueTypeSlice:
		for _, v := range value.Slice().All() {
			if v.Type() == pcommon.ValueTypeStr {
				s.baggage(v)
			}
		}
	}
}

func (s *Scan) baggageMember(member string) {
	pair, _, _ := strings.Cut(member, ";") // properties follow
	key, text, _ := strings.Cut(pair, "=")
	k := s.Rules.keys[strings.TrimSpace(key)]
	if k != tagKey && k != ofKey {
		return
	}
	id, err := url.PathUnescape(strings.TrimSpace(text))
	id = strings.TrimSpace(id)
	switch ok := err == nil && validID(id); {
	case ok && k == tagKey:
		s.tags.IDs = insert(s.tags.IDs, id)
	case ok:
		s.tags.Of = insert(s.tags.Of, id)
	case k == tagKey:
		s.tags.Malformed = true
	}
}

func marks(value pcommon.Value, values []string) bool {
	text := strings.TrimSpace(value.AsString())
	if len(values) > 0 {
		return slices.Contains(values, text)
	}
	return text != "" && text != "0" && !strings.EqualFold(text, "false")
}

// insert keeps the smallest ids, sorted.
func insert(ids []string, id string) []string {
	i, there := slices.BinarySearch(ids, id)
	if there {
		return ids
	}
	ids = slices.Insert(ids, i, strings.Clone(id))
	return ids[:min(len(ids), maxIDs)]
}
