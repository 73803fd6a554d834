// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// script builds a tape from what was said.
type script struct {
	tb   testing.TB
	tape *tape.Tape
	sent []string
}

func newScript(tb testing.TB) *script {
	s := &script{tb: tb, tape: &tape.Tape{Messages: map[string]tape.Message{}, Tools: map[string]tape.Tool{}}}
	s.say(tape.RoleUser, tape.Part{Type: tape.PartText, Text: "go"})
	return s
}

func (s *script) put(role tape.Role, parts ...tape.Part) string {
	m := tape.Message{Role: role, Parts: parts}
	s.tape.Messages[m.ID()] = m
	return m.ID()
}

func (s *script) say(role tape.Role, parts ...tape.Part) {
	s.sent = append(s.sent, s.put(role, parts...))
}

// model adds a model call that is sent all messages so far and asks for the calls.
func (s *script) model(calls ...tape.Part) int {
	e := tape.Event{Seq: len(s.tape.Events) + 1, Type: tape.EventModelCall, Caller: "agent", Status: tape.EventOK,
		Request:  &tape.Request{Messages: append([]string{}, s.sent...)},
		Response: &tape.Response{Message: s.put(tape.RoleAssistant, calls...)}}
	s.tape.Events = append(s.tape.Events, e)
	s.sent = append(s.sent, e.Response.Message)
	return e.Seq
}

// tool adds a tool event for the call and shows the result.
func (s *script) tool(by int, call tape.Part, result, shown string) {
	e := toolCall(len(s.tape.Events)+1, call.Name, call.Args.JSON(), result)
	e.RequestedBy, e.ToolCallID = by, call.ID
	s.tape.Events = append(s.tape.Events, e)
	if shown != "" {
		s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: call.ID, Result: parse(s.tb, shown)})
	}
}

func (s *script) call(id, name, args string) tape.Part {
	return tape.Part{Type: tape.PartToolCall, ID: id, Name: name, Args: parse(s.tb, args)}
}

func (s *script) proves(want string) {
	s.tb.Helper()
	if got := sayProof(Prove(s.tape)); got != want {
		s.tb.Errorf("got %s, want %s", got, want)
	}
}

func sayProof(p tape.Proof) string {
	ok := "-"
	if p.OK != nil {
		ok = fmt.Sprint(*p.OK)
	}
	recorded := ""
	if p.Recorded > 0 {
		recorded = fmt.Sprintf(" recorded %d", p.Recorded)
	}
	return fmt.Sprintf("expected %d served %d verified %d mismatched %d unverifiable %d%s ok %s", p.Expected, p.Served, p.Verified, p.Mismatched, p.Unverifiable, recorded, ok)
}

func TestProofOfARunWithoutToolsHasNoVerdict(t *testing.T) {
	s := newScript(t)
	s.model()
	s.proves("expected 0 served 0 verified 0 mismatched 0 unverifiable 0 ok -")
}

// twoTurns is a run of three calls, the first two the same, whose results are all shown.
func twoTurns(t *testing.T) *script {
	s := newScript(t)
	a, b, c := s.call("1", "poll", `{"n":1}`), s.call("2", "poll", `{"n":1.0}`), s.call("3", "add", `{"x":[1]}`)
	by := s.model(a, b)
	s.tool(by, a, `"first"`, `"first"`)
	s.tool(by, b, `{"v":1.0}`, `"{\"v\": 1}"`) // shown as text
	by = s.model(c)
	s.tool(by, c, `"5"`, `[{"type":"text","text":"5"}]`) // shown in an envelope
	s.model()
	return s
}

func TestProofComparesAnswersWithShownResults(t *testing.T) {
	twoTurns(t).proves("expected 3 served 3 verified 3 mismatched 0 unverifiable 0 ok true")
}

func TestChangingAVerifiableResultFlipsTheProof(t *testing.T) {
	for i := range 3 {
		s := twoTurns(t)
		n := 0
		for j := range s.tape.Events {
			if e := &s.tape.Events[j]; e.Type == tape.EventToolCall {
				if n == i {
					e.Result = exactjson.StringValue(e.Result.JSON() + "!")
				}
				n++
			}
		}
		s.proves("expected 3 served 3 verified 2 mismatched 1 unverifiable 0 ok false")
	}
}

func TestSwappedAnswersOfEqualCallsFlipTheProof(t *testing.T) {
	s := twoTurns(t)
	s.tape.Events[1].Result, s.tape.Events[2].Result = s.tape.Events[2].Result, s.tape.Events[1].Result
	s.proves("expected 3 served 3 verified 1 mismatched 2 unverifiable 0 ok false")
}

func TestLosingAnEventFlipsTheProof(t *testing.T) {
	s := twoTurns(t)
	s.tape.Events = append(s.tape.Events[:1], s.tape.Events[2:]...)
	// The oracle has one answer for two equal calls, and it is not the one that the first call is shown to have got.
	s.proves("expected 3 served 2 verified 2 mismatched 0 unverifiable 0 ok false")
}

func TestResultsAreFoundByOrderWithoutIDs(t *testing.T) {
	s := newScript(t)
	a, b := s.call("", "poll", `{}`), s.call("", "poll", `{}`)
	for _, answers := range [][2]string{{`"1"`, `"2"`}, {`"3"`, `"4"`}} { // the same response twice: one message in the pool
		by := s.model(a, b)
		s.tool(by, a, answers[0], answers[0])
		s.tool(by, b, answers[1], answers[1])
	}
	s.model()
	s.proves("expected 4 served 4 verified 4 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Result = exactjson.StringValue("3")
	s.proves("expected 4 served 4 verified 3 mismatched 1 unverifiable 0 ok false")
}

// Genkit shows results in the order in which the calls ended, and Gemini gives them no ids.
func TestResultsWithoutIDsMayStandInAnyOrder(t *testing.T) {
	const one, two = `"the first of them"`, `"another of them"`
	for name, c := range map[string]struct {
		id     string
		spans  bool
		shown  [2]string
		proved bool
	}{
		"in another order":    {"", true, [2]string{two, one}, true},
		"in order":            {"", true, [2]string{one, two}, true},
		"with ids":            {"c", true, [2]string{two, one}, false},
		"ids of calls alone":  {"c-", true, [2]string{two, one}, true},
		"no record of a tool": {"", false, [2]string{two, one}, false},
		"one is another":      {"", true, [2]string{two, `"nothing of the kind"`}, false},
		"one is shown twice":  {"", true, [2]string{two, two}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			ids := [2]string{c.id, c.id}
			if c.id != "" {
				ids = [2]string{"c1", "c2"}
			}
			a, b := s.call(ids[0], "look", `{"x":1}`), s.call(ids[1], "look", `{"x":2}`)
			by := s.model(a, b)
			s.tool(by, a, one, c.shown[0])
			s.tool(by, b, two, c.shown[1])
			if c.spans {
				s.tape.Events[1].SpanIDs, s.tape.Events[2].SpanIDs = []string{"0000000000000001"}, []string{"0000000000000002"}
			}
			s.model()
			if c.id == "c-" {
				for _, m := range s.tape.Messages {
					for i := range m.Parts {
						if m.Parts[i].Type == tape.PartToolResult {
							m.Parts[i].ID = ""
						}
					}
				}
			}
			if proof := Prove(s.tape); proof.OK == nil || *proof.OK != c.proved {
				t.Errorf("%s", sayProof(proof))
			}
		})
	}
}

func TestReusedCallIDsAreToldApart(t *testing.T) {
	s := newScript(t)
	for i := range 3 {
		c := s.call("call_0", "step", fmt.Sprintf(`{"i":%d}`, i))
		s.tool(s.model(c), c, fmt.Sprintf(`"%d"`, i), fmt.Sprintf(`"%d"`, i))
	}
	s.model()
	s.proves("expected 3 served 3 verified 3 mismatched 0 unverifiable 0 ok true")
}

func TestWhatIsNotShownExactlyIsUnverifiable(t *testing.T) {
	const unverifiable = "expected 3 served 3 verified 2 mismatched 0 unverifiable 1 recorded 1 ok true"
	wrong := exactjson.StringValue("changed")

	s := twoTurns(t) // the last request is not recorded
	s.tape.Events[5].Request = nil
	s.proves(unverifiable)

	s = twoTurns(t) // a finding proves nothing
	s.tape.Events[2].Result = wrong
	s.tape.Fidelity.Findings = []tape.Finding{{Code: tape.CodeResultRewritten, Seq: 3}}
	s.proves("expected 3 served 3 verified 2 mismatched 1 unverifiable 0 ok false")

	s = twoTurns(t) // the message with the third result was cut
	s.tape.Events[4].Result = wrong
	last := &s.tape.Events[5]
	last.Provenance = tape.Provenance{fmt.Sprintf("request.messages.%d.parts.0.result", len(last.Request.Messages)-1): tape.Truncated}
	s.proves(unverifiable)
	last.Provenance = tape.Provenance{"request.messages": tape.Lossy}
	s.proves(unverifiable)
	last.Provenance = tape.Provenance{"request.messages": tape.Truncated} // the list was cut, what it kept is complete
	s.proves("expected 3 served 3 verified 2 mismatched 1 unverifiable 0 ok false")

	s = twoTurns(t) // the span holds a representation only
	s.tape.Events[4].Result, s.tape.Events[4].Provenance = wrong, tape.Provenance{"result": tape.Lossy}
	s.proves("expected 3 served 3 verified 2 mismatched 0 unverifiable 1 ok -")
}

func TestArgumentsThatAreNotWhatTheyWereProveNothing(t *testing.T) {
	for _, label := range []tape.Label{tape.Lossy, tape.Masked, tape.Disputed, tape.Inferred} {
		s := twoTurns(t)
		s.tape.Events[4].Provenance = tape.Provenance{"args.x": label}
		s.proves("expected 3 served 3 verified 2 mismatched 0 unverifiable 1 ok -")
	}
	s := twoTurns(t)
	s.tape.Events[4].Provenance = tape.Provenance{"args.x": tape.Redacted, "result": tape.Recovered}
	s.proves("expected 3 served 3 verified 3 mismatched 0 unverifiable 0 ok true")
}

// If no response on the tape asked for a call, its arguments must be such as the tool takes.
// Of a response that was recorded damaged, the arguments of a call may be a mark: the record of the tool with the id of that call holds them.
func TestDamagedArgumentsOfAResponseAreThoseOfTheEvent(t *testing.T) {
	for name, c := range map[string]struct {
		label tape.Label
		id    string
		want  string
	}{
		"a damaged response": {tape.Lossy, "c1", "1 of 1, 0 verified, 0 mismatched, 1 unverifiable"},
		"a whole response":   {"", "c1", "0 of 1"},
		"another id":         {tape.Lossy, "c2", "1 of 2, 0 verified, 0 mismatched, 1 unverifiable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			by := s.model(s.call("c1", "f", `{"x":"[MaxDepth]"}`))
			s.tape.Events[0].Provenance = tape.Provenance{"response.message": c.label}
			if c.label == "" {
				s.tape.Events[0].Provenance = nil
			}
			s.tool(by, s.call(c.id, "f", `{"x":{"deep":[1]}}`), `"done, as asked"`, "")
			proof := Prove(s.tape)
			got := fmt.Sprintf("%d of %d", proof.Served, proof.Expected)
			if proof.Served > 0 {
				got += fmt.Sprintf(", %d verified, %d mismatched, %d unverifiable", proof.Verified, proof.Mismatched, proof.Unverifiable)
			}
			if !strings.HasPrefix(c.want, got) || got == "" {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRecordedCallsFitTheDefinitionOfTheirTool(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},"required":["city"]}`
	for _, c := range []struct{ schema, args, want string }{
		{schema, `{"city":"Bern"}`, "recorded 1 ok true"},
		{schema, `{"city":"Bern","unit":"C"}`, "recorded 1 ok true"},
		{schema, `{"payload":{"city":"Bern"}}`, "ok -"},
		{schema, `{"city":"Bern","context":{}}`, "ok -"},
		{schema, `{"unit":"C"}`, "ok -"},
		{`{"type":"object","properties":{},"additionalProperties":true}`, `{"anything":1}`, "recorded 1 ok true"},
		{`{"type":"object"}`, `{"anything":1}`, "recorded 1 ok true"},
	} {
		s := newScript(t)
		tool := tape.Tool{Name: "weather", Parameters: parse(t, c.schema)}
		s.tape.Tools[tool.ID()] = tool
		s.model()
		s.tool(0, s.call("1", "weather", c.args), `"sun"`, "")
		s.proves("expected 1 served 1 verified 0 mismatched 0 unverifiable 1 " + c.want)
	}
}

// A request may show only a part of the record, because an instrumentation put something around it.
func TestRecordsWithMoreThanWasShownAreNotTakenForTheAnswer(t *testing.T) {
	for _, c := range []struct{ answer, shown, want string }{
		{`{"state":"done","payload":{"n":3}}`, `{"n":3}`, "verified 0 mismatched 0 unverifiable 1 ok -"},
		{`{"state":"done","payload":{"city":"Nairobi","sky":"sunny"}}`, `{"city":"Nairobi","sky":"sunny"}`, "verified 0 mismatched 0 unverifiable 1 ok -"},
		{`{"state":"done","payload":{"city":"Nairobi","sky":"sunny"}}`, `"{'city': 'Nairobi', 'sky': 'sunny'}"`, "verified 0 mismatched 0 unverifiable 1 ok -"},
		{`{"state":"done","city":"Nairobi","sky":"sunny"}`, `{"city":"Nairobi","sky":"sunny"}`, "verified 0 mismatched 0 unverifiable 1 ok -"},
		{`"delivered: the invoice was paid"`, `"the invoice was paid"`, "verified 0 mismatched 0 unverifiable 1 ok -"},
		{`{"city":"Nairobi","sky":"sunny"}`, `"{'city': 'Nairobi', 'sky': 'sunny'}"`, "verified 1 mismatched 0 unverifiable 0 ok true"},
		{`"the invoice was paid"`, `"The tool returned: the invoice was paid."`, "verified 1 mismatched 0 unverifiable 0 ok true"},
	} {
		s := newScript(t)
		k := s.call("1", "roll", `{}`)
		s.tool(s.model(k), k, c.answer, c.shown)
		s.model()
		s.proves("expected 1 served 1 " + c.want)
	}
}

// unnamed is a run whose requests show results without ids, below answers whose calls were not recorded there.
func unnamed(t *testing.T, results, shown []string) *script {
	s := newScript(t)
	var calls []tape.Part
	for i := range results {
		calls = append(calls, s.call("", "weather", fmt.Sprintf(`{"n":%d}`, i)))
	}
	by := s.model(calls...)
	s.sent[len(s.sent)-1] = s.put(tape.RoleAssistant, tape.Part{Type: tape.PartText, Text: "let me see"})
	for i, result := range results {
		s.tool(by, calls[i], result, "")
	}
	for _, result := range shown {
		s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, Result: parse(t, result)})
	}
	s.model()
	return s
}

func TestResultsWithoutNamesAreThoseOfTheTurnInOrder(t *testing.T) {
	a, b, c := `{"city":"Paris","sky":"rain"}`, `{"city":"Tokyo","sky":"clear"}`, `{"city":"Lagos","sky":"dust"}`
	for _, x := range []struct {
		results, shown []string
		want           string
	}{
		{[]string{a, b}, []string{a, b}, "verified 2 mismatched 0 unverifiable 0 ok true"},
		{[]string{a, b}, []string{b, a}, "verified 0 mismatched 0 unverifiable 2 recorded 2 ok true"}, // perhaps as they ended
		{[]string{a, b}, []string{a, c}, "verified 0 mismatched 1 unverifiable 1 recorded 1 ok false"},
		{[]string{a, b}, []string{a}, "verified 0 mismatched 0 unverifiable 2 recorded 2 ok true"},
	} {
		unnamed(t, x.results, x.shown).proves("expected 2 served 2 " + x.want)
	}
}

func TestHandOffsWithoutAnAnswerAreNotExpected(t *testing.T) {
	s := newScript(t)
	c := s.call("1", "transfer_to_billing", `{}`)
	s.tool(s.model(c), c, "", "")
	s.proves("expected 1 served 0 verified 0 mismatched 0 unverifiable 0 ok false")
	s.tape.Events = append(s.tape.Events, tape.Event{Seq: 3, Type: tape.EventAgentCall, Relation: tape.RelationHandoff, Via: 2})
	s.proves("expected 0 served 0 verified 0 mismatched 0 unverifiable 0 ok -")
}

// At its limit of steps an agent does not execute what the last response asks for: every call that it did execute has a span.
func TestWhatNobodyExecutedIsNotExpected(t *testing.T) {
	limit := func() *script {
		s := newScript(t)
		for i := range 3 {
			c := s.call(fmt.Sprint(i), "crawl", fmt.Sprintf(`{"page":%d}`, i))
			result := fmt.Sprintf(`{"next":"page number %d"}`, i+1)
			s.tool(s.model(c), c, result, result)
			s.tape.Events[2*i+1].SpanIDs = []string{fmt.Sprintf("%016x", i+1)}
		}
		last := &s.tape.Events[5]
		last.Result, last.SpanIDs, last.Status, last.Provenance = exactjson.Value{}, nil, tape.EventError, tape.Provenance{"result": tape.Missing}
		return s
	}
	limit().proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
	const lost = "expected 3 served 2 verified 2 mismatched 0 unverifiable 0 ok false"
	s := limit() // the run span never came: the process may have died while the tool ran
	s.tape.Fidelity.Findings = []tape.Finding{{Code: tape.CodeRootMissing}}
	s.proves(lost)
	s.tape.Fidelity.Findings = []tape.Finding{{Code: tape.CodeNoRoot}} // no agent span, and nothing says how it ended
	s.proves(lost)
	s.tape.Run.Status, s.tape.Run.Error = tape.StatusError, &tape.Error{Message: "no more steps"} // the span around all calls failed after them
	s.proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[4].Error = &tape.Error{Message: "no more steps"} // it is the failure of a call
	s.proves(lost)
	s = limit() // tools have no spans here
	s.tape.Events[1].SpanIDs, s.tape.Events[3].SpanIDs = nil, nil
	s.proves(lost)
	s = limit() // the run went on
	s.model()
	s.proves(lost)
	s = limit() // it went on without that response: the agent asked the model again
	s.model()
	again := s.tape.Events[6].Request
	again.Messages = s.tape.Events[4].Request.Messages
	s.proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
	again.Messages = again.Messages[:1] // it sends only what is new
	s.proves(lost)
	for i := range s.tape.Events { // no request shows what was answered before: that one does not, says nothing
		if r := s.tape.Events[i].Request; r != nil {
			r.Messages = r.Messages[:1]
		}
	}
	s.proves("expected 3 served 2 verified 0 mismatched 0 unverifiable 2 recorded 2 ok false")
	s.tape.Tools["t1"] = tape.Tool{Name: "look"} // what the model was not offered, nobody can execute
	asked := s.tape.Events[4].Request
	asked.Tools = []string{"t1"}
	s.proves("expected 2 served 2 verified 0 mismatched 0 unverifiable 2 recorded 2 ok true")
	s.tape.Tools["t2"] = tape.Tool{Name: "crawl"}
	asked.Tools = []string{"t1", "t2"}
	s.proves("expected 3 served 2 verified 0 mismatched 0 unverifiable 2 recorded 2 ok false")
	s.tape.Tools["t2"] = tape.Tool{} // a definition that does not tell of which tool
	s.proves("expected 3 served 2 verified 0 mismatched 0 unverifiable 2 recorded 2 ok false")
	s = limit() // the node of a graph that asks is an agent, the one that executes is none
	for i := range s.tape.Events {
		if i != 1 && i != 3 {
			s.tape.Events[i].Caller = "graph/agent"
		}
	}
	s.proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].RequestedBy, s.tape.Events[3].RequestedBy = 0, 0 // nobody asked for what has spans
	s.proves("expected 5 served 2 verified 0 mismatched 0 unverifiable 2 recorded 2 ok false")
}

// What a model is told of a tool that it was not offered is the framework's word: no replay asks for it.
func TestCallOfAToolThatWasNotOfferedIsNotExpected(t *testing.T) {
	for offered, want := range map[string]string{"crawl": "expected 0 served 0 verified 0 mismatched 0 unverifiable 0 ok -", "look": "expected 1 served 0 verified 0 mismatched 0 unverifiable 0 ok false"} {
		s := newScript(t)
		c := s.call("1", "look", `{}`)
		s.tool(s.model(c), c, "", `"look is no valid tool"`)
		e := &s.tape.Events[1]
		e.Status, e.IsError, e.Error = tape.EventError, true, &tape.Error{Message: "look is no valid tool"}
		e.Args, e.ArgsHash = exactjson.Value{}, "" // without arguments nothing can be served
		s.tape.Tools["t1"] = tape.Tool{Name: offered}
		s.tape.Events[0].Request.Tools = []string{"t1"}
		s.proves(want)
	}
}

// Who executes one call of an answer executes them all, unless one fails: a span that is not there was lost.
func TestCallBesideOneThatEndedWellWasExecuted(t *testing.T) {
	for status, want := range map[tape.EventStatus]string{
		tape.EventOK:    "expected 2 served 1 verified 0 mismatched 0 unverifiable 1 recorded 1 ok false",
		tape.EventError: "expected 1 served 1 verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
	} {
		s := newScript(t)
		a, b := s.call("", "add", `{"x":1}`), s.call("", "add", `{"x":1}`)
		by := s.model(a, b)
		s.tool(by, a, `"the sum is two"`, "")
		s.tool(by, b, "null", "")
		ran, lost := &s.tape.Events[1], &s.tape.Events[2]
		ran.SpanIDs, ran.Status = []string{"0000000000000001"}, status
		lost.Result, lost.SpanIDs, lost.Status, lost.Provenance = exactjson.Value{}, nil, tape.EventError, tape.Provenance{"result": tape.Missing}
		s.proves(want)
	}
}

func TestUnservedCallsFailTheProof(t *testing.T) {
	s := newScript(t)
	c := s.call("1", "t", `{}`)
	by := s.model(c)
	s.tool(by, c, "", "")
	s.proves("expected 1 served 0 verified 0 mismatched 0 unverifiable 0 ok false")
	s.tape.Events = s.tape.Events[:1] // not even an event
	s.proves("expected 1 served 0 verified 0 mismatched 0 unverifiable 0 ok false")
}

func TestStructuredOutputIsNotExpected(t *testing.T) {
	s := newScript(t)
	tool := tape.Tool{Name: "search"}
	s.tape.Tools[tool.ID()] = tool
	s.model(s.call("1", "final_result", `{"x":1}`))
	s.tape.Events[0].Request.Tools = []string{tool.ID()}
	s.proves("expected 0 served 0 verified 0 mismatched 0 unverifiable 0 ok -")
	// Answered, it is a call like any other.
	s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "1", Result: parse(t, `"ok"`)})
	s.model()
	s.proves("expected 1 served 0 verified 0 mismatched 0 unverifiable 0 ok false")
}

func TestCallsWithoutRecordedRequestAreExpectedToo(t *testing.T) {
	s := newScript(t)
	c := s.call("", "t", `{"a":1}`)
	s.model(c)
	s.tool(1, c, `"r"`, `"r"`)
	s.model()
	s.tape.Events[0].Response = nil
	s.tape.Events[1].RequestedBy = 0
	s.proves("expected 1 served 1 verified 1 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Result = exactjson.StringValue("x")
	s.proves("expected 1 served 1 verified 0 mismatched 1 unverifiable 0 ok false")
}

func TestResultsAreFoundByContentWhenTheResponseIsResentDifferently(t *testing.T) {
	s := newScript(t)
	for i := range 2 {
		c := s.call("", "poll", `{}`)
		by := s.model(tape.Part{Type: tape.PartReasoning, Text: "hm"}, c)
		s.sent[len(s.sent)-1] = s.put(tape.RoleAssistant, c) // without the reasoning
		s.tool(by, c, fmt.Sprintf(`"%d"`, i), fmt.Sprintf(`"%d"`, i))
	}
	s.model()
	s.proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[3].Result = exactjson.StringValue("0")
	s.proves("expected 2 served 2 verified 1 mismatched 1 unverifiable 0 ok false")
}

func TestShownErrorsMayHaveWordsOfTheFrameworkAround(t *testing.T) {
	s := newScript(t)
	c := s.call("1", "t", `{}`)
	s.tool(s.model(c), c, "", `"Error executing tool t: no such file"`)
	s.tape.Events[1].Status, s.tape.Events[1].Error = tape.EventError, &tape.Error{Message: "no such file"}
	s.model()
	s.proves("expected 1 served 1 verified 1 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Error.Message = "Error executing tool t: no such file\n    at open (fs.js:1)"
	s.proves("expected 1 served 1 verified 1 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Error.Message = "t: no such file\n\nError: t: no such file\n    at open (fs.js:1)" // the message, then the stack trace
	s.proves("expected 1 served 1 verified 1 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Error.Message = "t: no such door\n\nError: t: no such door\n    at open (fs.js:1)"
	s.proves("expected 1 served 1 verified 0 mismatched 1 unverifiable 0 ok false")
	s.tape.Events[1].Error.Message = "fs.ToolError: no such file" // the class, then the message
	s.proves("expected 1 served 1 verified 1 mismatched 0 unverifiable 0 ok true")
	s.tape.Events[1].Error.Message = "fs.ToolError: no such door"
	s.proves("expected 1 served 1 verified 0 mismatched 1 unverifiable 0 ok false")
	s.tape.Events[1].Error.Message = "ToolError: file" // too little to tell
	s.proves("expected 1 served 1 verified 0 mismatched 1 unverifiable 0 ok false")
	s.tape.Events[1].Error.Message = "another"
	s.proves("expected 1 served 1 verified 0 mismatched 1 unverifiable 0 ok false")
}

// TestAFailedCallAnswersWithWhatTheModelWasShown: the framework had made something of the error, and the error stands beside it.
func TestAFailedCallAnswersWithWhatTheModelWasShown(t *testing.T) {
	const stack = "\n    at job (app.mjs:14:9)\n    at call (tools.js:136:27)"
	for name, c := range map[string]struct {
		recorded       tape.Error
		shown          string // "" where no request shows any
		response       string
		format         string // text without
		class, message string
		proof          string
		disputed       bool
	}{
		"a stack": {
			recorded: tape.Error{Message: "ETIMEDOUT: no answer\n\nTimeoutError: ETIMEDOUT: no answer" + stack}, shown: "Error: ETIMEDOUT: no answer\n Please fix your mistakes.",
			response: "Error: ETIMEDOUT: no answer\n Please fix your mistakes.", class: "TimeoutError", message: "ETIMEDOUT: no answer", proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
		"a stack alone": {
			recorded: tape.Error{Message: "Error: ETIMEDOUT: no answer" + stack}, shown: "ETIMEDOUT: no answer",
			response: "ETIMEDOUT: no answer", class: "Error", message: "ETIMEDOUT: no answer", proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
		"a class": {
			recorded: tape.Error{Type: "app.Unavailable", Message: "no answer within 2 s"}, shown: "Error: Unavailable - no answer within 2 s",
			response: "Error: Unavailable - no answer within 2 s", class: "app.Unavailable", message: "no answer within 2 s", proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
		"words that the loop of the agent puts there again": {
			recorded: tape.Error{Message: "no answer within 2 s"}, shown: "Error executing tool t: no answer within 2 s",
			response: "no answer within 2 s", message: "no answer within 2 s", proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
		"another error": {
			recorded: tape.Error{Type: "TimeoutError", Message: "no answer within 2 s"}, shown: "Error: connection refused",
			response: "Error: connection refused", class: "TimeoutError", message: "no answer within 2 s", proof: "verified 0 mismatched 1 unverifiable 0 ok false", disputed: true,
		},
		"the failure alone": {
			recorded: tape.Error{Type: "TimeoutError", Message: "no answer within 2 s"}, shown: "The tool failed.",
			response: "The tool failed.", class: "TimeoutError", message: "no answer within 2 s", proof: "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		},
		"nothing": {
			recorded: tape.Error{Type: "TimeoutError", Message: "no answer within 2 s" + "\n\nTimeoutError: no answer within 2 s" + stack},
			response: "no answer within 2 s\n\nTimeoutError: no answer within 2 s" + stack, class: "TimeoutError", message: "no answer within 2 s", proof: "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		},
		"an object": {
			recorded: tape.Error{Message: `{"error":"no answer within 2 s"}`}, shown: `{"error":"no answer within 2 s"}`,
			response: `{"error":"no answer within 2 s"}`, format: tape.FormatJSON, message: `{"error":"no answer within 2 s"}`, proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
		"no more than a class": {
			recorded: tape.Error{Type: "TOOL_ERROR", Message: "TOOL_ERROR"}, shown: "TOOL_ERROR",
			response: "TOOL_ERROR", class: "TOOL_ERROR", proof: "verified 1 mismatched 0 unverifiable 0 ok true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			call := s.call("1", "t", `{}`)
			shown := ""
			if c.shown != "" {
				if shown = c.shown; c.format == "" {
					shown = exactjson.StringValue(c.shown).JSON()
				}
			}
			s.tool(s.model(call), call, "", shown)
			failed := &s.tape.Events[1]
			failed.Status, failed.IsError, failed.Error = tape.EventError, true, &c.recorded
			s.model()
			s.proves("expected 1 served 1 " + c.proof)
			Assess(s.tape)
			e, format := FromTape(s.tape)[0], tape.FormatText
			if c.format != "" {
				format = c.format
			}
			if e.Response != c.response || e.ResponseFormat != format || !e.IsError || e.ErrorType != c.class || e.ErrorMessage != c.message || (e.ResponseFidelity == Disputed) != c.disputed {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestAFewLettersOfAFailureProveNothing: they may stand in any text, as those of a result may.
func TestAFewLettersOfAFailureProveNothing(t *testing.T) {
	for shown, proof := range map[string]string{
		"timeout":                         "verified 1 mismatched 0 unverifiable 0 ok true",
		"Error: timeout":                  "verified 1 mismatched 0 unverifiable 0 ok true",
		"Error executing tool t: timeout": "verified 1 mismatched 0 unverifiable 0 ok true",
		"there was no timeout this time":  "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		"timeouts are rare, it succeeded": "verified 0 mismatched 1 unverifiable 0 ok false",
	} {
		s := newScript(t)
		c := s.call("1", "t", `{}`)
		s.tool(s.model(c), c, "", exactjson.StringValue(shown).JSON())
		failed := &s.tape.Events[1]
		failed.Status, failed.IsError, failed.Error = tape.EventError, true, &tape.Error{Message: "timeout"}
		s.model()
		if got := sayProof(Prove(s.tape)); got != "expected 1 served 1 "+proof {
			t.Errorf("%s: %s", shown, got)
		}
	}
}

// TestFailuresThatChangedPlacesAreFound: two calls with equal arguments failed in two ways, and each request shows what the other one came to.
func TestFailuresThatChangedPlacesAreFound(t *testing.T) {
	s := newScript(t)
	for i, shown := range []string{`"Error: connection refused by host"`, `"Error: no answer within 2 s"`} {
		call := s.call(fmt.Sprint(i), "t", `{}`)
		s.tool(s.model(call), call, "", shown)
		failed := &s.tape.Events[2*i+1]
		failed.Status, failed.IsError, failed.Error = tape.EventError, true, &tape.Error{Message: []string{"no answer within 2 s", "connection refused by host"}[i]}
	}
	s.model()
	s.proves("expected 2 served 2 verified 0 mismatched 2 unverifiable 0 ok false")
	s.tape.Events[1].Error, s.tape.Events[3].Error = s.tape.Events[3].Error, s.tape.Events[1].Error
	s.proves("expected 2 served 2 verified 2 mismatched 0 unverifiable 0 ok true")
}

// A failure of one word, which the framework shows behind a class of its own.
func TestShortFailuresAreShownBehindAClass(t *testing.T) {
	for shown, same := range map[string]bool{
		`"Error: timeout\n Please fix your mistakes."`: true,
		`"Error: timeout"`:           true,
		`"Error: timeouts are rare"`: false,
		`"Reached: timeout"`:         false,
		`"Error: no timeout"`:        false,
	} {
		s := newScript(t)
		c := s.call("1", "t", `{}`)
		s.tool(s.model(c), c, "", shown)
		s.tape.Events[1].Status, s.tape.Events[1].Error = tape.EventError, &tape.Error{Message: "ToolError: timeout"}
		s.model()
		if proof := Prove(s.tape); (proof.Mismatched == 0) != same {
			t.Errorf("%s: %s", shown, sayProof(proof))
		}
	}
}

func TestExceptionsWithTheirStackHoldTheirMessageTwice(t *testing.T) {
	const stack = "\n    at open (fs.js:1)\n    at run (fs.js:9)"
	for recorded, c := range map[string]struct {
		shown string
		same  bool
	}{
		"late\n\nToolError: late" + stack:                                 {"ToolError: late\n Please fix your mistakes.", true}, // a short message, and its class
		"of:\n\n  the blue\n\nToolError: of:\n\n  the blue" + stack:       {"Error: of:\n\n  the blue", true},                    // a message of paragraphs
		"# of\n\n- no such file\n\nError: # of\n\n- no such file" + stack: {"it failed: # of\n\n- no such file", true},
		"late\n\nToolError: late" + stack + " ":                           {"OtherError: late night", false}, // another class
		"late\n\nToolError: later" + stack:                                {"ToolError: late hour", false},   // not the message once more
		"late\n\nToolError: late\n\nand more":                             {"ToolError: late, too", false},   // no stack
	} {
		s := newScript(t)
		call := s.call("1", "t", `{}`)
		s.tool(s.model(call), call, "", exactjson.StringValue(c.shown).JSON())
		s.tape.Events[1].Status, s.tape.Events[1].Error = tape.EventError, &tape.Error{Message: recorded}
		s.model()
		if p := Prove(s.tape); (p.Verified == 1) != c.same || (p.Mismatched == 1) == c.same {
			t.Errorf("%q shown as %q: %s", recorded, c.shown, sayProof(p))
		}
	}
}

// Some frameworks keep the error of a tool from the model. What they say instead is no other error.
func TestNoticeThatACallFailedIsNoOtherError(t *testing.T) {
	for notice, proof := range map[string]string{
		"Error: Function failed.":                         "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		`{\"error\":\"the tool failed\"}`:                 "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		"Error: connection refused":                       "verified 0 mismatched 1 unverifiable 0 ok false",
		"Tool 't' failed after 1 attempt with FileError":  "verified 0 mismatched 0 unverifiable 1 recorded 1 ok true",
		"Tool 'u' failed after 1 attempt with FileError":  "verified 0 mismatched 1 unverifiable 0 ok false", // another tool
		"Tool 't' failed after 1 attempt with OtherError": "verified 0 mismatched 1 unverifiable 0 ok false", // another error
		"The function has run.":                           "verified 0 mismatched 1 unverifiable 0 ok false",
		"Error: Function failed, after 3 s":               "verified 0 mismatched 1 unverifiable 0 ok false",
	} {
		s := newScript(t)
		c := s.call("1", "t", `{}`)
		s.tool(s.model(c), c, "", `"`+notice+`"`)
		s.tape.Events[1].Status, s.tape.Events[1].IsError, s.tape.Events[1].Error = tape.EventError, true, &tape.Error{Message: "FileError: no such file"}
		s.model()
		s.proves("expected 1 served 1 " + proof)
		if Assess(s.tape); strings.HasSuffix(proof, "true") == slices.ContainsFunc(s.tape.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeResultDisputed }) {
			t.Errorf("%s: %+v", notice, s.tape.Fidelity.Findings)
		}
	}
}

func TestProofDoesNotChangeTheTape(t *testing.T) {
	s := twoTurns(t)
	before := string(s.tape.AppendJSON(nil))
	Prove(s.tape)
	if diff := cmp.Diff(before, string(s.tape.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkProve(b *testing.B) {
	s := newScript(b)
	for i := range 1000 {
		c := s.call(fmt.Sprint(i), "t", fmt.Sprintf(`{"i":%d}`, i))
		result := exactjson.StringValue(strings.Repeat("line of a result\n", 50)).JSON()
		s.tool(s.model(c), c, result, result)
	}
	b.ReportAllocs()
	for b.Loop() {
		Prove(s.tape)
	}
}
