// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// attacks are what content would do to a page or a terminal.
var attacks = []string{
	`<script>alert(1)</script>`, `</pre></style></title><img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onclick='alert(1)`, `javascript:alert(1)`,
	`{{.A}}<!--`, `--><iframe src=//example.com>`, `]]><a href=javascript:alert(1)>x</a>`, "<scr\x00ipt>", "\x1b[2J\u202e\u2066evil\xff", `&lt;script&gt;`, `</summary></details><base href=//x>`, `<link rel=stylesheet href=//x>`, `<meta http-equiv=refresh content=0>`,
}

// hostile is a run with an attack in everything that is shown.
func hostile(attack string) *tape.Tape {
	text := attack
	value := exactjson.ObjectValue(exactjson.Member{Name: text, Value: exactjson.StringValue(text)})
	t := &tape.Tape{
		Run: tape.Run{RunID: text, Status: tape.RunStatus(text)}, TapeID: text, Input: tape.Input{UserMessage: &text, SystemPrompt: &text}, Output: tape.Output{Text: &text},
		Messages: map[string]tape.Message{"m": {Parts: []tape.Part{
			{Type: tape.PartText, Text: text}, {Type: tape.PartReasoning, Text: text}, {Type: tape.PartToolCall, Name: text, Args: value}, {Type: tape.PartMedia, MIMEType: text, URI: text}, {Type: tape.PartType(text), URI: text},
		}}},
		Tools: map[string]tape.Tool{"t": {Name: text, Description: text}},
	}
	t.Events = []tape.Event{
		{Type: tape.EventModelCall, Model: text, Caller: text + "/" + text, Response: &tape.Response{Message: "m", FinishReasons: []string{text}}},
		{Type: tape.EventToolCall, Name: text, Args: value, ExecutedArgs: value, Result: exactjson.StringValue(text), Error: &tape.Error{Type: text, Message: text}, Server: &tape.Server{Name: text}, Provenance: tape.Provenance{"args": tape.Label(text), "result": tape.Label(text)}},
		{Type: tape.EventAgentCall, Agent: &tape.Agent{Name: text}, Input: value, Output: value},
		{Type: tape.EventRetrieval, Name: text, Query: value, Documents: exactjson.ArrayValue(value)},
		{Type: tape.EventType(text), Name: text},
	}
	for i := range t.Events {
		t.Events[i].Seq = i + 1
	}
	return t
}

func compared(tb testing.TB, a, b *tape.Tape) *compare.Result {
	tb.Helper()
	r, err := compare.Tapes(a, b, compare.Options{Level: compare.All})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// known is everything that the page is made of.
var (
	knownElements   = []string{"html", "head", "meta", "title", "style", "body", "h1", "h2", "div", "b", "br", "code", "p", "ul", "li", "details", "summary", "mark", "span", "header", "main", "section"}
	knownAttributes = []string{"lang", "charset", "http-equiv", "content", "name", "class", "open"}
)

// inert fails for a page that holds anything but text in known elements.
func inert(tb testing.TB, page []byte) (text string) {
	tb.Helper()
	var out strings.Builder
	policies := 0
	z := html.NewTokenizer(bytes.NewReader(page))
	for first := ""; ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				tb.Fatal(z.Err())
			}
			if policies != 1 {
				tb.Errorf("%d policies", policies)
			}
			return out.String()
		case html.EndTagToken:
			first = ""
		case html.CommentToken:
			tb.Errorf("a comment: %.80s", z.Raw())
		case html.TextToken:
			if first == "style" && string(z.Raw()) != look.Style {
				tb.Error("another style sheet")
			}
			out.Write(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if first = t.Data; !slices.Contains(knownElements, t.Data) {
				tb.Errorf("an element %.40q", t.Data)
			}
			for _, a := range t.Attr {
				if !slices.Contains(knownAttributes, a.Key) {
					tb.Errorf("an attribute %.40q of %s", a.Key, t.Data)
				}
				switch {
				case a.Key == "http-equiv":
					policies++
					if a.Val != "Content-Security-Policy" {
						tb.Errorf("meta %q", a.Val)
					}
				case a.Key == "class" && strings.Trim(a.Val, "abcdefghijklmnopqrstuvwxyz ") != "":
					tb.Errorf("class %.40q", a.Val)
				}
			}
		}
	}
}

func TestContentOfATapeIsNeverMarkup(t *testing.T) {
	for _, attack := range attacks {
		for _, other := range []string{attack, attack + " and more", "harmless"} {
			a, b := hostile(attack), hostile(other)
			var page bytes.Buffer
			if err := HTML(&page, Of(attack, a), Of(attack, b), compared(t, a, b)); err != nil {
				t.Fatal(err)
			}
			text := inert(t, page.Bytes())
			if printable := strings.IndexFunc(attack, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0; printable && !strings.Contains(text, attack) {
				t.Errorf("%q is not shown", attack)
			}
			noControls(t, text)
		}
	}
}

func TestContentOfATapeCannotSteerATerminal(t *testing.T) {
	for _, attack := range attacks {
		a, b := hostile(attack), hostile("harmless")
		r := compared(t, a, b)
		d, err := compare.Drifts(a, b, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := compare.Separate([]*tape.Tape{a}, []*tape.Tape{b}, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, y := Of(attack, a), Of(attack, b)
		for _, full := range []bool{false, true} {
			o := TextOptions{Full: full}
			var out bytes.Buffer
			if err := errors.Join(Text(&out, x, y, r, o), DriftText(&out, x, y, d, o), SeparationText(&out, []Tape{x}, []Tape{y}, s, o)); err != nil {
				t.Fatal(err)
			}
			noControls(t, out.String())
		}
	}
}

func noControls(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Fatalf("%U", r)
		}
	}
}

func TestThePageMarksWhatDiffers(t *testing.T) {
	run := func(city string) *tape.Tape {
		return &tape.Tape{Events: []tape.Event{
			{Seq: 1, Type: tape.EventToolCall, Name: "hello"},
			{Seq: 2, Type: tape.EventToolCall, Name: "weather", Args: exactjson.ObjectValue(exactjson.Member{Name: "city", Value: exactjson.StringValue(city)})},
		}}
	}
	a, b := run("Paris, France"), run("Paris, Texas")
	var page bytes.Buffer
	if err := HTML(&page, Of("a", a), Of("b", b), compared(t, a, b)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Paris, <mark>France</mark></div>`, `Paris, <mark>Texas</mark></div>`, `<details class="row changed first" open>`, `<details class="row equal">`, "the runs part here",
		"<h1>The runs part at event 2: <code>weather</code> was called with Paris, Texas instead of Paris, France.</h1>",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %s in\n%s", want, page.String())
		}
	}
}

func TestLongValuesAreShownWhereTheyPart(t *testing.T) {
	run := func(tail string) *tape.Tape {
		return &tape.Tape{Events: []tape.Event{{Seq: 1, Type: tape.EventToolCall, Name: "f", Result: exactjson.StringValue(strings.Repeat("é", 50000) + tail)}}}
	}
	a, b := run("one"), run("two")
	var out bytes.Buffer
	if err := Text(&out, Of("a", a), Of("b", b), compared(t, a, b), TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := HTML(&page, Of("a", a), Of("b", b), compared(t, a, b)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "éone</mark>") || !strings.Contains(page.String(), "étwo</mark>") {
		t.Error("the page does not show where long values part")
	}
	if !strings.Contains(out.String(), `éone"`) || !strings.Contains(out.String(), `étwo"`) {
		t.Error(out.String())
	}
}

// call is a run of one tool call that a model asked for and answered from.
func call(change func(t *tape.Tape)) *tape.Tape {
	args := exactjson.ObjectValue(exactjson.Member{Name: "expression", Value: exactjson.StringValue("8849 / 330")})
	question, answer := "How many times?", "26.8 times"
	t := &tape.Tape{
		Run: tape.Run{Status: tape.StatusOK}, Input: tape.Input{UserMessage: &question}, Output: tape.Output{Text: &answer},
		Messages: map[string]tape.Message{
			"asks":    {Parts: []tape.Part{{Type: tape.PartToolCall, Name: "calculate", Args: args}}},
			"answers": {Parts: []tape.Part{{Type: tape.PartText, Text: answer}}},
		},
		Events: []tape.Event{
			{Seq: 1, Type: tape.EventModelCall, Model: "m-1", Response: &tape.Response{Message: "asks"}},
			{Seq: 2, Type: tape.EventToolCall, Name: "calculate", Args: args, Result: exactjson.StringValue("26.8")},
			{Seq: 3, Type: tape.EventModelCall, Model: "m-1", Response: &tape.Response{Message: "answers"}},
		},
	}
	change(t)
	return t
}

func TestASentenceSaysWhereTheRunsPart(t *testing.T) {
	text := exactjson.StringValue
	object := func(name string, v exactjson.Value) exactjson.Value {
		return exactjson.ObjectValue(exactjson.Member{Name: name, Value: v})
	}
	asks := func(parts ...tape.Part) func(*tape.Tape) {
		return func(t *tape.Tape) { t.Messages["asks"] = tape.Message{Parts: parts} }
	}
	part := func(tool string, args exactjson.Value) tape.Part {
		return tape.Part{Type: tape.PartToolCall, Name: tool, Args: args}
	}
	expression := object("expression", text("8849 / 330"))
	for _, c := range []struct {
		level  compare.Level
		change func(t *tape.Tape)
		want   string
	}{
		{compare.Results, func(*tape.Tape) {}, "The runs are alike: 3 events, no difference."},
		{compare.Results, asks(part("calculate", object("expression", text("330 / 8849")))), "The runs part at event 1: the model asked `calculate` for 330 / 8849 instead of 8849 / 330."},
		{compare.Results, asks(part("calculate", exactjson.ObjectValue(append(expression.Members(), exactjson.Member{Name: "digits", Value: exactjson.IntValue(3)})...))),
			"The runs part at event 1: the model asked `calculate` with digits 3, which it has in B only."},
		{compare.Results, asks(part("browse", expression)), "The runs part at event 1: the model asked for `browse` instead of `calculate`."},
		{compare.Results, asks(part("calculate", expression), part("browse", expression)), "The runs part at event 1: the model asked for `browse` in B only."},
		{compare.Results, asks(tape.Part{Type: tape.PartText, Text: "27"}), "The runs part at event 1: the model asked for `calculate` in A and answered in B."},
		{compare.Results, func(t *tape.Tape) { t.Events[1].Name = "compute" }, "The runs part at event 2: `compute` stands where A has `calculate`."},
		{compare.Results, func(t *tape.Tape) { t.Events[1].Args = object("expression", text("1 / 2")) }, "The runs part at event 2: `calculate` was called with 1 / 2 instead of 8849 / 330."},
		{compare.Results, func(t *tape.Tape) { t.Events[1].Result = text("27") }, "The runs part at event 2: `calculate` returned 27 instead of 26.8."},
		{compare.Results, func(t *tape.Tape) {
			t.Events[1].Status, t.Events[1].Error = tape.EventError, &tape.Error{Type: "ValueError", Message: "no digits"}
		}, "The runs part at event 2: `calculate` failed in B only: ValueError: no digits."},
		{compare.Results, func(t *tape.Tape) {
			t.Events[1].Status, t.Events[1].Result = tape.EventError, exactjson.Value{}
		}, "The runs part at event 2: `calculate` was not answered in B."},
		{compare.Results, func(t *tape.Tape) { t.Events = t.Events[:2] }, "The runs part at event 3 of A: only A asks the model `m-1`."},
		{compare.Results, func(t *tape.Tape) { t.Run.Status = tape.StatusError }, "The runs take the same steps; A ends with ok, B with error."},
		{compare.Results, func(t *tape.Tape) {
			wrong := "0.04 times"
			t.Output.Text = &wrong
		}, "The runs take the same steps; their answers differ."},
		{compare.Results, func(t *tape.Tape) {
			t.Messages["answers"] = tape.Message{Parts: []tape.Part{{Type: tape.PartText, Text: "0.04 times"}}}
		}, "The runs do not part in what counts (--compare results); yet at event 3: the model said “0.04 times” instead of “26.8 times”."},
		{compare.All, func(t *tape.Tape) {
			t.Messages["answers"] = tape.Message{Parts: []tape.Part{{Type: tape.PartText, Text: "0.04 times"}}}
		}, "The runs part at event 3: the model said “0.04 times” instead of “26.8 times”."},
		{compare.Results, func(t *tape.Tape) {
			other := "How often?"
			t.Input.UserMessage = &other
		}, "The runs were asked different things. They take the same steps all the same."},
		{compare.Results, func(t *tape.Tape) {
			t.Events[0].Model, t.Events[2].Model, t.Events[1].Result = "m-2", "m-2", text("27")
		}, "The runs part at event 1: the model is `m-2` instead of `m-1`. Apart from the model they part at event 2: `calculate` returned 27 instead of 26.8."},
		{compare.Results, func(t *tape.Tape) { t.Events[0].Model, t.Events[2].Model = "m-2", "m-2" },
			"The runs part at event 1: the model is `m-2` instead of `m-1`. Apart from the model they take the same steps."},
	} {
		a, b := call(func(*tape.Tape) {}), call(c.change)
		r, err := compare.Tapes(a, b, compare.Options{Level: c.level})
		if err != nil {
			t.Fatal(err)
		}
		if got := Sentence(Of("a", a), Of("b", b), r).String(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// The answer is what a person looks for, whatever counts as a difference.
func TestAChangedAnswerIsNeverHidden(t *testing.T) {
	a := call(func(*tape.Tape) {})
	b := call(func(t *tape.Tape) {
		wrong := "0.04 times"
		t.Output.Text, t.Messages["answers"] = &wrong, tape.Message{Parts: []tape.Part{{Type: tape.PartText, Text: wrong}}}
	})
	for _, level := range compare.Levels {
		r, err := compare.Tapes(a, b, compare.Options{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		var out, page bytes.Buffer
		if err := errors.Join(Text(&out, Of("a", a), Of("b", b), r, TextOptions{}), HTML(&page, Of("a", a), Of("b", b), r)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"\nAsked  How many times?\nA  ok  26.8 times\nB  ok  0.04 times\n", "     3 "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", level, want, out.String())
			}
		}
		if level != compare.All && !strings.Contains(out.String(), "     3 = 3    model m-1  (text differs)\n") {
			t.Errorf("%s: nothing says that the text differs:\n%s", level, out.String())
		}
		for _, want := range []string{"<mark>26.8</mark> times", "<mark>0.04</mark> times"} {
			if strings.Count(page.String(), want) != 2 { // in the head, and at the event
				t.Errorf("%s: %d times %q in\n%s", level, strings.Count(page.String(), want), want, page.String())
			}
		}
	}
}

func TestColoursAreWrittenWhereTheyAreWantedOnly(t *testing.T) {
	a, b := call(func(*tape.Tape) {}), call(func(t *tape.Tape) { t.Events[1].Name = "compute" })
	r := compared(t, a, b)
	text := func(color bool) string {
		var out bytes.Buffer
		if err := Text(&out, Of("a", a), Of("b", b), r, TextOptions{Color: color}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	painted := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	plain := text(false)
	if with := text(true); painted.MatchString(plain) || !strings.Contains(with, "\x1b[33m     2 ~ 2   ") || painted.ReplaceAllString(with, "") != plain {
		t.Errorf("%q\n%q", plain, with)
	}
}

func TestWordsAreMarkedNotCharacters(t *testing.T) {
	spell := func(all []segment) string {
		var b strings.Builder
		for _, s := range all {
			switch {
			case s.Fold != "":
				b.WriteString("{" + s.Fold + "}")
			case s.Mark:
				b.WriteString("[" + s.Text + "]")
			default:
				b.WriteString(s.Text)
			}
		}
		return b.String()
	}
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"same", "same", "same", "same"},
		{"About 26.8 times.", "About 0.04 times.", "About [26.8] times.", "About [0.04] times."},
		{"8849 / 330", "330 / 8849", "[8849] / [330]", "[330] / [8849]"},
		{"one two three", "one three", "one [two ]three", "one three"},
		{"", "new", "", "[new]"},
		{"a b c", "a x y c", "a [b] c", "a [x y] c"},
		{`{"n":1}`, `{"n":2}`, `{"n":[1]}`, `{"n":[2]}`},
		{strings.Repeat("é", 50) + "one", strings.Repeat("é", 50) + "two", strings.Repeat("é", 32) + "[" + strings.Repeat("é", 18) + "one]", strings.Repeat("é", 32) + "[" + strings.Repeat("é", 18) + "two]"},
		{`{"hits":[{"doc":"one two three four five six seven eight"}]}`, `Traceback "most", recent: call, last: "File", line {nine} ten`, `[{"hits":[{"doc":"one two three four five six seven eight"}]}]`, `[Traceback "most", recent: call, last: "File", line {nine} ten]`},
		{"", strings.Repeat("frame\n", 40), "", "[" + strings.Repeat("frame\n", 4) + "]{… 33 lines more …}[" + strings.Repeat("frame\n", 3) + "]"},
		{strings.Repeat("line\n", 40) + "end", strings.Repeat("line\n", 40) + "ende", strings.Repeat("line\n", 4) + "{… 33 lines more …}" + strings.Repeat("line\n", 3) + "[end]", ""},
	} {
		a, b := mark(c.a, c.b)
		if got := spell(a); got != c.wantA {
			t.Errorf("%q: %q, want %q", c.a, got, c.wantA)
		}
		if got := spell(b); c.wantB != "" && got != c.wantB {
			t.Errorf("%q: %q, want %q", c.b, got, c.wantB)
		}
		for i, all := range [][]segment{a, b} {
			var whole strings.Builder
			for _, s := range all {
				whole.WriteString(s.Text)
			}
			if whole.String() != []string{c.a, c.b}[i] {
				t.Errorf("%q became %q", []string{c.a, c.b}[i], whole.String())
			}
		}
	}
}

func TestEventsThatAreAlikeAreFolded(t *testing.T) {
	run := func(last string) *tape.Tape {
		r := &tape.Tape{}
		for i := range 12 {
			r.Events = append(r.Events, tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: "poll", Result: exactjson.StringValue("wait")})
		}
		r.Events[11].Result = exactjson.StringValue(last)
		return r
	}
	a, b := run("done"), run("lost")
	var page bytes.Buffer
	if err := HTML(&page, Of("a", a), Of("b", b), compared(t, a, b)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "<summary>11 events alike</summary>") || strings.Count(page.String(), "<mark>done</mark>") != 1 || strings.Count(page.String(), "<mark>lost</mark>") != 1 {
		t.Error(page.String())
	}
}
