// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Verdict is dialect.Verdict.
type Verdict = dialect.Verdict

// VerdictEvent is dialect.VerdictEvent.
const VerdictEvent = dialect.VerdictEvent

// IsVerdict reports a log record, travelling as a span, that tells verdicts and nothing else.
func IsVerdict(scope string, span ptrace.Span) bool {
	return scope == LogScope && span.Name() == VerdictEvent
}

// Verdicts reads what an item judges. A span judges itself, unless it is a carrier: then it judges the span
// that it links to. A log record judges the span that it names.
func Verdicts(scope string, span ptrace.Span) (list []Verdict) {
	record := IsVerdict(scope, span)
	if !record && (scope == LogScope || !TellsVerdicts(span)) {
		return nil
	}
	of := Verdict{Trace: span.TraceID(), Span: span.SpanID()}
	var at pcommon.Timestamp // of what the attributes say
	linked := false
	if record {
		of.Span, at = span.ParentSpanID(), span.StartTimestamp()
	} else if link, carries := Judged(span); carries {
		of.Trace, of.Span, at, linked = link.TraceID(), link.SpanID(), span.EndTimestamp(), true
	}
	a := decode.Attributes(span.Attributes())
	conversation := "" // of the span
	if !linked {
		conversation = a.Text(conversationKeys...)
	}
	of.Conversation = conversation
	add := func(said tape.Verdict, at pcommon.Timestamp) {
		one := of
		if one.Verdict = said; at != 0 {
			one.At = at.AsTime().UTC()
		}
		list = append(list, one)
	}
	for _, said := range openinference.Feedback(span.Attributes()) {
		add(said, at)
	}
	if a.Has(evaluationName) {
		of.Response = a.Text(responseID)
		add(evaluation(span.Attributes(), record), at)
	}
	for _, event := range span.Events().All() {
		if event.Name() == VerdictEvent {
			a := decode.Attributes(event.Attributes())
			if of.Response = a.Text(responseID); !linked {
				of.Conversation = cmp.Or(a.Text(conversationKeys...), conversation)
			}
			add(evaluation(event.Attributes(), true), event.Timestamp())
		}
	}
	return list
}

const (
	evaluationName = "gen_ai.evaluation.name"
	responseID     = "gen_ai.response.id"
)

// TellsVerdicts looks at the names alone: of most spans nothing else is read.
func TellsVerdicts(span ptrace.Span) bool {
	if HasVerdicts(span.Attributes()) {
		return true
	}
	for _, event := range span.Events().All() {
		if event.Name() == VerdictEvent {
			return true
		}
	}
	return false
}

// HasVerdicts reports attributes that judge.
func HasVerdicts(m pcommon.Map) bool {
	for key := range m.All() {
		if key == evaluationName || openinference.IsFeedback(key) {
			return true
		}
	}
	return false
}

// IsVerdictAttribute reports an attribute that says something of a verdict.
func IsVerdictAttribute(key string) bool {
	return openinference.IsFeedback(key) || strings.HasPrefix(key, "gen_ai.evaluation.") || key == responseID || IsConversationKey(key)
}

// IsConversationKey reports an attribute that names a conversation.
func IsConversationKey(key string) bool { return slices.Contains(conversationKeys, key) }

// PutVerdict writes a verdict into the attributes of a record that tells it.
func PutVerdict(v tape.Verdict, m pcommon.Map) { openinference.PutFeedback(v, m) }

// Judged returns the link of a carrier, a span that exists to judge another one. It has exactly one link, and
// is of no kind but that of an evaluator.
func Judged(span ptrace.Span) (link ptrace.SpanLink, carries bool) {
	if span.Links().Len() != 1 {
		return link, false
	}
	a := decode.Attributes(span.Attributes())
	kind := a.Text("openinference.span.kind")
	return span.Links().At(0), strings.EqualFold(kind, "EVALUATOR") || kind == "" && !a.Has(operationName)
}

// evaluation reads a verdict as the conventions write it. Of an event, metadata holds what else it says.
func evaluation(m pcommon.Map, whole bool) tape.Verdict {
	a := decode.Attributes(m)
	v := tape.Verdict{
		Of: tape.OfSpan, Name: a.Text(evaluationName), Value: a.JSON("gen_ai.evaluation.score.value"), Label: a.Text("gen_ai.evaluation.score.label"),
		Explanation: a.Text("gen_ai.evaluation.explanation"),
	}
	if failed := a.Text("error.type"); failed != "" && whole {
		v.Error = &tape.Error{Type: failed}
	}
	var rest []exactjson.Member
	for key, value := range m.All() {
		if whole && !slices.Contains(evaluationNames, key) && key != responseID && !slices.Contains(dialect.LogEnvelope, key) && !openinference.IsFeedback(key) {
			rest = append(rest, exactjson.Member{Name: key, Value: decode.JSONOf(value)})
		}
	}
	if len(rest) > 0 {
		v.Metadata = decode.Unordered(rest)
	}
	return v
}

// evaluationNames are the attributes that evaluation reads, and those of the event itself.
var evaluationNames = []string{
	evaluationName, "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label", "gen_ai.evaluation.explanation",
	"error.type", "event.name", LogEventName, LogScopeName,
}
