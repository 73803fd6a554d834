// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"slices"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// silent is a tape of which no record holds what was sent or answered: model calls and tool calls with their
// times.
type silent struct{ tape.Tape }

var began = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func newSilent() *silent {
	s := &silent{}
	s.Run.Status = tape.StatusOK
	return s
}

func (s *silent) at(e tape.Event, from, to int) *tape.Event {
	e.Seq, e.StartedAt, e.DurationMS, e.Status = len(s.Events)+1, began.Add(time.Duration(from)*time.Millisecond), int64(to-from), tape.EventOK
	s.Events = append(s.Events, e)
	return &s.Events[len(s.Events)-1]
}

func (s *silent) model(name string, from, to int) *tape.Event {
	return s.at(tape.Event{
		Type: tape.EventModelCall, Model: name, Caller: "agent",
		Provenance: tape.Provenance{"request.messages": tape.Missing, "response.message": tape.Missing},
	}, from, to)
}

func (s *silent) tool(id string, from, to int) *tape.Event {
	return s.at(tape.Event{
		Type: tape.EventToolCall, Name: "t", ToolCallID: id, Caller: "agent",
		Args: exactjson.ObjectValue(exactjson.Member{Name: "id", Value: exactjson.StringValue(id)}), Result: exactjson.StringValue("done"),
	}, from, to)
}

// asks is a live request that shows what was asked for and answered so far: the ids of the calls of each
// answer.
func asks(model string, answers ...[]string) Request {
	r := Request{API: "test", Model: model, Tools: []string{"t"}, Messages: []tape.Message{{Role: tape.RoleUser, Parts: []tape.Part{{Type: tape.PartText, Text: "go"}}}}}
	for _, ids := range answers {
		asked, results := tape.Message{Role: tape.RoleAssistant}, tape.Message{Role: tape.RoleTool}
		for _, id := range ids {
			asked.Parts = append(asked.Parts, tape.Part{Type: tape.PartToolCall, ID: id, Name: "t", Args: exactjson.ObjectValue(exactjson.Member{Name: "id", Value: exactjson.StringValue(id)})})
			results.Parts = append(results.Parts, tape.Part{Type: tape.PartToolResult, ID: id, Result: exactjson.StringValue("done")})
		}
		r.Messages = append(r.Messages, asked, results)
	}
	return r
}

func wantSeq(t *testing.T, s *Session, r Request, seq int, outcome Outcome) {
	t.Helper()
	if a := s.Answer(r); a.Seq() != seq || a.Outcome != outcome {
		t.Errorf("event %d, %s %s, %+v; want event %d, %s", a.Seq(), a.Outcome, a.reason, a.Nearest, seq, outcome)
	}
}

// An agent of the same name and model that works behind a call has a conversation of its own: what comes
// within the call is none of the caller's turns.
func TestAnAgentBehindACallTakesNoTurnOfItsCaller(t *testing.T) {
	tp := newSilent()
	tp.model("m", 0, 10)      // 1 asks for the agent
	tp.tool("task", 12, 100)  // 2
	tp.model("m", 20, 30)     // 3 of the other agent, asks for a tool
	tp.tool("inner", 32, 40)  // 4
	tp.model("m", 50, 60)     // 5 its answer
	tp.model("m", 110, 120)   // 6 goes on after 2
	tp.tool("last", 121, 130) // 7
	tp.model("m", 140, 150)   // 8
	s := New(&tp.Tape, Options{}).NewSession()
	wantSeq(t, s, asks("m"), 1, Hit)
	wantSeq(t, s, asks("m"), 3, Hit)
	wantSeq(t, s, asks("m", []string{"inner"}), 5, Unservable)
	wantSeq(t, s, asks("m", []string{"task"}), 6, Hit)
	wantSeq(t, s, asks("m", []string{"task"}, []string{"last"}), 8, StoodIn)
	wantSeq(t, s, asks("m", []string{"task"}), 6, Exhausted)
	// in another order: the ids tell
	s = New(&tp.Tape, Options{}).NewSession()
	wantSeq(t, s, asks("m", []string{"task"}, []string{"last"}), 8, StoodIn)
	wantSeq(t, s, asks("m", []string{"task"}), 6, Hit)
}

// Calls of which one lacks its arguments are not served without it.
func TestAnAnswerIsRebuiltWholeOrNotAtAll(t *testing.T) {
	for what, spoil := range map[string]func(*tape.Event){
		"": nil, "absent": func(e *tape.Event) { e.Args = exactjson.Value{} },
		"cut": func(e *tape.Event) { e.Provenance = tape.Provenance{"args": tape.Truncated} },
	} {
		tp := newSilent()
		tp.model("m", 0, 10)
		tp.tool("a", 12, 20)
		second := tp.tool("b", 13, 20)
		want := Hit
		if spoil != nil {
			spoil(second)
			want = Unservable
		}
		tp.model("m", 30, 40)
		a := New(&tp.Tape, Options{}).NewSession().Answer(asks("m"))
		if a.Outcome != want || want == Hit && (len(a.message.Parts) != 2 || !slices.Equal(a.Labels, []Label{NotRecorded, BySequence, CallsRebuilt})) {
			t.Errorf("%s: %s %v %d parts", what, a.Outcome, a.Labels, len(a.message.Parts))
		}
	}
}

// A call that failed goes on where the next attempt does.
func TestAFailedCallIsRepeatedAtItsPlace(t *testing.T) {
	tp := newSilent()
	tp.model("m", 0, 10)
	tp.tool("a", 12, 20)
	failed := tp.model("m", 30, 40)
	failed.Status, failed.Error = tape.EventError, &tape.Error{Type: "RateLimitError", Message: "429"}
	tp.model("m", 50, 60)
	tp.tool("b", 61, 70)
	tp.model("m", 80, 90)
	s := New(&tp.Tape, Options{}).NewSession()
	wantSeq(t, s, asks("m"), 1, Hit)
	wantSeq(t, s, asks("m", []string{"a"}), 3, RecordedError)
	wantSeq(t, s, asks("m", []string{"a"}), 4, Hit)
	wantSeq(t, s, asks("m", []string{"a"}, []string{"b"}), 6, StoodIn)
}

// Runs of one command are served as one set, each turn once, and each call says of which run it was.
func TestTheTurnsOfSeveralRunsAreServedAsOneSet(t *testing.T) {
	var tapes []*tape.Tape
	for _, id := range []string{"x", "y"} {
		tp := newSilent()
		tp.Run.RunID = "run-" + id
		tp.model("m", 0, 10)
		tp.tool(id, 12, 20)
		tp.model("m", 30, 40)
		tapes = append(tapes, &tp.Tape)
	}
	s := Family(tapes, Options{}).NewSession()
	wantSeq(t, s, asks("m"), 1, Hit)
	wantSeq(t, s, asks("m"), 1, Hit)
	wantSeq(t, s, asks("m", []string{"y"}), 3, StoodIn)
	wantSeq(t, s, asks("m"), 1, Exhausted)
	r := s.Report()
	if r.Calls[0].Run != "run-x" || r.Calls[1].Run != "run-y" || r.Calls[2].Run != "run-y" {
		t.Errorf("%+v %+v %+v", r.Calls[0], r.Calls[1], r.Calls[2])
	}
	if len(r.Unused) != 1 || r.Unused[0].Run != "run-x" || r.Unused[0].Seq != 3 || r.Turns != 4 {
		t.Errorf("%+v", r.Unused)
	}
}

// news is a tape whose requests hold what is new alone.
func news(first bool) *tape.Tape {
	tp := newSilent()
	tp.Messages = map[string]tape.Message{
		"s": {Role: tape.RoleSystem, Parts: []tape.Part{{Type: tape.PartText, Text: "Be brief."}}},
	}
	user := func(id, text string) string {
		tp.Messages[id] = tape.Message{Role: tape.RoleUser, Parts: []tape.Part{{Type: tape.PartText, Text: text}}}
		return id
	}
	asked := asks("m", []string{"a"}).Messages
	tp.Messages["asked"], tp.Messages["result"] = asked[1], asked[2]
	user("said", "")
	tp.Messages["said"] = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: "Done."}}}
	call := func(at int, answer string, sent ...string) {
		e := tp.model("m", at, at+5)
		e.Provenance, e.Request = nil, &tape.Request{Messages: sent}
		e.Response = &tape.Response{Message: answer}
	}
	if first {
		call(0, "asked", "s", user("u1", "go"))
	}
	call(20, "said", "s", "result")
	call(40, "said", "s", user("u2", "and now?"))
	return &tp.Tape
}

// What is new stands behind what was said before; where that is not recorded, the sequence decides, and what
// is recorded has to agree.
func TestRequestsOfWhatIsNewAloneAreAccumulated(t *testing.T) {
	text := func(role tape.Role, s string) tape.Message {
		return tape.Message{Role: role, Parts: []tape.Part{{Type: tape.PartText, Text: s}}}
	}
	second := asks("m", []string{"a"})
	second.Messages = append([]tape.Message{text(tape.RoleSystem, "Be brief.")}, second.Messages...)
	third := second
	third.Messages = append(slices.Clone(second.Messages), text(tape.RoleAssistant, "Done."), text(tape.RoleUser, "and now?"))
	other := second
	other.Messages = slices.Clone(second.Messages)
	other.Messages[1] = text(tape.RoleUser, "go away")

	s := New(news(true), Options{}).NewSession()
	a := s.Answer(other)
	if a.Outcome != NoTurn || a.Nearest == nil || a.Nearest.Seq != 2 || a.Nearest.Place != "1.user" {
		t.Errorf("another question: %s of event %d, %+v", a.Outcome, a.Seq(), a.Nearest)
	}
	for i, r := range []Request{second, third} {
		if a := s.Answer(r); a.Seq() != i+2 || !slices.Contains(a.Labels, Accumulated) {
			t.Errorf("event %d, %s %v %+v", a.Seq(), a.Outcome, a.Labels, a.Nearest)
		}
	}
	s = New(news(false), Options{}).NewSession()
	if a := s.Answer(second); a.Seq() != 1 || !slices.Contains(a.Labels, NotRecorded) || slices.Contains(a.Labels, Accumulated) {
		t.Errorf("event %d, %s %v %+v", a.Seq(), a.Outcome, a.Labels, a.Nearest)
	}
}

// A request that is not served is evidence of what tools returned; one that is served has a record of its
// own.
func TestWhatARequestThatIsNotServedShowsIsKept(t *testing.T) {
	s := New(news(true), Options{}).NewSession()
	second := asks("m", []string{"a"})
	second.Messages = append([]tape.Message{{Role: tape.RoleSystem, Parts: []tape.Part{{Type: tape.PartText, Text: "Be brief."}}}}, second.Messages...)
	if a := s.Answer(second); !a.Outcome.Served() || len(s.Shown()) != 0 {
		t.Errorf("%s, %v", a.Outcome, s.Shown())
	}
	if a := s.Answer(asks("m", []string{"a"}, []string{"b"})); a.Outcome.Served() || s.Shown()["b"].Result.Str() != "done" || s.Shown()["b"].Tool != "t" {
		t.Errorf("%s, %v", a.Outcome, s.Shown())
	}
}
