// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Of turns with one conversation the one of the model is served, in whatever order they are asked.
func TestOfEqualConversationsTheOneOfTheModelIsServed(t *testing.T) {
	question := tape.Message{Role: tape.RoleUser, Parts: []tape.Part{{Type: tape.PartText, Text: "How to heat a barn?"}}}
	tp := &tape.Tape{Messages: map[string]tape.Message{"q": question}, Tools: map[string]tape.Tool{"search": {Name: "search"}}}
	for i, c := range []struct{ model, tool, answer string }{{"opus", "search", "Use a heat pump."}, {"haiku", "", "Barn heating"}, {"haiku", "", "Insulate"}, {"opus", "", "Cheap ones too."}} {
		id := string(rune('a' + i))
		tp.Messages[id] = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: c.answer}}}
		e := tape.Event{Seq: i + 1, Type: tape.EventModelCall, Status: tape.EventOK, Model: c.model, Request: &tape.Request{Messages: []string{"q"}}, Response: &tape.Response{Message: id}}
		if c.tool != "" {
			e.Request.Tools = []string{c.tool}
		}
		tp.Events = append(tp.Events, e)
	}
	request := func(model string, tools ...string) Request {
		return Request{Model: model, Messages: []tape.Message{question}, Tools: tools}
	}
	for _, order := range [][]string{{"haiku", "opus", "haiku"}, {"haiku", "haiku", "opus"}, {"opus", "haiku", "haiku"}} {
		s := New(tp, Options{}).NewSession()
		for _, model := range order {
			a := s.Answer(request(model, "search"))
			if !a.Outcome.Served() || a.turn.event.Model != model {
				t.Errorf("%v: %s is answered by event %d, %s", order, model, a.Seq(), a.Outcome)
			}
			if model == "opus" && a.Seq() != 1 {
				t.Errorf("%v: the turn that was offered the tool is not served, but event %d", order, a.Seq())
			}
		}
	}
}
