// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

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
	knownElements   = []string{"html", "head", "meta", "title", "style", "body", "h1", "h2", "div", "b", "br", "code", "p", "ul", "li", "details", "summary", "pre", "mark", "span"}
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
			if first == "style" && string(z.Raw()) != style {
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
			if err := HTML(&page, Of(attack, a), Of(attack, b), a, b, compared(t, a, b)); err != nil {
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
	if err := HTML(&page, Of("a", a), Of("b", b), a, b, compared(t, a, b)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<pre class="cell">&#34;Paris, <mark>France</mark>&#34;</pre><pre class="cell">&#34;Paris, <mark>Texas</mark>&#34;</pre>`,
		`<details class="changed first" open>`, `<details class="equal">`, "first divergence", "divergent in all",
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
	if err := HTML(&page, Of("a", a), Of("b", b), a, b, compared(t, a, b)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "é<mark>one</mark>&#34;") || !strings.Contains(page.String(), "é<mark>two</mark>&#34;") {
		t.Error("the page does not show where long values part")
	}
	if !strings.Contains(out.String(), `éone"`) || !strings.Contains(out.String(), `étwo"`) {
		t.Error(out.String())
	}
}
