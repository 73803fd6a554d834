// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript reads the transcripts that coding agents write to the home folder. Package imports makes
// a log record of each line. The records of one session are one trace, and are read together: a line holds a
// piece of a run, and rarely tells which.
//
// Each line is parsed once. A model call tells the messages that are new in its request and the response that
// it goes on after, so that a long session takes no more memory than its transcript. The first call of a run
// tells its request whole.
package transcript

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Attributes of the records. Line is the number of the line in its file, Thread the file's own id where lines
// do not name it.
const (
	Line   = "transcript.line"
	Thread = "transcript.thread"
)

// Names of what is made of the records of a session, behind the prefix of the dialect.
const (
	madeRun   = "run"
	madeModel = "model"
	madeTool  = "tool"
)

// maxHistory bounds the messages that the requests of a session hold together.
const maxHistory = 1 << 18

// line is one line of a transcript.
type line struct {
	source *dialect.Source
	body   exactjson.Value
	number int64
	at     pcommon.Timestamp
	used   bool
}

// records describes the log records of one program.
func records(prefix string, assign func(prefix string, lines []*line) *session) dialect.Records {
	classes := map[string]dialect.Class{madeRun: dialect.Agent, madeModel: dialect.Model, madeTool: dialect.Tool}
	return dialect.Records{
		Events: []string{prefix},
		Log: func(name string, _ decode.Attributes) dialect.LogRole {
			return dialect.LogRole{Class: cmp.Or(classes[name[len(prefix):]], dialect.Structure)}
		},
		Assign: func(_, logs []*dialect.Source) (alone, rest []*dialect.Source) {
			lines, rest := parse(logs)
			s := assign(prefix, lines)
			for _, l := range lines {
				if !l.used {
					rest = append(rest, l.source)
				}
			}
			return s.made, rest
		},
	}
}

// read fills the draft of what was made of records.
func read(s *dialect.Source, o *dialect.Draft) {
	if s.Says == nil {
		o.Class = dialect.Unclassified
		return
	}
	s.Says(o)
}

func parse(logs []*dialect.Source) (lines []*line, rest []*dialect.Source) {
	for _, l := range logs {
		a := decode.Attributes(l.Span.Attributes())
		body, err := exactjson.Parse(a.Text(dialect.LogBody))
		if err != nil || body.Kind() != exactjson.Object {
			rest = append(rest, l)
			continue
		}
		lines = append(lines, &line{source: l, body: body, number: decode.OrZero(a.Count(Line)), at: l.Span.StartTimestamp()})
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		x, y := a.source.Span.SpanID(), b.source.Span.SpanID()
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.at, b.at), bytes.Compare(x[:], y[:]))
	})
	return lines, rest
}

// threadOf is the thread that a line is of.
func threadOf(l *line) string { return decode.Attributes(l.source.Span.Attributes()).Text(Thread) }

// threads are the lines of each thread, by when it begins.
func threads(lines []*line) (list [][]*line) {
	at := map[string]int{}
	for _, l := range lines {
		id := threadOf(l)
		if _, ok := at[id]; !ok {
			at[id] = len(list)
			list = append(list, nil)
		}
		list[at[id]] = append(list[at[id]], l)
	}
	slices.SortStableFunc(list, func(a, b []*line) int { return cmp.Compare(a[0].at, b[0].at) })
	return list
}

// session gathers what is made of the records of one trace.
type session struct {
	prefix  string
	made    []*dialect.Source
	ids     map[pcommon.SpanID]bool
	chains  map[string]pcommon.SpanID // the last id that was made of one, by kind and that id
	history int                       // messages that are still left of maxHistory
}

func newSession(prefix string) *session {
	return &session{prefix: prefix, ids: map[pcommon.SpanID]bool{}, chains: map[string]pcommon.SpanID{}, history: maxHistory}
}

// add makes an item of the lines that tell of it, and returns its id, which is that of the first of them
// where nothing else has it. A line that can change names an id of its own.
func (s *session) add(kind string, under pcommon.SpanID, start, end pcommon.Timestamp, lines []*line, says func(o *dialect.Draft)) pcommon.SpanID {
	first := lines[0].source
	id := first.Span.SpanID()
	if own := first.Span.ParentSpanID(); !own.IsEmpty() {
		id = own
	}
	chain := kind + string(id[:])
	if last, ok := s.chains[chain]; ok {
		id = last
	}
	for s.ids[id] {
		sum := sha256.Sum256(append([]byte(kind), id[:]...))
		copy(id[:], sum[:])
	}
	s.ids[id], s.chains[chain] = true, id
	span := ptrace.NewSpan()
	span.SetName(s.prefix + kind)
	span.SetTraceID(first.Span.TraceID())
	span.SetSpanID(id)
	span.SetParentSpanID(under)
	span.SetStartTimestamp(start)
	span.SetEndTimestamp(max(start, end))
	made := &dialect.Source{Resource: first.Resource, ScopeName: first.ScopeName, ScopeVersion: first.ScopeVersion, Span: span, Says: says}
	for _, l := range lines {
		l.used = true
		made.Logs = append(made.Logs, l.source.Span)
	}
	s.made = append(s.made, made)
	return id
}

// room takes space for messages out of maxHistory, and reports whether there was enough.
func (s *session) room(n int) bool {
	s.history -= n
	return s.history >= 0
}

// text is a message of one text.
func text(role tape.Role, said string) []decode.Message {
	return []decode.Message{{Role: role, Parts: []decode.Part{decode.TextPart(said)}}}
}

// resultText is the text of a result, for the error of a tool that failed.
func resultText(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	for _, m := range v.Members() {
		if t := m.Value.Get("text").Str(); t != "" {
			return t
		}
	}
	return ""
}

// sayAsked fills a tool call with what the model asked for.
func sayAsked(asked decode.Part, agent bool, o *dialect.Draft) {
	o.CallID, o.Name, o.Args, o.ToolKind = asked.ID, asked.Name, decode.Args(asked.Args), tape.ToolBuiltin
	if server, tool, ok := strings.Cut(strings.TrimPrefix(o.Name, "mcp__"), "__"); ok && strings.HasPrefix(o.Name, "mcp__") {
		o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: tool}
	}
	if agent {
		o.ToolKind = tape.ToolAgent
	}
}
