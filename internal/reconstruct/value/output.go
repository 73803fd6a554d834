// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// outputFacts is what the resolvers of the answer and of the status share.
type outputFacts struct {
	*Builder
	root   *spantree.Node // the run span that ended last; nil: there is none
	run    *genai.Report  // what it says
	own    []genai.Part   // of its last message, where that is an answer
	told   string         // the text of these
	last   *ledger.Call   // the model call that ended the run; nil: there is none
	said   string         // the text of its answer
	final  bool           // it answered and asks for no tool
	whole  bool           // it is final, and nothing of the answer is damaged
	failed bool           // it failed, and no answer of it is known
	out    claim          // the text of the output, once it is decided
	open   string         // why nothing shows that the run ended, once the endings are asked
	step   *spantree.Node // the step that failed, where that made an error of the run
}

func (b *Builder) outputFacts() *outputFacts {
	o := &outputFacts{Builder: b, root: b.Fragment.Ending(), last: b.lastModel()}
	o.run, o.own, o.told = spantree.Observed(o.root), spantree.OwnAnswer(o.root).Parts, toldBy(o.root)
	if o.last == nil {
		return o
	}
	o.final = ledger.FinalAnswer(o.last)
	if o.last.Response == nil {
		o.failed = o.last.Obs.Failed || o.last.Obs.StatusError
		return o
	}
	o.said = chat.TextOf(o.last.Response)
	o.whole = o.final && chat.Damage(o.last.Response.Parts) == ""
	return o
}

// outputText decides what the run answered.
var outputText = []resolver[*outputFacts]{
	{"value/output-cut-on-run-span", ownAnswerCut},
	{"", inTurn(lastWords)},
	{"value/output-cut-in-last-answer", lastAnswerCut},
	{"value/output-recovered", labelAnswer},
	{"value/output-from-function", asRecovered(answeredFunction)},
	{"value/output-said-before-failure", takenBack(saidBeforeFailure)},
	{"value/output-error-of-last-call", takenBack(errorOfLastCall)},
	{"value/output-thrown-instead", takenBack(threwInstead)},
	{"value/output-refused-by-check", takenBack(refusedByCheck)},
}

// outputElse decides what a text is worth once the status is known, or says why there is none.
var outputElse = []resolver[*outputFacts]{
	{"value/output-masked", unmaskedAnswer},
	{"value/output-missing", noAnswer},
}

// Finish settles what the run answered and how it ended.
func (b *Builder) Finish() {
	r, to := &b.Tape.Run, &b.Tape.Output
	to.Provenance = tape.Provenance{}
	o := b.outputFacts()
	o.out = resolve(o, outputText, claim{trail: b.trail(nil, "output.text")})
	b.settle(o.out, to.Provenance, "output.text")
	if o.out.message != nil {
		to.Message = b.pool(o.out.message)
	}
	ended := o.ended()
	r.Status, to.Status = ended.status, string(ended.status)
	if ended.code != "" {
		b.Finding(ended.code, 0, ended.field, ended.why)
	}
	if r.Status == tape.StatusError {
		r.Error = o.runError()
		to.Error = r.Error
	}
	if o.last == nil && !slices.ContainsFunc(b.Tape.Events, isToolCall) {
		b.Finding(tape.CodeContentAbsent, 0, "events", "no record holds a call of a model or a tool: what the run did before it ended is not known")
	}
	if o.root == nil {
		b.Finding(tape.CodeNoRoot, 0, "run.root_span_id", "no agent span; the calls were grouped")
	}
	to.Text = b.settle(resolve(o, outputElse, claim{text: o.out.text, trail: o.out.trail}), to.Provenance, "output.text")
}

// ownAnswerCut is a run span that recorded the beginning of the answer, where the model's own record is no
// better.
//
// Needs: a cut answer on the run span.
// Refuses: a whole one of the last model call.
// Seen in: instrumentations that limit the length of attributes.
func ownAnswerCut(o *outputFacts, was claim) claim {
	if chat.Damage(o.own) != tape.Truncated || o.whole {
		return was
	}
	return claim{settled: true, code: tape.CodeTruncated, detail: "the answer of the run was recorded cut"}
}

// lastAnswerCut withdraws an answer that the model call recorded cut and the run span not at all, or not
// whole.
//
// Needs: a text that only the last model call holds.
// Refuses: an answer that the run span tells whole.
// Seen in: ADK for Go before 1.0, which keeps the first chunk of a stream.
func lastAnswerCut(o *outputFacts, was claim) claim {
	if was.message == nil || o.last.Obs.ResponseLabel != tape.Truncated || o.told != "" && chat.Damage(o.own) == "" {
		return was
	}
	return claim{settled: true, code: tape.CodeTruncated, detail: "the last answer was recorded cut"}
}

// labelAnswer labels what follows from other records: an answer recovered from a later request, and all that
// the models of an agent said where its caller is handed all of it.
//
// Needs: a later request that holds the answer, or a caller that is handed all that was said.
// Refuses: an answer that its own record holds.
// Seen in: streams; agno, and the chat client of Spring AI.
func labelAnswer(o *outputFacts, was claim) claim {
	recovered := o.run.Quirks.Has(genai.HandsAll)
	if was.message != nil {
		recovered = o.last.Obs.ResponseLabel == tape.Recovered
	}
	if was.text != "" && recovered {
		was.label = tape.Recovered
	}
	return was
}

// errorOfLastCall reports an answer that is the error of the model call with which the loop ended: frameworks
// return it in place of raising it.
//
// Needs: a last model call that failed with these words.
// Refuses: nothing.
// Seen in: frameworks that return an error as a text.
func errorOfLastCall(o *outputFacts, was claim) bool {
	return o.failed && o.last.Obs.Error != nil && chat.SameWords(was.text, o.last.Obs.Error.Message)
}

// answeredFunction is the text that the function around the run returned.
//
// Needs: a run without an answer on record.
// Refuses: a value that is no text.
// Seen in: decorated functions around a client that nobody instruments.
func answeredFunction(o *outputFacts) string { return o.answeredAround() }

// unmaskedAnswer labels an answer in which the producer replaced something.
//
// Needs: a mask in the text.
// Refuses: nothing; a text that is a mask as a whole is no value.
// Seen in: collectors that redact.
func unmaskedAnswer(o *outputFacts, was claim) claim {
	if was = unmasked(o, was); was.code != "" {
		was.settled = true
	}
	return was
}

// noAnswer says why there is none. A run that failed needs none.
//
// Needs: no resolver before it that found one.
// Refuses: a run that failed, which needs none.
// Seen in: packages that record no content unless told to.
func noAnswer(o *outputFacts, was claim) claim {
	switch {
	case was.text != "" || o.Tape.Run.Status == tape.StatusError:
		return was
	case o.said == "" && o.last != nil && o.last.Response != nil && chat.HasToolCall(o.last.Response):
		was.detail = "the last response asks for tools and holds no text"
	default:
		was.detail = "no record holds the final answer"
	}
	was.label, was.code = tape.Missing, tape.CodeContentAbsent
	return was
}

// toldBy is the text of what a span recorded as the answer of its agent.
func toldBy(n *spantree.Node) string {
	return chat.TextOf(&chat.Message{Parts: spantree.OwnAnswer(n).Parts})
}
