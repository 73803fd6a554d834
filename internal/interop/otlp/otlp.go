// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp writes the evidence of a run as OTLP/JSON. The evidence is what the tape was derived from, so deriving it again gives the
// same tape.
package otlp

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Format is the entry in the table of formats. It has no Decode, because derive reads OTLP.
var Format = &interop.Format{
	Name:         "otlp",
	Title:        "OTLP/JSON, one ExportTraceServiceRequest per line: the evidence",
	FromEvidence: true,
	Lines:        true,
	ContentType:  "application/x-ndjson",
	FileName:     func(*tape.Tape) string { return "traces.otlp.jsonl" },
	Encode:       Encode,
}

// Encode writes each part of the evidence as one line. A trace may hold several runs; it is written whole. A tape without evidence beside it
// is not held.
func Encode(t *tape.Tape, _ []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	if len(o.Evidence) == 0 {
		return nil, nil, fmt.Errorf("%w: no evidence lies with the tape; only tapes of a deck that were derived have some", interop.ErrNotHeld)
	}
	var body []byte
	for _, part := range o.Evidence {
		td, err := nesting.UnmarshalTraces(part)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: a part of the evidence of run %s is no OTLP", interop.ErrNotHeld, t.Run.RunID)
		}
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil {
			return nil, nil, fmt.Errorf("write evidence of run %s: %w", t.Run.RunID, err)
		}
		body = append(append(body, line...), '\n')
	}
	return body, nil, nil
}
