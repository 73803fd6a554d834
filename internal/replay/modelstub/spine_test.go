// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// spine asks the model stub and the oracle of a tape what an agent asked for in a run, in its order, with the
// requests as they were recorded, and says what it was not answered as it was then; "" when everything was.
func spine(run, against *tape.Tape) string {
	models := New(against, Options{}).NewSession()
	entries, err := oracle.New(oracle.FromTape(against), oracle.Options{})
	if err != nil {
		return err.Error()
	}
	tools, ran := entries.NewSession(0), map[int]bool{}
	for _, e := range oracle.FromTape(run) {
		ran[e.Seq] = e.Servable() // what a framework stops at its limit has no answer, and is not called
	}
	for i := range run.Events {
		e := &run.Events[i]
		switch {
		case e.Type == tape.EventModelCall && e.Request != nil && len(e.Request.Messages) > 0:
			a := models.Answer(asSent(run, e))
			if a.Outcome == NoTurn {
				a = models.Answer(asAnswered(run, asSent(run, e)))
			}
			if !a.Outcome.Served() {
				return fmt.Sprintf("model call #%d: %s %+v", e.Seq, a.Outcome, a.Nearest)
			}
			if e.Response != nil && e.Response.Message != "" && !sameSaid(run.Messages[e.Response.Message], a.message) {
				return fmt.Sprintf("model call #%d: answered otherwise, by #%d", e.Seq, a.Seq())
			}
		case e.Type == tape.EventToolCall && ran[e.Seq]:
			a, err := tools.Answer(oracle.Query{ToolName: e.Name, Args: e.Args, ArgsHash: e.ArgsHash})
			if err != nil || !a.Outcome.Served() {
				return fmt.Sprintf("tool call #%d: %s %v", e.Seq, a.Outcome, err)
			}
		}
	}
	return ""
}

// sameSaid compares two answers by what an agent does with them: the calls, as a program reads their numbers,
// and the text. Where an answer asks for tools, some instrumentations record its text in the answer alone, so
// that a request does not tell it.
func sameSaid(a, b tape.Message) bool {
	said := func(m tape.Message) (text string, calls []string) {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartText:
				text = joined(text, p.Text)
			case tape.PartToolCall:
				var args any
				if json.Unmarshal([]byte(p.Args.JSON()), &args) != nil {
					args = p.Args.Text()
				}
				calls = append(calls, fmt.Sprint(p.Name, " ", args))
			}
		}
		return text, calls
	}
	textA, callsA := said(a)
	textB, callsB := said(b)
	return slices.Equal(callsA, callsB) && (textA == textB || len(callsA) > 0 && (textA == "" || textB == ""))
}

// asAnswered is the request with the answers in it as they were given, and not as the instrumentation of the
// next call recorded them.
func asAnswered(t *tape.Tape, r Request) Request {
	byCalls := map[string]tape.Message{}
	key := func(m tape.Message) (k string) {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall && m.Role == tape.RoleAssistant {
				k += p.ID + " "
			}
		}
		return k
	}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall && e.Response != nil {
			byCalls[key(t.Messages[e.Response.Message])] = t.Messages[e.Response.Message]
		}
	}
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		if k := key(m); k != "" && byCalls[k].Role != "" {
			r.Messages[i] = byCalls[k]
		}
	}
	return r
}

var spineOptions = reconstruct.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}

func rebuilt(t *testing.T, r groundtruth.Run) []*tape.Tape {
	t.Helper()
	set, err := r.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	return reconstruct.All(set.Split(), spineOptions)
}

// sharesSpan reports tapes that are of one run: an event of each is of the same span.
func sharesSpan(a, b *tape.Tape) bool {
	ids := map[string]bool{}
	for i := range a.Events {
		for _, id := range a.Events[i].SpanIDs {
			ids[id] = true
		}
	}
	return slices.ContainsFunc(b.Events, func(e tape.Event) bool {
		return slices.ContainsFunc(e.SpanIDs, func(id string) bool { return ids[id] })
	})
}

// partOf is the run as far as a tape that was made of a part of it can know it: its calls, and those of
// models in the same conversation, by the message that begins it.
func partOf(run, left *tape.Tape) *tape.Tape {
	held := map[string]tape.EventType{}
	for i := range left.Events {
		for _, id := range left.Events[i].SpanIDs {
			held[id] = left.Events[i].Type
		}
	}
	holds := func(e *tape.Event) bool {
		return slices.ContainsFunc(e.SpanIDs, func(id string) bool { return held[id] == e.Type })
	}
	opening := func(e *tape.Event) string {
		if e.Request == nil || len(e.Request.Messages) == 0 {
			return ""
		}
		return e.Request.Messages[0]
	}
	openings := map[string]bool{}
	for i := range run.Events {
		if e := &run.Events[i]; e.Type == tape.EventModelCall && holds(e) {
			openings[opening(e)] = true
		}
	}
	part := *run
	part.Events = slices.DeleteFunc(slices.Clone(run.Events), func(e tape.Event) bool {
		return !holds(&e) && !openings[opening(&e)]
	})
	return &part
}

// lastModel is the place of the last model call of a tape.
func lastModel(t *tape.Tape) (last int) {
	for i := range t.Events {
		if t.Events[i].Type == tape.EventModelCall {
			last = i
		}
	}
	return last
}

// endsUntold reports a tape that says that no record tells how the run ended, or that it failed, and none of
// its calls did: whether a model was asked once more, or a limit ended it, nobody knows.
func endsUntold(t *tape.Tape) bool {
	if t.Run.Status == tape.StatusError && !slices.ContainsFunc(t.Events, func(e tape.Event) bool { return e.Status == tape.EventError }) {
		return true
	}
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeUnfinished || f.Code == tape.CodeContentAbsent && f.Field == "output.text"
	})
}

// roundedInJavaScript reports a run whose agent rounded integers of what the model answered: what it sent and
// called then is on the tape as the model wrote it.
func roundedInJavaScript(t *tape.Tape) bool {
	has := func(code tape.Code) bool {
		return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == code })
	}
	return has(tape.CodeBigInt) && has(tape.CodeResentChanged)
}

// TestTapeThatClaimsOfflineAnswersItsAgentAlsoWithoutAModelCall replays each run whose tape is graded offline
// against its own tape, and against the tapes that are made when the report of one model call never comes:
// the agent is answered as it was then, or the grade is lower. A part of the corpus is one run of each group,
// and those with several agents.
func TestTapeThatClaimsOfflineAnswersItsAgentAlsoWithoutAModelCall(t *testing.T) {
	runs, err := groundtruth.Corpus("../../../testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	whole, grouped := sample.Whole(), map[string]bool{}
	offline, dropped, lower, recovered, said := 0, 0, 0, 0, 0
	for _, run := range runs {
		if !whole && grouped[run.Group] && run.Scenario != "handoff" {
			continue
		}
		for _, first := range rebuilt(t, run) {
			if first.Fidelity.Grade != tape.GradeOffline {
				continue
			}
			offline++
			grouped[run.Group] = true
			if why := spine(first, first); why != "" {
				t.Errorf("%s/%s is graded offline, and its agent is not answered: %s", run.Group, run.Scenario, why)
				continue
			}
			for i := range first.Events {
				e := &first.Events[i]
				if e.Type != tape.EventModelCall || len(e.SpanIDs) == 0 || roundedInJavaScript(first) {
					continue
				}
				for _, rehung := range []bool{false, true} {
					without, err := run.Without(e.SpanIDs, rehung)
					if err != nil {
						t.Fatal(err)
					}
					dropped++
					tapes := rebuilt(t, without)
					for _, left := range tapes {
						against := first
						if len(tapes) > 1 {
							against = partOf(first, left)
						}
						switch {
						case !sharesSpan(first, left):
						case left.Fidelity.Grade != tape.GradeOffline:
							lower++
						case endsUntold(left) && lastModel(first) == i:
							said++
						default:
							if why := spine(against, left); why != "" {
								t.Errorf("%s/%s without model call #%d (rehung %v) is graded offline, and its agent is not answered: %s", run.Group, run.Scenario, e.Seq, rehung, why)
							} else {
								recovered++
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d runs graded offline, %d model calls left out: %d tapes with a lower grade, %d that answer all the same, %d that say that no answer of the run is on record", offline, dropped, lower, recovered, said)
	if offline < 30 {
		t.Errorf("only %d runs", offline)
	}
}
