// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// resultFacts is what the records tell of how a tool call ended.
type resultFacts struct {
	*Builder
	call   *ledger.Call
	event  *tape.Event
	said   *genai.Report // what the span of the tool says
	result genai.Content // what it says that the tool returned
	shown  *genai.Part   // what a later request shows of it; nil: nothing
	threw  bool          // the model was told of a failure where the span holds no value
	words  string        // of a failure that was recorded as the result
	failed bool
}

// outcome is a way in which a tool call ends. One without a write has no result.
type outcome struct {
	id    rule.ID
	when  func(*resultFacts) bool
	write func(*resultFacts)
	label tape.Label
	code  tape.Code
	why   string
	// unanswered says that the event is an error of the run and none of the tool.
	unanswered bool
}

// outcomes are asked in their order; the first that holds counts.
var outcomes = []outcome{
	{id: "value/result-masked", when: maskedUnshown, label: tape.Masked, code: tape.CodeMasked, why: "the producer masked the result"},
	{id: "value/result-from-span", when: recordedBest, write: (*resultFacts).writeRecorded},
	{id: "value/result-failure-shown", when: failureShown, write: (*resultFacts).writeFailureShown},
	{id: "value/result-from-request", when: isShown, write: (*resultFacts).writeShown},
	{id: "value/result-kept-by-provider", when: ranAtProvider, label: tape.Missing},
	{id: "value/result-awaited", when: (*resultFacts).waits, write: (*resultFacts).writeWaiting, label: tape.Missing, code: tape.CodeUnansweredToolCall, why: "the call waits for a person or a resume"},
	{id: "value/result-in-unrecorded-request", when: wentOnUnseen, label: tape.Missing, code: tape.CodeResultMissing, why: "the request that would show the result was not recorded whole"},
	{id: "value/result-of-failed-step", when: hasBegun, write: (*resultFacts).writeBegun, label: tape.Missing, code: tape.CodeResultMissing, why: "the step that ran the call failed before it returned; what the tool came to is recorded nowhere", unanswered: true},
	{id: "value/result-never-shown", when: neverStarted, label: tape.Missing, code: tape.CodeUnansweredToolCall, why: "the model asked for the call and nothing shows an answer", unanswered: true},
	{id: "value/result-ended-around", when: wasEndedAround, label: tape.Missing, code: tape.CodeUnansweredToolCall, why: "the program around the call ended it; what the tool came to, no record tells"},
	{id: "value/result-failed", when: hasFailed},
	{id: "value/result-ended-by-agent", when: endedAround, write: (*resultFacts).writeEndedAround},
	{id: "value/result-missing", when: noResult, label: tape.Missing, code: tape.CodeResultMissing, why: "no record holds the result"},
}

func (b *Builder) toolResult(k *ledger.Call, e *tape.Event) {
	r := &resultFacts{Builder: b, call: k, event: e, said: k.Obs, result: k.Obs.Result}
	if k.By != nil {
		r.shown = k.By.Shown
	}
	decided := b.trail(k, "result")
	for _, reading := range resultReadings {
		was := r.result.Value
		reading.read(r)
		decided.add(reading.id, was, r.result.Value)
	}
	r.failed = !r.paused() && (r.said.Failed || r.threw || r.words != "" || r.said.StatusError && r.failureTold())
	if r.said.StatusError && !r.failed && !r.paused() {
		b.mark(e, "status", "", tape.CodeStatusDisputed, "the span says error, the tool returned a result")
	}
	end := outcomes[slices.IndexFunc(outcomes, func(o outcome) bool { return o.when(r) })]
	if end.write != nil {
		end.write(r)
	}
	decided.add(end.id, exactjson.Value{}, e.Result)
	if b.mark(e, "result", end.label, end.code, end.why); end.unanswered {
		e.Status = tape.EventError
	}
	for _, other := range k.Others {
		e.OtherResults = append(e.OtherResults, tape.OtherResult{Result: other, From: tape.FromSpan})
	}
	if r.failed {
		r.fail()
	}
	if !e.Result.IsAbsent() {
		e.ResultSHA256 = e.AnswerSHA256()
		b.markBigInt(e, "result", "result", e.Result)
	}
}

// maskedUnshown reports a result that the producer masked.
//
// Needs: no request that shows it whole.
// Refuses: a request that does.
// Seen in: collectors that redact.
func maskedUnshown(r *resultFacts) bool {
	return r.result.Label == tape.Masked && (r.shown == nil || r.shown.Label != "")
}

// recordedBest reports a recorded result that no request shows better.
//
// Needs: a result on the span.
// Refuses: a damaged one that a request shows whole, unless its numbers were rounded before.
// Seen in: most packages.
func recordedBest(r *resultFacts) bool {
	return r.result.Present() && (chat.Undamaged(r.result.Label) || r.shown == nil || r.shown.Label != "" || r.result.Label == tape.Lossy && roundedBefore(r.result.Value, r.shown.Result))
}

// roundedBefore reports a result with large integers of which the model was shown the same to the last digit:
// that repairs no rounding. What else makes a result lossy is repaired by what the model was shown, and the
// digits in a text are nobody's number.
func roundedBefore(result, shown exactjson.Value) bool {
	if inner, ok := chat.Decoded(shown); ok {
		shown = inner
	}
	return result.HasBigInt() && result.Equal(shown)
}

// failureShown reports a call that failed, whose words only a request shows.
//
// Needs: a failed call without a result of its own.
// Refuses: nothing.
// Seen in: packages that record no error on tools.
func failureShown(r *resultFacts) bool { return isShown(r) && r.failed && !r.result.Present() }

// isShown reports a result that a later request shows.
//
// Needs: no better record on the span.
// Refuses: nothing.
// Seen in: instrumentations of a provider's client alone.
func isShown(r *resultFacts) bool { return r.shown != nil }

// ranAtProvider reports a call of a tool that the provider ran, whose answer does not tell what the tool
// found.
//
// Needs: a call without a span that stands in an answer as done.
// Refuses: a result in the answer.
// Seen in: items of the Responses API.
func ranAtProvider(r *resultFacts) bool {
	return r.said.ToolKind == tape.ToolServer && len(r.call.Nodes) == 0 && !r.said.Failed
}

// waits reports a call that a person or a resume has to answer.
//
// Needs: a span that says that it waits; or a run that waits, whose last answer asks for the call.
// Refuses: a result on the span, or one that a request shows.
// Seen in: LangGraph, Pydantic AI, Genkit and Strands, whose agents wait for a person.
func (r *resultFacts) waits() bool { return r.paused() && r.shown == nil }

// paused reports a call that waited, and may have been answered since. A model that was told of the exception
// in its words makes it a failure.
func (r *resultFacts) paused() bool {
	return r.waiting() != "" && !r.result.Present() && (r.shown == nil || !chat.WordsOf(r.said.Error, r.shown.Result))
}

func (r *resultFacts) waiting() tape.Waiting {
	if of := r.pause(); of.run != "" && len(r.call.Nodes) == 0 && r.call.By != nil && r.call.By.Model == of.last {
		return of.run
	}
	return r.said.Waiting
}

// pause is what a run waits for, and the model call that asked for it.
type pause struct {
	run  tape.Waiting
	last *ledger.Call
}

// pause reads it once for all calls of the run.
func (b *Builder) pause() *pause {
	if b.readPause == nil {
		b.readPause = &pause{run: spantree.Observed(b.Fragment.Ending()).Waiting}
		if b.readPause.run != "" {
			b.readPause.last = b.lastModel()
		}
	}
	return b.readPause
}

func (r *resultFacts) writeWaiting() { r.event.Waiting = r.waiting() }

// wentOnUnseen reports a call without a span after which its agent asked the model again, in a request that
// was not recorded whole: what came of the call may stand in the rest.
//
// Needs: a later model call of the agent.
// Refuses: a call with a span.
// Seen in: instrumentations that limit the length of attributes.
func wentOnUnseen(r *resultFacts) bool {
	return len(r.call.Nodes) == 0 && slices.ContainsFunc(r.Calls.Models, func(m *ledger.Call) bool {
		return m.Agent == r.call.Agent && m.Seq > r.call.Seq && !chat.Undamaged(m.Obs.RequestLabel)
	})
}

// hasBegun reports a call that no span reports, in a step that failed.
//
// Needs: the id of the call in what went into the step.
// Refuses: a step with a span of its tool.
// Seen in: LangGraph, which ends the calls beside one that failed.
func hasBegun(r *resultFacts) bool { return r.begun(r.call) != nil }

// neverStarted reports a call that only the response tells of.
//
// Needs: no span of the call but one of a hand-off.
// Refuses: nothing.
// Seen in: runs that ended with a call for somebody else.
func neverStarted(r *resultFacts) bool { return len(r.call.Nodes) == 0 || r.said.Handoff }

// wasEndedAround reports a call that the program around it ended.
//
// Needs: a failure that says so.
// Refuses: nothing.
// Seen in: asyncio, AbortController and context.Context, which end calls beside one that failed.
func wasEndedAround(r *resultFacts) bool {
	return r.failed && (r.call.Maybe || wasStopped(r.said.Error))
}

// hasFailed reports a call that failed: it has no result.
//
// Needs: a failure on its span, or one that the model was told.
// Refuses: nothing.
// Seen in: most packages.
func hasFailed(r *resultFacts) bool { return r.failed }

// endedAround reports a call that says nothing of how it ended, in an agent that failed with the name of its
// tool.
//
// Needs: an error of the agent that names the tool.
// Refuses: a model that was asked again since.
// Seen in: streams of the AI SDK 4.
func endedAround(r *resultFacts) bool { return r.endedBy() != nil }

// noResult is every other call.
//
// Needs: a span that holds no result, and no request that shows it.
// Refuses: nothing.
// Seen in: packages that record no results.
func noResult(*resultFacts) bool { return true }

func (r *resultFacts) writeRecorded() {
	r.event.Result, r.event.Envelope = r.result.Value, r.result.Envelope
	switch r.result.Label {
	case "":
	case tape.Recovered:
		r.mark(r.event, "result", tape.Recovered, tape.CodeResultRecovered, "taken from a record beside the span")
	case tape.Disputed:
		r.mark(r.event, "result", tape.Disputed, tape.CodeResultDisputed, "payloads of one span hold other results, and nothing decides between them")
	default:
		r.markDamage(r.event, "result", r.result, "the recorded result is not what the tool returned")
	}
}

// writeFailureShown writes what the model was told as the error, where the span has no words for it. A failed
// call has no result.
func (r *resultFacts) writeFailureShown() {
	e := tape.Error{}
	if r.said.Error != nil {
		e = *r.said.Error
	}
	if e.Message == "" || e.Message == e.Type {
		r.event.Error = &tape.Error{Type: e.Type, Message: chat.TextResult(r.shown.Result)}
		r.mark(r.event, "error", tape.Recovered, "", "")
	}
}

func (r *resultFacts) writeShown() {
	e := r.event
	e.Result, e.Envelope = r.shown.Result, r.shown.Envelope
	if len(r.call.Nodes) == 0 {
		e.Result, e.Envelope = r.shown.Returned()
	}
	if literal, ok := decode.PythonStr(r.shown.Result.Str()); ok && !saysError(literal) {
		e.Result, e.Envelope = literal, append(slices.Clip(r.shown.Envelope), "python.str")
	}
	r.mark(e, "result", tape.Recovered, tape.CodeResultRecovered, "taken from a later model request")
	switch {
	case r.shown.Label != "":
		r.mark(e, "result", r.shown.Label, lossCode(r.shown.Label, r.shown.Masked), "the recorded result is not what the tool returned")
	case r.shown.Emptied:
		r.mark(e, "result", tape.Lossy, tape.CodeLossyRepr, "the recorded result may not be what the tool returned: its record writes nulls as a text")
	}
	r.failed = r.failed || r.shown.IsError
}

// saysError reports an object of nothing but a failure: a framework may have made it of what was thrown, and
// then the text that the model was told is all that there is.
func saysError(v exactjson.Value) bool {
	return v.Kind() == exactjson.Object && v.Len() == 1 && v.Get("error").Kind() == exactjson.String
}

func (r *resultFacts) writeBegun() {
	r.event.SpanIDs = append(r.event.SpanIDs, r.begun(r.call).SpanID())
}

func (r *resultFacts) writeEndedAround() {
	r.event.Error, r.failed = r.endedBy(), true
	r.mark(r.event, "error", tape.Recovered, "", "")
}

// fail writes the failure of the tool.
func (r *resultFacts) fail() {
	e := r.event
	e.Status, e.IsError = tape.EventError, true
	if r.words != "" {
		e.Error = &tape.Error{Message: r.words}
		delete(e.Provenance, "error")
	}
	e.Error = cmp.Or(e.Error, r.said.Error)
	if e.Result.IsAbsent() && e.Provenance["error"] == "" && wasGivenUp(e.Error) {
		r.mark(e, "result", tape.Missing, tape.CodeResultMissing, "the call was given up; what the tool came to is recorded nowhere")
	}
}
