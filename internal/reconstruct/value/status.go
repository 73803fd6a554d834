// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// ending is a way in which a run ends, and the finding that it comes with.
type ending struct {
	id     rule.ID
	when   func(*outputFacts) bool
	status tape.RunStatus
	code   tape.Code
	field  string
	why    string
}

// endings are asked in their order; the first that holds counts.
var endings = []ending{
	{id: "value/status-interrupted", when: (*outputFacts).interrupted, status: tape.StatusInterrupted, code: tape.CodeInterrupted, field: "run.status", why: "the run waits for a person or a resume"},
	{id: "value/status-failed", when: runFailed, status: tape.StatusError},
	{id: "value/status-answered-despite-error", when: answeredDespiteError, code: tape.CodeStatusDisputed, status: tape.StatusOK, field: "run.status", why: "the root span says error, the run has an answer"},
	{id: "value/status-error-of-run-span", when: runSaysError, status: tape.StatusError},
	{id: "value/status-error-of-last-call", when: failedWithoutAnswer, status: tape.StatusError},
	{id: "value/status-run-span-expected", when: rootExpected, status: tape.StatusIncomplete, code: tape.CodeRootMissing, field: "run.root_span_id", why: "the run span that these calls name never came"},
	{id: "value/status-error-of-step", when: (*outputFacts).stepFailed, status: tape.StatusError},
	{id: "value/status-unfinished", when: isUnfinished, status: tape.StatusIncomplete, code: tape.CodeUnfinished, field: "run.status"},
	{id: "value/status-ok", when: endedWithoutError, status: tape.StatusOK},
}

// ended is how the run ended.
func (o *outputFacts) ended() ending {
	end := endings[slices.IndexFunc(endings, func(e ending) bool { return e.when(o) })]
	end.why = cmp.Or(end.why, o.open)
	o.trail(nil, "run.status").say(end.id, "", string(end.status))
	return end
}

// interrupted reports that the run ended by waiting for a person or a resume.
//
// Needs: a span that says so, and that did not end before the last model call.
// Refuses: nothing.
// Seen in: LangGraph, Pydantic AI, Genkit and Strands, whose agents wait for a person.
func (o *outputFacts) interrupted() bool {
	return o.root != nil && (o.run.Waiting != "" || spantree.AnySpan([]*spantree.Node{o.root}, func(n *spantree.Node) bool {
		return n.Obs.Waiting != "" && (o.last == nil || n.End >= o.last.End)
	}))
}

// runFailed reports a run span that tells how the agent failed.
//
// Needs: a failure in the words of its dialect.
// Refuses: nothing.
// Seen in: most packages with a span of the agent.
func runFailed(o *outputFacts) bool { return o.run.Failed }

// answeredDespiteError reports a run span with the status of an error, and an answer.
//
// Needs: a last model call that asks for no tool.
// Refuses: an answer that was withdrawn.
// Seen in: programs that fail when the agent has answered.
func answeredDespiteError(o *outputFacts) bool {
	return o.run.StatusError && o.out.text != "" && o.final
}

// runSaysError reports a run span with the status of an error.
//
// Needs: no answer.
// Refuses: nothing.
// Seen in: most packages with a span of the agent.
func runSaysError(o *outputFacts) bool { return o.run.StatusError }

// failedWithoutAnswer reports a run that ended with a model call that failed.
//
// Needs: a last model call without a response.
// Refuses: a run with an answer.
// Seen in: runs without a span around them.
func failedWithoutAnswer(o *outputFacts) bool { return o.failed && o.out.text == "" }

// rootExpected reports that a run span must exist and has not come: the calls name a parent, and their
// dialect puts every call below a run span.
//
// Needs: a dialect that puts every call below a run span.
// Refuses: a run with a run span.
// Seen in: processes that were killed; parts of a trace that did not come.
func rootExpected(o *outputFacts) bool {
	return o.root == nil && slices.ContainsFunc(o.Fragment.Heads, func(n *spantree.Node) bool { return n.Rooted && n.Missing })
}

// stepFailed finds the step that failed, also where a span around it, as of a workflow, tells no status.
//
// Needs: a step around the last event that failed, or a guardrail that ended the run; and an answer that was
// withdrawn, an open end, or a run span that tells no status.
// Refuses: a run with an answer.
// Seen in: graphs and workflows whose run span tells no status.
func (o *outputFacts) stepFailed() bool {
	o.open = o.unfinished()
	if o.out.text == "" && (o.out.withdrawn || o.open != "" || o.root != nil && o.root.Span.Status().Code() == ptrace.StatusCodeUnset) {
		if o.step = o.failedAround(); o.step == nil {
			o.step = o.tripped()
		}
	}
	return o.step != nil
}

// isUnfinished reports a run of which nothing shows that it ended.
//
// Needs: an open end: a tool without an answer, a last model call that asked for tools, no answer at all.
// Refuses: a way to end that needs no answer: structured output, a hand-off.
// Seen in: processes that were killed; traces of which a part did not come.
func isUnfinished(o *outputFacts) bool { return o.open != "" }

// endedWithoutError is every other run.
//
// Needs: an answer, or a way to end that needs none.
// Refuses: nothing.
// Seen in: every package.
func endedWithoutError(*outputFacts) bool { return true }
