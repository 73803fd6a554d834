// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// lastWords decides the final answer: what the run span records, else what the model said last.
var lastWords = []resolver[*outputFacts]{
	{"value/output-from-run-span", toldByRunSpan},
	{"value/output-from-output-data", asRecorded(cameOutOfRun)},
	{"value/output-from-lone-text", asRecorded(loneTextOut)},
	{"value/output-from-step", asRecorded(answeredByStep)},
	{"value/output-without-last-answer", unlessAnswered},
	{"value/output-in-words-of-model", reworded(inWordsOfModel)},
	{"value/output-from-last-answer", asRecorded(finalWords)},
	{"value/output-handed-on", handedOnByProgram},
	{"value/output-from-last-state", asRecorded(concludedByProgram)},
	{"value/output-from-answering-call", answeredByCall},
	{"value/output-from-closing-post", asRecorded(closingPost)},
	{"value/output-message", messageOfAnswer},
}

// toldByRunSpan is the run span's own record. The model's own record is the better one where the other is
// cut.
//
// Needs: an answer on the run span.
// Refuses: a cut answer, where the model's own is whole.
// Seen in: most packages with a span of the agent.
func toldByRunSpan(o *outputFacts, was claim) claim {
	if chat.Damage(o.own) != tape.Truncated || !o.whole {
		was.text = o.told
	}
	return was
}

// cameOutOfRun is what a run span without a message returned, whatever it is.
//
// Needs: output of the run span that is no message.
// Refuses: a last model call that answers; a span that is an agent by its shape alone.
// Seen in: agents that return an object.
func cameOutOfRun(o *outputFacts) string {
	if o.final || o.run.WeakAgent || len(o.run.Output) > 0 {
		return ""
	}
	return chat.Given(o.run.OutputData)
}

// loneTextOut is the text of an object that came out of a run span without a message and holds nothing else.
//
// Needs: a text of several words, under any name.
// Refuses: a mere word, which may as well be a status; a name that tells how something ended.
// Seen in: functions around a run.
func loneTextOut(o *outputFacts) string {
	v, ok := decode.Structure(o.run.OutputData.Value)
	if !ok || o.final || len(o.run.Output) > 0 || o.run.OutputData.Label != "" || v.Kind() != exactjson.Object || v.Len() != 1 {
		return ""
	}
	text := v.Members()[0].Value.Str()
	if endsInState.MatchString(v.Members()[0].Name) || len(text) < chat.MinQuoted || !strings.ContainsAny(strings.TrimSpace(text), " \n") {
		return ""
	}
	return text
}

// endsInState is the name of a member that says how something ended or where it stands, and not what came of
// it.
var endsInState = regexp.MustCompile(`(?i)(status|state|outcome|phase|stage|reason|error|level|kind|type|code)$`)

// answeredByStep is what a step of the program came to where no model call is on record.
//
// Needs: a run without a model call.
// Refuses: nothing.
// Seen in: LlamaIndex's workflows; functions around a client that nobody instruments.
func answeredByStep(o *outputFacts) string {
	if o.last != nil {
		return ""
	}
	if s := o.Fragment.Stepped(); s.Answer != nil {
		return chat.PartsText(s.Answer.Parts)
	}
	return ""
}

// unlessAnswered ends the list where the last model call shows no answer: what follows reads that.
//
// Needs: a run without a last answer on record.
// Refuses: nothing.
// Seen in: streams, and packages that record no content.
func unlessAnswered(o *outputFacts, was claim) claim {
	was.settled = o.last == nil || o.last.Response == nil
	return was
}

// inWordsOfModel is what the model said, where the run span recorded an object of some language that
// represents it, or a member of it.
//
// Needs: a text of the run span that holds, or represents, what the model said.
// Refuses: what came out of the run span in those very words.
// Seen in: frameworks that record str() of an object, or a member of an answer in JSON.
func inWordsOfModel(o *outputFacts, text string) string {
	if text != o.said && o.final && o.said != "" && (isReprOf(text, o.said) || o.root != nil && isAnswerIn(text, o.said) && (tellsText(o.root, o.said) || o.cameOut())) {
		return o.said
	}
	return text
}

// finalWords is what the model said last, behind what the caller was handed before.
//
// Needs: a last answer that asks for no tool.
// Refuses: nothing.
// Seen in: every package that records answers.
func finalWords(o *outputFacts) string {
	if !o.final {
		return ""
	}
	return o.handedBefore() + o.said
}

// handedOnByProgram is what the model said beside calls, where the program took it for the answer.
//
// Needs: a span that tells what the model said beside calls, and no other text.
// Refuses: a short text; a span that failed.
// Seen in: Koog; the AI SDK and AgentScope for Java at the limit of their steps.
func handedOnByProgram(o *outputFacts, was claim) claim {
	if was.text == "" && o.handedOn() {
		return claim{text: o.said, settled: true}
	}
	return was
}

// concludedByProgram is what the assistant says at the end of the state with which a step around all calls
// ended.
//
// Needs: a state that is the last request and one answer.
// Refuses: a last answer that asks for no tool; a last call of which a tool ran.
// Seen in: frameworks that stop at a limit with words of their own.
func concludedByProgram(o *outputFacts) string {
	if o.final {
		return ""
	}
	return o.concludedAround()
}

// answeredByCall is the answer that a model gave by a call, also where a framework tells it among words of
// its own.
//
// Needs: a tool that was offered for the answer.
// Refuses: a text of the run span that is not around the answer.
// Seen in: structured output by a tool (LangChain, Pydantic AI).
func answeredByCall(o *outputFacts, was claim) claim {
	if by := answerBy(o.last); by != "" && (was.text == "" || holdsJSON(was.text, by) && !isArgsOf(was.text, o.last)) {
		was.text = by
	}
	return was
}

// closingPost is the last message between parts of the program, where no model wrote it.
//
// Needs: calls with which a run may end, and a message behind them.
// Refuses: a run that needs an answer.
// Seen in: AutoGen.
func closingPost(o *outputFacts) string {
	if o.Calls.Closing == nil || !o.needsNoAnswer() {
		return ""
	}
	return chat.TextOf(o.Calls.Closing)
}

// messageOfAnswer is the message of the last model call, where the answer is its text.
//
// Needs: an answer that is all of the text of the last response.
// Refuses: nothing.
// Seen in: every package that records answers.
func messageOfAnswer(o *outputFacts, was claim) claim {
	if was.text != "" && was.text == o.said {
		was.message = o.last.Response
	}
	return was
}

// constructorRepr is how the representation of an object begins that names its members: StopEvent(result=…
var constructorRepr = regexp.MustCompile(`^\s*[A-Z]\w*\([a-z_]\w*=`)

// isReprOf reports a text that represents an object of some language in place of what was said: a
// constructor, a dictionary with what was said inside, or an object of JSON of which it is a member.
func isReprOf(text, said string) bool {
	if constructorRepr.MatchString(text) {
		return true
	}
	if v, ok := decode.ParseStructure(text); ok && isMember(v, said) {
		return true
	}
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\`, "").Replace
	return strings.HasPrefix(text, "{'") && strings.Contains(plain(text), plain(said))
}

// isAnswerIn reports a text that is a member of the object with which a model answered: an envelope of who
// recorded it, or a part of what the model said itself. It is the latter where the run span holds the object
// as a whole.
func isAnswerIn(text, said string) bool {
	v, ok := decode.ParseStructure(said)
	return ok && text != "" && isMember(v, text)
}

// cameOut reports that what the model said is a value in what came out of the run span.
func (o *outputFacts) cameOut() bool {
	v, ok := decode.Structure(o.run.OutputData.Value)
	for range chat.MaxEnvelopes {
		if ok = ok && v.Kind() == exactjson.Object; ok && isMember(v, o.said) {
			return true
		}
		v = v.First("outputs", "output", "result", "response", "return_values")
	}
	return false
}

// answerBy is the answer that a model gave by a call, as the framework has it do.
func answerBy(k *ledger.Call) string {
	if k == nil || k.Response == nil {
		return ""
	}
	calls := chat.CallsOf(k.Response.Parts)
	if len(calls) != 1 || !slices.Contains(k.Obs.OutputTools, calls[0].Name) {
		return ""
	}
	if k.Obs.Quirks.Has(genai.AnswersWhole) && calls[0].Args.Kind() == exactjson.Object {
		return calls[0].Args.JSON()
	}
	return chat.SaidBy(calls[0])
}

// isArgsOf reports a text that is all that a model answered by a call: who asks for an object answers with
// it, whatever it holds.
func isArgsOf(text string, k *ledger.Call) bool {
	v, ok := decode.ParseStructure(text)
	return ok && slices.ContainsFunc(chat.CallsOf(k.Response.Parts), func(p *genai.Part) bool {
		return p.Args.Kind() == exactjson.Object && chat.EqualArgs(p.Args, v, exactjson.Value.Equal)
	})
}

// holdsJSON reports a text that holds another one as a value of JSON: what a framework says of an answer
// beside it.
func holdsJSON(text, said string) bool {
	quoted := exactjson.StringValue(said).JSON()
	if said != "" && (said[0] == '{' || said[0] == '[') && !strings.Contains(text, quoted) {
		quoted = said
	}
	return len(text) > len(quoted) && strings.Contains(text, quoted)
}
