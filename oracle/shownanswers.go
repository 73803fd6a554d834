// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// shownAnswers finds answers that a request shows and that no response before it holds.
//
// Needs:    a request that shows what the assistant said beyond the first request of its caller; or the first request of a caller, with results behind what the
// user says last: a run begins with the user; or a first request that goes on behind an answer which says
// nothing, as answers with calls do where these are not recorded
// Refuses:  the history before that, of earlier runs or made up as examples; what an answer before it says, with another id, in other words around it or only a part of
// it; a call whose message says the text of an answer, for a framework wrote that call; a text in brackets, which frameworks write in place of calls; a text that
// nobody answers, with which a model is to begin
// Seen in:  spans that a sampler dropped, streams that an agent abandoned, clients that nothing instruments
func shownAnswers(of *calls) (missing []missingTurn) {
	known, talks := newHeard(of), map[string]*talk{}
	var answered []string // callers with calls in their answers
	for i := range of.t.Events {
		e := &of.t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		if e.Request != nil && len(e.Request.Messages) > 0 {
			c, stray, silent := talks[e.Caller], false, false
			if c == nil {
				c = &talk{history: newHeard(of), shown: newHeard(of), known: true}
				talks[e.Caller] = c
				silent = goesOnBehindSilence(of, e.Request.Messages)
				stray = c.begin(of, e.Request.Messages) && !slices.ContainsFunc(answered, func(caller string) bool { return !strings.HasPrefix(caller, e.Caller+"/") })
			}
			why := c.goOn(of, known, e.Request.Messages)
			switch {
			case stray:
				why = "the first request shows the result of a tool, and no record holds the answer that asks for it"
			case silent:
				why = "the first request goes on behind an answer that says nothing, and no record holds what it asks for"
			}
			if why != "" {
				missing = append(missing, missingTurn{e.Seq, "request.messages", why})
			}
		}
		known.answer(e)
		if len(of.response(e)) > 0 && !slices.Contains(answered, e.Caller) {
			answered = append(answered, e.Caller)
		}
	}
	return missing
}

// talk is the conversation of a caller up to its last request.
type talk struct {
	messages []string
	history  *heard // of its first request: what was said before the run, or need not have been said in it
	shown    *heard // of its last one
	known    bool   // a recorded answer, or the history, holds each message of the assistant in it
}

// begin takes from the first request what need not have been said in this run: what stands before the last words of a user, and behind them what has no result there.
// It reports a result there that no call stands before, which only an answer can have asked for.
func (c *talk) begin(of *calls, messages []string) (stray bool) {
	user, result, asked := 0, -1, false
	for i, id := range messages {
		switch of.message(id).Role {
		case tape.RoleUser:
			user, result, asked, stray = i, -1, false, false
		case tape.RoleAssistant:
			asked = asked || len(of.message(id).calls) > 0
		case tape.RoleTool:
			result, stray = i, i > 0 && (stray || !asked)
		}
	}
	for i, id := range messages {
		if of.message(id).Role == tape.RoleAssistant && (i < user || i > result) {
			c.history.add(id)
		}
	}
	return stray
}

// goesOnBehindSilence reports a request whose last answer says nothing and asks for nothing, with more behind
// it.
func goesOnBehindSilence(of *calls, messages []string) bool {
	for i, id := range slices.Backward(messages) {
		if m := of.message(id); m.Role == tape.RoleAssistant {
			return i+1 < len(messages) && len(m.calls) == 0 && !slices.ContainsFunc(m.Parts, func(p tape.Part) bool { return p.Type != tape.PartText || p.Text != "" })
		}
	}
	return false
}

// goOn reads the messages that the request before did not have, or all of one that is no continuation of it. It says what of them nobody answered.
func (c *talk) goOn(of *calls, known *heard, messages []string) (why string) {
	at := len(c.messages)
	if len(messages) < at || !slices.Equal(messages[:at], c.messages) {
		at, c.shown, c.known = 0, newHeard(of), true
	}
	for i := at; i < len(messages); i++ {
		id := messages[i]
		if of.message(id).Role != tape.RoleAssistant {
			continue
		}
		c.shown.add(id)
		c.known = c.known && c.shown.messages[id] <= known.messages[id]+c.history.messages[id]
		if c.known || why != "" {
			continue // no text and no call is shown more often than it is known
		}
		answered := i+1 < len(messages) && of.message(messages[i+1]).Role != tape.RoleAssistant
		why = unknown(of, id, c.shown.told(), known.told(), c.history.told(), answered)
	}
	c.messages = messages
	return why
}

// unknown says what of a shown message neither a recorded answer nor the history says.
func unknown(of *calls, id string, shown, known, history *heard, answered bool) (why string) {
	asked, text := of.message(id).calls, of.said(id)
	if text != "" && shown.texts[text] <= known.texts[text]+history.texts[text] || len(text) >= longPiece && known.tells(text) {
		return ""
	}
	for _, p := range asked {
		k := call{tool: p.Name, hash: p.hash}
		byID := p.ID != "" && shown.ids[p.ID] <= known.ids[p.ID]+history.ids[p.ID]
		if !byID && shown.calls[k] > known.calls[k]+history.calls[k] {
			why = "the request shows an answer that no record holds, which asks for a tool"
		}
	}
	text, _, _ = strings.Cut(text, "[")
	if len(asked) == 0 && text != "" && answered && !known.tells(text) && !history.tells(text) {
		why = "the request shows an answer that no record holds"
	}
	return why
}
