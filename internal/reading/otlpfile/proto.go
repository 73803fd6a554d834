// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Wire types of protobuf. Groups (3 and 4) do not occur in OTLP.
const (
	wireVarint = 0
	wireI64    = 1
	wireLen    = 2
	wireI32    = 5
)

// metricFields are the fields of a Metric, to tell metrics from traces and logs: number → wire type.
var metricFields = map[int]int{1: wireLen, 2: wireLen, 3: wireLen, 5: wireLen, 7: wireLen, 9: wireLen, 10: wireLen, 11: wireLen, 12: wireLen}

// checkProto walks over a protobuf request before the decoder sees it: which signal it holds, that lengths fit, and that it does not
// nest too deep. The requests of all signals have the same outer form; they differ in the items (field 2 of field 2 of field 1).
func checkProto(data []byte) (Signal, error) {
	w := &walker{data: data}
	signal, err := w.signal()
	if err != nil {
		return "", err
	}
	switch signal {
	case SignalTraces:
		err = w.message(schema["TracesData"], 0, len(data))
	case SignalLogs:
		err = w.message(schema["LogsData"], 0, len(data))
	}
	return signal, err
}

type walker struct {
	data  []byte
	depth int
	path  []step
}

func (w *walker) fail(at int, format string, args ...any) error {
	return &Error{Path: pathString(w.path), Err: fmt.Errorf("%w protobuf: "+format+" at byte %d of the document", append(append([]any{ErrMalformed}, args...), at)...)}
}

// fields calls visit for each field of the message in data[from:to]; for fields with a length, start and end enclose the content.
func (w *walker) fields(from, to int, visit func(number, wireType, start, end int) error) error {
	for pos := from; pos < to; {
		tag, n := binary.Uvarint(w.data[pos:to])
		number := int(tag >> 3)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return w.fail(pos, "no field tag")
		}
		start := pos + n
		end := start
		switch tag & 7 {
		case wireVarint:
			_, n := binary.Uvarint(w.data[start:to])
			if n <= 0 {
				return w.fail(start, "no integer")
			}
			end = start + n
		case wireI64:
			end = start + 8
		case wireI32:
			end = start + 4
		case wireLen:
			size, n := binary.Uvarint(w.data[start:to])
			if n <= 0 || size > uint64(to-start-n) {
				return w.fail(start, "a length beyond the end")
			}
			start += n
			end = start + int(size)
		default:
			return w.fail(pos, "unknown wire type")
		}
		if end > to {
			return w.fail(pos, "a value beyond the end")
		}
		if err := visit(number, int(tag&7), start, end); err != nil {
			return err
		}
		pos = end
	}
	return nil
}

// message checks data[from:to] against the schema.
func (w *walker) message(m *message, from, to int) error {
	if w.depth++; w.depth > maxDepth {
		return &Error{Path: pathString(w.path[:min(len(w.path), 16)]), Err: fmt.Errorf("%w: nested more than %d levels deep", ErrTooLarge, maxDepth)}
	}
	defer func() { w.depth-- }()
	var counts map[int]int
	return w.fields(from, to, func(number, wireType, start, end int) error {
		f := m.byNum[number]
		if f == nil {
			return nil
		}
		w.path = append(w.path, step{name: f.camel})
		if f.repeated {
			if counts == nil {
				counts = map[int]int{}
			}
			w.path = append(w.path, step{index: counts[number]})
			counts[number]++
		}
		switch {
		case wireType != f.kind.wireType():
			return w.fail(start, "wire type %d instead of %d", wireType, f.kind.wireType())
		case f.kind == kindTraceID && end != start && end-start != 16:
			return w.fail(start, "a trace id of %d bytes", end-start)
		case f.kind == kindSpanID && end != start && end-start != 8:
			return w.fail(start, "a span id of %d bytes", end-start)
		case f.kind == kindMessage:
			if err := w.message(f.child, start, end); err != nil {
				return err
			}
		}
		w.path = w.path[:len(w.path)-1]
		if f.repeated {
			w.path = w.path[:len(w.path)-1]
		}
		return nil
	})
}

// signal tells from its items what the request holds. Each item leaves only the kinds that it fits, until one is left. If that decides
// nothing, traces win over logs. A request without items is one of traces.
func (w *walker) signal() (Signal, error) {
	candidates := []Signal{SignalTraces, SignalLogs, SignalOther}
	err := w.nested(1, 0, len(w.data), func(start, end int) error {
		return w.nested(2, start, end, func(start, end int) error {
			return w.nested(2, start, end, func(start, end int) error {
				if len(candidates) == 1 {
					return nil
				}
				fits := w.fits(start, end)
				left := slices.DeleteFunc(slices.Clone(candidates), func(s Signal) bool { return !fits[s] })
				if len(left) > 0 {
					candidates = left
				}
				return nil
			})
		})
	})
	return candidates[0], err
}

// nested calls visit for each occurrence of a message field; other fields are passed over.
func (w *walker) nested(number, from, to int, visit func(start, end int) error) error {
	return w.fields(from, to, func(n, wireType, start, end int) error {
		switch {
		case n != number:
			if from == 0 && to == len(w.data) {
				return &Error{Err: fmt.Errorf("%w: a protobuf message of another type", ErrNotTelemetry)}
			}
			return nil
		case wireType != wireLen:
			return &Error{Err: fmt.Errorf("%w: a protobuf message of another type", ErrNotTelemetry)}
		}
		return visit(start, end)
	})
}

// fits says which items the message in data[start:end] can be.
func (w *walker) fits(start, end int) map[Signal]bool {
	span, log, metric := true, true, true
	traceID, spanID, points := false, false, false
	err := w.fields(start, end, func(number, wireType, from, to int) error {
		span = span && wireFits(schema["Span"], number, wireType)
		log = log && wireFits(schema["LogRecord"], number, wireType)
		if want, ok := metricFields[number]; !ok || want != wireType {
			metric = false
		}
		points = points || number >= 5
		switch {
		case number == 1 && wireType == wireLen:
			traceID = to-from == 16
			span = span && (to == from || traceID)
		case number == 2 && wireType == wireLen:
			spanID = to-from == 8
			span = span && (to == from || spanID)
		}
		return nil
	})
	if err != nil {
		return map[Signal]bool{}
	}
	if log && !traceID || metric && points && !spanID {
		span = false // a span without its ids is no use, a record or a metric is
	}
	return map[Signal]bool{SignalTraces: span, SignalLogs: log, SignalOther: metric && points}
}

// wireFits reports that the message may hold the field; numbers it does not know may come from a newer version.
func wireFits(m *message, number, wireType int) bool {
	f := m.byNum[number]
	return f == nil || f.kind.wireType() == wireType
}
