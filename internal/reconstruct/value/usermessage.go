// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// userMessage decides what the user said, from messages and tasks.
var userMessage = []resolver[*inputFacts]{
	{"value/message-from-run-span", saidToRunSpan},
	{"value/message-in-words-of-request", reworded(asSent)},
	{"value/message-from-task-in-arguments", asRecorded(taskInArguments)},
	{"value/message-from-task-in-result", asRecorded(taskInResult)},
	{"value/message-from-task-above", asRecorded(taskAbove)},
	{"value/message-from-first-request", lastSent},
	{"value/message-from-kept-messages", asRecovered(taskKept)},
	{"value/message-from-agent-above", asRecovered(askedAbove)},
	{"value/message-from-lone-task", asRecorded(loneTask)},
	{"value/message-from-preparation", asRecovered(preparedFirst)},
}

// userMessageElse decides it from whatever the run was started with, or says that no record holds it.
var userMessageElse = []resolver[*inputFacts]{
	{"value/message-from-input-data", asRecorded(startedWith)},
	{"value/message-from-function", askedOfFunction},
	{"value/message-masked", unmaskedMessage},
	{"value/message-missing", noUserMessage},
}

// saidToRunSpan is the run's own record of its input.
//
// Needs: a text of a user in the input of the run span.
// Refuses: a text that was cut: no more than its beginning is known.
// Seen in: most packages with a span of the agent.
func saidToRunSpan(in *inputFacts, was claim) claim {
	text, label := chat.LastUserOf(in.run.Input)
	if label == tape.Truncated {
		was.beginning = true
		return was
	}
	was.text = text
	return was
}

// asSent is the record of the run span in the words of the request, where it is known how the two belong
// together.
//
// Needs: a request whose last message of a user is whole, and stands in the record, or holds it.
// Refuses: a list of messages that is damaged in any other way than by a cut.
// Seen in: agents whose run span records the message as JSON, or with the history before it.
func asSent(in *inputFacts, recorded string) string {
	switch {
	case in.damage == "" && isWhole(in.run.InputData, in.prompt):
		return in.prompt // an object of the user's that looks like a message
	case in.first == nil || in.list != "" && in.list != tape.Truncated:
		return recorded
	}
	if in.damage == "" && in.prompt != "" {
		recorded = in.saidInside(recorded)
		recorded = in.saidAsJSON(recorded)
		if in.list == "" {
			recorded = in.afterHistory(recorded)
		}
	}
	return recorded
}

// lastSent is the last message of a user in the request of the first model call. The last message of a list
// that was cut is not known, and neither is what the user asked last.
//
// Needs: a first request with a message of a user.
// Refuses: a list that was cut, whose last message is not known.
// Seen in: every package that records messages.
func lastSent(in *inputFacts, was claim) claim {
	if was.text != "" || in.prompt == "" || in.list == tape.Truncated || in.list != "" && in.damage != "" {
		return was
	}
	if in.damage == tape.Truncated {
		was.beginning = true
		return was
	}
	was.text = in.prompt
	if in.damage == "" && (in.list == tape.Recovered || in.first.Obs.Shuffled || chat.Placed(in.sent, tape.RoleUser)) {
		was.label = tape.Recovered
		return was
	}
	if was = unmasked(in, was); was.text != "" && was.label == "" && in.damage != "" {
		was.label, was.code, was.detail = in.damage, codeOf(in.damage), "the user's message is not whole"
	}
	return was
}

// askedAbove is what the outermost agent span between the run span and the first model call was asked.
//
// Needs: a first model call of which no message was recorded but instructions.
// Refuses: a message that was cut.
// Seen in: OpenLIT's spans of LangGraph around those of LangChain, where the model failed.
func askedAbove(in *inputFacts) (asked string) {
	if in.first == nil || len(chat.AfterSystem(in.sent)) > 0 {
		return ""
	}
	for n := range in.first.Above(in.isRoot) {
		if text, label := chat.LastUserOf(n.Obs.Input); spantree.IsAgent(n) && label == "" && text != "" {
			asked = text
		}
	}
	return asked
}

// preparedFirst is what steps of the program put together for a model whose calls no span reports.
//
// Needs: a conversation in a step of a run without a model call.
// Refuses: a run with a model call.
// Seen in: LlamaIndex's workflows; functions around a client that nobody instruments.
func preparedFirst(in *inputFacts) string {
	if in.first != nil {
		return ""
	}
	return chat.LastUserText(in.Fragment.Stepped().First)
}

// startedWith is what an agent was started with where that was no message.
//
// Needs: input of the run span that is no message.
// Refuses: a span that is an agent by its shape alone.
// Seen in: agents that are started with an object.
func startedWith(in *inputFacts) string {
	if in.run.WeakAgent {
		return ""
	}
	return chat.Given(in.run.InputData)
}

// askedOfFunction is the text that the function around the run was called with.
//
// Needs: a function around the run that was called with a text.
// Refuses: a message of which the beginning is known.
// Seen in: decorated functions around a run.
func askedOfFunction(in *inputFacts, was claim) claim {
	if was.beginning || was.label != "" {
		return was
	}
	return asRecovered((*inputFacts).askedAround)(in, was)
}

// unmaskedMessage looks for masks in a message of which nothing worse is known.
//
// Needs: a mask in the text.
// Refuses: a message that has a label already.
// Seen in: collectors that redact.
func unmaskedMessage(in *inputFacts, was claim) claim {
	if was.label != "" {
		return was
	}
	return unmasked(in, was)
}

// noUserMessage says why there is none.
//
// Needs: no resolver before it that found one.
// Refuses: nothing.
// Seen in: packages that record no content unless told to.
func noUserMessage(in *inputFacts, was claim) claim {
	if was.text != "" || was.label != "" {
		return was
	}
	was.label, was.code, was.detail = tape.Missing, tape.CodeContentAbsent, "no record holds the user's message"
	if was.beginning || in.list == tape.Truncated {
		was.label, was.code = tape.Truncated, tape.CodeTruncated
	}
	return was
}

// taskAbove is what an agent between the run span and its first model call was asked.
//
// Needs: a prompt for the model that holds the task among words of the framework.
// Refuses: calls without a run span; the prompt itself.
// Seen in: OpenLIT, which records the task of a crew on the span of the agent that was given it.
func taskAbove(in *inputFacts) string {
	if in.root == nil || in.first == nil {
		return ""
	}
	for n := range in.first.Above(in.isRoot) {
		if text := strings.TrimSpace(chat.LastUserText(n.Obs.Input)); spantree.IsAgent(n) && isTaskIn(text, in.prompt) {
			return text
		}
	}
	return ""
}
