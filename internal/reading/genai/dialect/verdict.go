// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape"
)

// VerdictEvent is the event of the conventions that tells one verdict, on a span or as a log record.
const VerdictEvent = "gen_ai.evaluation.result"

// Verdict is a judgement as an item tells it.
type Verdict struct {
	// Verdict holds what is judged as far as the item says it: OfRun for a trace, OfSession, OfSpan for one
	// span. Who knows the events of the run says the rest.
	tape.Verdict
	// Trace and Span name what is judged; Span is empty where the item names none.
	Trace pcommon.TraceID
	Span  pcommon.SpanID
	// Response is the id of the model's answer that is judged.
	Response string
	// Conversation is the id of the session that is judged, where the item names neither an answer nor, by a
	// link, a span.
	Conversation string
}
