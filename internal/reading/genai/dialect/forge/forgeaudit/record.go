// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forgeaudit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ErrMalformed is returned, wrapped, for a line that is no audit record. It never holds content of the line.
var ErrMalformed = errors.New("malformed audit record")

// record is one line of an audit stream.
type record struct {
	name string // of the input in which it came first
	line int
	raw  string
	body exactjson.Value
	sum  string // hex SHA-256 of raw: what the next record names as its predecessor

	event       string
	at          time.Time
	previous    string // prev_hash; "" when the stream is not chained
	entity      string
	correlation string
	trace       pcommon.TraceID
	span        pcommon.SpanID
	integrity   string
}

// genesis is the prev_hash of the first record of a process.
const genesis = "0000000000000000000000000000000000000000000000000000000000000000"

func parse(raw string) (*record, error) {
	body, err := exactjson.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r := &record{raw: raw, body: body}
	for _, f := range []struct {
		name string
		dst  *string
		must bool
	}{
		{"event", &r.event, true}, {"prev_hash", &r.previous, false}, {"entity_id", &r.entity, false}, {"correlation_id", &r.correlation, false},
	} {
		v := body.Get(f.name)
		if *f.dst = v.Str(); v.Kind() != exactjson.String && (f.must || !v.IsAbsent()) || f.must && v.Str() == "" {
			return nil, fmt.Errorf("%w: %s is no text", ErrMalformed, f.name)
		}
	}
	if r.at, err = time.Parse(time.RFC3339, body.Get("ts").Str()); err != nil || r.at.UnixNano() <= 0 {
		return nil, fmt.Errorf("%w: ts is no time", ErrMalformed)
	}
	if err := id(body, "trace_id", r.trace[:]); err != nil {
		return nil, err
	}
	if err := id(body, "span_id", r.span[:]); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(raw))
	r.sum = hex.EncodeToString(sum[:])
	return r, nil
}

// id decodes a member that holds an id, if it is there.
func id(body exactjson.Value, name string, dst []byte) error {
	v := body.Get(name)
	if v.IsAbsent() || v.Kind() == exactjson.String && v.Str() == "" {
		return nil
	}
	if b, err := hex.DecodeString(v.Str()); err != nil || copy(dst, b) != len(dst) || len(b) != len(dst) {
		clear(dst)
		return fmt.Errorf("%w: %s is not %d hex digits", ErrMalformed, name, 2*len(dst))
	}
	return nil
}
