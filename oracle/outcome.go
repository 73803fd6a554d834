// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Outcome is how a call ended. File, endpoint, runner and report use the same table.
type Outcome string

// The outcomes. Live and Refused come from the mode of a tool, all others from the entries.
const (
	Hit               Outcome = "hit"                // the recorded response
	RecordedError     Outcome = "recorded_error"     // the recorded response, and the call had failed
	NoEntry           Outcome = "no_entry"           // no such call is recorded
	Exhausted         Outcome = "exhausted"          // the call is recorded, but all its occurrences have been served
	Ambiguous         Outcome = "ambiguous"          // several recorded calls fit and their answers differ
	RedactedAmbiguous Outcome = "redacted_ambiguous" // redacted arguments fit, but nothing proves that they are these
	Unservable        Outcome = "unservable"         // the call is recorded, but cut or incompletely
	Live              Outcome = "live"               // the tool is declared safe to call: go live
	Refused           Outcome = "refused"            // calls of the tool are not allowed in this replay
)

// Outcomes is the table of all outcomes, in the order of reports and documents.
var Outcomes = []Outcome{Hit, RecordedError, NoEntry, Exhausted, Ambiguous, RedactedAmbiguous, Unservable, Live, Refused}

// Served reports whether there is a response.
func (o Outcome) Served() bool { return o == Hit || o == RecordedError }

// Missed reports whether a recorded answer was wanted and there was none.
func (o Outcome) Missed() bool { return !o.Served() && o != Live && o != Refused }

// Query is a tool call that wants an answer.
type Query struct {
	ToolName string
	// Args are the arguments, or ArgsText is their text, which is read only when the values are needed. Without both only calls whose
	// ArgsHash is recorded can be found: rules, redacted arguments and the differences of a miss need the values.
	Args     exactjson.Value
	ArgsText string
	// ArgsHash is Hash(Args) or HashText(ArgsText), and computed when empty.
	ArgsHash string
	// Caller is the path of agent names as in Entry, "" when it is not known. Unnamed says that "" is the caller: an agent without a
	// name.
	Caller  string
	Unnamed bool
	// Turn is the 1-based index of the requesting model call in the live run, 0 when not known. It breaks ties.
	Turn int
	// ToolCallID and CallIndex tell calls apart from their repetitions. If at least one of the two is set, a query equal to an earlier one
	// gets the earlier answer again. Without both every query is a new call.
	ToolCallID string
	CallIndex  *int64
	// Scope sets apart callers that number their calls each for themselves, such as the invocations of a run.
	Scope string

	prefers func(e *Entry) bool // see Options
}

// Answer is the outcome of a query.
type Answer struct {
	Outcome Outcome
	// Entry is the entry that was served, or the one that was found and cannot be served. Otherwise it is nil. Index is its place in the file
	// from 0, and -1 without an entry.
	Entry *Entry
	Index int
	// Labels say in which respects the answer is less than exact. None means: the recorded answer of exactly this call.
	Labels []Label
	// Call is the number of the call in its session, from 1. Repeated says that the same query was answered before.
	Call     int
	Repeated bool
}

// Label names one way in which an answer is less than exact.
type Label string

// The labels. An answer with one of the first group rests on an approximate match; those of the second say what was recorded.
const (
	ByRule            Label = "rule"                // arguments agree after the rules of the tool were applied
	ByToken           Label = "redacted"            // recorded arguments are redacted; every token was verified against the live value
	BySpacing         Label = "spacing"             // arguments differ in white space at the ends of lines
	ByRenaming        Label = "volatile"            // ids, times and the like of the run are others, and one renaming explains all of them
	ByPosition        Label = "position"            // several entries fit; turn or call id decided
	BySticky          Label = "sticky"              // all occurrences were served; the last one is repeated
	ByAny             Label = "any"                 // repeated because all recorded answers are the same
	Missed            Label = "read_through"        // a call that went live because there is no recorded answer
	CallerNotRecorded Label = "caller_not_recorded" // the entries name no caller
	UnknownBefore     Label = "args_unknown_before" // an earlier call of the tool has unknown arguments and might have been this one

	ArgsRedacted     Label = "args_redacted"     // the recorded arguments are redacted
	ArgsLossy        Label = "args_lossy"        // the recorded arguments may differ from what was sent
	ResponseRedacted Label = "response_redacted" // parts of the response are redacted
	ResponseLossy    Label = "response_lossy"    // the response may differ from what was sent
	ArgsDisputed     Label = "args_disputed"     // records contradict each other about the arguments
	ResponseDisputed Label = "response_disputed" // records contradict each other about the response
)

// Match is the first of the labels that say how an entry was matched, and "exact" when there is none.
func (a *Answer) Match() string {
	for _, l := range a.Labels {
		switch l {
		case ByRule, ByToken, BySpacing, ByRenaming, ByPosition, BySticky, ByAny:
			return string(l)
		}
	}
	return string(Exact)
}

// Reason says why there is no response, in the words of the wire protocol. It is the outcome, except for an entry that cannot be served:
// then it names what the entry lacks, "truncated" or "missing". It is empty when there is a response.
func (a *Answer) Reason() string {
	switch {
	case a.Outcome.Served():
		return ""
	case a.Outcome == Unservable && a.Entry != nil && (a.Entry.ArgsFidelity == Truncated || a.Entry.ResponseFidelity == Truncated):
		return string(Truncated)
	case a.Outcome == Unservable:
		return string(Missing)
	default:
		return string(a.Outcome)
	}
}
