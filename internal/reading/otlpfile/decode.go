// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// decodeJSON reads one JSON value: a document, or an array of documents.
func decodeJSON(data []byte) ([]Document, error) {
	c := newChecker(data)
	if err := c.next(); err != nil {
		return nil, err
	}
	var docs []Document
	one := func() error {
		d, err := c.document()
		docs = append(docs, d...)
		return err
	}
	var err error
	if c.is("[") {
		err = c.elements(one)
	} else {
		err = one()
	}
	if err != nil {
		return nil, err
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return docs, nil
}

// end checks that nothing follows.
func (c *checker) end() error {
	if err := c.next(); err != nil {
		return err
	}
	if c.tok.Kind != jsonscan.End {
		return c.failErr(fmt.Errorf("%w: the end of the document expected at byte %d of the document", errSyntax, c.tok.Start))
	}
	return nil
}

// document reads the document that starts here. One that holds traces and logs gives two.
func (c *checker) document() ([]Document, error) {
	if !c.is("{") {
		return nil, c.failErr(fmt.Errorf("%w: %s instead of a document", ErrNotTelemetry, c.found()))
	}
	start := c.tok.Start
	seen := map[Signal]bool{}
	empty := true
	var audit uint8
	err := c.members(func(name string, key jsonscan.Token) error {
		empty = false
		audit |= auditMembers[name]
		d, ok := documents[name]
		if ok {
			seen[d.signal] = true
		}
		return c.member(d.field, name, key)
	})
	if err != nil {
		return nil, err
	}
	end := c.tok.End
	switch {
	case empty: // {} is how an empty request is written
		seen[SignalTraces] = true
	case len(seen) == 0 && audit == wholeAudit:
		c.edits = nil
		return []Document{{Signal: SignalAudit, Traces: ptrace.NewTraces(), Logs: plog.NewLogs(), Audit: string(c.raw[start:end])}}, nil
	case len(seen) == 0:
		return nil, c.failErr(fmt.Errorf("%w: neither resourceSpans nor resourceLogs", ErrNotTelemetry))
	}
	checked := c.apply(start, end)
	c.edits = nil
	return decodeChecked(checked, seen)
}

// auditMembers are what every record of a Forge audit stream has.
var auditMembers = map[string]uint8{"ts": 1, "event": 2, "schema_version": 4}

const wholeAudit = 1 | 2 | 4

// decodeChecked hands a checked document to the decoder of pdata.
func decodeChecked(data []byte, signals map[Signal]bool) ([]Document, error) {
	var docs []Document
	for _, signal := range []Signal{SignalTraces, SignalLogs, SignalOther} {
		if !signals[signal] {
			continue
		}
		d, err := unmarshal(signal, func(d *Document) (err error) {
			switch signal {
			case SignalTraces:
				if d.Traces, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(data); err == nil {
					err = nesting.CheckTraces(d.Traces)
				}
			case SignalLogs:
				if d.Logs, err = (&plog.JSONUnmarshaler{}).UnmarshalLogs(data); err == nil {
					err = nesting.CheckLogs(d.Logs)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// decodeProto reads one protobuf request.
func decodeProto(data []byte) (Document, error) {
	signal, err := checkProto(data)
	if err != nil {
		return Document{}, err
	}
	return unmarshal(signal, func(d *Document) (err error) {
		switch signal {
		case SignalTraces:
			d.Traces, err = nesting.UnmarshalTraces(data)
		case SignalLogs:
			d.Logs, err = nesting.UnmarshalLogs(data)
		}
		return err
	})
}

// unmarshal runs a decoder. It turns a panic of the decoder into an error. The messages of the decoders quote the document, so they are
// cut to the name of the operation.
func unmarshal(signal Signal, decode func(*Document) error) (d Document, err error) {
	empty := Document{Signal: signal, Traces: ptrace.NewTraces(), Logs: plog.NewLogs()}
	defer func() {
		if r := recover(); r != nil {
			d, err = Document{}, &Error{Err: fmt.Errorf("%w: the decoder failed", ErrMalformed)}
		}
	}()
	d = empty
	switch err := decode(&d); {
	case errors.Is(err, nesting.ErrTooDeep):
		return Document{}, &Error{Err: fmt.Errorf("%w: %w", ErrTooLarge, err)}
	case err != nil:
		operation, _, _ := strings.Cut(err.Error(), ":")
		return Document{}, &Error{Err: fmt.Errorf("%w: the decoder refuses it (%s)", ErrMalformed, operation)}
	}
	return d, nil
}
