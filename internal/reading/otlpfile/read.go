// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpfile reads telemetry that was written to files. It takes OTLP/JSON documents, protobuf requests, and the length-prefixed
// form of the collector's file exporter. A file may hold one JSON document or many: as JSON lines, indented, concatenated, or in a JSON
// array. Each form may be plain, gzip or zstd. The content of a file tells its form; the name never does. Traces and logs may be mixed
// in any order. Lines of a Forge audit stream are handed over as they are, for package forgeaudit.
//
// A document that cannot be understood is reported with its place, and the rest is read. The largest document bounds the memory.
package otlpfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Signal says which kind of telemetry a document holds.
type Signal string

// The signals of documents.
const (
	SignalTraces Signal = "traces"
	SignalLogs   Signal = "logs"
	SignalAudit  Signal = "audit" // one record of a Forge audit stream
	SignalOther  Signal = "other" // metrics or profiles: recognised and left out
)

// Document is one telemetry document of a file. Traces and Logs are both usable; the one that Signal does not name is empty.
type Document struct {
	Signal Signal
	Traces ptrace.Traces
	Logs   plog.Logs
	// Audit is the record byte for byte: its hash chain and its signature are over them.
	Audit string
	Name  string // of the input
	Line  int    // 1-based line at which the document starts, 0 where there are none
}

// Options bounds what is read. Zero values mean the defaults.
type Options struct {
	// MaxTotal bounds the decompressed bytes of one input (default 4 GiB).
	MaxTotal int64
	// MaxDocument bounds the decompressed bytes of one document (default 512 MiB).
	MaxDocument int64
}

const (
	defaultMaxTotal    = 4 << 30
	defaultMaxDocument = 512 << 20
	// maxRefusedInARow ends the reading of an input that has given nothing but refusals. Such an input is no telemetry, and a
	// report of every line of a foreign text file helps nobody.
	maxRefusedInARow = 100
)

// Errors that an Error wraps.
var (
	ErrNotTelemetry = errors.New("not OTLP telemetry")
	ErrEmpty        = errors.New("empty input")
	ErrTooLarge     = errors.New("too large")
	ErrTruncated    = errors.New("truncated")
	ErrMalformed    = errors.New("malformed")
)

// Error says what was refused and where. It never holds content of the telemetry.
type Error struct {
	Name   string // of the input
	Line   int    // 1-based, 0 for binary documents
	Offset int64  // of the document in the decompressed input, in bytes
	Path   string // within the document, as resourceSpans[0].scopeSpans[1]
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Name)
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, ":%d", e.Line)
	case e.Offset > 0:
		fmt.Fprintf(&b, ": byte %d", e.Offset)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	return b.String() + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// ReadFile reads the named file, or stdin for the name "-". A directory is an error: its files are to be named.
func ReadFile(path string, stdin io.Reader, opts Options) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		if path == "-" {
			Read(stdin, "stdin", opts)(yield)
			return
		}
		f, err := OpenFile(path)
		if err != nil {
			yield(Document{}, err)
			return
		}
		defer func() { _ = f.Close() }()
		Read(f, path, opts)(yield)
	}
}

// OpenFile opens the named file. The error is an *Error, also for a directory.
func OpenFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Name: path, Err: withoutPath(err)}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, &Error{Name: path, Err: errors.New("is a directory; name the files in it")}
	}
	return f, nil
}

// withoutPath takes the path off an error of package os: Error names it already.
func withoutPath(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (o Options) withDefaults() Options {
	if o.MaxTotal <= 0 {
		o.MaxTotal = defaultMaxTotal
	}
	if o.MaxDocument <= 0 {
		o.MaxDocument = defaultMaxDocument
	}
	return o
}

// Read yields the documents of r in order. An error is an *Error; documents after it still come when their place can be found.
// The input is consumed once.
func Read(r io.Reader, name string, opts Options) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		plain, done, err := Plain(r, opts)
		if err != nil {
			yield(Document{}, &Error{Name: name, Err: err})
			return
		}
		defer done()
		ReadPlain(plain, name, opts)(yield)
	}
}

// Plain decompresses r and bounds what comes out. The caller calls done behind the last read.
func Plain(r io.Reader, opts Options) (plain *bufio.Reader, done func(), err error) {
	unpacked, done, err := decompress(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, nil, err
	}
	left := opts.withDefaults().MaxTotal
	return bufio.NewReaderSize(&limited{r: unpacked, left: &left}, 256<<10), done, nil
}

// ReadPlain is Read for an input that Plain returned.
func ReadPlain(plain *bufio.Reader, name string, opts Options) iter.Seq2[Document, error] {
	opts = opts.withDefaults()
	return func(yield func(Document, error) bool) {
		in := &input{name: name, opts: opts, yield: yield, left: opts.MaxTotal, r: plain, line: 1}
		in.run()
	}
}

// input is one reading of one stream.
type input struct {
	name  string
	opts  Options
	yield func(Document, error) bool
	left  int64 // bytes that the messages of the input may still unpack to
	r     *bufio.Reader

	offset  int64 // consumed bytes of the decompressed stream
	line    int   // 1-based line of offset
	good    int   // documents read
	refused int   // documents refused since the last good one
	stopped bool  // the consumer wants no more
}

func (in *input) run() {
	head, err := in.r.Peek(512)
	if len(head) == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrEmpty
		}
		in.refuse(&Error{Err: readError(err)})
		return
	}
	switch form := sniff(head); form {
	case formJSON:
		in.readJSON()
	case formFrames:
		in.readFrames()
	case formProto:
		in.readProto()
	default:
		in.refuse(&Error{Err: fmt.Errorf("%w: %s", ErrNotTelemetry, form)})
	}
}

// emit hands a document over, refuse an error. Both report whether reading goes on.
func (in *input) emit(docs ...Document) bool {
	for _, d := range docs {
		in.good++
		in.refused = 0
		d.Name = in.name
		if !in.stopped && !in.yield(d, nil) {
			in.stopped = true
		}
	}
	return !in.stopped
}

func (in *input) refuse(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	e.Name = in.name
	in.refused++
	if in.stopped || !in.yield(Document{}, e) {
		in.stopped = true
		return false
	}
	if in.good == 0 && in.refused == maxRefusedInARow {
		in.stopped = true
		in.yield(Document{}, &Error{Name: in.name, Err: fmt.Errorf("%w: nothing could be read so far, the rest is left out", ErrNotTelemetry)})
		return false
	}
	return true
}

// readProto reads the whole input as one protobuf request.
func (in *input) readProto() {
	data, err := readLimited(in.r, in.opts.MaxDocument)
	if err == nil {
		var doc Document
		if doc, err = decodeProto(data); err == nil {
			in.emit(doc)
			return
		}
	}
	in.refuse(err)
}

// readLimited reads everything, up to limit bytes.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, &Error{Err: readError(err)}
	case n > limit:
		return nil, &Error{Err: fmt.Errorf("%w: a document of more than %d bytes", ErrTooLarge, limit)}
	}
	return buf.Bytes(), nil
}
