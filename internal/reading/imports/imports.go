// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package imports says what a format of another program's files is, and has what the formats share. A format
// makes evidence of a file: spans for the rows of an export, log records for the lines of a transcript. Their
// attributes are those that a dialect reads, and their ids are digests of the ids that the file holds. So the
// same file gives the same evidence, whenever it is read.
package imports

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Format is one kind of file of another program.
type Format struct {
	Name  string                 // as users name it: jaeger, claude-code
	Title string                 // for documents: Claude Code transcript
	Tells func(head []byte) bool // whether a plain file that begins so, up to HeadBytes, is of this format
	Read  func(in Input) iter.Seq2[otlpfile.Document, error]
}

// HeadBytes is how much of a file tells its format.
const HeadBytes = 64 << 10

// Input is one file.
type Input struct {
	Name    string        // path or "stdin"
	Reader  *bufio.Reader // decompressed, and bounded by Options
	Options otlpfile.Options
	// Sibling opens a file below the folder of this one; links do not lead out of it. Nil for stdin.
	Sibling func(path string) (io.ReadCloser, error)
}

// Rows reads the JSON objects of a file and yields what each gives; a Document without a signal is left out.
// The envelopes are those of otlpfile.Values. An error of read is refused at the line of the object.
func (in Input) Rows(envelopes []string, read func(text []byte) (otlpfile.Document, error)) iter.Seq2[otlpfile.Document, error] {
	return func(yield func(otlpfile.Document, error) bool) {
		for row, err := range otlpfile.Values(in.Reader, in.Name, in.Options, envelopes...) {
			var doc otlpfile.Document
			if err == nil {
				if doc, err = read(row.Text); err == nil {
					err = check(doc)
				}
				if err != nil {
					err = &otlpfile.Error{Name: in.Name, Line: row.Line, Err: err}
				}
			}
			if err == nil && doc.Signal == "" {
				continue
			}
			if doc.Name, doc.Line = in.Name, row.Line; err != nil {
				doc = otlpfile.Document{}
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

// check refuses what nests deeper than evidence may.
func check(doc otlpfile.Document) error {
	var err error
	switch doc.Signal {
	case otlpfile.SignalTraces:
		err = nesting.CheckTraces(doc.Traces)
	case otlpfile.SignalLogs:
		err = nesting.CheckLogs(doc.Logs)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", otlpfile.ErrTooLarge, err)
	}
	return nil
}

// Traces is a document of spans.
func Traces(td ptrace.Traces) otlpfile.Document {
	return otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: td, Logs: plog.NewLogs()}
}

// Logs is a document of log records.
func Logs(ld plog.Logs) otlpfile.Document {
	return otlpfile.Document{Signal: otlpfile.SignalLogs, Traces: ptrace.NewTraces(), Logs: ld}
}

// OTLP is the document of a text of OTLP/JSON. An error names no place: that is the row's.
func OTLP(text []byte) (otlpfile.Document, error) {
	for doc, err := range otlpfile.ReadPlain(bufio.NewReader(bytes.NewReader(text)), "", otlpfile.Options{}) {
		var placed *otlpfile.Error
		if errors.As(err, &placed) {
			err = placed.Err
		}
		return doc, err
	}
	return otlpfile.Document{}, otlpfile.ErrEmpty
}

// Decode reads one JSON value. The error names a place and no content.
func Decode(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return fmt.Errorf("%w: %s is of another type", otlpfile.ErrMalformed, kind.Field)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: no JSON at byte %d of the object", otlpfile.ErrMalformed, syntax.Offset)
	}
	return fmt.Errorf("%w: a value of the object cannot be read", otlpfile.ErrMalformed)
}

// TraceID is the trace id for ids that a file holds. The first word is that of the format.
func TraceID(words ...string) (id pcommon.TraceID) {
	copy(id[:], digest("trace", words))
	return id
}

// SpanID is TraceID for spans.
func SpanID(words ...string) (id pcommon.SpanID) {
	copy(id[:], digest("span", words))
	return id
}

// HexTraceID reads a trace id of 32 hexadecimal digits, with the dashes of a UUID or without, and is TraceID
// for another text.
func HexTraceID(text, format string) pcommon.TraceID {
	var id pcommon.TraceID
	if data, err := hex.DecodeString(strings.ReplaceAll(text, "-", "")); err == nil && len(data) == len(id) {
		return pcommon.TraceID(data)
	}
	return TraceID(format, text)
}

// HexSpanID reads a span id of 16 hexadecimal digits. It is SpanID of the other words and the text for
// another one.
func HexSpanID(text string, words ...string) pcommon.SpanID {
	var id pcommon.SpanID
	if data, err := hex.DecodeString(text); err == nil && len(data) == len(id) {
		return pcommon.SpanID(data)
	}
	return SpanID(append(words, text)...)
}

func digest(kind string, words []string) []byte {
	h := sha256.New()
	for _, word := range append([]string{"tapedeck import", kind}, words...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(word)))
		h.Write(n[:])
		_, _ = io.WriteString(h, word)
	}
	return h.Sum(nil)
}

// Time reads a time as RFC 3339 writes it, also without a zone, which is UTC then. It is 0 for another text.
func Time(text string) pcommon.Timestamp {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil && t.Unix() > 0 {
			return pcommon.NewTimestampFromTime(t)
		}
	}
	return 0
}

// Text is the text of a JSON value: that of a string, else the value without white space. It is empty for
// null and no value.
func Text(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// Put sets an attribute to a JSON value: strings, numbers and bools are of their type, objects and arrays
// their JSON text. Nothing is set for null.
func Put(m pcommon.Map, name string, raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	var integer int64
	var number float64
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case string(raw) == "true" || string(raw) == "false":
		m.PutBool(name, raw[0] == 't')
	case raw[0] != '"' && json.Unmarshal(raw, &integer) == nil:
		m.PutInt(name, integer)
	case raw[0] != '"' && json.Unmarshal(raw, &number) == nil:
		m.PutDouble(name, number)
	default:
		m.PutStr(name, Text(raw))
	}
}
