// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// calls is a run of tool calls, nobody known to have asked for them: "f 1" calls f with {"n":1}.
func calls(list ...string) *tape.Tape {
	t := &tape.Tape{}
	for i, call := range list {
		name, arg, _ := strings.Cut(call, " ")
		t.Events = append(t.Events, tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: name, Args: exactjson.ObjectValue(exactjson.Member{Name: "n", Value: exactjson.StringValue(arg)})})
	}
	return t
}

// script writes the steps as text: "1=1 2~2 +3 4- 5>4".
func script(r *Result) string {
	signs := map[Kind]string{Equal: "=", Changed: "~", Inserted: "+", Dropped: "-", Moved: ">"}
	var out []string
	for _, s := range r.Script {
		text := signs[s.Kind]
		if s.A != nil {
			text = fmt.Sprint(s.A.Seq) + text
		}
		if s.B != nil {
			text += fmt.Sprint(s.B.Seq)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestEditScripts(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"nothing", "", "", ""},
		{"all inserted", "", "f 1,f 2", "+1 +2"},
		{"all dropped", "f 1,f 2", "", "1- 2-"},
		{"equal", "f 1,g 2", "f 1,g 2", "1=1 2=2"},
		{"inserted in front", "f 1,g 2,h 3", "x 0,f 1,g 2,h 3", "+1 1=2 2=3 3=4"},
		{"a retry", "f 1,g 2", "f 1,f 1,g 2", "1=1 +2 2=3"},
		{"dropped and changed", "f 1,g 2,h 3,f 4", "f 1,h 3,f 5", "1=1 2- 3=2 4~3"},
		{"another tool at the place", "f 1,g 2,h 3", "f 1,x 9,h 3", "1=1 2~2 3=3"},
		{"neighbours swapped", "f 1,g 2,h 3", "g 2,f 1,h 3", "1>2 2=1 3=3"},
		{"swapped at a distance", "f 1,g 2,h 3", "h 3,g 2,f 1", "1>3 2=2 3>1"},
		{"moved to the front", "f 1,g 2,h 3", "h 3,f 1,g 2", "3>1 1=2 2=3"},
		{"moved to the end", "f 1,g 2,h 3", "g 2,h 3,f 1", "1>3 2=1 3=2"},
		{"arguments went around", "f 1,g 0,f 2,g 0,f 3", "f 2,g 0,f 3,g 0,f 1", "1>5 2=2 3>1 4=4 5>3"},
		{"two inserted apart", "f 1,f 2,f 3,f 4", "f 1,x 1,f 2,f 3,x 2,f 4", "1=1 +2 2=3 3=4 +5 4=6"},
		{"nothing in common", "f 1,f 2", "g 1", "1~1 2-"},
	} {
		list := func(s string) *tape.Tape {
			if s == "" {
				return calls()
			}
			return calls(strings.Split(s, ",")...)
		}
		if got := script(compared(t, list(c.a), list(c.b), Results)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheFirstDivergenceComesWithWhatStandsBeforeIt(t *testing.T) {
	got := compared(t, calls("a 1", "b 1", "c 1", "d 1", "e 1"), calls("a 1", "b 1", "c 1", "d 1", "e 2"), Results)
	var before []int
	for _, s := range got.Before {
		before = append(before, s.A.Seq)
	}
	if !slices.Equal(before, []int{2, 3, 4}) || got.First.A.Seq != 5 {
		t.Errorf("%v then %+v", before, got.First)
	}
}

// Agents that run side by side: their events come in any order, each agent's own stay in order.
func TestAgentsSideBySideMayInterleave(t *testing.T) {
	agent := func(seq int, name string, via int) tape.Event {
		return tape.Event{Seq: seq, Type: tape.EventAgentCall, Agent: &tape.Agent{Name: name}, Via: via}
	}
	inner := func(seq, parent int, name string) tape.Event {
		return tape.Event{Seq: seq, Type: tape.EventToolCall, Name: name, Parent: parent}
	}
	delegate := func(seq int, name string) tape.Event {
		return tape.Event{Seq: seq, Type: tape.EventToolCall, Name: name, RequestedBy: 1}
	}
	model := tape.Event{Seq: 1, Type: tape.EventModelCall, Model: "m"}
	a := &tape.Tape{Events: []tape.Event{model, delegate(2, "x"), agent(3, "ax", 2), delegate(4, "y"), agent(5, "ay", 4), inner(6, 3, "x1"), inner(7, 5, "y1"), inner(8, 3, "x2"), inner(9, 5, "y2")}}
	b := &tape.Tape{Events: []tape.Event{model, delegate(2, "y"), agent(3, "ay", 2), inner(4, 3, "y1"), inner(5, 3, "y2"), delegate(6, "x"), agent(7, "ax", 6), inner(8, 7, "x1"), inner(9, 7, "x2")}}
	if got := compared(t, a, b, All); !got.Equal {
		t.Errorf("%s", script(got))
	}
	b.Events[3].Name, b.Events[4].Name = "y2", "y1"
	if got := compared(t, a, b, All); got.Equal || got.First.A.Seq != 7 || got.First.B.Seq != 5 || got.First.Kind != Moved {
		t.Errorf("%s", script(got))
	}
}

func TestRulesAndIgnoredFieldsDoNotCount(t *testing.T) {
	a, b := calls("f 2026-11-20T10:00:00Z", "g 1"), calls("f 2026-11-20T11:30:00Z", "g 1")
	rules, err := normalise.New([]normalise.Rule{{Tool: "f", Path: "$.n", Action: normalise.Normalise, As: "timestamp"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Rules: rules}, {Ignore: []Field{FieldArgs}}} {
		if got, err := Tapes(a, b, o); err != nil || !got.Equal || got.Counts.Noted != 0 {
			t.Errorf("%+v: %v %+v", o, err, got)
		}
	}
	// A rule also holds for what a model asked for, so that the model call is not the divergence in its stead.
	ask := func(at string) *tape.Tape {
		m := tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartToolCall, Name: "f", Args: exactjson.ObjectValue(exactjson.Member{Name: "n", Value: exactjson.StringValue(at)})}}}
		return &tape.Tape{Messages: map[string]tape.Message{m.ID(): m}, Events: []tape.Event{{Seq: 1, Type: tape.EventModelCall, Response: &tape.Response{Message: m.ID()}}}}
	}
	if got, err := Tapes(ask("2026-11-20T10:00:00Z"), ask("2026-11-20T10:00:01Z"), Options{Rules: rules}); err != nil || !got.Equal {
		t.Errorf("%v %+v", err, got)
	}
}

// TestTheSameFailureElsewhereIsNoDifference: a stack trace says where it was thrown.
func TestTheSameFailureElsewhereIsNoDifference(t *testing.T) {
	run := func(message string) *tape.Tape {
		t := calls("f 1")
		t.Events[0].Status, t.Events[0].Error = tape.EventError, &tape.Error{Message: message}
		return t
	}
	recorded := run("late\n\nToolError: late\n    at job (app.mjs:14:9)")
	if got := compared(t, recorded, run("late\n\nToolError: late\n    at recorded (hooks.cjs:3:1)"), Results); !got.Equal {
		t.Errorf("%+v", got.First)
	}
	for _, other := range []string{"late\n\nOtherError: late\n    at job (app.mjs:14:9)", "later\n\nToolError: later\n    at job (app.mjs:14:9)"} {
		if got := compared(t, recorded, run(other), Results); got.Equal {
			t.Errorf("%q is the same", other)
		}
	}
}

func TestIDsThatTheTapeDeclaresDoNotCountWithinValues(t *testing.T) {
	run := func(id, in string) *tape.Tape {
		t := calls("f 1")
		t.Events[0].ToolCallID = id
		t.Events[0].Result = exactjson.ObjectValue(exactjson.Member{Name: "for", Value: exactjson.ArrayValue(exactjson.StringValue(in))})
		return t
	}
	if got := compared(t, run("call_0000aaaa", "call_0000aaaa"), run("call_0000bbbb", "call_0000bbbb"), All); !got.Equal {
		t.Errorf("%+v", got.First)
	}
	if got := compared(t, run("call_0000aaaa", "call_0000aaaa"), run("call_0000bbbb", "call_0000cccc"), All); got.Equal {
		t.Error("an id of another run is a value like any other")
	}
	if got := compared(t, run("1", "1"), run("2", "2"), All); got.Equal {
		t.Error("a short id is a value like any other")
	}
}

func TestWhatIsNotRecordedIsSaid(t *testing.T) {
	a, b := calls("f 1", "f 2"), calls("f 1", "f 2")
	for _, x := range []*tape.Tape{a, b} {
		x.Events[0].Args, x.Events[0].Result = exactjson.Value{}, exactjson.StringValue("r")
	}
	got := compared(t, a, b, Results)
	if diff := cmp.Diff(map[Field]int{FieldArgs: 1, FieldResult: 1}, got.Unrecorded); diff != "" || !got.Equal {
		t.Error(diff)
	}
	b.Events[0].Args = exactjson.ObjectValue()
	if got := compared(t, a, b, Results); got.Equal || got.First.Differences[0].A != nil || got.First.Differences[0].B.JSON() != "{}" {
		t.Error("what is recorded on one side only differs")
	}
}

func TestInputAndOutputAreCompared(t *testing.T) {
	run := func(asked, said string, status tape.RunStatus) *tape.Tape {
		t := calls("f 1")
		t.Input.UserMessage, t.Output.Text, t.Run.Status = &asked, &said, status
		return t
	}
	a := run("why", "so", tape.StatusOK)
	for _, c := range []struct {
		b             *tape.Tape
		level         Level
		input, output []Field
	}{
		{run("why", "else", tape.StatusOK), Results, nil, nil},
		{run("why", "else", tape.StatusOK), All, nil, []Field{FieldText}},
		{run("why", "so", tape.StatusError), Actions, nil, nil},
		{run("why", "so", tape.StatusError), Results, nil, []Field{FieldStatus}},
		{run("how", "so", tape.StatusOK), Actions, []Field{FieldUserMessage}, nil},
	} {
		got := compared(t, a, c.b, c.level)
		fields := func(all []Difference) (out []Field) {
			for _, d := range all {
				out = append(out, d.Field)
			}
			return out
		}
		if !slices.Equal(fields(got.Input), c.input) || !slices.Equal(fields(got.Output), c.output) || got.Equal != (c.input == nil && c.output == nil) || got.First != nil {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestManyDifferencesOfOneFieldEndWithTheWhole(t *testing.T) {
	list := func(offset int64) exactjson.Value {
		var v []exactjson.Value
		for i := range int64(1000) {
			v = append(v, exactjson.IntValue(i+offset))
		}
		return exactjson.ArrayValue(v...)
	}
	a, b := calls("f 1"), calls("f 1")
	a.Events[0].Result, b.Events[0].Result = list(0), list(1)
	got := compared(t, a, b, Results).First.Differences
	if len(got) != maxPlaces || got[0].Path != "$[0]" || got[maxPlaces-1].Path != "$" || !got[maxPlaces-1].B.Equal(list(1)) {
		t.Errorf("%d places, the last %s", len(got), got[len(got)-1].Path)
	}
}

func TestUnknownOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{Level: "some"}, {Ignore: []Field{"nosuch"}}} {
		if _, err := Tapes(calls(), calls(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
		if _, err := Separate([]*tape.Tape{calls()}, []*tape.Tape{calls()}, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// The same two tapes give the same bytes, and the pieces of a script are the two runs.
func TestScriptsAreCompleteAndRepeatable(t *testing.T) {
	all := corpus(t)
	for i, r := range all {
		a, b := r.read(t), all[(i*7+3)%len(all)].read(t)
		for _, level := range Levels {
			first := compared(t, a, b, level)
			complete(t, a, b, first)
			x, _ := json.Marshal(first)
			y, _ := json.Marshal(compared(t, r.read(t), b, level))
			if string(x) != string(y) {
				t.Errorf("%s: two comparisons differ", r.name)
			}
		}
	}
}

// complete checks that every event of both tapes stands in the script exactly once.
func complete(t *testing.T, a, b *tape.Tape, r *Result) {
	t.Helper()
	seqs := func(t *tape.Tape) (out []int) {
		for i := range t.Events {
			out = append(out, t.Events[i].Seq)
		}
		slices.Sort(out)
		return out
	}
	var inA, inB []int
	for _, s := range r.Script {
		if s.A != nil {
			inA = append(inA, s.A.Seq)
		}
		if s.B != nil {
			inB = append(inB, s.B.Seq)
		}
		if (s.Kind == Changed) != (len(s.Differences) > 0) {
			t.Errorf("%s with %d differences", s.Kind, len(s.Differences))
		}
	}
	slices.Sort(inA)
	slices.Sort(inB)
	if !slices.Equal(inA, seqs(a)) || !slices.Equal(inB, seqs(b)) {
		t.Errorf("the script holds %v and %v of %d and %d events", inA, inB, len(a.Events), len(b.Events))
	}
	if n := r.Counts; n.Equal+n.Changed+n.Inserted+n.Dropped+n.Moved != len(r.Script) || r.Equal != (len(r.Steps)+len(r.Input)+len(r.Output) == 0) {
		t.Errorf("%+v for %d steps", n, len(r.Script))
	}
}

func TestTextThatHoldsJSONDiffersWhereItDiffers(t *testing.T) {
	a, b := calls("f 1"), calls("f 1")
	a.Events[0].Result, b.Events[0].Result = exactjson.StringValue(`{"hits":[{"score":1}]}`), exactjson.StringValue(`{"hits":[{"score":2}]}`)
	if d := compared(t, a, b, Results).First.Differences; len(d) != 1 || d[0].Path != "$.hits[0].score" || d[0].B.JSON() != "2" {
		t.Errorf("%+v", d)
	}
}

// Two frameworks record the same result as JSON, as its text, and as its text with other spaces.
func TestJSONAndItsTextAreAlikeUnlessTypesCount(t *testing.T) {
	parse := func(text string) exactjson.Value {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		a, b  exactjson.Value
		label string // of values that are alike; "": they are not
	}{
		{parse(`{"hits":[1]}`), exactjson.StringValue(`{"hits": [1]}`), "b"},
		{exactjson.StringValue(`{"hits": [1]}`), parse(`{"hits":[1]}`), "a"},
		{exactjson.StringValue(`{"hits": [1]}`), exactjson.StringValue(`{"hits":[1]}`), "both"},
		{exactjson.StringValue(`26.5`), parse(`26.5`), "a"},
		{parse(`{"content":[{"text":"{\"n\":1}"}]}`), parse(`{"content":[{"text":{"n":1}}]}`), "a"},
		{parse(`{"n":"7"}`), parse(`{"n":7}`), ""},
		{exactjson.StringValue(`26.5`), parse(`26.6`), ""},
		{exactjson.StringValue(`null`), exactjson.Value{}, ""},
	} {
		a, b := calls("f 1"), calls("f 1")
		a.Events[0].Result, b.Events[0].Result = c.a, c.b
		r := compared(t, a, b, Results)
		if alike := c.label != ""; r.Equal != alike || r.Counts.JSONText == 1 != alike || r.Counts.Noted != 0 {
			t.Errorf("%s and %s: %+v", c.a.JSON(), c.b.JSON(), r.Counts)
		}
		if c.label != "" && (len(r.Script[0].Noted) != 1 || r.Script[0].Noted[0].JSONText != c.label) {
			t.Errorf("%s and %s: %+v", c.a.JSON(), c.b.JSON(), r.Script[0].Noted)
		}
		strict, err := Tapes(a, b, Options{StrictTypes: true})
		if err != nil || strict.Equal {
			t.Errorf("%s and %s are alike although types count", c.a.JSON(), c.b.JSON())
		}
	}
	// What a model asks for is compared so too, and one difference does not make every text one.
	a, b := calls("f 1"), calls("f 1")
	a.Events[0].Args, b.Events[0].Args = parse(`{"filter":{"x":1},"n":1}`), parse(`{"filter":"{\"x\": 1}","n":2}`)
	if d := compared(t, a, b, Results).First.Differences; len(d) != 1 || d[0].Path != "$.n" {
		t.Errorf("%+v", d)
	}
}

func TestAgentsAndRetrievalsAreCompared(t *testing.T) {
	run := func() *tape.Tape {
		text := exactjson.StringValue
		return &tape.Tape{Events: []tape.Event{
			{Seq: 1, Type: tape.EventAgentCall, Agent: &tape.Agent{Name: "x"}, Relation: tape.RelationSubAgent, Input: text("in"), Output: text("out")},
			{Seq: 2, Type: tape.EventRetrieval, Name: "kb", Query: text("q"), Documents: exactjson.ArrayValue(text("d"))},
		}}
	}
	for field, change := range map[Field]func(a, r *tape.Event){
		FieldRelation:  func(a, _ *tape.Event) { a.Relation = tape.RelationHandoff },
		FieldInput:     func(a, _ *tape.Event) { a.Input = exactjson.StringValue("else") },
		FieldOutput:    func(a, _ *tape.Event) { a.Output = exactjson.StringValue("else") },
		FieldQuery:     func(_, r *tape.Event) { r.Query = exactjson.StringValue("else") },
		FieldDocuments: func(_, r *tape.Event) { r.Documents = exactjson.ArrayValue() },
		FieldError:     func(_, r *tape.Event) { r.Error = &tape.Error{Message: "else"} },
		FieldFailed:    func(_, r *tape.Event) { r.Status = tape.EventError },
		FieldCaller:    func(_, r *tape.Event) { r.Caller = "main/other" },
	} {
		b := run()
		change(&b.Events[0], &b.Events[1])
		for at, level := range Levels {
			got := compared(t, run(), b, level)
			if counts := at >= levelOf[field]; got.Equal == counts || counts && got.First.Differences[0].Field != field {
				t.Errorf("%s at %s: %+v", field, level, got.First)
			}
		}
	}
}

// The path of a difference is the path of the rule that takes it out.
func TestPathsOfDifferencesAreRules(t *testing.T) {
	for _, name := range []string{"plain", "with space", "it's", `back\slash`, `"quoted"`, "a]b", "a.b", "", "ünï", "$", "*"} {
		run := func(leaf string) *tape.Tape {
			t := calls("f 1")
			inner := exactjson.ObjectValue(exactjson.Member{Name: name, Value: exactjson.StringValue(leaf)})
			t.Events[0].Args = exactjson.ObjectValue(exactjson.Member{Name: "list", Value: exactjson.ArrayValue(exactjson.NullValue, inner)})
			return t
		}
		a, b := run("x"), run("y")
		path := compared(t, a, b, Results).First.Differences[0].Path
		rules, err := normalise.New([]normalise.Rule{{Tool: "f", Path: path, Action: normalise.Ignore}})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got, err := Tapes(a, b, Options{Rules: rules}); err != nil || !got.Equal {
			t.Errorf("%q: %s does not take it out: %v", name, path, err)
		}
	}
}
