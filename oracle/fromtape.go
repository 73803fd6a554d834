// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// FromTape lists the tool calls of a tape in their order, whatever their kind. A call without recorded arguments or response is
// listed too; it is never served. A failed call answers with what the next recorded request shows of it.
func FromTape(t *tape.Tape) []Entry {
	t = forClients(t)
	entries := recordedIn(t)
	if of := newCalls(t); anyUntold(of.t, entries) {
		tell(entries, judgeBy(of, entries))
	}
	return entries
}

// anyUntold reports a failed call that answers with its error: a request may show what was made of it.
func anyUntold(t *tape.Tape, entries []Entry) bool {
	for i := range entries {
		if untold(t, &entries[i]) {
			return true
		}
	}
	return false
}

func untold(t *tape.Tape, e *Entry) bool {
	return e.IsError && e.ResponseFidelity.served() && eventOf(t, e).Result.IsAbsent()
}

// tell puts what the model was shown of failed calls in the place of their errors, and reports whether there was any. Left out is what says something
// else than the error and is not of the call by its id; and one form of words, for the loops that make it make it again: "Error executing tool NAME: " and the error.
func tell(entries []Entry, calls []judged) (told bool) {
	entry := bySeq(entries)
	for i := range calls {
		v := &calls[i]
		if v.event == nil || !v.compared || v.shown.Result.IsAbsent() || v.agreement == contradicts && (v.id == "" || v.id != v.shown.ID) {
			continue
		}
		e := entry[v.event.Seq]
		if !untold(v.of, e) || v.shown.Result.Str() == "Error executing tool "+e.ToolName+": "+e.Response {
			continue
		}
		e.Response, e.ResponseFormat = tape.OracleResponse(v.shown.Result)
		e.OtherResponses, told = nil, true
	}
	return told
}

// bySeq finds the entries of events.
func bySeq(entries []Entry) map[int]*Entry {
	of := make(map[int]*Entry, len(entries))
	for i := range entries {
		of[entries[i].Seq] = &entries[i]
	}
	return of
}

// recordedIn lists the tool calls with what the events hold.
func recordedIn(t *tape.Tape) []Entry {
	turns := map[int]int{} // seq of a model call → its turn
	unanswered := map[int]bool{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall {
			turns[e.Seq] = len(turns) + 1
		}
	}
	for _, f := range t.Fidelity.Findings {
		if f.Code == tape.CodeUnansweredToolCall && f.Seq > 0 {
			unanswered[f.Seq] = true
		}
	}
	traceID := t.Run.TraceID
	if len(t.Sources.TraceIDs) > 1 {
		traceID = "" // a joined tape: which of its traces a span is of is not on the tape
	}
	entries := make([]Entry, 0, len(t.Events)-len(turns))
	latencies := make([]int64, 0, cap(entries))
	occurrences := make(map[call]int, cap(entries))
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		o := Entry{
			ToolName: e.Name, ArgsHash: e.ArgsHash, Args: e.Args, IsError: e.IsError, Caller: e.Caller, Seq: e.Seq,
			Turn: turns[e.RequestedBy], ToolCallID: e.ToolCallID,
			ArgsFidelity: fidelity(e.Provenance, "args"), ResponseFidelity: Missing,
		}
		if e.Args.IsAbsent() || e.ArgsHash == "" {
			o.ArgsFidelity = Missing
		}
		if response, format, ok := e.Answer(); ok && (!e.Result.IsAbsent() || !unanswered[e.Seq]) {
			o.Response, o.ResponseFormat = response, format
			o.ResponseFidelity = fidelity(e.Provenance, "result")
			if e.Result.IsAbsent() {
				o.IsError = true
				o.ResponseFidelity = fidelity(e.Provenance, "error")
			}
			if o.ResponseFidelity == Disputed {
				for _, other := range e.OtherResults {
					text, _ := tape.OracleResponse(other.Result)
					o.OtherResponses = append(o.OtherResponses, OtherResponse{Response: text, From: other.From})
				}
			}
		}
		if o.IsError && e.Error != nil {
			o.ErrorType = e.Error.Type
			switch e.Provenance["error"] { // else it is no record of the tool
			case "", tape.Redacted, tape.Disputed:
				o.ErrorType, o.ErrorMessage = raised(e.Error)
			}
		}
		if !e.StartedAt.IsZero() {
			latencies = append(latencies, e.DurationMS)
			o.LatencyMS = &latencies[len(latencies)-1]
		}
		if len(e.SpanIDs) > 0 {
			o.Source = Source{TraceID: traceID, SpanID: e.SpanIDs[0]}
		}
		o.Occurrence = occurrences[callOf(&o)] + 1
		occurrences[callOf(&o)] = o.Occurrence
		entries = append(entries, o)
	}
	return entries
}

// raised is the class and the message of a recorded exception: some records put both before the stack, and the class before the message. What says no more than its class has no message.
func raised(e *tape.Error) (class, message string) {
	if whole, of := tape.BeforeStack(e.Message); whole != "" {
		return cmp.Or(e.Type, of), whole
	}
	if e.Message == e.Type {
		return e.Type, ""
	}
	return e.Type, e.Message
}

// call is what makes two calls the same: occurrences count per call.
type call struct {
	caller, tool, hash string
}

func callOf(e *Entry) call { return call{e.Caller, e.ToolName, e.ArgsHash} }

// fidelity is the worst that the provenance says of a field or of anything within it.
func fidelity(p tape.Provenance, field string) Fidelity {
	worst := Exact
	for path, label := range p {
		if path != field && !strings.HasPrefix(path, field+".") {
			continue
		}
		if f := fidelityOf[label]; rank[f] > rank[worst] {
			worst = f
		}
	}
	return worst
}

var (
	fidelityOf = map[tape.Label]Fidelity{
		tape.Recovered: Exact,
		tape.Inferred:  Lossy,
		tape.Lossy:     Lossy,
		tape.Redacted:  Redacted,
		tape.Disputed:  Disputed,
		tape.Masked:    Redacted,
		tape.Truncated: Truncated,
		tape.Missing:   Missing,
		tape.External:  Missing,
	}
	rank = map[Fidelity]int{Exact: 0, Lossy: 1, Redacted: 2, Disputed: 3, Truncated: 4, Missing: 5}
)
