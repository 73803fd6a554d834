// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// readFailure reads whether the call or run of a span failed, how, and whether it waits for a person.
func readFailure(s *dialect.Source, o *dialect.Draft) {
	o.StatusError = failedByStatus(s, o)
	if n := len(o.Output) - 1; o.Class == dialect.Agent && n >= 0 && o.Output[n].FinishReason == "error" {
		o.Failed = true // a framework made the answer of an error; the conventions mark it
	}
	if (o.Failed || o.StatusError) && o.Error == nil {
		o.Error = errorOf(s)
	}
	if o.Waiting = cmp.Or(o.Waiting, pausedBy(s, o)); o.Waiting != "" && o.Class != dialect.Tool { // of a tool, what the model was told decides
		o.Failed, o.StatusError, o.Error = false, false, nil
	}
}

// failedByStatus reports a failure by the status of a span, or by its exceptions where the status is silent.
// Most SDKs record an exception without setting the status.
//
// SDKs do not take back the status ok. A client may have set it on the span of the program around it
// (LiteLLM). An instrumentation that records content may set it for a model call that threw (OpenInference
// for agno, January 2026).
func failedByStatus(s *dialect.Source, o *dialect.Draft) bool {
	switch s.Span.Status().Code() {
	case ptrace.StatusCodeError:
		return !o.Quirks.Has(dialect.LendsStatus)
	case ptrace.StatusCodeUnset:
		return answersNothing(o) && threw(s) || endsThrowing(s, o)
	case ptrace.StatusCodeOk:
		silent := o.Class == dialect.Agent && !o.OutputData.Present() || o.Class == dialect.Model && len(o.Request) > 0
		return silent && answersNothing(o) && leftByException(s.Span)
	}
	return o.StatusError
}

// answersNothing reports a span of a model, an agent or a tool with arguments, of which nothing came.
func answersNothing(o *dialect.Draft) bool {
	said := o.Output
	switch o.Class {
	case dialect.Model:
		if o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0 {
			return false
		}
		said = o.Response
	case dialect.Agent:
	case dialect.Tool:
		return o.Args.Present() && !o.Result.Present() // for a tool that records neither, see endsThrowing
	default:
		return false
	}
	return len(o.FinishReasons) == 0 && !slices.ContainsFunc(said, func(m decode.Message) bool { return len(m.Parts) > 0 })
}

func threw(s *dialect.Source) bool {
	for range raised(s) {
		return true
	}
	return false
}

// raised yields the attributes of the exceptions of a call: events of its span, then log records that name
// it.
func raised(s *dialect.Source) iter.Seq[decode.Attributes] {
	return func(yield func(decode.Attributes) bool) {
		for _, e := range s.Span.Events().All() {
			if isException(e.Name()) && !yield(decode.Attributes(e.Attributes())) {
				return
			}
		}
		for _, l := range s.Logs {
			if isException(l.Name()) && !yield(decode.Attributes(l.Attributes())) {
				return
			}
		}
	}
}

// isException knows the event of the general conventions, and that of a call of a model.
func isException(eventName string) bool {
	return eventName == "exception" || eventName == "gen_ai.client.operation.exception"
}

// endsThrowing reports the span of a tool without arguments and result that ended with an exception. The
// program may have caught an earlier one.
func endsThrowing(s *dialect.Source, o *dialect.Draft) bool {
	return o.Class == dialect.Tool && !o.Args.Present() && !o.Result.Present() && leftByException(s.Span)
}

// leavesWithin is how long before the end of a span the exception that left it is recorded, at most, in ns.
const leavesWithin = 20_000_000

// leftByException reports a span whose last event is an exception at its end.
func leftByException(span ptrace.Span) bool {
	events := span.Events()
	if events.Len() == 0 || span.EndTimestamp() == 0 {
		return false
	}
	last := events.At(events.Len() - 1)
	return last.Name() == "exception" && last.Timestamp() <= span.EndTimestamp() && span.EndTimestamp()-last.Timestamp() <= leavesWithin
}

// pausedBy is what a span waits for: it ended with the exception of a pause, its result or its last message
// is the request for an approval, or it is an agent that gives the pause as its reason to end. Some
// instrumentations call such a span failed, some call it ok.
func pausedBy(s *dialect.Source, o *dialect.Draft) (waits tape.Waiting) {
	for x := range raised(s) {
		waits = cmp.Or(waits, decode.PauseBy(x.Text("exception.type")))
	}
	waits = cmp.Or(waits, decode.PauseBy(decode.Attributes(s.Span.Attributes()).Text("error.type", "exception.type")))
	if o.Error != nil {
		waits = cmp.Or(waits, decode.PauseBy(o.Error.Type), decode.PauseIn(o.Error.Message))
	}
	if o.Class == dialect.Tool && waits == "" && decode.IsPendingResult(o.Result.Value) {
		o.Result = decode.Content{}
		return tape.WaitingApproval
	}
	for _, said := range [][]decode.Message{o.Output, o.Response} {
		if n := len(said) - 1; n >= 0 && slices.ContainsFunc(said[n].Parts, decode.AsksForApproval) {
			return tape.WaitingApproval
		}
	}
	if o.Class == dialect.Agent {
		for _, reason := range o.FinishReasons {
			waits = cmp.Or(waits, decode.PauseReason(reason))
		}
		if n := len(o.Output) - 1; n >= 0 {
			waits = cmp.Or(waits, decode.PauseReason(o.Output[n].FinishReason))
		}
	}
	return waits
}

// errorOf reads the failure of a span: its exception event, its error attributes or its status message.
func errorOf(s *dialect.Source) *tape.Error {
	a := decode.Attributes(s.Span.Attributes())
	e := &tape.Error{Type: a.Text("error.type", "exception.type"), Message: a.Text("error.message", "exception.message")}
	for x := range raised(s) {
		decode.FillString(&e.Type, x.Text("exception.type"))
		decode.FillString(&e.Message, x.Text("exception.message"))
	}
	decode.FillString(&e.Message, said(s.Span.Status().Message()))
	if e.Type == "" && e.Message == "" {
		return nil
	}
	return e
}

// said returns the failure that a status message tells. Traceloop 0.47 writes an error of OpenAI's Agents SDK
// as an object of a message and data. The message is always the same; the data says what went wrong.
func said(status string) string {
	if !strings.HasPrefix(status, "{") {
		return status
	}
	object, _, _ := decode.Python(status)
	if inner := object.Get("data").Get("error").Str(); inner != "" && object.Get("message").Str() != "" {
		return inner
	}
	return status
}
