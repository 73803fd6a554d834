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
	saidToRunSpan,
	reworded(asSent),
	asRecorded(taskInArguments),
	asRecorded(taskInResult),
	asRecorded(taskAbove),
	lastSent,
	asRecovered(taskKept),
	asRecovered(askedAbove),
	asRecorded(loneTask),
	asRecovered(preparedFirst),
}

// userMessageElse decides it from whatever the run was started with, or says that no record holds it.
var userMessageElse = []resolver[*inputFacts]{
	asRecorded(startedWith),
	askedOfFunction,
	unmaskedMessage,
	noUserMessage,
}

// saidToRunSpan is the run's own record of its input.
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
func preparedFirst(in *inputFacts) string {
	if in.first != nil {
		return ""
	}
	return chat.LastUserText(in.Fragment.Stepped().First)
}

// startedWith is what an agent was started with where that was no message.
func startedWith(in *inputFacts) string {
	if in.run.WeakAgent {
		return ""
	}
	return chat.Given(in.run.InputData)
}

// askedOfFunction is the text that the function around the run was called with.
func askedOfFunction(in *inputFacts, was claim) claim {
	if was.beginning || was.label != "" {
		return was
	}
	return asRecovered((*inputFacts).askedAround)(in, was)
}

// unmaskedMessage looks for masks in a message of which nothing worse is known.
func unmaskedMessage(in *inputFacts, was claim) claim {
	if was.label != "" {
		return was
	}
	return unmasked(in, was)
}

// noUserMessage says why there is none.
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
