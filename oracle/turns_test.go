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

// asks is a call in an answer.
func (s *script) asks(id, name, args string) tape.Part {
	return tape.Part{Type: tape.PartToolCall, ID: id, Name: name, Args: parse(s.tb, args)}
}

// says adds a model call that answers with a text.
func (s *script) says(text string) int {
	return s.model(tape.Part{Type: tape.PartText, Text: text})
}

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
		a, b := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`), s.asks("call_bbbbbbbbbbbb", "f", `{"x":2}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.tool(s.model(b), b, `"another thing"`, `"another thing"`)
		s.says("both things are there")
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
	a := s.asks("", "poll", `{}`)
	for range 3 {
		s.tool(s.model(a), a, `"not yet, please wait"`, `"not yet, please wait"`)
	}
	s.says("given up")
	if grade, fields := gradeOf(without(s.ended("given up"), 3)); grade == tape.GradeOffline || len(fields) == 0 {
		t.Errorf("of three equal calls one is missing: graded %s, %v", grade, fields)
	}
}

func TestTextAnswerThatOnlyARequestShowsIsMissing(t *testing.T) {
	s := newScript(t)
	s.says("which city do you mean?")
	s.say(tape.RoleUser, tape.Part{Type: tape.PartText, Text: "Oslo"})
	s.says("and on which day?")
	s.say(tape.RoleUser, tape.Part{Type: tape.PartText, Text: "Monday"})
	s.says("it will rain")
	if grade, fields := gradeOf(without(s.ended("it will rain"), 2)); grade == tape.GradeOffline || !slices.Contains(fields, "request.messages") {
		t.Errorf("graded %s, %v", grade, fields)
	}
}

// What these hold may be so in a run of which nothing is missing.
func TestWhatNeedNotHaveBeenSaidInTheRunIsNotMissing(t *testing.T) {
	text := func(role tape.Role, said string) func(*script) {
		return func(s *script) { s.say(role, tape.Part{Type: tape.PartText, Text: said}) }
	}
	for name, begin := range map[string][]func(*script){
		"history of earlier runs": {text(tape.RoleAssistant, "hello there"), text(tape.RoleUser, "what is x?")},
		"examples in the prompt": {func(s *script) {
			a := s.asks("example", "f", `{"x":9}`)
			s.say(tape.RoleAssistant, a)
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "example", Result: exactjson.StringValue("nine")})
		}, text(tape.RoleUser, "what is x?")},
		"a beginning of the answer": {text(tape.RoleAssistant, "The value is")},
	} {
		s := newScript(t)
		for _, add := range begin {
			add(s)
		}
		a := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.says("it is one thing")
		if grade, fields := gradeOf(s.ended("it is one thing")); grade != tape.GradeOffline {
			t.Errorf("%s: graded %s, %v", name, grade, fields)
		}
	}
}

func TestSummaryInPlaceOfMessagesIsNotMissing(t *testing.T) {
	s := newScript(t)
	a := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`)
	s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
	s.sent = s.sent[:1]
	s.say(tape.RoleUser, tape.Part{Type: tape.PartText, Text: "so far: one thing was found"})
	s.says("it is one thing")
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
		a := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`)
		s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
		s.tool(0, s.asks(c.id, c.name, `{"y":1}`), `"unasked"`, "")
		s.says("it is one thing")
		if grade, fields := gradeOf(s.ended("it is one thing")); grade != c.want {
			t.Errorf("%s %q beside %v: graded %s, want %s, %v", c.name, c.id, c.offered, grade, c.want, fields)
		}
	}
}

func TestWhatAToolCallsItselfNobodyNeedAskFor(t *testing.T) {
	s := newScript(t)
	a := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`)
	s.tool(s.model(a), a, `"one thing"`, `"one thing"`)
	s.tool(0, s.asks("own-1", "lookup", `{"y":1}`), `"found"`, "")
	s.says("it is one thing")
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
		a := s.asks("call_aaaaaaaaaaaa", "f", `{"x":1}`)
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
		outer, inner := s.asks("call_aaaaaaaaaaaa", "expert", `{"q":1}`), s.asks("call_bbbbbbbbbbbb", "f", `{"x":1}`)
		by := s.model(outer)
		s.tool(by, outer, `"the invoice was charged twice by mistake"`, "")
		sent := s.sent
		s.sent = s.sent[:1]
		s.say(tape.RoleUser, tape.Part{Type: tape.PartText, Text: "look the invoice up"})
		s.tool(s.model(inner), inner, `"two lines"`, `"two lines"`)
		if told {
			s.says("the invoice was charged twice by mistake")
		}
		s.sent = sent
		s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: outer.ID, Result: exactjson.StringValue("the invoice was charged twice by mistake")})
		s.says("the expert says: charged twice")
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
