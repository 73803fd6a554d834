// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/page/pagetest"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/internal/surfaces/viewer"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// browser is Chromium with a page, and what it has complained of and asked for.
type browser struct {
	context.Context
	mu    sync.Mutex
	wrong []string
	asked map[string]bool
}

// start starts Chromium, which TAPEDECK_TEST_CHROMIUM names or the PATH has. Without one the test is left out; in CI it has to be there.
func start(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("TAPEDECK_TEST_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); program == "" && err == nil {
			program = found
		}
	}
	if program == "" {
		if os.Getenv("TAPEDECK_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("there is no Chromium")
		}
		t.Skip("there is no Chromium: install the package chromium, or name one with TAPEDECK_TEST_CHROMIUM")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, asked: map[string]bool{}}
	complain := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.mu.Lock()
			b.asked[e.Request.URL] = true
			b.mu.Unlock()
		case *runtime.EventExceptionThrown:
			complain("a script failed: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			complain("the console says %s", e.Type)
		case *log.EventEntryAdded:
			complain("the browser says: %s %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		case *cdppage.EventJavascriptDialogOpening:
			complain("a dialog: %s", e.Message)
			go func() { _ = chromedp.Run(ctx, cdppage.HandleJavaScriptDialog(true)) }()
		}
	})
	b.do(t, network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// press is a key that is pressed and let go. The browser makes the character of it, unless the page has taken the key.
func press(key string) chromedp.Action {
	code := map[string]int64{kb.Enter: 13}[key]
	name := map[string]string{kb.Enter: "Enter"}[key]
	if name == "" {
		name = key
	}
	return chromedp.Tasks{input.DispatchKeyEvent(input.KeyDown).WithKey(name).WithText(key).WithWindowsVirtualKeyCode(code), input.DispatchKeyEvent(input.KeyUp).WithKey(name).WithWindowsVirtualKeyCode(code)}
}

// until waits for a condition on the page that is shown. A page that is just being left has none.
func (b *browser) until(t *testing.T, condition string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var holds bool
		if err := chromedp.Run(b, chromedp.Evaluate(`document.readyState === "complete" && Boolean(`+condition+`)`, &holds)); err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			var at, text string
			_ = chromedp.Run(b, chromedp.Location(&at), chromedp.Evaluate(`document.body.innerText.slice(0, 500)`, &text))
			t.Fatalf("%s does not come true at %s: %v\n%s", condition, at, b.wrong, text)
		}
		b.do(t, chromedp.Sleep(20*time.Millisecond))
	}
}

// quiet fails for what a browser has complained of, and for requests that lead elsewhere.
func (b *browser) quiet(t *testing.T, what, home string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		t.Errorf("%s: %s", what, w)
	}
	for u := range b.asked {
		if !strings.HasPrefix(u, home) && !strings.HasPrefix(u, "about:") {
			t.Errorf("%s: it asked for %s", what, u)
		}
	}
	b.wrong, b.asked = nil, map[string]bool{}
}

// accessible fails for serious findings of axe-core in the page that is shown.
func (b *browser) accessible(t *testing.T, what string) {
	t.Helper()
	file := os.Getenv("TAPEDECK_TEST_AXE")
	if file == "" {
		if os.Getenv("TAPEDECK_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("TAPEDECK_TEST_AXE names no axe.min.js")
		}
		return
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report string
	b.do(t, chromedp.Evaluate(string(source)+";true", nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html)}))))`, &report,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var violations []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(report), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		if v.Impact == "serious" || v.Impact == "critical" {
			t.Errorf("%s: %s (%s): %.600q", what, v.ID, v.Help, v.Nodes)
		}
	}
}

// plain is a run as they are, hostile one with an attack in every string.
func plain(n int) *tape.Tape {
	question, answer := fmt.Sprintf("question %d", n), "The answer."
	t := &tape.Tape{Kind: tape.Kind, SchemaVersion: tape.SchemaVersion, Run: tape.Run{Tenant: "default", TraceID: fmt.Sprintf("%032x", n), RootSpanID: fmt.Sprintf("%016x", n), RunID: fmt.Sprintf("%032x-%016x", n, n), Status: tape.StatusOK,
		Agent: tape.Agent{Name: "clerk"}, StartedAt: time.Date(2026, 11, 20, 0, 0, n, 0, time.UTC), DurationMS: 900},
		Input: tape.Input{UserMessage: &question}, Output: tape.Output{Text: &answer}, Messages: map[string]tape.Message{"a": {Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: "calling"}}}},
		Fidelity: tape.Fidelity{Grade: tape.GradeTools, Findings: []tape.Finding{{Code: tape.CodeContentAbsent, Severity: tape.SeverityWarning, Seq: 2, Field: "args"}, {Code: tape.CodeArgsMissing, Severity: tape.SeverityError, Seq: 2}}}}
	for i := 1; i <= 6; i++ {
		e := tape.Event{Seq: i, Type: tape.EventToolCall, Name: "search", Args: exactjson.ObjectValue(exactjson.Member{Name: "q", Value: exactjson.StringValue(question)}), Result: exactjson.StringValue(`{"found":["a","b"]}`), StartedAt: t.Run.StartedAt, DurationMS: 100}
		if i%2 == 1 {
			e = tape.Event{Seq: i, Type: tape.EventModelCall, Model: "m-1", Request: &tape.Request{Messages: []string{"a"}}, Response: &tape.Response{Message: "a"}, StartedAt: t.Run.StartedAt, DurationMS: 50}
		}
		t.Events = append(t.Events, e)
	}
	t.Events[3].Status, t.Events[3].Error = tape.EventError, &tape.Error{Type: "Timeout", Message: "late"}
	return t
}

func hostile(n int, attack string) *tape.Tape {
	t := pagetest.Hostile(attack)
	at := plain(n)
	t.Kind, t.SchemaVersion = at.Kind, at.SchemaVersion
	t.Run.Tenant, t.Run.TraceID, t.Run.RootSpanID, t.Run.RunID = at.Run.Tenant, at.Run.TraceID, at.Run.RootSpanID, at.Run.RunID
	return t
}

// serve shows a deck with plain and hostile runs.
func serve(t *testing.T) (home string) {
	t.Helper()
	d, err := deck.Open(t.Context(), "mem://"+url.PathEscape(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for n := 1; n <= 3; n++ {
		decktest.PutTape(t, d, deck.AreaRuns, plain(n), 1)
	}
	s := httptest.NewServer(viewer.New(viewer.Config{Deck: d, Address: "./deck", LocalOnly: true, SearchLimit: 1000, Reports: []string{report(t, "plain words", plain(1), plain(2))}}))
	t.Cleanup(s.Close)
	return s.URL
}

// report is the file of a report of an experiment with a text in every string.
func report(t *testing.T, text string, runs ...*tape.Tape) (file string) {
	t.Helper()
	r := &experiment.Report{}
	pagetest.Fill(r, text)
	r.Kind, r.Version, r.State = experiment.Kind+"-report", experiment.Version, statistics.Ship
	one := r.Cases[0]
	r.Cases, r.Evidence.Improved = nil, nil
	for _, of := range runs {
		one.Case = experiment.Case{Cohort: text, RunID: of.Run.RunID, Tenant: of.Run.Tenant, TapeID: of.TapeID, Ref: text}
		one.State = experiment.Improved
		r.Cases, r.Evidence.Improved = append(r.Cases, one), append(r.Evidence.Improved, of.Run.RunID)
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// reportOf opens the report that stands beside a run.
func reportOf(home, of string) chromedp.Action {
	return chromedp.Tasks{chromedp.Navigate(home + of), chromedp.WaitReady("#replays"), chromedp.Click(`#replays a[href^="/report/"]`), chromedp.WaitReady(`h1 + p, section.card`)}
}

func run(n int) string { return "/run/" + plain(n).Run.RunID }

// TestPagesInABrowser: no page makes a browser complain or asks for anything elsewhere, and each is accessible, light and dark, wide and narrow.
func TestPagesInABrowser(t *testing.T) {
	b, home := start(t), serve(t)
	pages := []string{"/", "/?status=error", "/?q=status+%3D", "/?status=incomplete", run(1), run(1) + "?find=answer", run(1) + "#event-4", run(1) + "/evidence", run(1) + "/text?path=input.user_message", "/diff?a=" + plain(1).Run.RunID + "&b=" + plain(2).Run.RunID}
	for _, at := range pages {
		for i, scheme := range []string{"light", "dark", "light", "dark"} {
			width := []int64{1280, 390}[i/2]
			b.do(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}), chromedp.EmulateViewport(width, 900), chromedp.Navigate(home+at), chromedp.WaitReady("main"))
			if at == "/?q=status+%3D" {
				b.mu.Lock()
				b.wrong = nil // a browser says that an answer was an error
				b.mu.Unlock()
			}
			b.quiet(t, at, home)
			b.accessible(t, fmt.Sprint(at, " ", scheme, " ", width))
			b.narrow(t, at)
		}
	}
	for _, width := range []int64{1280, 390} {
		b.do(t, chromedp.EmulateViewport(width, 900), reportOf(home, run(1)), chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true`, nil))
		b.quiet(t, "a report", home)
		b.accessible(t, fmt.Sprint("a report ", width))
		b.narrow(t, "a report")
		b.do(t, chromedp.Navigate(home+"/reports"), chromedp.WaitReady("main"))
		b.quiet(t, "the reports", home)
		b.accessible(t, fmt.Sprint("the reports ", width))
		b.narrow(t, "the reports")
	}
}

// narrow fails for a page that has to be scrolled sideways, whatever scrolls within it.
func (b *browser) narrow(t *testing.T, what string) {
	t.Helper()
	var wide string
	b.do(t, chromedp.Evaluate(`document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")].filter((x) => x.getBoundingClientRect().right > innerWidth + 1 && !x.closest(".wide, .scroll")).map((x) => x.outerHTML.slice(0, 120)).join("\n") || document.documentElement.scrollWidth + " " + [...document.querySelectorAll("body *")].filter((x) => x.getBoundingClientRect().right > innerWidth + 1 || x.scrollWidth > x.clientWidth + 1 && getComputedStyle(x).overflowX == "visible").map((x) => x.outerHTML.slice(0, 90)).slice(0,30).join("\n")`, &wide))
	if wide != "" {
		t.Errorf("%s is wider than its screen:\n%s", what, wide)
	}
}

// TestHostileContentIsText: whatever a tape holds, nothing of it runs or loads, on pages of the viewer and in files.
func TestHostileContentIsText(t *testing.T) {
	b, home := start(t), ""
	d, err := deck.Open(t.Context(), "mem://"+url.PathEscape(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	dir := t.TempDir()
	var reports []string
	for i, attack := range pagetest.Attacks {
		attack = strings.ToValidUTF8(strings.ReplaceAll(attack, "\x00", ""), "\ufffd") // what a stored tape can hold
		h := hostile(i+1, attack)
		decktest.PutTape(t, d, deck.AreaRuns, h, 1)
		reports = append(reports, report(t, attack, h))
	}
	s := httptest.NewServer(viewer.New(viewer.Config{Deck: d, Address: "./deck", LocalOnly: true, SearchLimit: 1000, Reports: reports}))
	t.Cleanup(s.Close)
	home = s.URL
	for _, width := range []int64{1280, 390} {
		b.do(t, chromedp.EmulateViewport(width, 900), chromedp.Navigate(home+"/"), chromedp.WaitReady("#runs"), chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true`, nil))
		b.quiet(t, "list", home)
		b.narrow(t, "the list of hostile runs")
	}
	for i, attack := range pagetest.Attacks {
		b.do(t, chromedp.Navigate(home+run(i+1)), chromedp.WaitReady("#events"), chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true`, nil))
		b.quiet(t, attack, home)
		b.narrow(t, "a run with "+attack)
		b.do(t, chromedp.Navigate(home+"/diff?a="+plain(1).Run.RunID+"&b="+plain(i+1).Run.RunID), chromedp.WaitReady("main"))
		b.quiet(t, attack, home)

		b.do(t, reportOf(home, run(i+1)), chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true`, nil))
		b.quiet(t, "a report with "+attack, home)

		var one, two bytes.Buffer
		a, c := pagetest.Hostile(attack), pagetest.Hostile("harmless")
		if err := page.Run(&one, a, page.Options{Ref: attack}); err != nil {
			t.Fatal(err)
		}
		result, err := compare.Tapes(a, c, compare.Options{Level: compare.All})
		if err == nil {
			err = sidebyside.HTML(&two, sidebyside.Of(attack, a), sidebyside.Of("b", c), result)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []*bytes.Buffer{&one, &two} {
			file := filepath.Join(dir, "page.html")
			if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			at := "file://" + filepath.ToSlash(file)
			b.do(t, chromedp.Navigate(at), chromedp.WaitReady("main"))
			b.quiet(t, "a file with "+attack, at)
		}
	}
}

// TestThisTestSeesAnAttack: a page that lets content through makes the browser complain.
func TestThisTestSeesAnAttack(t *testing.T) {
	b := start(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<main><script>console.error("in")</script><img src="http://127.0.0.1:9/x"></main>`)
	}))
	t.Cleanup(s.Close)
	b.do(t, chromedp.Navigate(s.URL), chromedp.WaitReady("main"))
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) == 0 || !b.asked["http://127.0.0.1:9/x"] {
		t.Errorf("%v %v", b.wrong, b.asked)
	}
}

// TestKeysAlone: from the list to an event of a run and back, without a pointer.
func TestKeysAlone(t *testing.T) {
	b, home := start(t), serve(t)
	var at, focused string
	var open int
	b.do(t, chromedp.Navigate(home+"/"), chromedp.WaitReady("#runs"), press("/"), chromedp.Evaluate(`document.activeElement.id`, &focused))
	if focused != "search" {
		t.Errorf("/ leads to %q", focused)
	}
	b.do(t, input.InsertText("question 2"))
	b.do(t, press(kb.Enter))
	b.until(t, `document.querySelectorAll("#runs tbody tr").length === 1`)
	b.do(t, press("j"), press(kb.Enter))
	b.until(t, `document.getElementById("events")`)
	b.do(t, chromedp.Location(&at))
	if !strings.Contains(at, run(2)) {
		t.Fatalf("Enter led to %s", at)
	}
	b.do(t, press("j"), press("j"), press(kb.Enter))
	b.until(t, `document.getElementById("event-2").open`)
	b.do(t, press("e"), chromedp.Evaluate(`document.querySelectorAll("details.row[open]").length`, &open))
	if open != 6 {
		t.Errorf("e opens %d events", open)
	}
	b.do(t, press("c"), chromedp.Evaluate(`document.querySelectorAll("details.row[open]").length`, &open))
	if open != 0 {
		t.Errorf("c leaves %d events open", open)
	}
	b.do(t, press("/"), input.InsertText("timeout"), press(kb.Enter))
	b.until(t, `location.search.includes("find=timeout") && document.querySelectorAll("details.row").length === 1 && CSS.highlights.get("found").size > 0`)
	b.do(t, press("u"))
	b.until(t, `document.getElementById("runs")`)
	b.do(t, chromedp.Navigate(home+"/?status=ok"), chromedp.WaitReady("#runs"), press("j"), press("j"), press(kb.Enter))
	b.until(t, `location.pathname === "`+run(2)+`" && document.querySelectorAll(".step").length === 2`)
	b.do(t, press("n"))
	b.until(t, `location.pathname === "`+run(1)+`" && document.querySelectorAll(".step").length === 1`)
	b.do(t, press("u"))
	b.until(t, `location.search === "?status=ok" && document.getElementById("runs")`)
	b.do(t, press("j"), press("x"), press("j"), press("x"), press("j"), press("x"))
	b.until(t, `document.querySelectorAll("#runs :checked").length === 2 && !document.querySelector("#runs tr:nth-child(1) :checked")`)
	b.do(t, chromedp.Click(".compare button"))
	b.until(t, `location.pathname === "/diff" && document.querySelector("h1")`)
	b.do(t, chromedp.Navigate(home+run(1)+"#event-5"))
	b.until(t, `document.getElementById("event-5").open`)
	b.quiet(t, "keys", home)
}

// TestWithoutScripts: everything can be read.
func TestWithoutScripts(t *testing.T) {
	b, home := start(t), serve(t)
	var list, text string
	b.do(t, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(home+"/"), chromedp.Text("#runs", &list), chromedp.Click("#runs tbody a", chromedp.ByQuery), chromedp.WaitReady("#events"),
		chromedp.Click("#event-2 > summary"), chromedp.Click("#commands summary"), chromedp.Text("main", &text))
	for _, want := range []string{"question 3", "clerk", "tools"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	for _, want := range []string{"question 3", "The answer.", "found", "args_missing", "tapedeck replay"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run lacks %q", want)
		}
	}
	b.do(t, chromedp.Navigate(home+"/"), chromedp.Click("#runs tr:nth-child(1) input", chromedp.ByQuery), chromedp.Click("#runs tr:nth-child(3) input", chromedp.ByQuery), chromedp.Click(".compare button", chromedp.ByQuery), chromedp.WaitReady("mark"), chromedp.Text("h1", &text))
	if !strings.Contains(text, "The runs were asked different things") {
		t.Errorf("the checked runs are not compared: %s", text)
	}
	b.do(t, chromedp.Navigate(home+"/"), chromedp.Click(".histogram a", chromedp.ByQuery), chromedp.WaitReady(".chip.on"), chromedp.Click(".chip.on", chromedp.ByQuery), chromedp.WaitReady("#runs"))
	b.quiet(t, "no scripts", home)
}
