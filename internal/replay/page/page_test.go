// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/page/pagetest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var (
	knownElements = strings.Fields("html head meta title style link script body header nav a h1 h2 p span main section div b dl dt dd details summary ul li code pre svg rect table thead tbody tr th td form input label select option button")
	// knownAttributes are the attributes that a page has, and what their values are.
	knownAttributes = map[string]*regexp.Regexp{
		"lang": regexp.MustCompile(`^en$`), "charset": regexp.MustCompile(`^utf-8$`), "http-equiv": regexp.MustCompile(`^Content-Security-Policy$`), "content": regexp.MustCompile(`^(default-src 'none'; [^<>"]*|no-referrer|width=device-width, initial-scale=1|light dark)$`),
		"name": regexp.MustCompile(`^(referrer|viewport|color-scheme|a|b|compare|find)$`), "class": regexp.MustCompile(`^[a-z0-9 ]*$`), "open": regexp.MustCompile(`^$`), "id": regexp.MustCompile(`^[a-z0-9-]+$`), "scope": regexp.MustCompile(`^col$`),
		"href": regexp.MustCompile(`^(#[a-z0-9-]+|/static/style\.css|/home|/run/x(/text\?[A-Za-z0-9%&=._+-]*|/evidence\?from=[0-9]+|\?from=[0-9]+#events|#events|#event-[0-9]+)?)$`), "rel": regexp.MustCompile(`^stylesheet$`), "src": regexp.MustCompile(`^/static/view\.js$`), "defer": regexp.MustCompile(`^$`), "aria-label": regexp.MustCompile(`^(This run|Find in this run|Parts)$`),
		"role": regexp.MustCompile(`^search$`), "action": regexp.MustCompile(`^(/diff|/run/x#events)$`), "method": regexp.MustCompile(`^get$`), "type": regexp.MustCompile(`^(hidden|search)$`), "value": regexp.MustCompile(``), "tabindex": regexp.MustCompile(`^0$`), "required": regexp.MustCompile(`^$`), "placeholder": regexp.MustCompile(`^(id of another run|Find in this run)$`), "autocomplete": regexp.MustCompile(`^off$`),
		"aria-hidden": regexp.MustCompile(`^true$`), "viewbox": regexp.MustCompile(`^0 0 1000 10$`), "preserveaspectratio": regexp.MustCompile(`^none$`), "x": regexp.MustCompile(`^[0-9]+$`), "y": regexp.MustCompile(`^0$`), "width": regexp.MustCompile(`^[0-9]+$`), "height": regexp.MustCompile(`^10$`),
	}
)

// inert fails for a page that holds anything but text in known elements, and returns the text.
func inert(tb testing.TB, page []byte) string {
	tb.Helper()
	var out strings.Builder
	z := html.NewTokenizer(bytes.NewReader(page))
	for first := ""; ; {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				tb.Fatal(z.Err())
			}
			return out.String()
		case html.EndTagToken:
			first = ""
		case html.CommentToken:
			tb.Errorf("a comment: %.80s", z.Raw())
		case html.TextToken:
			if first == "style" && string(z.Raw()) != look.Style || first == "script" {
				tb.Errorf("another %s: %.80s", first, z.Raw())
			}
			out.Write(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if first = t.Data; !slices.Contains(knownElements, t.Data) {
				tb.Errorf("an element %.40q", t.Data)
			}
			for _, a := range t.Attr {
				if known := knownAttributes[strings.ToLower(a.Key)]; known == nil || !known.MatchString(a.Val) {
					tb.Errorf("an attribute %.40q of %s: %.80q", a.Key, t.Data, a.Val)
				}
			}
		}
	}
}

var site = &Site{Home: "/home", Self: "/run/x"}

func rendered(tb testing.TB, t *tape.Tape, o Options) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := Run(&b, t, o); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestContentOfATapeIsNeverMarkup(t *testing.T) {
	for i, attack := range pagetest.Attacks {
		for _, long := range []bool{false, true} {
			if long && i%4 != 0 {
				continue // one of four is enough for texts that are cut
			}
			text := attack
			if long {
				text = strings.Repeat(attack+"\n", 1+siteText/len(attack))
			}
			run := pagetest.Hostile(text)
			file := inert(t, rendered(t, run, Options{Ref: attack, Replays: []Link{{Text: attack, Note: attack}}}))
			inert(t, rendered(t, run, Options{Site: site, Ref: attack}))
			for _, bad := range []string{"\x00", "\x1b", "\u202e", "\u2066"} {
				if strings.Contains(file, bad) {
					t.Errorf("%q of %.40q reaches the page: %.200q", bad, attack, file[max(0, strings.Index(file, bad)-150):])
				}
			}
			var b bytes.Buffer
			if ok, err := Text(&b, run, Options{Site: site}, "input.user_message", 0); err != nil || !ok {
				t.Fatal(ok, err)
			}
			inert(t, b.Bytes())
		}
	}
}

// Every string of a tape that is content is on its page.
func TestAPageHoldsTheWholeRun(t *testing.T) {
	const golden = "../../../tape/testdata/full.tape.json"
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	run, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	page := inert(t, rendered(t, run, Options{Ref: filepath.ToSlash(golden)}))
	words := func(s string) []string { return strings.Fields(s) }
	holds := func(what, s string) {
		t.Helper()
		for _, w := range words(s) {
			if !strings.Contains(page, w) {
				t.Errorf("%s: %q is not on the page", what, w)
				return
			}
		}
	}
	holds("run", run.Run.RunID)
	holds("tape", run.TapeID)
	holds("user", *run.Input.UserMessage)
	holds("answer", *run.Output.Text)
	for _, m := range run.Messages {
		for _, p := range m.Parts {
			holds("part", p.Text)
			holds("part", p.Name)
		}
	}
	for _, e := range run.Events {
		holds("event", e.Name)
		holds("event", e.Model)
		if e.Result.Kind() == exactjson.String {
			holds("result", e.Result.Str())
		}
	}
	for _, f := range run.Fidelity.Findings {
		holds("finding", string(f.Code))
		holds("finding", f.Detail)
	}
	if again := rendered(t, run, Options{Ref: filepath.ToSlash(golden)}); !bytes.Equal(again, rendered(t, run, Options{Ref: filepath.ToSlash(golden)})) {
		t.Error("the page of a run changes")
	}
}

// A page of a site stays small whatever the run is, and what it leaves out is on pages of its own, whole.
func TestALongRunStaysUsable(t *testing.T) {
	long := strings.Repeat("line of a log with an é and 😀\n", 20_000)
	run := &tape.Tape{Run: tape.Run{RunID: "a"}, Messages: map[string]tape.Message{}}
	for i := 1; i <= 700; i++ {
		e := tape.Event{Seq: i, Type: tape.EventToolCall, Name: "read_log", Args: exactjson.StringValue("x"), Result: exactjson.StringValue("short")}
		if i == 3 || i == 500 {
			e.Result = exactjson.StringValue(long)
		}
		run.Events = append(run.Events, e)
	}
	page := rendered(t, run, Options{Site: site})
	inert(t, page)
	if len(page) > 1_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if got := bytes.Count(page, []byte(`id="event-`)); got != siteEvents {
		t.Errorf("%d events on a page", got)
	}
	seen := 0
	for from := 1; ; {
		page := rendered(t, run, Options{Site: site, From: from})
		seen += bytes.Count(page, []byte(`id="event-`))
		next := regexp.MustCompile(`\?from=(\d+)#events">Later`).FindSubmatch(page)
		if next == nil {
			break
		}
		from, _ = strconv.Atoi(string(next[1]))
	}
	if seen != len(run.Events) {
		t.Errorf("%d events of %d on the pages", seen, len(run.Events))
	}

	// What a page leaves out goes on where it was cut, page by page, to the last byte.
	link := regexp.MustCompile(`href="/run/x/text\?([^"]*)">… `).FindSubmatch(page)
	if link == nil {
		t.Fatal("no link to the rest of the text")
	}
	q, err := url.ParseQuery(html.UnescapeString(string(link[1])))
	if err != nil || q.Get("path") != "events.3.result" {
		t.Fatalf("the rest is at %v: %v", q, err)
	}
	from, err := strconv.Atoi(q.Get("from"))
	if err != nil || from > siteText || from < siteText-4 {
		t.Fatalf("the rest begins at %d: %v", from, err)
	}
	whole := long[:from]
	for last := false; !last; {
		var b bytes.Buffer
		if ok, err := Text(&b, run, Options{Site: site}, "events.3.result", from); !ok || err != nil {
			t.Fatal(ok, err)
		}
		inert(t, b.Bytes())
		text := regexp.MustCompile(`(?s)</nav><div class="text">(.*)</div></main>`).FindSubmatch(b.Bytes())
		whole += html.UnescapeString(string(text[1]))
		next := regexp.MustCompile(`from=(\d+)&amp;[^"]*">After<`).FindSubmatch(b.Bytes())
		if last = next == nil; !last {
			if from, err = strconv.Atoi(string(next[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if whole != long {
		t.Errorf("%d bytes of %d, first other at %d", len(whole), len(long), firstOther(whole, long))
	}
	if ok, err := Text(io.Discard, run, Options{Site: site}, "events.9999.result", 0); ok || err != nil {
		t.Error("a text that is not there was found", ok, err)
	}
}

func firstOther(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// Many long texts do not add up to a page that no browser likes: conversations and events show the beginning of each, and where the rest is.
func TestAPageOfManyLongTextsStaysUsable(t *testing.T) {
	run := &tape.Tape{Run: tape.Run{RunID: "a"}, Messages: map[string]tape.Message{}}
	var ids []string
	for i := 1; i <= 200; i++ {
		id := fmt.Sprint("m", i)
		run.Messages[id] = tape.Message{Role: tape.RoleUser, Parts: []tape.Part{{Type: tape.PartText, Text: strings.Repeat("a word ", 7_000)}, {Type: tape.PartToolCall, Name: "f", Args: exactjson.ObjectValue(exactjson.Member{Name: "x", Value: exactjson.StringValue(strings.Repeat("y", 15_000))})}}}
		ids = append(ids, id)
		run.Events = append(run.Events, tape.Event{Seq: i, Type: tape.EventModelCall, Caller: fmt.Sprint("agent", i%30), Request: &tape.Request{Messages: ids}})
	}
	page := rendered(t, run, Options{Site: site})
	if len(page) > 12_000_000 {
		t.Errorf("the page has %d bytes of %d", len(page), 200*65_000)
	}
	for _, want := range []string{`<details id="event-200"`, "/text?from=", "Conversations of 10 more callers are not shown"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
}

func TestSentence(t *testing.T) {
	text := "done"
	for want, run := range map[string]*tape.Tape{
		"clerk answered after 2 model calls and 1 tool call in 1.5 s": {Run: tape.Run{Status: tape.StatusOK, DurationMS: 1500}, Output: tape.Output{Text: &text}, Usage: tape.RunUsage{ModelCalls: 2, ToolCalls: 1}},
		"clerk failed after 1 model call: Timeout: the host is gone":  {Run: tape.Run{Status: tape.StatusError, Error: &tape.Error{Type: "Timeout", Message: "the host is gone"}}, Usage: tape.RunUsage{ModelCalls: 1}},
		"clerk ended without an answer":                               {Run: tape.Run{Status: tape.StatusOK}},
		"clerk has no end in the telemetry":                           {Run: tape.Run{Status: tape.StatusIncomplete}},
		"clerk was interrupted":                                       {Run: tape.Run{Status: tape.StatusInterrupted}},
	} {
		if got, _ := sentence("clerk", run); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A command that is shown can be typed as it stands: whatever the address holds, it is one word.
func TestCommandsQuoteTheirRef(t *testing.T) {
	for ref, want := range map[string]string{
		"./deck/a.json": "./deck/a.json", "s3://b/x?region=eu": "'s3://b/x?region=eu'", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "-x": "'-x'", "": "''",
	} {
		if got := quoted(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

func FuzzRun(f *testing.F) {
	for _, a := range pagetest.Attacks {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := pagetest.Hostile(text)
		inert(t, rendered(t, run, Options{Ref: text}))
		inert(t, rendered(t, run, Options{Ref: text, Site: site, From: len(text)}))
		var b bytes.Buffer
		if _, err := Text(&b, run, Options{Site: site}, text, len(text)); err != nil {
			t.Fatal(err)
		}
		inert(t, b.Bytes())
	})
}

func BenchmarkRun(b *testing.B) {
	for _, events := range []int{20, 1000} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			run := &tape.Tape{Run: tape.Run{RunID: "a"}, Messages: map[string]tape.Message{}}
			for i := range events {
				run.Events = append(run.Events, tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: "read", Args: exactjson.ObjectValue(exactjson.Member{Name: "path", Value: exactjson.StringValue("/etc/hosts")}), Result: exactjson.StringValue(strings.Repeat("text ", 500))})
			}
			for b.Loop() {
				if err := Run(io.Discard, run, Options{Site: site}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A result with rows is a table; what a table would tear apart stays a tree.
func TestRowsAreATable(t *testing.T) {
	for text, want := range map[string]string{
		`[{"city":"Oslo","t":3},{"city":"Rome","t":19,"wet":true}]`: "city t wet Oslo 3 Rome 19 true",
		`[{"a":1}]`:                        "",
		`[1,2,3]`:                          "",
		`[{"a":1},{"b":2},{"c":3}]`:        "",
		`[{"a":{"b":1}},{"a":{"b":2}}]`:    "",
		`[{},{}]`:                          "",
		`{"rows":[{"a":1,"b":2},{"a":3}]}`: "",
		`[{"a":"` + strings.Repeat("x", 500) + `"},{"a":"y"}]`: "",
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if made := newTable(v); made != nil {
			got = slices.Clone(made.Head)
			for _, row := range made.Rows {
				for _, cell := range row {
					if cell.Text != "" {
						got = append(got, strings.Trim(cell.Text, `"`))
					}
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// What is looked for in a run leaves the events that hold it, whatever the page would cut, and a word that
// every request sends again counts where it was new.
func TestEventsThatHoldAWord(t *testing.T) {
	long := strings.Repeat("line\n", 100_000) + "Needle"
	run := &tape.Tape{Run: tape.Run{RunID: "a"}, Messages: map[string]tape.Message{"q": {Role: tape.RoleUser, Parts: []tape.Part{{Type: tape.PartText, Text: "find the NEEDLE"}}}}}
	for i := 1; i <= 300; i++ {
		e := tape.Event{Seq: i, Type: tape.EventToolCall, Name: "read_log", Result: exactjson.StringValue("short")}
		switch {
		case i == 290:
			e.Result = exactjson.StringValue(long)
		case i%2 == 1:
			e = tape.Event{Seq: i, Type: tape.EventModelCall, Request: &tape.Request{Messages: []string{"q"}}}
		}
		run.Events = append(run.Events, e)
	}
	page := rendered(t, run, Options{Site: site, Find: "neEdle"})
	inert(t, page)
	shown := regexp.MustCompile(`id="event-(\d+)"`).FindAllSubmatch(page, -1)
	if len(shown) != 2 || string(shown[0][1]) != "1" || string(shown[1][1]) != "290" || !bytes.Contains(page, []byte("2 events on this page with <b>neEdle</b>")) {
		t.Errorf("%q", shown)
	}
	page = rendered(t, run, Options{Site: site, Find: "read"})
	if n := bytes.Count(page, []byte(`id="event-`)); n != 150 || bytes.Contains(page, []byte("Later")) {
		t.Errorf("%d events", n)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
