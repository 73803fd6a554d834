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
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Some frameworks have one span for the loop of an agent and none for a model call (mcp-agent). Each request
// and each response is an event of that span, written key by key: messages.0.role, then
// choices.0.message.content. Events in the order request, response, request, response … are the model calls
// of the span.

// exchange is an event with a whole request or a whole response.
type exchange struct {
	event  ptrace.SpanEvent
	answer bool
	fields exactjson.Value
}

// exchanges returns the model calls that stand on a span as pairs of events, as spans of their own. It
// returns none unless each response has its request right before it. The last request may have no response. A
// span that names its operation is what it says.
func exchanges(s *dialect.Source) (calls []ptrace.Span) {
	if s.ScopeName == dialect.LogScope || s.Span.Events().Len() == 0 || decode.Attributes(s.Span.Attributes()).Text("gen_ai.operation.name") != "" {
		return nil
	}
	var found []exchange
	for _, e := range s.Span.Events().All() {
		if x, ok := exchangeOf(e); ok {
			found = append(found, x)
		}
	}
	slices.SortStableFunc(found, func(a, b exchange) int { return cmp.Compare(a.event.Timestamp(), b.event.Timestamp()) })
	for i, x := range found {
		if x.answer != (i%2 == 1) {
			return nil
		}
	}
	for i := 0; i < len(found); i += 2 {
		calls = append(calls, exchanged(s.Span, found[i:min(i+2, len(found))]))
	}
	return calls
}

// exchangeOf reads an event that holds the messages of a request, or the answer to one.
func exchangeOf(e ptrace.SpanEvent) (exchange, bool) {
	asks, answers := false, false
	for key := range e.Attributes().All() {
		asks = asks || strings.HasPrefix(key, "messages.0.")
		answers = answers || strings.HasPrefix(key, "choices.0.message.") || strings.HasPrefix(key, "content.0.") || key == "choices.0.finish_reason"
	}
	if asks == answers {
		return exchange{}, false
	}
	plain := pcommon.NewMap()
	for key, v := range e.Attributes().All() {
		v.CopyTo(plain.PutEmpty(plainKey(key)))
	}
	fields := decode.Attributes(plain).Unflatten("")
	if answers && fields.Get("model").Str() == "" { // a response names its model
		return exchange{}, false
	}
	return exchange{e, answers, fields}, true
}

// plainKey returns a key with the provider's own word in place of a name of the conventions:
// tool_calls.0.gen_ai.tool.call.id is the id of a call.
func plainKey(key string) string {
	if block, ok := strings.CutSuffix(key, ".tool_use_id"); ok && strings.HasPrefix(key, "content.") {
		// a call of an answer
		return block + ".id"
	}
	before, ok := strings.CutSuffix(key, ".gen_ai.tool.call.id")
	switch {
	case !ok:
		return key
	case strings.Contains(before, "tool_calls."):
		return before + ".id"
	default:
		return before + ".tool_call_id"
	}
}

// exchanged makes the span of one model call from its request and its response. A call without a response
// ended with the next exception, or with the span.
func exchanged(of ptrace.Span, pair []exchange) ptrace.Span {
	made := ptrace.NewSpan()
	made.SetName("chat")
	made.SetTraceID(of.TraceID())
	made.SetSpanID(of.SpanID())
	made.SetParentSpanID(of.ParentSpanID())
	made.SetStartTimestamp(pair[0].event.Timestamp())
	made.SetEndTimestamp(of.EndTimestamp())
	a := made.Attributes()
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.prompt", pair[0].fields.JSON())
	if model := pair[0].fields.Get("model").Str(); model != "" {
		a.PutStr("gen_ai.request.model", model)
	}
	if len(pair) == 2 {
		made.SetEndTimestamp(pair[1].event.Timestamp())
		answer := pair[1].fields
		a.PutStr("gen_ai.completion", answer.JSON())
		for _, key := range []string{"id", "model"} {
			if text := answer.Get(key).Str(); text != "" {
				a.PutStr("gen_ai.response."+key, text)
			}
		}
		for key, v := range pair[1].event.Attributes().All() {
			if strings.HasPrefix(key, "gen_ai.usage.") || strings.HasPrefix(key, "gen_ai.response.") {
				v.CopyTo(a.PutEmpty(key))
			}
		}
		return made
	}
	for _, e := range of.Events().All() {
		if e.Name() == "exception" && e.Timestamp() >= pair[0].event.Timestamp() {
			e.CopyTo(made.Events().AppendEmpty())
			made.SetEndTimestamp(e.Timestamp())
			made.Status().SetCode(ptrace.StatusCodeError)
			break
		}
	}
	return made
}

// withoutExchanges returns the span of a loop without the events that are read as its model calls.
func withoutExchanges(s *dialect.Source) *dialect.Source {
	loop := *s
	loop.Dialects, loop.Span = nil, ptrace.NewSpan()
	s.Span.CopyTo(loop.Span)
	loop.Span.Events().RemoveIf(func(e ptrace.SpanEvent) bool {
		_, ok := exchangeOf(e)
		return ok
	})
	return &loop
}
