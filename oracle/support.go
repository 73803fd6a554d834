// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// whole reports that nothing says of an entry that its name, its arguments or its answer are not what they were. A token of a keyed redaction stands
// for its value; a mask of the producer stands for any.
func (p *prover) whole(e *Entry) bool {
	event := eventOf(p.t, e)
	answer := "result"
	if event.Result.IsAbsent() {
		answer = "error"
	}
	for path, label := range event.Provenance {
		if field, _, _ := strings.Cut(path, "."); (field == "name" || field == "args" || field == answer) && label != tape.Recovered && label != tape.Redacted {
			return false
		}
	}
	return !event.Args.IsAbsent()
}

// recorded reports a call that no request bears out, and of which the tool's own record holds arguments and answer whole. Arguments that no
// recorded response asked for have to fit what is known of the tool.
func (p *prover) recorded(v *judged) bool {
	if !v.served || !v.whole || v.compared && v.agreement != undecided {
		return false
	}
	event := eventOf(p.t, v.entry)
	if v.shown != nil {
		if event.Provenance["result"] == tape.Recovered {
			return false // it was taken from where it is not shown as it was
		}
		if answer := plain(event.Result); v.compared && holds(answer, plain(v.shown.Result)) {
			return false // what was shown is only a part of it: the record may have put something around
		}
	}
	return v.model != nil && !v.argless || p.fits(event)
}

// fits reports that the arguments of a call can be those of a tool with its name: no recorded definition of it says otherwise.
func (p *prover) fits(e *tape.Event) bool {
	known, fits := false, false
	for _, tool := range p.t.Tools {
		properties := tool.Parameters.Get("properties")
		if tool.Name != e.Name || properties.Kind() != exactjson.Object {
			continue
		}
		known = true
		fits = fits || !slices.ContainsFunc(tool.Parameters.Get("required").Members(), func(m exactjson.Member) bool {
			return e.Args.Get(m.Value.Str()).IsAbsent()
		}) && !slices.ContainsFunc(e.Args.Members(), func(m exactjson.Member) bool {
			return properties.Get(m.Name).IsAbsent() && tool.Parameters.Get("additionalProperties").IsEmpty()
		})
	}
	return fits || !known
}

// unasked lists the tool events that a replay never asks the oracle for, by seq. Some are hand-offs without an answer, which the framework
// performs. The others are calls that the last response of an agent asked for, or one that it dropped to ask again, and nobody executed, as the
// spans of all its other calls show: all of them, or those behind one that failed, which ended the run. Where others of the same response ended well it is a span that was lost, as some packages lose
// those of tools that throw. That a response was dropped is known where requests show those that were not. A tool that the model was not offered is none that anybody could execute:
// what the model is told of it is the framework's word, which the oracle may hold or not.
func unasked(of *calls) map[int]bool {
	t, list := of.t, map[int]bool{}
	spanless := false // an answer asked for a call of which no span tells
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventToolCall:
			spanless = spanless || len(e.SpanIDs) == 0 && e.RequestedBy != 0
		case tape.EventAgentCall:
			if e.Relation == tape.RelationHandoff && e.Via > 0 && e.Via <= len(t.Events) && unanswered(&t.Events[e.Via-1]) {
				list[e.Via] = true
			}
		}
	}
	if !spanless {
		return list
	}
	rootless := rootless(t)
	last := map[string]int{}   // caller → seq of its last model call
	shows := map[string]bool{} // by caller: a request holds an earlier response that asked for calls
	dropped := map[int]bool{}  // by seq: model calls whose response the next request of the caller leaves out
	ran := map[int]int{}       // by seq: of the calls that the response asked for, those with a span of which none failed; -1: one failed
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventModelCall:
			if seq := last[e.Caller]; seq > 0 && seq <= len(t.Events) {
				dropped[seq] = drops(t, e, &t.Events[seq-1])
				shows[e.Caller] = shows[e.Caller] || showsCalls(t, e, &t.Events[seq-1])
			}
			last[e.Caller] = e.Seq
		case tape.EventToolCall:
			if failed := e.IsError || e.Status == tape.EventError || e.Waiting != ""; len(e.SpanIDs) > 0 && failed {
				ran[e.RequestedBy] = -1
			} else if len(e.SpanIDs) > 0 && ran[e.RequestedBy] >= 0 {
				ran[e.RequestedBy]++
			}
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall || len(e.SpanIDs) > 0 || e.RequestedBy == 0 {
			continue
		}
		if (unanswered(e) || e.IsError && e.ArgsHash == "") && offersOthers(t, e) {
			list[e.Seq] = true
		}
		if !unanswered(e) {
			continue
		}
		if rootless || e.RequestedBy != last[e.Caller] && !(dropped[e.RequestedBy] && shows[asker(t, e)]) {
			continue
		}
		if of.executed()[asker(t, e)].haveSpans() && ran[e.RequestedBy] <= 0 {
			list[e.Seq] = true
		}
	}
	return list
}

// rootless reports a tape of which it is not known how its run ended.
func rootless(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeRootMissing || f.Code == tape.CodeNoRoot && !failedAround(t) || f.Code == tape.CodeEvidenceCut || f.Code == tape.CodeEvidenceDropped
	})
}

// unanswered reports a tool event of which nothing shows what came of it.
func unanswered(e *tape.Event) bool {
	return e.Result.IsAbsent() && (e.Error == nil || e.Provenance["result"] == tape.Missing)
}

// asker is the caller of the model call that asked for a tool: who asks in one step of a graph has the call executed in another.
func asker(t *tape.Tape, e *tape.Event) string {
	if i := e.RequestedBy; i > 0 && i <= len(t.Events) {
		return t.Events[i-1].Caller
	}
	return e.Caller
}

// executed counts the calls of a caller that were executed, with and without a span of their own.
type executed struct{ with, without int }

// haveSpans reports that tools have spans: what has none was not executed.
func (n executed) haveSpans() bool { return n.with > 0 && n.without == 0 }

// executedOf counts by the caller of the model call that asked.
func executedOf(t *tape.Tape) map[string]executed {
	of := map[string]executed{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		n := of[asker(t, e)]
		if len(e.SpanIDs) > 0 {
			n.with++
		} else if e.RequestedBy == 0 || !unanswered(e) {
			n.without++
		}
		of[asker(t, e)] = n
	}
	return of
}

// failedAround reports a run that ended with a failure which is that of none of its calls: a span around them says so, and ended after them.
func failedAround(t *tape.Tape) bool {
	failed := t.Run.Error
	return t.Run.Status == tape.StatusError && failed != nil && !slices.ContainsFunc(t.Events, func(e tape.Event) bool {
		return e.Error != nil && (e.Error.Message == failed.Message || failed.Message == "")
	})
}

// drops reports a model call whose request begins with that of an earlier one, whatever their instructions, and goes on without its response.
func drops(t *tape.Tape, e, earlier *tape.Event) bool {
	if e.Request == nil || earlier.Request == nil || earlier.Response == nil {
		return false
	}
	conversation := func(messages []string) []string {
		for len(messages) > 0 && t.Messages[messages[0]].Role == tape.RoleSystem {
			messages = messages[1:]
		}
		return messages
	}
	sent, before := conversation(e.Request.Messages), conversation(earlier.Request.Messages)
	return len(before) > 0 && len(sent) >= len(before) && slices.Equal(sent[:len(before)], before) && !slices.Contains(sent[len(before):], earlier.Response.Message)
}

// offersOthers reports a call of a tool that is none of those that the request offered to the model.
func offersOthers(t *tape.Tape, e *tape.Event) bool {
	if e.RequestedBy > len(t.Events) {
		return false
	}
	sent := t.Events[e.RequestedBy-1].Request
	return sent != nil && len(sent.Tools) > 0 && !slices.ContainsFunc(sent.Tools, func(id string) bool { return t.Tools[id].Name == e.Name || t.Tools[id].Name == "" })
}

// showsCalls reports a model call whose request holds the response of an earlier one, which asked for calls.
func showsCalls(t *tape.Tape, e, earlier *tape.Event) bool {
	return e.Request != nil && earlier.Response != nil && slices.Contains(e.Request.Messages, earlier.Response.Message) &&
		slices.ContainsFunc(t.Messages[earlier.Response.Message].Parts, func(p tape.Part) bool { return p.Type == tape.PartToolCall })
}

// maxUnnamed bounds the new messages of a request in which answers without a name are looked for.
const maxUnnamed = 64

// readUnnamed finds answers that requests show without saying of which call: results without an id that is known, below an answer whose
// calls were not recorded. As many as the turn before made calls, they are those of its calls, in its order.
func (p *prover) readUnnamed(calls []judged) {
	turns := map[int][]*judged{} // seq of the model call that shows them
	for i := range calls {
		v := &calls[i]
		if !v.served || v.shown != nil || v.entry.ResponseFidelity == Lossy {
			continue
		}
		after := 0
		if v.event != nil {
			after = v.event.Seq
		} else if v.model != nil {
			after = v.model.Seq
		}
		if next := slices.IndexFunc(p.models, func(m *tape.Event) bool { return m.Seq > after && m.Caller == v.caller }); next >= 0 {
			turns[p.models[next].Seq] = append(turns[p.models[next].Seq], v)
		}
	}
	for _, m := range p.models {
		turn := turns[m.Seq]
		if len(turn) == 0 {
			continue
		}
		results := p.unnamed(m)
		if len(results) != len(turn) {
			continue
		}
		slices.SortStableFunc(turn, func(a, b *judged) int { return a.order() - b.order() })
		inOrder := true
		for i, v := range turn {
			inOrder = inOrder && p.compare(v.entry, results[i]) < undecided
		}
		for i, v := range turn {
			// Calls at the same time may show in the order in which they ended. What agrees with none of the results is none of them.
			if inOrder || !slices.ContainsFunc(results, func(r *tape.Part) bool { return p.compare(v.entry, r) < contradicts }) {
				v.shown, v.by, v.compared, v.agreement = results[i], m, true, p.compare(v.entry, results[i])
			}
		}
	}
}

// order is that in which a response asked for its calls, else that of the events.
func (v *judged) order() int {
	if v.model != nil {
		return v.index
	}
	return v.event.Seq
}

// unnamed lists the new results of a request that belong to no call by id.
func (p *prover) unnamed(m *tape.Event) (results []*tape.Part) {
	fresh := p.requests[m.Seq].fresh
	for path, label := range m.Provenance {
		if (path == "request" || strings.HasPrefix(path, "request.")) && label != tape.Redacted {
			return nil // what is shown may not be what it was
		}
	}
	if len(fresh) > maxUnnamed {
		return nil
	}
	for _, id := range fresh {
		message := p.t.Messages[id]
		for i := range message.Parts {
			if part := &message.Parts[i]; part.Type == tape.PartToolResult && p.idUses[part.ID] == 0 {
				results = append(results, part)
			}
		}
	}
	return results
}
