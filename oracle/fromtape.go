// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// FromTape lists the tool calls of a tape in their order, whatever their kind. A call without recorded arguments or response is
// listed too; it is never served.
func FromTape(t *tape.Tape) []Entry {
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
	occurrences := map[call]int{}
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
		}
		if !e.StartedAt.IsZero() {
			latency := e.DurationMS
			o.LatencyMS = &latency
		}
		if len(e.SpanIDs) > 0 {
			o.Source = Source{TraceID: traceID, SpanID: e.SpanIDs[0]}
		}
		occurrences[callOf(&o)]++
		o.Occurrence = occurrences[callOf(&o)]
		entries = append(entries, o)
	}
	return entries
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
