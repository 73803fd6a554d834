// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// openEnds says of a run without a failure why nothing shows that it ended. The first that holds counts. One
// without a reason is an end: an answer, or a way to end that needs none.
var openEnds = []struct {
	when func(*outputFacts) bool
	why  string
}{
	{neverEnded, "the run span never ended"},
	{unanswered, "a tool that was asked for shows no answer"},
	{askedWhileItAnswered, "tools ran while the last model call answered, as in the turns before it, and no call followed: what the run recorded as its answer may be what was said beside them"},
	{answeredByRunSpan, ""},
	{endedWellUnseen, ""},
	{recordsNothing, ""},
	{steppedOn, ""},
	{returnedAround, ""},
	{noModelCall, "no record holds an answer"},
	{wentOn, "a tool ran after the last model call, and no record shows what the model made of it"},
	{hasText, ""},
	{hidesCalls, "the last model call shows an empty answer, as those do that asked for tools"},
	{emptyAnswer, "the last model call shows an empty answer"},
	{answeredUnseen, ""},
	{endedWellSilent, ""},
	{answersUnheard, ""},
	{showsNoAnswer, "the last model call shows no answer"},
	{(*outputFacts).needsNoAnswer, ""},
	{func(*outputFacts) bool { return true }, "the last response asks for tools, and no record shows what the model made of them"},
}

// unfinished says why nothing shows that the run ended, "" where it did.
func (o *outputFacts) unfinished() string {
	i := 0
	for !openEnds[i].when(o) {
		i++
	}
	return openEnds[i].why
}

func neverEnded(o *outputFacts) bool {
	return o.root != nil && o.root.End == o.root.Start && o.root.Span.EndTimestamp() == 0
}

// unanswered reports loose calls among which a tool was asked for that nothing answers, and no end of the run
// since.
func unanswered(o *outputFacts) bool {
	return o.root == nil && slices.ContainsFunc(o.Tape.Events, neverRan) && !o.answeredSince() && (o.last == nil || o.concludedAround() == "")
}

// answeredByRunSpan reports an answer on the run span alone, or one there that is no text or is not kept:
// media, a masked value, or the result of a tool with which the run ended.
func answeredByRunSpan(o *outputFacts) bool {
	switch {
	case o.root == nil:
		return false
	case o.out.text != "" && o.out.message == nil:
		return true
	case len(o.run.Output) == 0:
		return o.run.OutputData.Label != "" && !o.run.WeakAgent
	}
	return slices.ContainsFunc(o.own, chat.IsContent)
}

// endedWellUnseen reports a run span that says that it ended well, and does not merely lack an error, where
// no model call was recorded.
func endedWellUnseen(o *outputFacts) bool {
	return o.last == nil && o.root != nil && !o.run.WeakAgent && o.root.Span.Status().Code() == ptrace.StatusCodeOk
}

// recordsNothing reports a run that ended well and of which neither input nor any argument or result of a
// tool was recorded: who records no content does not show an answer either.
func recordsNothing(o *outputFacts) bool {
	return o.last == nil && o.root != nil && o.Tape.Input.UserMessage == nil && !slices.ContainsFunc(o.Tape.Events, func(e tape.Event) bool {
		return isToolCall(e) && (!e.Args.IsAbsent() || !e.Result.IsAbsent())
	})
}

// returnedAround reports that the function around the run was asked something and did not fail, where nothing
// else is known of the model.
func returnedAround(o *outputFacts) bool {
	if o.last != nil || o.root != nil {
		return false
	}
	n := o.Fragment.FunctionAround()
	return n != nil && fragment.QuestionTo(n) != "" && !n.Failed() && n.End > n.Start
}

func noModelCall(o *outputFacts) bool { return o.last == nil }

// wentOn reports a tool call of the run's own agent after what would be its last model call, or within it
// where no answer was recorded: some spans of a model call lie around its tools. That model call asked for
// it, whatever was recorded of its answer.
func wentOn(o *outputFacts) bool {
	return slices.ContainsFunc(o.Ordered, func(k *ledger.Call) bool {
		return k.Kind == tape.EventToolCall && len(k.Nodes) > 0 && k.By == nil && k.Agent == o.last.Agent && (k.Start >= o.last.End || o.last.Response == nil && ledger.HangsBelow(o.last, k))
	})
}

func hasText(o *outputFacts) bool { return o.out.text != "" }

// hidesCalls reports an answer that was recorded as empty in a run whose answers with calls, as later
// requests show them, were so too.
func hidesCalls(o *outputFacts) bool {
	empty := func(k *ledger.Call) bool {
		return len(k.Obs.Request) > 0 && len(k.Obs.Response) > 0 && len(k.Obs.Response[0].Parts) == 0
	}
	return o.root == nil && empty(o.last) && len(o.Calls.Models) > 1 && !slices.ContainsFunc(o.Calls.Models, func(k *ledger.Call) bool {
		return k != o.last && k.Agent == o.last.Agent && !(empty(k) && k.Response != nil && chat.HasToolCall(k.Response))
	})
}

// emptyAnswer reports an answer that was recorded and holds nothing, where calls may be missing.
func emptyAnswer(o *outputFacts) bool {
	return o.root == nil && o.last.Response != nil && len(o.last.Response.Parts) > 0 &&
		!slices.ContainsFunc(o.last.Response.Parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" || p.Label != "" })
}

// answeredUnseen reports a last model call that got an answer and does not ask for tools.
func answeredUnseen(o *outputFacts) bool {
	return ledger.Answered(o.last) && (o.final || o.last.Response == nil && !ledger.StopsForTools(o.last))
}

// endedWellSilent reports a last model call of which nothing was recorded but that it ended well: who records
// so little does not show an answer either.
func endedWellSilent(o *outputFacts) bool {
	return o.root != nil && !o.run.WeakAgent && o.last.Response == nil && spantree.Silent(o.last.Obs) && endedWell(o.last)
}

// answersUnheard reports that no model call of the run recorded an answer, nor why it ended, while the last
// one says that it ended well.
func answersUnheard(o *outputFacts) bool {
	return endedWell(o.last) && o.last.Nodes[0].Spans > 0 && !slices.ContainsFunc(o.Calls.Models, func(k *ledger.Call) bool {
		return k.Response != nil && len(k.Obs.Response) > 0 || len(k.Obs.FinishReasons) > 0
	})
}

// endedWell reports a call whose span says so.
func endedWell(t *ledger.Call) bool {
	return len(t.Nodes) > 0 && t.Nodes[0].Span.Status().Code() == ptrace.StatusCodeOk
}

func showsNoAnswer(o *outputFacts) bool {
	return o.last.Response == nil || !chat.HasToolCall(o.last.Response) && !ledger.StopsForTools(o.last)
}

// needsNoAnswer reports that the calls with which a run ended are an end: structured output, a hand-off, or
// tools whose results are the answer of an agent of that kind.
func (o *outputFacts) needsNoAnswer() bool {
	results := o.run.Quirks.Has(genai.EndsWithTools) && len(o.last.Asked) > 0
	for _, a := range o.last.Asked {
		ran := ran(a)
		if slices.Contains(o.last.Obs.OutputTools, a.Part.Name) || ran && a.Tool != nil && (a.Tool.Obs.Handoff || ledger.TransferTarget(a.Tool) != "") {
			return true
		}
		results = results && ran
	}
	return results
}

// answeredSince reports that the last model call ended with an answer, and that its request goes on from
// those of the calls that asked for tools without an answer: their results were not recorded, and the run
// went on all the same.
func (o *outputFacts) answeredSince() bool {
	ended := answerBy(o.last) != "" || o.final && ledger.Answered(o.last) && o.said != ""
	return ended && !slices.ContainsFunc(o.Ordered, func(k *ledger.Call) bool {
		if k.Kind != tape.EventToolCall || k.Seq < 1 || k.Seq > len(o.Tape.Events) || !neverRan(o.Tape.Events[k.Seq-1]) {
			return false
		}
		if k.By == nil {
			return true
		}
		m := k.By.Model
		return m == o.last || m.Agent != o.last.Agent || m.End > o.last.Start || len(m.Request) == 0 || !goesOnFrom(m.Request, o.last.Request)
	})
}

// goesOnFrom reports that a request begins with an earlier one, whose last message may say by now that the
// step failed.
func goesOnFrom(before, request []*chat.Message) bool {
	n := len(before)
	same := chat.CommonPrefix(before, request)
	return same == n || same == n-1 && len(request) >= n && chat.WithoutTail(before[n-1]) == chat.WithoutTail(request[n-1])
}

// neverRan is a tool call that was asked for, which no span and no request answers.
func neverRan(e tape.Event) bool {
	return isToolCall(e) && e.Provenance["result"] == tape.Missing && e.Status == tape.EventError && len(e.SpanIDs) == 0
}
