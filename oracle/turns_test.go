// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ended completes the script to a run that is graded offline, if nothing is missing.
func (s *script) ended(answer string) *tape.Tape {
	t := s.tape
	asked := "go"
	t.Input.UserMessage = &asked
	t.Run.Status = tape.StatusOK
	if answer != "" {
		t.Output.Text = &answer
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.StartedAt.IsZero() {
			e.StartedAt = time.Unix(1_700_000_000, 0).Add(time.Duration(i) * time.Second)
		}
		if e.Type == tape.EventToolCall && len(e.SpanIDs) == 0 {
			e.SpanIDs = []string{"a000000000000001"}
		}
	}
	return t
}

// without takes an event out, as if no record of it had come; what it asked for is then asked for by nothing that is known.
func without(t *tape.Tape, seq int) *tape.Tape {
	t.Events = slices.DeleteFunc(t.Events, func(e tape.Event) bool { return e.Seq == seq })
	for i := range t.Events {
		e := &t.Events[i]
		e.Seq = i + 1
		if e.RequestedBy == seq {
			e.RequestedBy = 0
		} else if e.RequestedBy > seq {
			e.RequestedBy--
		}
	}
	return t
}

func gradeOf(t *tape.Tape) (tape.Grade, []string) {
	Assess(t)
	var fields []string
	for _, f := range t.Fidelity.Findings {
		if f.Code == tape.CodeModelCallHidden {
			fields = append(fields, f.Field)
		}
	}
	return t.Fidelity.Grade, fields
}

func TestMissingModelCallLowersTheGradeAndIsSaid(t *testing.T) {
	chain := func() *script {
		s := newScript(t)
		a, b := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":2}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.tool(s.model(b), b, `"another thing"`, `"another thing"`)
		s.model(says("both things are there"))
		return s
	}
	if grade, fields := gradeOf(chain().ended("both things are there")); grade != tape.GradeOffline || fields != nil {
		t.Fatalf("the whole run is graded %s, %v", grade, fields)
	}
	for seq, want := range map[int]string{1: "request.messages", 3: "request.messages", 5: "output.text"} {
		grade, fields := gradeOf(without(chain().ended("both things are there"), seq))
		if grade != tape.GradeTools || !slices.Contains(fields, want) {
			t.Errorf("without #%d: graded %s, said of %v, want %s", seq, grade, fields, want)
		}
	}
}

func TestMissingModelCallIsFoundWithoutIDs(t *testing.T) {
	s := newScript(t)
	a := s.call("", "poll", `{}`)
	for range 3 {
		s.tool(s.model(a), a, `"not yet, please wait"`, `"not yet, please wait"`)
	}
	s.model(says("given up"))
	if grade, fields := gradeOf(without(s.ended("given up"), 3)); grade == tape.GradeOffline || len(fields) == 0 {
		t.Errorf("of three equal calls one is missing: graded %s, %v", grade, fields)
	}
}

func TestTextAnswerThatOnlyARequestShowsIsMissing(t *testing.T) {
	s := newScript(t)
	s.model(says("which city do you mean?"))
	s.say(tape.RoleUser, says("Oslo"))
	s.model(says("and on which day?"))
	s.say(tape.RoleUser, says("Monday"))
	s.model(says("it will rain"))
	if grade, fields := gradeOf(without(s.ended("it will rain"), 2)); grade == tape.GradeOffline || !slices.Contains(fields, "request.messages") {
		t.Errorf("graded %s, %v", grade, fields)
	}
}

// Packages that record no calls write the answer that asked for them as one that says nothing.
func TestAnswerThatSaysNothingBeforeTheFirstRequestIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		behind []string // what the assistant says behind it
		want   tape.Grade
	}{"the results follow": {nil, tape.GradePartial}, "of an earlier turn": {[]string{"it was one thing"}, tape.GradeOffline}} {
		s := newScript(t)
		s.say(tape.RoleAssistant, says(""))
		s.say(tape.RoleUser, says("{'x': 1}"))
		for _, text := range c.behind {
			s.say(tape.RoleAssistant, says(text))
			s.say(tape.RoleUser, says("and now?"))
		}
		s.model(says("it is one thing"))
		if grade, fields := gradeOf(s.ended("it is one thing")); (grade == tape.GradeOffline) != (c.want == tape.GradeOffline) {
			t.Errorf("%s: graded %s, %v", name, grade, fields)
		}
	}
}

// Of a tool before all model calls the request of the first would show the result, were it recorded as it was
// sent.
func TestToolBeforeAllModelCallsWasAskedForUnlessTheRequestIsWhole(t *testing.T) {
	for label, want := range map[tape.Label]bool{"": true, tape.Lossy: false} {
		s := newScript(t)
		s.tool(0, s.call("", "prefetch", `{"y":1}`), `"unasked"`, "")
		s.model(says("it is one thing"))
		s.tape.Events[1].Provenance = tape.Provenance{"request.messages": label}
		if grade, fields := gradeOf(s.ended("it is one thing")); (grade == tape.GradeOffline) != want {
			t.Errorf("label %q: graded %s, %v", label, grade, fields)
		}
	}
}

// What these hold may be so in a run of which nothing is missing.
func TestWhatNeedNotHaveBeenSaidInTheRunIsNotMissing(t *testing.T) {
	text := func(role tape.Role, said string) func(*script) {
		return func(s *script) { s.say(role, says(said)) }
	}
	for name, begin := range map[string][]func(*script){
		"history of earlier runs": {text(tape.RoleAssistant, "hello there"), text(tape.RoleUser, "what is x?")},
		"examples in the prompt": {func(s *script) {
			a := s.call("example", "f", `{"x":9}`)
			s.say(tape.RoleAssistant, a)
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "example", Result: exactjson.StringValue("nine")})
		}, text(tape.RoleUser, "what is x?")},
		"a beginning of the answer": {text(tape.RoleAssistant, "The value is")},
	} {
		s := newScript(t)
		for _, add := range begin {
			add(s)
		}
		a := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.model(says("it is one thing"))
		if grade, fields := gradeOf(s.ended("it is one thing")); grade != tape.GradeOffline {
			t.Errorf("%s: graded %s, %v", name, grade, fields)
		}
	}
}

func TestSummaryInPlaceOfMessagesIsNotMissing(t *testing.T) {
	s := newScript(t)
	a := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`)
	s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
	s.sent = s.sent[:1]
	s.say(tape.RoleUser, says("so far: one thing was found"))
	s.model(says("it is one thing"))
	if grade, fields := gradeOf(s.ended("it is one thing")); grade != tape.GradeOffline {
		t.Errorf("graded %s, %v", grade, fields)
	}
}

func TestToolThatNoAnswerAsksForIsTheProgramsUnlessAModelKnowsIt(t *testing.T) {
	for _, c := range []struct {
		name, id string
		offered  []string
		want     tape.Grade
	}{
		{"prefetch", "", []string{"f"}, tape.GradeOffline},
		{"f", "", []string{"f"}, tape.GradeTools},
		{"g", "", []string{"f", "g"}, tape.GradeTools},
		{"other", "call_cccccccccccc", []string{"f"}, tape.GradeTools},
	} {
		s := newScript(t)
		for _, name := range c.offered {
			tool := tape.Tool{Name: name}
			s.tape.Tools[tool.ID()] = tool
		}
		a := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.tool(0, s.call(c.id, c.name, `{"y":1}`), `"unasked"`, "")
		s.model(says("it is one thing"))
		if grade, fields := gradeOf(s.ended("it is one thing")); grade != c.want {
			t.Errorf("%s %q beside %v: graded %s, want %s, %v", c.name, c.id, c.offered, grade, c.want, fields)
		}
	}
}

func TestWhatAToolCallsItselfNobodyNeedAskFor(t *testing.T) {
	s := newScript(t)
	a := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`)
	s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
	s.tool(0, s.call("own-1", "lookup", `{"y":1}`), `"found"`, "")
	s.model(says("it is one thing"))
	t1 := s.ended("it is one thing")
	outer, inner := &t1.Events[1], &t1.Events[2]
	outer.DurationMS, inner.StartedAt, inner.DurationMS = 500, outer.StartedAt.Add(100*time.Millisecond), 50
	if grade, fields := gradeOf(t1); grade != tape.GradeOffline {
		t.Errorf("graded %s, %v", grade, fields)
	}
}

func TestRunThatEndsWithWhatAToolReturnedIsWhole(t *testing.T) {
	for answer, want := range map[string]tape.Grade{
		"one thing":                      tape.GradeOffline, // the tool's result is the answer
		"":                               tape.GradeOffline, // a limit may have ended it
		"the model saw that it is there": tape.GradeTools,
	} {
		s := newScript(t)
		a := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		if grade, fields := gradeOf(s.ended(answer)); grade != want {
			t.Errorf("answer %q: graded %s, want %s, %v", answer, grade, want, fields)
		}
	}
}

// An agent that is a tool asked a model, whose last answer is missing: what the tool returned, no record of a model says.
func TestLastAnswerOfAnAgentThatIsAToolIsMissing(t *testing.T) {
	build := func(told bool) *tape.Tape {
		s := newScript(t)
		outer, inner := s.call("call_aaaaaaaaaaaa", "expert", `{"q":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":1}`)
		by := s.model(outer)
		s.tool(by, outer, `"the invoice was charged twice by mistake"`, "")
		sent := s.sent
		s.sent = s.sent[:1]
		s.say(tape.RoleUser, says("look the invoice up"))
		s.tool(s.model(inner), inner, `"two lines"`, `"two lines"`)
		if told {
			s.model(says("the invoice was charged twice by mistake"))
		}
		s.sent = sent
		s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: outer.ID, Result: exactjson.StringValue("the invoice was charged twice by mistake")})
		s.model(says("the expert says: charged twice"))
		t1 := s.ended("the expert says: charged twice")
		t1.Events[1].DurationMS = 2900
		if told {
			t1.Events[1].DurationMS = 3900
		}
		return t1
	}
	if grade, fields := gradeOf(build(true)); grade != tape.GradeOffline {
		t.Errorf("the whole run is graded %s, %v", grade, fields)
	}
	if grade, fields := gradeOf(build(false)); grade == tape.GradeOffline || !slices.Contains(fields, "result") {
		t.Errorf("graded %s, %v", grade, fields)
	}
}

// Runs as programs make them that nobody here has seen: nothing is missing in any of them.
func TestWholeRunsOfAnyProgramAreOffline(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		run    func(*script)
	}{
		"a program runs a tool of its own behind a plain answer": {"an invoice", func(s *script) {
			s.model(says("an invoice"))
			s.tool(0, s.call("", "store", `{"kind":"an invoice"}`), `"stored as 17"`, "")
		}},
		"calls that are asked for in words": {"it is one thing", func(s *script) {
			s.model(says("Thought: look it up.\nAction: lookup\nAction Input: {\"x\": 1}"))
			s.tool(0, s.call("", "lookup", `{"x":1}`), `"one thing"`, "")
			s.say(tape.RoleUser, says("Observation: one thing"))
			s.model(says("it is one thing"))
		}},
		"a history without its beginning": {"it is one and another", func(s *script) {
			a, b := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":2}`)
			s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
			s.tool(s.model(b), b, `"another thing"`, `"another thing"`)
			s.sent = s.sent[3:]
			s.model(says("it is one and another"))
		}},
		"a summary in place of the first turn": {"it is one and another", func(s *script) {
			a, b := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":2}`)
			s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
			s.tool(s.model(b), b, `"another thing"`, `"another thing"`)
			rest := s.sent[3:]
			s.sent = nil
			s.say(tape.RoleUser, says("so far: f(1) is one thing"))
			s.sent = append(s.sent, rest...)
			s.model(says("it is one and another"))
		}},
		"parallel agents without names": {"left and right are there", func(s *script) {
			begin := s.sent
			a, b := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":2}`)
			var after [2][]string
			for i, c := range []tape.Part{a, b} {
				s.sent = slices.Clone(begin)
				s.say(tape.RoleUser, says([]string{"look left", "look right"}[i]))
				s.model(c)
				after[i] = s.sent
			}
			for i, c := range []tape.Part{a, b} {
				s.sent = after[i]
				s.tool(i+1, c, `"found `+[]string{"left", "right"}[i]+`"`, `"found `+[]string{"left", "right"}[i]+`"`)
				after[i] = s.sent
			}
			for i := range after {
				s.sent = after[i]
				s.model(says([]string{"left is there", "right is there"}[i]))
			}
			s.sent = nil
			s.say(tape.RoleUser, says("join: left is there, right is there"))
			s.model(says("left and right are there"))
		}},
		"a tool that ends the run with a value": {`{"kind": "an invoice", "total": 12}`, func(s *script) {
			a := s.call("call_aaaaaaaaaaaa", "submit", `{"total":12.0,"kind":"an invoice"}`)
			s.tool(s.model(a), a, `"ok, submitted"`, "")
		}},
		"a tool whose value is the answer": {`{"kind": "an invoice", "total": 12}`, func(s *script) {
			a := s.call("call_aaaaaaaaaaaa", "read_invoice", `{"n":1}`)
			s.tool(s.model(a), a, `{"kind":"an invoice","total":12}`, "")
		}},
	} {
		s := newScript(t)
		c.run(s)
		if grade, fields := gradeOf(s.ended(c.answer)); grade != tape.GradeOffline {
			t.Errorf("%s: graded %s, %v, proof %+v", name, grade, fields, s.tape.Fidelity.Proof)
		}
	}
}

// A model call whose answer no record holds may have asked for what ran behind it. Nothing tells of another
// call.
func TestCallBehindAnAnswerThatIsNotRecordedIsNotMissing(t *testing.T) {
	for name, untell := range map[string]func(*tape.Event){
		"none":    func(e *tape.Event) { e.Response = nil },
		"damaged": func(e *tape.Event) { e.Provenance = tape.Provenance{"response.message": tape.Lossy} },
	} {
		s := newScript(t)
		a, b := s.call("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.call("call_bbbbbbbbbbbb", "f", `{"x":2}`)
		s.tool(s.model(a), a, `"one thing"`, "")
		s.tool(0, b, `"another thing"`, "")
		untell(&s.tape.Events[0])
		s.model(says("it is one thing"))
		grade, fields := gradeOf(s.ended("it is one thing"))
		if len(fields) > 0 {
			t.Errorf("%s: graded %s, %v", name, grade, fields)
		}
	}
}
