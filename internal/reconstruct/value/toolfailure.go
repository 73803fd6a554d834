// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// failureTold reports that the error which the status of a span says is one of the call. A result speaks
// against it, unless the model was told of a failure, or of something else, or the result is the failure in
// words.
func (r *resultFacts) failureTold() bool {
	e := r.said.Error
	return !r.result.Present() || r.shown != nil && r.shown.IsError || r.contradicted() || chat.WordsOf(e, r.result.Value) || happenedIn(e, r.said.Name)
}

// contradicted reports a recorded result that is not what the model was told, nor inside of it.
func (r *resultFacts) contradicted() bool {
	return r.bothWhole() && r.shownOther() && chat.PathTo(r.shown.Result, r.result.Value, chat.MaxEnvelopes, chat.Room(r.result.Value)) == nil
}

// happenedIn reports a failure that says in which tool it happened, by a name that is no common word: it is
// of that call, and what the span holds beside it is what the model was told of it.
func happenedIn(e *tape.Error, name string) bool {
	return e != nil && strings.ContainsAny(name, "_-") && slices.Contains(strings.FieldsFunc(e.Message, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// endedBy is the failure around a call that says nothing of how it ended.
//
// Needs: an error of the agent that names this tool behind the word: "Error executing tool search: …".
// Refuses: a model that was asked again since; another call of the turn with the name that has no outcome
// either.
// Seen in: streams of the AI SDK 4.
func (r *resultFacts) endedBy() *tape.Error {
	k, around := r.call, r.Fragment.Root
	if k.Agent != nil && len(k.Agent.Nodes) > 0 {
		around = k.Agent.Nodes[0]
	}
	e := spantree.Observed(around).Error
	if e == nil || k.By == nil || !namesTool(e.Message, k.By.Part.Name) {
		return nil
	}
	turn := k.By.Model
	again := slices.ContainsFunc(r.Ordered, func(m *ledger.Call) bool {
		return m.Seq > turn.Seq && m.Kind == tape.EventModelCall && m.Agent == k.Agent
	})
	rival := slices.ContainsFunc(turn.Asked, func(a *ledger.Asked) bool {
		return a != k.By && a.Part.Name == k.By.Part.Name && a.Shown == nil && (a.Tool == nil || !a.Tool.Obs.Result.Present() && !ledger.FailedCall(a.Tool))
	})
	if again || rival {
		return nil
	}
	return e
}

// namesTool reports a message in which the name of a tool stands behind that word.
func namesTool(message, name string) bool {
	for rest := message; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, after := strings.TrimRight(rest[:i], " :'\"`"), rest[i+len(name):]
		if word := strings.ToLower(before); strings.HasSuffix(word, "tool") && before != rest[:i] && (after == "" || !wordByte(after[0])) {
			return true
		}
		rest = after
	}
	return false
}

// wordByte reports a byte of a name of a tool.
func wordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// wasStopped reports what runtimes throw into a call that somebody else ended, beside one that failed
// perhaps: no failure of the tool.
func wasStopped(e *tape.Error) bool {
	if e == nil {
		return false
	}
	first, _, _ := strings.Cut(e.Message, "\n")
	if class, rest, ok := strings.Cut(first, ": "); ok && stopped.MatchString(class) {
		first = rest // the class stands before the message
	}
	return stopped.MatchString(e.Type) || first == "This operation was aborted" || first == "context canceled"
}

var stopped = regexp.MustCompile(`(^|\.)(AbortError|CancelledError|CancellationException|TaskCanceledException|OperationCanceledException)$`)

// wasGivenUp reports an error that says no more than that nobody waited for the call any longer: the tool may
// have gone on, and returned.
func wasGivenUp(e *tape.Error) bool {
	return e != nil && (e.Message == "" || e.Message == e.Type) && givenUp.MatchString(e.Type)
}

// givenUp are the names of what is thrown into a task that is told to stop.
var givenUp = regexp.MustCompile(`(?:^|\.)(?:CancelledError|CancellationException|OperationCanceledException|TaskCanceledException|AbortError|GeneratorExit)$`)
