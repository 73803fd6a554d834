// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// documentStarts are the beginnings of a line at which a new document starts even if the one before it was never closed. A writer
// that died in the middle of a line, and went on, leaves such a file.
var documentStarts = [][]byte{[]byte(`{"resourceSpans"`), []byte(`{"resourceLogs"`), []byte(`{"resource_spans"`), []byte(`{"resource_logs"`), []byte(`{"ts":"`)}

const longestStart = 17

// keptBuffer is how large a buffer may be to be used for the next document; one huge document must not cost its size to the end.
const keptBuffer = 16 << 20

// readJSON reads JSON documents that follow each other with or without line ends between or within them.
func (in *input) readJSON() {
	in.skipBOM()
	var buf []byte
	for {
		if !in.skipSpace() {
			return
		}
		if cap(buf) > keptBuffer {
			buf = nil
		}
		line, at := in.line, in.offset
		var err error
		buf, err = in.value(buf[:0])
		if err == nil {
			var docs []Document
			docs, err = decodeJSON(buf)
			if err == nil {
				for i := range docs {
					docs[i].Line = line
				}
				if !in.emit(docs...) {
					return
				}
				continue
			}
		}
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Err: err}
		}
		e.Line += line // decodeJSON counts the lines from its own start
		e.Offset = at
		if !in.refuse(e) || e.fatal() {
			return
		}
	}
}

func (in *input) skipBOM() {
	if head, _ := in.r.Peek(len(bom)); bytes.Equal(head, bom) {
		in.discard(len(bom))
	}
}

// discard goes on by bytes that were peeked at and hold no line end.
func (in *input) discard(n int) {
	_, _ = in.r.Discard(n)
	in.offset += int64(n)
}

// fatal reports an error behind which the stream cannot be read on.
func (e *Error) fatal() bool {
	var f *streamError
	return errors.As(e.Err, &f)
}

// streamError is a failure of the stream, not of a document.
type streamError struct{ err error }

func (s *streamError) Error() string { return s.err.Error() }
func (s *streamError) Unwrap() error { return s.err }

// skipSpace goes to the next document and reports whether there is one.
func (in *input) skipSpace() bool {
	for {
		c, err := in.readByte()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				in.refuse(&Error{Line: in.line, Offset: in.offset, Err: readError(err)})
			} else if in.good == 0 && in.refused == 0 {
				in.refuse(&Error{Err: ErrEmpty})
			}
			return false
		}
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			_ = in.r.UnreadByte()
			in.offset--
			return true
		}
	}
}

func (in *input) readByte() (byte, error) {
	c, err := in.r.ReadByte()
	if err != nil {
		return 0, err
	}
	in.offset++
	if c == '\n' {
		in.line++
	}
	return c, nil
}

// value appends the bytes of one object or array to buf. It only balances brackets and quotes: the grammar is checked on the whole.
// After an error the stream stands at the start of a line.
func (in *input) value(buf []byte) ([]byte, error) {
	first, err := in.readByte()
	if err != nil {
		return buf, &Error{Err: &streamError{readError(err)}}
	}
	if first != '{' && first != '[' {
		if err := in.skipLine(); err != nil {
			return buf, err
		}
		return buf, &Error{Err: fmt.Errorf("%w: the line does not start a JSON object", ErrNotTelemetry)}
	}
	buf = append(buf, first)
	open := brackets{depth: 1}
	for open.depth > 0 {
		chunk, err := in.peek()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the document is not closed at the end of the input", ErrTruncated)
			}
			return buf, &Error{Err: &streamError{readError(err)}}
		}
		used := open.scan(chunk)
		atLineEnd := chunk[used-1] == '\n'
		buf = append(buf, chunk[:used]...)
		_, _ = in.r.Discard(used)
		in.offset += int64(used)
		if atLineEnd {
			in.line++
		}
		switch {
		case open.quoted && atLineEnd:
			return buf, &Error{Err: fmt.Errorf("%w: the line ends within a string", ErrTruncated)}
		case int64(len(buf)) > in.opts.MaxDocument:
			if !atLineEnd {
				if err := in.skipLine(); err != nil {
					return buf, err
				}
			}
			return buf, &Error{Err: fmt.Errorf("%w: a document of more than %d bytes", ErrTooLarge, in.opts.MaxDocument)}
		case atLineEnd && open.depth > 0 && in.atDocumentStart():
			return buf, &Error{Err: fmt.Errorf("%w: the document is not closed where the next one starts", ErrTruncated)}
		}
	}
	return buf, nil
}

// brackets is what is open at a byte of a document.
type brackets struct {
	depth           int // of objects and arrays
	quoted, escaped bool
}

// scan goes to the end of the document or of the line, whichever comes first, and returns how many bytes it
// read.
func (b *brackets) scan(chunk []byte) int {
	depth, quoted, escaped := b.depth, b.quoted, b.escaped
	used := 0
scan:
	for used < len(chunk) {
		c := chunk[used]
		used++
		switch {
		case c == '\n':
			break scan
		case quoted:
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				break scan
			}
		}
	}
	b.depth, b.quoted, b.escaped = depth, quoted, escaped
	return used
}

// peek returns what the reader holds, at least one byte.
func (in *input) peek() ([]byte, error) {
	if _, err := in.r.Peek(1); err != nil {
		return nil, err
	}
	return in.r.Peek(in.r.Buffered())
}

func (in *input) atDocumentStart() bool {
	head, _ := in.r.Peek(longestStart)
	for _, s := range documentStarts {
		if bytes.HasPrefix(head, s) {
			return true
		}
	}
	return false
}

// skipLine goes to the start of the next line, or to the end of the input.
func (in *input) skipLine() error {
	for {
		c, err := in.readByte()
		if errors.Is(err, io.EOF) || c == '\n' {
			return nil
		}
		if err != nil {
			return &Error{Err: &streamError{readError(err)}}
		}
	}
}
