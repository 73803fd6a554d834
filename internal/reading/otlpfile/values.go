// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unsafe"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// Value is one JSON object of an input that is no telemetry of OTLP. Its text is balanced, and its grammar
// not checked.
type Value struct {
	Text []byte // until the next value is asked for
	Line int    // 1-based line at which it starts
}

// Values yields the JSON objects of a plain input: those that follow each other, with or without line ends,
// and the elements of an array. An object of the top whose first 64 KiB begin an array named in envelopes
// gives the elements of this array instead. An error is an *Error. A line that cannot be an object is one
// error, and the rest is read; in an array the rest is lost.
func Values(plain *bufio.Reader, name string, opts Options, envelopes ...string) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		v := values{envelopes: envelopes, yieldValue: yield}
		v.input = input{
			name: name, opts: opts.withDefaults(), r: plain, line: 1,
			yield: func(_ Document, err error) bool { return yield(Value{}, err) },
		}
		v.skipBOM()
		for v.skipSpace() && v.one() {
		}
		if v.array && v.refused == 0 && !v.stopped {
			v.refuse(&Error{Line: v.line, Offset: v.offset, Err: fmt.Errorf("%w: the array is not closed at the end of the input", ErrTruncated)})
		}
	}
}

type values struct {
	input
	envelopes  []string
	yieldValue func(Value, error) bool
	array      bool // an array is open
	envelope   bool // in an object
	buf        []byte
}

// one reads what begins here, and reports whether reading goes on.
func (v *values) one() bool {
	switch c, _ := v.r.Peek(1); {
	case v.array && c[0] == ',':
		v.discard(1)
		return true
	case v.array && c[0] == ']':
		v.discard(1)
		v.array = false
		return !v.envelope || v.closeEnvelope()
	case !v.array && c[0] == '[':
		v.discard(1)
		v.array = true
		return true
	case !v.array && c[0] == '{':
		if n := v.envelopeBegins(); n > 0 {
			if err := v.skipTo(n); err != nil {
				return false
			}
			v.array, v.envelope = true, true
			return true
		}
	}
	if cap(v.buf) > keptBuffer {
		v.buf = nil
	}
	line, at := v.line, v.offset
	var err error
	if v.buf, err = v.value(v.buf[:0]); err == nil {
		v.good++
		v.refused = 0
		v.stopped = !v.yieldValue(Value{v.buf, line}, nil)
		return !v.stopped
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	e.Line, e.Offset = line, at
	if errors.Is(err, ErrNotTelemetry) {
		e.Err = fmt.Errorf("%w: no JSON object starts here", ErrMalformed)
	}
	return v.refuse(e) && !e.fatal() && !v.array
}

// skipTo reads over bytes, which may hold line ends.
func (v *values) skipTo(n int) error {
	for range n {
		if _, err := v.readByte(); err != nil {
			return err
		}
	}
	return nil
}

// envelopeBegins returns how many bytes of the object that starts here lead into an array named in envelopes,
// 0 for none.
func (v *values) envelopeBegins() int {
	const most = 64 << 10
	if len(v.envelopes) == 0 {
		return 0
	}
	head, _ := v.r.Peek(most)
	scan := jsonscan.New(unsafe.String(unsafe.SliceData(head), len(head)), 0) // not kept
	named := false
	for {
		switch tok := scan.Next(); tok.Kind {
		case jsonscan.End, jsonscan.Bad:
			return 0
		case jsonscan.Key:
			named = scan.Depth() == 1 && slices.Contains(v.envelopes, string(bytes.Trim(head[tok.Start:tok.End], `"`)))
		case jsonscan.Open:
			if named && scan.Depth() == 2 && head[tok.Start] == '[' {
				return tok.End
			}
		default:
			if scan.Depth() == 0 {
				return 0
			}
		}
	}
}

// closeEnvelope reads over the rest of the object that held the array, and reports whether reading goes on.
func (v *values) closeEnvelope() bool {
	v.envelope = false
	open := brackets{depth: 1}
	for open.depth > 0 {
		chunk, err := v.peek()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the document is not closed at the end of the input", ErrTruncated)
			}
			v.refuse(&Error{Line: v.line, Offset: v.offset, Err: readError(err)})
			return false
		}
		used := open.scan(chunk)
		if chunk[used-1] == '\n' {
			v.line++
		}
		v.discard(used)
	}
	return true
}
