// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package verdictrecord gives verdicts to runs of a deck. A verdict is evidence as any other: a log record of
// the trace of the run, redacted and written as what telemetry brings late.
package verdictrecord

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Verdict is what somebody says of a run.
type Verdict struct {
	Name        string    `json:"name"`
	Value       *float64  `json:"value,omitempty"`
	Label       string    `json:"label,omitempty"`
	Explanation string    `json:"explanation,omitempty"`
	Judge       string    `json:"judge,omitempty"` // HUMAN, LLM, CODE or another kind
	ID          string    `json:"id,omitempty"`
	Metadata    string    `json:"metadata,omitempty"` // a JSON object
	Event       int       `json:"event,omitempty"`    // the event that is judged; 0 is the run
	Session     bool      `json:"session,omitempty"`  // the session of the run is judged
	At          time.Time `json:"at,omitzero"`
}

// Bounds of the texts of a verdict, in bytes.
const (
	longestName = 256
	longestText = 64 << 10
)

// Check reports a verdict that says nothing, or more than is kept.
func (v *Verdict) Check() error {
	switch {
	case v.Name == "":
		return errors.New("a verdict needs a name")
	case v.Value == nil && v.Label == "" && v.Explanation == "":
		return errors.New("a verdict needs a value, a label or an explanation")
	case v.Value != nil && (math.IsNaN(*v.Value) || math.IsInf(*v.Value, 0)):
		return errors.New("the value of a verdict must be a number")
	case v.Event != 0 && v.Session:
		return errors.New("a verdict is about an event or about the session")
	case max(len(v.Name), len(v.Label), len(v.Judge), len(v.ID)) > longestName:
		return fmt.Errorf("name, label, judge and id of a verdict have at most %d bytes", longestName)
	case max(len(v.Explanation), len(v.Metadata)) > longestText:
		return fmt.Errorf("explanation and metadata of a verdict have at most %d bytes", longestText)
	}
	return nil
}

// record is the verdict on a run as a log record. The same verdict at the same time is the same record.
func (v *Verdict) record(t *tape.Tape) (ld plog.Logs, err error) {
	if err := v.Check(); err != nil {
		return ld, err
	}
	span, of := t.Run.RootSpanID, tape.OfRun
	switch {
	case v.Session:
		of = tape.OfSession
	case v.Event != 0:
		if v.Event < 0 || v.Event > len(t.Events) || len(t.Events[v.Event-1].SpanIDs) == 0 {
			return ld, fmt.Errorf("no span tells event %d of run %s", v.Event, t.Run.RunID)
		}
		if len(t.Run.Joined) > 0 {
			return ld, errors.New("the events of a joined run lie in several traces; judge the run")
		}
		span, of = t.Events[v.Event-1].SpanIDs[0], tape.OfSpan
	}
	ld = plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	var traceID pcommon.TraceID
	var spanID pcommon.SpanID
	if _, err := hex.Decode(traceID[:], []byte(t.Run.TraceID)); err != nil {
		return ld, fmt.Errorf("the trace id of run %s: %w", t.Run.RunID, err)
	}
	if _, err := hex.Decode(spanID[:], []byte(span)); err != nil {
		return ld, fmt.Errorf("the span that is judged: %w", err)
	}
	r.SetTraceID(traceID)
	r.SetSpanID(spanID)
	r.SetEventName(genai.VerdictEvent)
	r.SetTimestamp(pcommon.NewTimestampFromTime(v.At))
	said := tape.Verdict{Of: of, Name: v.Name, Label: v.Label, Explanation: v.Explanation, Judge: v.Judge, ID: v.ID}
	if v.Metadata != "" {
		said.Metadata = exactjson.StringValue(v.Metadata)
	}
	if v.Value != nil {
		said.Value = exactjson.FloatValue(*v.Value)
	}
	genai.PutVerdict(said, r.Attributes())
	if t.Run.ReplayRunID != "" { // as all of a replay
		r.Attributes().PutStr("replay_run_id", t.Run.ReplayRunID)
	}
	return ld, nil
}

// Give writes a verdict on a run of a deck. The writer is that of the tenant of the run.
func Give(ctx context.Context, d *deck.Deck, w *ingest.Writer, r *redact.Redactor, t *tape.Tape, v Verdict) error {
	ld, err := v.record(t)
	if err != nil {
		return err
	}
	batch := ingest.NewBatch(nil, r)
	if err := batch.Add(otlpfile.Document{Signal: otlpfile.SignalLogs, Logs: ld}); err != nil {
		return err
	}
	var said []string // a deck of reels says of each record that it is no run
	one := *w
	one.Refused, one.Say = 0, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := one.Write(ctx, d, batch); err != nil {
		return err
	}
	if one.Refused > 0 {
		return fmt.Errorf("the verdict was not written: %s", strings.Join(said, "; "))
	}
	return nil
}
