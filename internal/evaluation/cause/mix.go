// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// Answer is a recorded answer that two runs have, and in which they differ. Its JSON form is part of the contract.
type Answer struct {
	Number  int            `json:"number"` // from 1, in the order of the good run
	Type    tape.EventType `json:"type"`   // model_call or tool_call
	Name    string         `json:"name"`   // of the tool or the model
	Caller  string         `json:"caller,omitempty"`
	GoodSeq int            `json:"good_seq"`
	BadSeq  int            `json:"bad_seq"`
	Good    string         `json:"good"` // the beginning of the answer
	Bad     string         `json:"bad"`
}

// Which answers are exchanged.
type Which string

// The choices.
const (
	All    Which = "all"
	Tools  Which = "tools"
	Models Which = "models"
)

// Pair is a good and a bad run, and the answers in which they differ.
type Pair struct {
	Good, Bad *tape.Tape
	Answers   []Answer
	// Unpaired counts the calls that one of the runs has alone. Their answers are there in every mix.
	Unpaired int
	// Asked says that the runs were asked different things. Every mix is asked what the good run was asked.
	Asked bool

	slots []slot
	apart bool // the runs differ in more than is exchanged, and than calls that one of them has alone
}

// slot is a call of one or both runs.
type slot struct {
	good, bad *tape.Event
	answer    int // its number, 0 for one that is not exchanged
}

// place is what makes a call of two runs the same one: a tool call is told by its arguments, a model call by its number.
type place struct {
	kind         tape.EventType
	caller, name string
	args         string
	occurrence   int
}

// NewPair finds the answers in which two runs differ.
func NewPair(good, bad *tape.Tape, which Which) *Pair {
	p := &Pair{Good: good, Bad: bad}
	a, b := good.Input.UserMessage, bad.Input.UserMessage
	p.Asked = (a == nil) != (b == nil) || a != nil && *a != *b
	p.apart = p.Asked
	others := map[place]*tape.Event{}
	for at, e := range places(bad) {
		others[at] = e
	}
	taken := map[*tape.Event]bool{}
	for at, e := range places(good) {
		s := slot{good: e, bad: others[at]}
		if taken[s.bad] = true; s.bad == nil {
			p.Unpaired++
		} else if differs(p, s) && which != All && (which == Tools) != (e.Type == tape.EventToolCall) {
			p.apart = true
		} else if differs(p, s) {
			s.answer = len(p.Answers) + 1
			p.Answers = append(p.Answers, Answer{Number: s.answer, Type: e.Type, Name: nameOf(e), Caller: e.Caller, GoodSeq: e.Seq, BadSeq: s.bad.Seq, Good: excerpt(good, e), Bad: excerpt(bad, s.bad)})
		}
		p.slots = append(p.slots, s)
	}
	for _, e := range places(bad) {
		if !taken[e] {
			p.Unpaired++
			p.slots = append(p.slots, slot{bad: e})
		}
	}
	return p
}

// places yields the calls of a run that are answered from a tape, in order.
func places(t *tape.Tape) func(yield func(place, *tape.Event) bool) {
	return func(yield func(place, *tape.Event) bool) {
		seen := map[place]int{}
		for i := range t.Events {
			e := &t.Events[i]
			at := place{kind: e.Type, caller: e.Caller}
			switch e.Type {
			case tape.EventModelCall:
			case tape.EventToolCall:
				at.name, at.args = e.Name, e.ArgsHash
			default:
				continue
			}
			seen[at]++
			at.occurrence = seen[at]
			if !yield(at, e) {
				return
			}
		}
	}
}

// differs compares the answers of two calls, not their ids.
func differs(p *Pair, s slot) bool {
	return s.good.Status != s.bad.Status || s.good.IsError != s.bad.IsError || answerText(p.Good, s.good) != answerText(p.Bad, s.bad)
}

// answerText is all that an agent gets to see of an answer, as one text that can be compared.
func answerText(t *tape.Tape, e *tape.Event) string {
	if e.Type == tape.EventToolCall {
		text, _, ok := e.Answer()
		return strconv.FormatBool(ok) + text
	}
	text := ""
	if e.Error != nil {
		text = e.Error.Type + ": " + e.Error.Message
	}
	if e.Response != nil && e.Response.Message != "" {
		m := t.Messages[e.Response.Message]
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(part tape.Part) bool { return part.Type == tape.PartReasoning })
		for i := range m.Parts {
			m.Parts[i].ID, m.Parts[i].ArgsText = "", ""
		}
		text += m.ID()
	}
	return text
}

// slotOf is the call of an answer.
func (p *Pair) slotOf(a *Answer) slot {
	return p.slots[slices.IndexFunc(p.slots, func(s slot) bool { return s.answer == a.Number })]
}

// isAnswer reports whether an answer of a model is what one of the runs answered in the end, in whole or as a part of it.
func (p *Pair) isAnswer(a *Answer) bool {
	s := p.slotOf(a)
	return answers(p.Good, s.good) || answers(p.Bad, s.bad)
}

func answers(t *tape.Tape, e *tape.Event) bool {
	if e.Type != tape.EventModelCall || e.Response == nil || t.Output.Text == nil {
		return false
	}
	said := ""
	for _, part := range t.Messages[e.Response.Message].Parts {
		if part.Type == tape.PartText {
			said += part.Text
		}
	}
	said = strings.TrimSpace(said)
	return said != "" && strings.Contains(*t.Output.Text, said)
}

// before says what differs before an answer, "" where nothing is known to.
func (p *Pair) before(a *Answer) string {
	if first := &p.Answers[0]; first.Number < a.Number {
		return fmt.Sprintf("the runs differ from answer %d on, %s %s, event %d of the good run", first.Number, first.Type, first.Name, first.GoodSeq)
	}
	at := p.slotOf(a)
	if slices.ContainsFunc(p.slots, func(s slot) bool {
		return s.bad == nil && s.good.Seq < at.good.Seq || s.good == nil && s.bad.Seq < at.bad.Seq
	}) {
		return "one of the runs alone has a call before it"
	}
	if p.apart {
		return "the runs differ in more than these answers"
	}
	return ""
}

func nameOf(e *tape.Event) string {
	if e.Type == tape.EventModelCall {
		return e.Model
	}
	return e.Name
}

// excerptLength bounds what is shown of an answer, in bytes.
const excerptLength = 200

func excerpt(t *tape.Tape, e *tape.Event) string {
	var b strings.Builder
	if e.Type == tape.EventToolCall {
		text, _, _ := e.Answer()
		b.WriteString(text)
	} else if e.Response != nil {
		for _, part := range t.Messages[e.Response.Message].Parts {
			switch part.Type {
			case tape.PartText:
				b.WriteString(part.Text + " ")
			case tape.PartToolCall:
				b.WriteString(part.Name + part.Args.JSON() + " ")
			}
		}
	}
	if e.Error != nil {
		b.WriteString(e.Error.Message)
	}
	text := strings.TrimSpace(b.String())
	return strings.ToValidUTF8(text[:min(len(text), excerptLength)], "")
}

// Mix is the good run with some of its answers exchanged for those of the bad one; exchanged holds for numbers of answers. With none it is
// the good run, with all the bad one, as recorded; where the runs differ in more than these answers, it is not: what is found must come of
// them. In between nobody knows what was sent to the model: its calls hold no requests, so that they are answered in their order.
func (p *Pair) Mix(exchanged func(number int) bool) *tape.Tape {
	count := 0
	for i := range p.Answers {
		if exchanged(i + 1) {
			count++
		}
	}
	switch {
	case count == 0:
		return p.Good
	case count == len(p.Answers) && !p.apart:
		return p.Bad
	}
	t := *p.Good
	t.Messages, t.Tools = maps.Clone(p.Good.Messages), nil
	maps.Copy(t.Messages, p.Bad.Messages)
	t.Events = nil
	t.Fidelity.Findings = nil
	for _, s := range p.slots {
		e := s.good
		if e == nil || s.answer > 0 && exchanged(s.answer) {
			e = s.bad
		}
		now := *e
		now.Seq, now.Request, now.RequestedBy, now.Parent, now.Via, now.OtherResults = len(t.Events)+1, nil, 0, 0, 0, nil
		t.Events = append(t.Events, now)
	}
	return &t
}
