// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxEvents bounds the events of one stream.
const maxEvents = 1 << 18

var errTooLong = errors.New("it is too long")

// plain takes the encodings off that HTTP has around a body.
func plain(b []byte, encoding string) ([]byte, error) {
	names := strings.Split(encoding, ",")
	for i := len(names) - 1; i >= 0 && len(names) <= 4; i-- {
		var r io.Reader
		var err error
		switch name := strings.ToLower(strings.TrimSpace(names[i])); name {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			r, err = gzip.NewReader(bytes.NewReader(b))
		case "zstd":
			var z *zstd.Decoder
			if z, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBody)); err == nil {
				defer z.Close()
				r = z
			}
		case "deflate":
			if r, err = zlib.NewReader(bytes.NewReader(b)); err != nil { // some servers leave the frame out
				r, err = flate.NewReader(bytes.NewReader(b)), nil
			}
		default:
			err = fmt.Errorf("the encoding %q is unknown", name)
		}
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(io.LimitReader(r, MaxBody+1)); err != nil && len(b) == 0 {
			return nil, err // of one that broke off, what came before
		}
		if len(b) > MaxBody {
			return nil, errTooLong
		}
	}
	return b, nil
}

// readings of an answer: one JSON value, or the events of a stream.
type answered struct {
	whole  exactjson.Value
	events []exactjson.Value
}

// read reads the body of an answer in whichever way it is framed: by its type, else by how it begins.
func read(kind string, b []byte) (answered, error) {
	media, _, _ := strings.Cut(strings.ToLower(kind), ";")
	begin := strings.TrimLeft(string(b[:min(len(b), 64)]), "\ufeff \r\n")
	switch media = strings.TrimSpace(media); {
	case media == "application/vnd.amazon.eventstream":
		events, err := awsEvents(b)
		return answered{events: events}, err
	case media == "text/event-stream", strings.HasPrefix(begin, "data:"), strings.HasPrefix(begin, "event:"):
		events, err := sseEvents(string(b))
		return answered{events: events}, err
	}
	whole, err := exactjson.Parse(string(b))
	if err != nil {
		if events, lines := ndjsonEvents(string(b)); lines == nil && len(events) > 1 {
			return answered{events: events}, nil
		}
		return answered{}, err
	}
	if whole.Kind() == exactjson.Array { // a stream of Gemini without alt=sse
		var events []exactjson.Value
		for _, m := range whole.Members() {
			events = append(events, m.Value)
		}
		return answered{events: events}, nil
	}
	if media == "application/x-ndjson" {
		return answered{events: []exactjson.Value{whole}}, nil
	}
	return answered{whole: whole}, nil
}

// sseEvents reads server-sent events whose data is JSON; other data, as [DONE], says nothing of the answer.
// What follows the last empty line was cut off, and is read if it is whole.
func sseEvents(text string) (events []exactjson.Value, err error) {
	var data strings.Builder
	name, some := "", false
	flush := func() {
		if some {
			if v, parseErr := exactjson.Parse(data.String()); parseErr == nil && v.Kind() == exactjson.Object {
				if name == "error" && v.Get("error").IsAbsent() && v.Get("type").IsAbsent() {
					v = exactjson.ObjectValue(exactjson.Member{Name: "error", Value: v})
				}
				events = append(events, v)
			} else if parseErr != nil && strings.HasPrefix(strings.TrimSpace(data.String()), "{") {
				err = fmt.Errorf("an event of the stream is not JSON: %w", parseErr)
			}
		}
		data.Reset()
		name, some = "", false
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			flush()
		}
		if len(events) >= maxEvents {
			return events, errTooLong
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			if v := strings.TrimSpace(data.String()); some && strings.HasPrefix(v, "{") && strings.HasSuffix(v, "}") && strings.HasPrefix(value, "{") {
				if _, whole := exactjson.Parse(v); whole == nil { // servers that leave out the empty line
					flush()
				}
			}
			if some {
				data.WriteByte('\n')
			}
			data.WriteString(value)
			some = true
		}
	}
	flush()
	return events, err
}

// ndjsonEvents reads lines of JSON.
func ndjsonEvents(text string) (events []exactjson.Value, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(events) >= maxEvents {
			return events, errTooLong
		}
		v, err := exactjson.Parse(line)
		if err != nil || v.Kind() != exactjson.Object {
			return events, errors.New("a line is not a JSON object")
		}
		events = append(events, v)
	}
	return events, nil
}

var errFrame = errors.New("a frame of the event stream is broken")

// awsEvents reads the frames of application/vnd.amazon.eventstream. An event is an object whose one member is
// named as the kind of the event; of a model that is invoked, the event that its bytes hold.
func awsEvents(b []byte) (events []exactjson.Value, err error) {
	decoder, rest := eventstream.NewDecoder(), bytes.NewReader(b)
	for rest.Len() > 0 {
		if len(events) >= maxEvents {
			return events, errTooLong
		}
		frame, err := decoder.Decode(rest, nil)
		if err != nil {
			return events, fmt.Errorf("%w: %w", errFrame, err)
		}
		payload, err := exactjson.Parse(string(frame.Payload))
		if err != nil {
			return events, fmt.Errorf("an event of the stream is not JSON: %w", err)
		}
		header := func(name string) string {
			value, _ := frame.Headers.Get(name).(eventstream.StringValue)
			return string(value)
		}
		kind := cmp.Or(header(":event-type"), header(":exception-type"))
		switch message := header(":message-type"); {
		case message == "exception" || message == "error":
			payload = exactjson.ObjectValue(
				exactjson.Member{Name: "type", Value: exactjson.StringValue(kind)}, exactjson.Member{Name: "message", Value: payload.Get("message")})
			events = append(events, exactjson.ObjectValue(exactjson.Member{Name: "error", Value: payload}))
		case kind == "chunk":
			inner, err := base64.StdEncoding.DecodeString(payload.Get("bytes").Str())
			if err != nil {
				return events, errFrame
			}
			if payload, err = exactjson.Parse(string(inner)); err != nil {
				return events, fmt.Errorf("an event of the stream is not JSON: %w", err)
			}
			events = append(events, payload)
		default:
			events = append(events, exactjson.ObjectValue(exactjson.Member{Name: kind, Value: payload}))
		}
	}
	return events, nil
}
