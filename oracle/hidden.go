// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// hiddenCall is a place at which tools were called, or may have been, without an event of the tape that says so.
type hiddenCall struct {
	seq int // of the model call
	why string
}

// hiddenCalls lists the model calls whose tool calls the tape does not hold: what their finish reason, the length of their answer, or later
// requests tell of.
func hiddenCalls(of *calls) (hidden []hiddenCall) {
	h := newHistory(of)
	for i := range h.t.Events {
		e := &h.t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		if e.Status == tape.EventError {
			if h.looped[e.Seq] && (e.Request == nil || len(e.Request.Messages) == 0) {
				hidden = append(hidden, hiddenCall{e.Seq, "a loop failed, and nothing tells whether tools were called in it"})
			} else if next := h.next[e.Seq]; h.broke[e.Seq] && (next != nil || h.t.Output.Text == nil) && !h.acts(e, next) {
				hidden = append(hidden, hiddenCall{e.Seq, "the instrumentation failed instead of the call, whose answer is recorded nowhere; calls may be missing from the tape"})
			} else if h.next[e.Seq] == nil && !h.answered() && (e.Request == nil || len(e.Request.Messages) == 0) {
				if h.t.Output.Text != nil {
					hidden = append(hidden, hiddenCall{e.Seq, "the call is said to have failed and holds nothing, no other has an answer, and the run answered after it; calls may be missing from the tape"})
				} else if len(h.calls) == 0 {
					hidden = append(hidden, hiddenCall{e.Seq, "the call is said to have failed and holds nothing, and no record holds a call of a tool; whether tools were called is not known"})
				}
			} else if len(h.calls) == 0 && h.endsWithStrays(e) {
				hidden = append(hidden, hiddenCall{e.Seq, "the request of a call that failed ends with results of calls that no record reports"})
			}
			continue
		}
		next := h.next[e.Seq]
		switch {
		case h.shows(e):
			hidden = append(hidden, hiddenCall{e.Seq, "the request shows calls that no record reports"})
		case h.tells(e):
			hidden = append(hidden, hiddenCall{e.Seq, "the request shows results of calls that no record reports"})
		case h.acts(e, next):
			if next == nil && h.stops(e) {
				hidden = append(hidden, hiddenCall{e.Seq, "none of the calls that it asks for shows an answer, and nothing tells how the run went on; calls may be missing from the tape"})
			} else if next == nil && !h.ended && h.t.Output.Text == nil && (e.Response == nil || e.Response.Message == "" && len(e.Response.FinishReasons) == 0) {
				hidden = append(hidden, hiddenCall{e.Seq, "nothing of its answer was recorded, and nothing tells how the run went on; it may have asked for more calls than those that the tape holds"})
			} else if h.cutBehindCalls(e, next) && !h.haveSpans(e.Caller) {
				hidden = append(hidden, hiddenCall{e.Seq, "the answer was cut at its calls, and no request shows it whole; calls may be missing from the tape"})
			}
		case e.Response != nil && slices.ContainsFunc(e.Response.FinishReasons, tape.AsksForTools) && (next != nil || !h.haveSpans(e.Caller)): // what a last answer asked for at a limit did not run
			hidden = append(hidden, hiddenCall{e.Seq, "the tools that were asked for are named nowhere; their calls may be missing from the tape"})
		case h.continued(e, next):
			hidden = append(hidden, hiddenCall{e.Seq, "nothing tells why the answer ended, and the run went on with what stands in the role of a user, as results of tools may; calls may be missing from the tape"})
		case h.silent(e, next) && (next != nil || !h.haveSpans(e.Caller)):
			hidden = append(hidden, hiddenCall{e.Seq, "neither an answer nor a call is recorded; calls may be missing from the tape"})
		case next == nil && h.looped[e.Seq] && e.Request != nil && len(e.Request.Tools) > 0:
			hidden = append(hidden, hiddenCall{e.Seq, "the calls between its first request and its last answer are named nowhere"})
		case next == nil && h.looped[e.Seq] && len(e.SpanIDs) == 0 && (e.Request == nil || len(e.Request.Messages) == 0):
			hidden = append(hidden, hiddenCall{e.Seq, "no span reports any call of the run; whether tools were called is not known"})
		}
	}
	return hidden
}

// history knows what a tape holds around each model call.
type history struct {
	t       *tape.Tape
	asked   *calls
	next    map[int]*tape.Event        // by seq of a model call: the next of its caller
	initial map[string]map[string]bool // by caller: the messages of its first request, see initially
	looped  map[int]bool               // by seq: one event stands for a loop of model calls
	broke   map[int]bool               // by seq: what failed is the instrumentation
	ids     map[string]bool            // of calls that the tape holds
	strays  map[string]bool            // ids of results of calls that the tape does not hold
	calls   map[call]bool
	foreign bool // a message has a call that is nowhere else on the tape

	executed map[string]executed // by caller
	ended    bool                // the run ended, and no span is known to be missing
}

func newHistory(of *calls) *history {
	t := of.t
	h := &history{t: t, asked: of, next: map[int]*tape.Event{}, looped: map[int]bool{}, broke: map[int]bool{}, ids: map[string]bool{}, calls: map[call]bool{},
		executed: of.executed(), ended: !rootless(t) && !lostSpans(t)}
	last := map[string]*tape.Event{}
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Type {
		case tape.EventToolCall:
			h.holds(e.ToolCallID, e.Name, e.ArgsHash)
		case tape.EventModelCall:
			if before := last[e.Caller]; before != nil {
				h.next[before.Seq] = e
			}
			last[e.Caller] = e
			for _, c := range of.response(e) {
				h.holds(c.ID, c.Name, c.hash)
			}
		}
	}
	h.strays = h.strayResults()
	for id := range t.Messages {
		h.foreign = h.foreign || slices.ContainsFunc(of.message(id).calls, h.isForeign)
	}
	for _, f := range t.Fidelity.Findings {
		if f.Code == tape.CodeModelCallHidden && f.Field == "response" {
			h.looped[f.Seq] = true
		}
		if f.Code == tape.CodeModelCallHidden && f.Field == "response.message" {
			h.broke[f.Seq] = true
		}
	}
	return h
}

func (h *history) holds(id, name, hash string) {
	if id != "" {
		h.ids[id] = true
	}
	h.calls[call{tool: name, hash: hash}] = true
}

// isForeign reports a call that the tape does not hold.
func (h *history) isForeign(c requested) bool {
	return !h.ids[c.ID] && !h.calls[call{tool: c.Name, hash: c.hash}]
}

// initially reports a message of the first request of a caller.
func (h *history) initially(caller, id string) bool {
	if h.initial == nil {
		h.initial = map[string]map[string]bool{}
		for i := range h.t.Events {
			if e := &h.t.Events[i]; e.Type == tape.EventModelCall && e.Request != nil && h.initial[e.Caller] == nil {
				h.initial[e.Caller] = map[string]bool{}
				for _, id := range e.Request.Messages {
					h.initial[e.Caller][id] = true
				}
			}
		}
	}
	return h.initial[caller][id]
}

// endsWithStrays reports a request that ends with results of tools, and none of their calls is on the tape: a run does not begin so, and what came before was not recorded (streams of CAMEL
// whose spans never end).
func (h *history) endsWithStrays(e *tape.Event) bool {
	if e.Request == nil || len(e.Request.Messages) == 0 {
		return false
	}
	last := h.t.Messages[e.Request.Messages[len(e.Request.Messages)-1]]
	return last.Role == tape.RoleTool && !slices.ContainsFunc(last.Parts, func(p tape.Part) bool { return p.Type != tape.PartToolResult || h.ids[p.ID] })
}

// acts reports that the tape holds calls for which the answer of a model call asked: in it, or in the events up to the next one.
func (h *history) acts(m, next *tape.Event) bool {
	if len(h.asked.response(m)) > 0 {
		return true
	}
	for i := range h.t.Events {
		e := &h.t.Events[i]
		if e.Type == tape.EventToolCall && (e.RequestedBy == m.Seq || e.RequestedBy == 0 && e.Seq > m.Seq && (next == nil || e.Seq < next.Seq)) {
			return true
		}
	}
	return false
}

// cutBehindCalls reports an answer that was cut at or behind its last call, where the next request is not whole either: that would hold the results of all.
func (h *history) cutBehindCalls(m, next *tape.Event) bool {
	if m.Provenance["response.message"] != tape.Truncated || m.Response == nil || next != nil && next.Provenance["request.messages"] == "" {
		return false
	}
	parts := h.t.Messages[m.Response.Message].Parts
	return len(parts) > 0 && parts[len(parts)-1].Type == tape.PartToolCall
}

// stops reports that a run, of which it is not known how it ended, breaks off with the calls that the last answer asks for: none of them shows what came of it. Even
// where nobody could execute them, the tool being none that was offered, a model was asked again and may have called others.
func (h *history) stops(m *tape.Event) bool {
	if h.ended || h.t.Output.Text != nil || len(h.asked.response(m)) == 0 {
		return false
	}
	return !slices.ContainsFunc(h.t.Events, func(e tape.Event) bool {
		return e.Seq > m.Seq && (e.Type == tape.EventModelCall || e.Type == tape.EventToolCall && (len(e.SpanIDs) > 0 || !unanswered(&e)))
	})
}

// silent reports a model call whose recorded answer says nothing, or of which nothing is recorded, not even why it stopped, while the run
// went on.
func (h *history) silent(m, next *tape.Event) bool {
	if m.Response == nil || m.Response.Message == "" {
		return next != nil && (m.Response == nil || len(m.Response.FinishReasons) == 0 || ofGemini(m.Provider))
	}
	if next == nil && len(m.Response.FinishReasons) > 0 && saysWhy(m.Provider) && !h.spoken() {
		return false // no content was recorded of any message: the reason alone tells
	}
	return (next != nil || h.t.Output.Text == nil) && !slices.ContainsFunc(h.t.Messages[m.Response.Message].Parts, func(p tape.Part) bool {
		return p.Type != tape.PartReasoning && (p.Type != tape.PartText || p.Text != "")
	})
}

// continued reports an answer of which no reason for its end was recorded, where the request after it goes on, behind that answer, with what a nameless user says, and the tape holds no call
// at all: some packages record the results of tools so, and the calls not at all (Traceloop's for LlamaIndex in JavaScript).
func (h *history) continued(m, next *tape.Event) bool {
	if next == nil || next.Request == nil || len(h.calls) > 0 || m.Response == nil || m.Response.Message == "" || len(m.Response.FinishReasons) > 0 && !ofGemini(m.Provider) {
		return false
	}
	sent := next.Request.Messages
	for i := len(sent) - 2; i >= 0; i-- {
		if sent[i] == m.Response.Message {
			said := h.t.Messages[sent[i+1]]
			return said.Role == tape.RoleUser && said.Name == ""
		}
	}
	return false
}

// haveSpans reports that no call after the last answer of the caller was executed: those before have spans, none is known to be missing, and the run
// ended.
func (h *history) haveSpans(caller string) bool {
	return h.ended && h.executed[caller].haveSpans()
}

// answered reports a tape with the answer of a model call.
func (h *history) answered() bool {
	return slices.ContainsFunc(h.t.Events, func(e tape.Event) bool { return e.Type == tape.EventModelCall && e.Response != nil })
}

// spoken reports a tape with a message that holds a text.
func (h *history) spoken() bool {
	for _, m := range h.t.Messages {
		if slices.ContainsFunc(m.Parts, func(p tape.Part) bool { return p.Type == tape.PartText && p.Text != "" }) {
			return true
		}
	}
	return false
}

// saysWhy reports a provider whose reason for the end of an answer always tells whether that asks for tools.
func saysWhy(provider string) bool {
	return slices.Contains([]string{"openai", "azure.ai.openai", "azure.ai.inference", "anthropic"}, provider)
}

// ofGemini reports a provider that serves Gemini's API, which says STOP also where it asks for tools.
func ofGemini(provider string) bool {
	return slices.Contains([]string{"gcp.gemini", "gcp.vertex_ai", "gcp.gen_ai", "gemini", "vertex_ai", "google"}, provider)
}

// shows reports a request with a call that took place in this run and is nowhere else on the tape.
func (h *history) shows(m *tape.Event) bool {
	if m.Request == nil || !h.foreign {
		return false
	}
	return slices.ContainsFunc(m.Request.Messages, func(id string) bool {
		return !h.initially(m.Caller, id) && slices.ContainsFunc(h.asked.message(id).calls, h.isForeign)
	})
}

// tells reports a request with the result of a tool, of this run, of which the tape holds no call: it holds none at all, or none that this could be the result of.
func (h *history) tells(m *tape.Event) bool {
	if m.Request == nil || len(h.calls) > 0 && len(h.strays) == 0 {
		return false
	}
	return slices.ContainsFunc(m.Request.Messages, func(id string) bool {
		said := h.t.Messages[id]
		if h.initially(m.Caller, id) || said.Role != tape.RoleTool {
			return false
		}
		return len(h.calls) == 0 || slices.ContainsFunc(said.Parts, func(p tape.Part) bool { return p.Type == tape.PartToolResult && h.strays[p.ID] })
	})
}

// strayResults are the ids of results that no call has, where results have the ids of calls, and there are more of them than calls on the tape that no result names.
func (h *history) strayResults() map[string]bool {
	if !h.showsUnknown() {
		return nil
	}
	asked, shown := map[string]bool{}, map[string]bool{}
	for _, said := range h.t.Messages {
		for i := range said.Parts {
			p := &said.Parts[i]
			switch {
			case p.ID == "":
			case p.Type == tape.PartToolCall:
				asked[p.ID] = true
			case p.Type == tape.PartToolResult:
				shown[p.ID] = true
			}
		}
	}
	strays, matched := map[string]bool{}, false
	for id := range shown {
		if known := asked[id] || h.ids[id]; known {
			matched = true
		} else {
			strays[id] = true
		}
	}
	open := 0
	for i := range h.t.Events {
		if e := &h.t.Events[i]; e.Type == tape.EventToolCall && !shown[e.ToolCallID] {
			open++
		}
	}
	if !matched || len(strays) <= open {
		return nil
	}
	return strays
}

// showsUnknown reports a message with a result that has the id of no call that the tape holds.
func (h *history) showsUnknown() bool {
	for _, said := range h.t.Messages {
		for i := range said.Parts {
			if p := &said.Parts[i]; p.Type == tape.PartToolResult && p.ID != "" && !h.ids[p.ID] {
				return true
			}
		}
	}
	return false
}

// callless reports a tape on which nothing tells which tools were called: no call of any kind stands on it, or none of a model, and a span is known to
// be missing, which may be that of a tool.
func callless(t *tape.Tape) bool {
	models, tools := false, false
	for i := range t.Events {
		models = models || t.Events[i].Type == tape.EventModelCall
		tools = tools || t.Events[i].Type == tape.EventToolCall
	}
	return !models && (!tools || lostSpans(t))
}

// lostSpans reports that spans are known to be missing. Of spans that name no parent none is.
func lostSpans(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeSpanGap && strings.HasPrefix(f.Detail, "the parent of ")
	})
}
