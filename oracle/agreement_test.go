// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const record = `{"city":"Nairobi","temp":24.25,"sky":"sunny","wind":null,"dry":true}`

// forms are an answer, and what a model was shown of it. Both are JSON.
var forms = []struct {
	name, answer, shown string
	want                agreement
}{
	{"the same text", `"a"`, `"a"`, agrees},
	{"JSON as text", `{"a":1}`, `"{\"a\": 1.0}"`, agrees},
	{"a number as text", `"5"`, `5`, agrees},
	{"an object of the result alone", `[1]`, `{"result":[1]}`, agrees},
	{"a list of one text block", `"x"`, `[{"type":"text","text":"x"}]`, agrees},
	{"a text block around JSON", `[{"type":"text","text":"{\"a\":1}"}]`, `{"a":1}`, agrees},
	{"null as text", `null`, `"null"`, agrees},

	{"a Python literal", record, `"{'city': 'Nairobi', 'temp': 24.25, 'sky': 'sunny', 'wind': None, 'dry': True}"`, rewritten},
	{"a Python literal with escapes", `{"text":"first line\nit's the second \\ line","x":"é"}`, `"{'text': \"first line\\nit's the second \\\\\\\\ line\", 'x': '\\xe9'}"`, rewritten},
	{"JSON with escapes within a text", `{"text":"素朴なカフェ","dir":"ltr"}`, `"<context>\n{\"text\":\"\\u7d20\\u6734\\u306a\\u30ab\\u30d5\\u30a7\",\"dir\":\"ltr\"}\n</context>"`, rewritten},
	{"a constructor", record, `"Weather(city='Nairobi', temp=24.25, sky='sunny', wind=None, dry=True)"`, rewritten},
	{"a Python literal of the result alone", `{"result":true}`, `"{'result': True}"`, rewritten},
	{"a text of the result alone, as a Python literal", `"{\"result\": \"ab\"}"`, `"{'result': 'ab'}"`, rewritten},
	{"numbers in another spelling", `{"ratio":0.00001,"n":2.50,"big":9007199254740993}`, `"{'ratio': 1e-05, 'n': 2.5, 'big': 9007199254740992}"`, rewritten},
	{"another case", `"result1"`, `"RESULT1"`, rewritten},
	{"a sentence around", `"the invoice was paid"`, `"Tool billing returned: the invoice was paid. Go on."`, rewritten},
	{"an envelope of JSON", record, `{"output":` + quoted(record) + `,"status":"success","tool":"weather"}`, rewritten},
	{"the shown text within what the span holds", `{"blocks":[{"text":"the invoice was paid"}],"raw":{"paid":true}}`, `"the invoice was paid"`, surrounds},
	{"members left out", `{"content":[{"media":"data:image/png;base64,iVBORw0"}],"metadata":{"size":1},"output":{"description":"an image"}}`,
		`{"output":{"description":"an image"},"content":[{"media":"data:image/png;base64,iVBORw0"}]}`, surrounds},
	{"cut at the end", `"line one, line two, line three, line four"`, `"line one, line two… [truncated 21 characters]"`, rewritten},
	{"cut within a word", `"line one, line two, line three"`, `"line one, line two, line thr"`, rewritten},
	{"cut in the middle", `"line one, line two, line three, line four, line five"`, `"line one, line two ... (22 characters omitted) ... line five"`, rewritten},
	{"masked", `{"user":"ada","password":"hunter2","role":"admin"}`, `{"user":"ada","password":"***","role":"admin"}`, rewritten},
	{"masked with a remark", `"the key is sk-live-0123456789 and it works"`, `"the key is [Scrubbed due to 'key'] and it works"`, rewritten},
	{"masked in part", `"card 4111111111111111 was charged"`, `"card ****1111 was charged"`, rewritten},
	{"masked on the span", `"mail [REDACTED:email:0f] was sent to support"`, `"mail ada@example.com was sent to support"`, rewritten},

	{"no blocks as a text", `[]`, `""`, rewritten},
	{"an object of nothing as a text", `{}`, `""`, contradicts},

	{"a short answer in a sentence", `"0"`, `"The tool returned 0."`, undecided},
	{"a short text among other values", `{"blocks":[{"text":"0"}],"raw":0}`, `"0"`, undecided},
	{"an empty text among other values", `{"blocks":[{"text":""}],"raw":""}`, `""`, undecided},
	{"words for nothing", `null`, `"Tool ran without output or errors"`, undecided},
	{"a mask alone", `"the invoice was paid"`, `"[REDACTED]"`, undecided},
	{"members of a text in another order", `{"a":"one","b":"two"}`, `"{'b': 'two', 'a': 'one'}"`, undecided},

	{"another result alone, as a Python literal", `{"result":true}`, `"{'result': False}"`, contradicts},
	{"the result under another name", `{"result":true}`, `"{'answer': True}"`, contradicts},
	{"unrelated", `"completely unrelated 1"`, `{"hits":[{"doc_id":"doc-eiffel","score":0.97}]}`, contradicts},
	{"one value differs", `{"job":"job-7781-of-the-night-shift","status":"queued"}`, `{"job":"job-7781-of-the-night-shift","status":"done"}`, contradicts},
	{"one value of a Python literal differs", record, `"{'city': 'Nairobi', 'temp': 19.25, 'sky': 'sunny', 'wind': None, 'dry': True}"`, contradicts},
	{"a digit", `"balance: 1200 EUR"`, `"balance: 1300 EUR"`, contradicts},
	{"a sign", `{"balance":-5,"of":"account"}`, `"{'balance': 5, 'of': 'account'}"`, contradicts},
	{"values that changed places", `{"from":"Bern","to":"Oslo"}`, `{"from":"Oslo","to":"Bern"}`, contradicts},
	{"the same beginning", `"the long beginning that both have, and then yes"`, `"the long beginning that both have, and then no"`, contradicts},
	{"a word of a short text", `"5"`, `"5!"`, contradicts},
	{"within a word", `"5"`, `"15 items were found"`, contradicts},
	{"nothing was returned, something shown", `""`, `{"price":42}`, contradicts},
	{"something was returned, nothing shown", `"the invoice was paid"`, `""`, contradicts},
	{"a value besides the mask differs", `{"user":"ada","password":"hunter2"}`, `{"user":"eve","password":"***"}`, contradicts},
	{"other numbers", `[1,2]`, `[1,3]`, contradicts},
	{"a member more", `{"a":1}`, `{"a":1,"b":2}`, undecided},
	{"other symbols", `"✅"`, `"❌"`, contradicts},
}

func quoted(text string) string { return exactjson.StringValue(text).JSON() }

func TestKnownRewritingIsToldFromContradiction(t *testing.T) {
	names := map[agreement]string{agrees: "agrees", rewritten: "rewritten", surrounds: "surrounds", undecided: "undecided", contradicts: "contradicts"}
	for _, f := range forms {
		if got := agreementOf(parse(t, f.answer), parse(t, f.shown)); got != f.want {
			t.Errorf("%s: %s, want %s", f.name, names[got], names[f.want])
		}
	}
}

func FuzzCompare(f *testing.F) {
	for _, c := range forms {
		f.Add(c.answer, c.shown)
	}
	f.Add(`{"result": ab`, "AB")
	namesResult := regexp.MustCompile("(?i)result")
	f.Fuzz(func(t *testing.T, answer, shown string) {
		a, b := exactjson.StringValue(answer), exactjson.StringValue(shown)
		if agreementOf(a, a) != agrees {
			t.Error("a value does not agree with itself")
		}
		for n := range maxUnescaped + 1 {
			if namesResult.MatchString(wordsOf(a, n).joined()) {
				return // an envelope of that name is more of the same then
			}
		}
		got := agreementOf(a, b)
		wrapped := exactjson.ObjectValue(exactjson.Member{Name: "result", Value: b})
		if again := agreementOf(a, wrapped); (got == contradicts) != (again == contradicts) {
			t.Errorf("%d, and %d in an envelope", got, again)
		}
	})
}

func TestContradictedAnswerIsDisputedAndLowersTheGrade(t *testing.T) {
	s := newScript(t)
	question := "go"
	s.tape.Input.UserMessage, s.tape.Output.Text = &question, &question
	a, b := s.call("1", "price", `{"of":"tea"}`), s.call("2", "price", `{"of":"coffee"}`)
	by := s.model(a, b)
	s.tool(by, a, `"three euros"`, `"four euros and ten"`)
	s.tool(by, b, `{"price":5,"currency":"EUR"}`, `"{'price': 5, 'currency': 'EUR'}"`)
	s.model()
	Assess(s.tape)
	if got := sayProof(s.tape.Fidelity.Proof); got != "expected 2 served 2 verified 1 mismatched 1 unverifiable 0 ok false" {
		t.Error(got)
	}
	if r := s.tape.Fidelity; r.Grade != tape.GradeModel || r.Replayable.Tools {
		t.Errorf("grade %s, %+v", r.Grade, r.Replayable)
	}
	e := s.tape.Events[1]
	if e.Provenance["result"] != tape.Disputed || e.Result.Str() != "three euros" || len(e.OtherResults) != 1 ||
		e.OtherResults[0].Result.Str() != "four euros and ten" || e.OtherResults[0].From != tape.FromRequest || e.OtherResults[0].Seq != 4 {
		t.Errorf("%+v", e)
	}
	if e = s.tape.Events[2]; e.Provenance["result"] != "" || len(e.OtherResults) != 1 {
		t.Errorf("%+v", e)
	}
	var codes []string
	for _, f := range s.tape.Fidelity.Findings {
		codes = append(codes, string(f.Code))
	}
	if got := strings.Join(codes, " "); got != "result_disputed result_rewritten tools_unproved" {
		t.Error(got)
	}
	before := string(s.tape.AppendJSON(nil))
	if Assess(s.tape); string(s.tape.AppendJSON(nil)) != before {
		t.Error("assessed again it is another")
	}

	entries := FromTape(s.tape)
	first := entries[0]
	if first.ResponseFidelity != Disputed || first.Response != "three euros" || len(first.OtherResponses) != 1 || first.OtherResponses[0].Response != "four euros and ten" ||
		entries[1].ResponseFidelity != Exact || len(entries[1].OtherResponses) != 0 {
		t.Errorf("%+v", entries)
	}
	o, err := New(entries, Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := o.NewSession(0).Answer(Query{ToolName: "price", Args: a.Args})
	if err != nil || answer.Outcome != Hit || len(answer.Labels) != 1 || answer.Labels[0] != ResponseDisputed {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestWithoutRequestsTheRecordOfTheToolIsTheProof(t *testing.T) {
	s := twoTurns(t)
	for i := range s.tape.Events {
		s.tape.Events[i].Request = nil
	}
	s.proves("expected 3 served 3 verified 0 mismatched 0 unverifiable 3 recorded 3 ok true")
	s.tape.Events[1].Provenance = tape.Provenance{"result": tape.Lossy}
	s.proves("expected 3 served 3 verified 0 mismatched 0 unverifiable 3 recorded 2 ok -")
}
