// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`

// made is a run with hostile content. n tells it from others.
func made(tenant string, n int, status tape.RunStatus) *tape.Tape {
	text := fmt.Sprintf("question %d %s", n, attack)
	return &tape.Tape{
		Kind: tape.Kind, SchemaVersion: tape.SchemaVersion,
		Run: tape.Run{RunID: fmt.Sprintf("%032x-%016x", n, n), Tenant: tenant, TraceID: fmt.Sprintf("%032x", n), RootSpanID: fmt.Sprintf("%016x", n), Status: status, Agent: tape.Agent{Name: "clerk " + attack},
			ConversationID: "c-" + fmt.Sprint(n), StartedAt: time.Date(2026, 11, 20, 0, n/60, n%60, 0, time.UTC), DurationMS: int64(n)},
		Input: tape.Input{UserMessage: &text}, Output: tape.Output{Text: &text}, Usage: tape.RunUsage{ToolCalls: 1},
		Events: []tape.Event{{Seq: 1, Type: tape.EventToolCall, Name: "search " + attack, Args: exactjson.ObjectValue(exactjson.Member{Name: attack, Value: exactjson.StringValue(attack)}), Result: exactjson.StringValue(strings.Repeat("long answer ", 5_000))}},
	}
}

func newDeck(tb testing.TB, tapes ...*tape.Tape) *deck.Deck {
	tb.Helper()
	d, err := deck.Open(tb.Context(), "mem://"+url.PathEscape(tb.Name()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	for _, t := range tapes {
		decktest.PutTape(tb, d, deck.AreaRuns, t, 1)
	}
	return d
}

type answer struct {
	status int
	header http.Header
	body   string
}

// Two tenants can have one trace id: the list leads to each run, and what the id alone stands for is a
// choice.
func TestRunsOfTwoTenantsWithOneIDAreReached(t *testing.T) {
	one, two := made("acme", 1, tape.StatusOK), made("globex", 1, tape.StatusError)
	h := New(Config{Deck: newDeck(t, one, two), Address: "./deck", SearchLimit: 100})
	for at, links := range map[string]*regexp.Regexp{"/": link, "/run/" + one.Run.RunID: link} {
		seen := map[string]bool{}
		for _, m := range links.FindAllStringSubmatch(get(t, h, at).body, -1) {
			to := html.UnescapeString(m[1])
			if u, err := url.Parse(to); err == nil && u.Path == "/run/"+one.Run.RunID && get(t, h, to).status == http.StatusOK {
				seen[u.Query().Get("tenant")] = true
			}
		}
		if !seen["acme"] || !seen["globex"] {
			t.Errorf("%s leads to %v", at, seen)
		}
	}
	if a := get(t, h, "/run/"+url.PathEscape("globex/"+one.Run.RunID)); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
}

func get(tb testing.TB, h http.Handler, target string, edit ...func(*http.Request)) answer {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, target, nil)
	r.Host = "127.0.0.1:8322"
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{w.Code, w.Result().Header, string(body)}
}

// inert fails for a page with a script of its own, a handler, or an address that leads elsewhere.
func inert(tb testing.TB, what, text string) {
	tb.Helper()
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if slices.Contains([]string{"img", "iframe", "object", "embed", "base"}, t.Data) {
				tb.Errorf("%s: an element %s", what, t.Data)
			}
			for _, a := range t.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
					tb.Errorf("%s: %s of %s", what, a.Key, t.Data)
				case t.Data == "script" && (a.Key != "src" || a.Val != "/static/view.js") && a.Key != "defer":
					tb.Errorf("%s: a script %v", what, t.Attr)
				case (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#"), strings.HasPrefix(a.Val, "//"):
					tb.Errorf("%s: %s=%q leads elsewhere", what, a.Key, a.Val)
				}
			}
		}
	}
}

var link = regexp.MustCompile(`href="(/[^"]*)`)

// TestEveryPageCanBeReachedAndIsInert follows every link from the list on.
func TestEveryPageCanBeReachedAndIsInert(t *testing.T) {
	d := newDeck(t, made("default", 1, tape.StatusOK), made("default", 2, tape.StatusError), made("acme", 3, tape.StatusOK))
	h := New(Config{Deck: d, Address: "./deck", LocalOnly: true, SearchLimit: 100})
	seen, todo := map[string]bool{}, []string{"/", "/diff?a=" + made("", 1, "").Run.RunID + "&b=" + made("", 2, "").Run.RunID, "/run/c-1"}
	kinds := map[string]int{}
	for len(todo) > 0 && len(seen) < 500 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		a := get(t, h, at)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %.200s", at, a.status, a.body)
			continue
		}
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		kinds[kind]++
		if a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'none'; ") {
			t.Errorf("%s: %v", at, a.header)
		}
		if kind != "text/html" {
			continue
		}
		inert(t, at, a.body)
		for _, m := range link.FindAllStringSubmatch(a.body, -1) {
			to, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			todo = append(todo, to)
		}
	}
	if kinds["text/html"] < 12 || kinds["application/json"] < 6 || kinds["text/css"] != 1 {
		t.Errorf("%v of %v", kinds, seen)
	}
}

func TestTheListChooses(t *testing.T) {
	var tapes []*tape.Tape
	for n := 1; n <= 230; n++ {
		status := tape.StatusOK
		if n%50 == 0 {
			status = tape.StatusError
		}
		tapes = append(tapes, made("default", n, status))
	}
	h := New(Config{Deck: newDeck(t, tapes...), Address: "./deck", SearchLimit: 1000, Now: func() time.Time { return time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC) }})
	asked := regexp.MustCompile(`<a class="question" href="[^"]*">question (\d+) `)
	numbers := func(at string) (list []string) {
		for _, m := range asked.FindAllStringSubmatch(get(t, h, at).body, -1) {
			list = append(list, m[1])
		}
		return list
	}
	for at, want := range map[string][]string{
		"/?status=error":                          {"200", "150", "100", "50"},
		"/?status=error&sort=duration_ms":         {"200", "150", "100", "50"},
		"/?q=QUESTION+77+":                        {"77"},
		"/?q=c-229":                               {"229"},
		"/?q=" + url.QueryEscape("duration_ms<3"): {"2", "1"},
		"/?q=" + url.QueryEscape("NOT (status = 'ok')") + "&sort=duration_ms": {"200", "150", "100", "50"},
		"/?status=error&q=duration_ms<120":                                    {"100", "50"},
		"/?until=2026-11-20T00:00:03Z":                                        {"2", "1"},
		"/?status=interrupted":                                                nil,
		"/?area=replays":                                                      nil,
		"/?q=question+5&status=error":                                         {"50"},
	} {
		if got := numbers(at); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	var all []string
	for at := "/"; ; {
		all = append(all, numbers(at)...)
		next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(get(t, h, at).body)
		if next == nil {
			break
		}
		at = html.UnescapeString(next[1])
	}
	if len(all) != 230 || all[0] != "230" || all[229] != "1" {
		t.Errorf("%d runs on the pages: %v", len(all), all)
	}
	if a := get(t, h, "/?q="+url.QueryEscape("status = ")); a.status != http.StatusBadRequest || !strings.Contains(a.body, "where: at character") {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	for _, odd := range []string{"/?page=-1", "/?page=99999999999999999999", "/?sort=user_message", "/?area=" + url.QueryEscape(attack), "/?q=%00%ff"} {
		a := get(t, h, odd)
		inert(t, odd, a.body)
		if a.status != http.StatusOK && a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", odd, a.status)
		}
	}
}

// A viewer of one tenant shows nothing of another, whatever is asked for and however.
func TestATenantSeesItsOwnRunsAlone(t *testing.T) {
	own, other := made("acme", 1, tape.StatusOK), made("other", 2, tape.StatusOK)
	d := newDeck(t, own, other)
	h := New(Config{Deck: d, Address: "./deck", Tenant: "acme", SearchLimit: 100})
	if body := get(t, h, "/").body; !strings.Contains(body, "question 1 ") || strings.Contains(body, "question 2 ") {
		t.Errorf("%.2000s", body)
	}
	for _, below := range []string{"", "/text?path=input.user_message", "/evidence", "/tape.json", "/oracle.json"} {
		for _, id := range []string{other.Run.RunID, other.Run.TraceID, "c-2"} {
			for _, tenant := range []string{"", "tenant=other", "tenant=acme", "tenant=*", "tenant=%6fther"} {
				sep := "?"
				if strings.Contains(below, "?") {
					sep = "&"
				}
				at := "/run/" + id + below + sep + tenant
				if a := get(t, h, at); a.status != http.StatusNotFound || strings.Contains(a.body, "question") {
					t.Errorf("%s: %d %.200s", at, a.status, a.body)
				}
			}
		}
	}
	for _, at := range []string{"/?tenant=other", "/?q=" + url.QueryEscape("tenant = 'other'"), "/?q=question+2", "/diff?a=" + own.Run.RunID + "&b=" + other.Run.RunID} {
		if a := get(t, h, at); strings.Contains(a.body, "question 2 "+"&") || strings.Contains(a.body, "question 2 \"") {
			t.Errorf("%s shows the other tenant: %d", at, a.status)
		}
	}
	if a := get(t, h, "/diff?a="+own.Run.RunID+"&b="+other.Run.RunID); a.status != http.StatusNotFound {
		t.Errorf("%d", a.status)
	}
	if a := get(t, New(Config{Deck: d, Address: "./deck", SearchLimit: 100}), "/run/"+other.Run.RunID); a.status != http.StatusOK {
		t.Errorf("a viewer of all tenants: %d", a.status)
	}
}

func TestWhoMayLook(t *testing.T) {
	d := newDeck(t, made("default", 1, tape.StatusOK))
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	local := New(Config{Deck: d, LocalOnly: true, SearchLimit: 100})
	for want, edits := range map[int][]func(*http.Request){
		http.StatusOK: {func(*http.Request) {}, func(r *http.Request) { r.Host = "localhost:1" }, func(r *http.Request) { r.Host = "[::1]:1" }, with("Sec-Fetch-Site", "same-origin"),
			func(r *http.Request) {
				with("Sec-Fetch-Site", "cross-site")(r)
				with("Sec-Fetch-Mode", "navigate")(r)
				with("Sec-Fetch-Dest", "document")(r)
			}},
		http.StatusForbidden: {func(r *http.Request) { r.Host = "evil.example" }, with("Sec-Fetch-Site", "cross-site"), func(r *http.Request) {
			with("Sec-Fetch-Site", "cross-site")(r)
			with("Sec-Fetch-Mode", "navigate")(r)
			with("Sec-Fetch-Dest", "iframe")(r)
		}},
	} {
		for i, edit := range edits {
			if a := get(t, local, "/", edit); a.status != want {
				t.Errorf("%d of %d: %d", i, want, a.status)
			}
		}
	}
	if a := get(t, local, "/", func(r *http.Request) { r.Method = http.MethodPost }); a.status != http.StatusMethodNotAllowed {
		t.Errorf("a viewer only reads: %d", a.status)
	}

	const token = "0123456789abcdef0123"
	guarded := New(Config{Deck: d, Token: token, SearchLimit: 100})
	for _, at := range []string{"/", "/?token=wrong", "/?token=", "/static/view.js", "/run/x/tape.json"} {
		if a := get(t, guarded, at); a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", at, a.status)
		}
	}
	if a := get(t, guarded, "/", with("Authorization", "Bearer "+token)); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	a := get(t, guarded, "/?token="+token+"&status=ok")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/?status=ok" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || strings.Contains(cookies[0].Value, token) {
		t.Fatalf("%v", cookies)
	}
	if a := get(t, guarded, "/", func(r *http.Request) { r.AddCookie(cookies[0]) }); a.status != http.StatusOK {
		t.Errorf("%d", a.status)
	}
	if a := get(t, guarded, "//evil.example/%2e%2e?token="+token); strings.HasPrefix(a.header.Get("Location"), "//") || strings.Contains(a.header.Get("Location"), "://") {
		t.Errorf("sent elsewhere: %v", a.header)
	}
}

func TestTheScriptFindsWhatItNames(t *testing.T) {
	d := newDeck(t, made("default", 1, tape.StatusOK))
	h := New(Config{Deck: d, Address: "./deck", SearchLimit: 100})
	list, run := get(t, h, "/").body, get(t, h, "/run/"+made("", 1, "").Run.RunID).body
	for _, on := range []struct{ where, what string }{{list, `id="search"`}, {list, `id="runs"`}, {list, `class="question"`}, {list, `form="compare" name="run"`}, {list, `id="checked"`}, {run, `id="search"`}, {run, `class="row `}, {run, `class="command"`}, {run, `<script src="/static/view.js" defer>`}} {
		if !strings.Contains(on.where, on.what) {
			t.Errorf("no %s", on.what)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	d := newDeck(f, made("default", 1, tape.StatusOK))
	h := New(Config{Deck: d, Address: "./deck", LocalOnly: true, SearchLimit: 100})
	for _, at := range []string{"/", "/?q=x&page=2", "/run/../../etc/passwd", "/run/c-1/text?path=events.1.result&from=16000", "/run/c-1/text?path=events.1.result&from=-5", "/diff?a=c-1&b=c-1&compare=x", "/run/c-1/evidence?from=9", "/run/%00", "/?q=" + strings.Repeat("(", 2000) + "status=1", "/?since=-1h&until=x", "/diff?run=c-1&run=c-1", "/run/c-1?find=%ff"} {
		f.Add(at)
	}
	f.Fuzz(func(t *testing.T, at string) {
		u, err := url.ParseRequestURI(at)
		if err != nil || !strings.HasPrefix(at, "/") || u.Host != "" {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			return
		}
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			inert(t, at, w.Body.String())
		}
	})
}

// A run with what redaction should have replaced says so on its page.
func TestThePageOfARunWithSecretsSaysSo(t *testing.T) {
	clean, dirty := made("acme", 1, tape.StatusOK), made("acme", 2, tape.StatusOK)
	text := "mail jane.doe@corp-mail.com"
	dirty.Input.UserMessage = &text
	h := New(Config{Deck: newDeck(t, clean, dirty), Address: "./deck", SearchLimit: 100})
	for _, of := range []*tape.Tape{clean, dirty} {
		a := get(t, h, "/run/"+of.Run.RunID)
		if a.status != http.StatusOK || strings.Contains(a.body, `<p class="notice bad">this tape holds 1 value that redaction should have replaced (email 1)`) != (of == dirty) {
			t.Errorf("%s: %d\n%.2000s", of.Run.RunID, a.status, a.body)
		}
	}
}

// The list is that of production, and says the area of a run where it lists runs of several.
func TestTheListIsThatOfProduction(t *testing.T) {
	d := newDeck(t, made("acme", 1, tape.StatusOK))
	replay := made("acme", 2, tape.StatusOK)
	replay.Run.ReplayRunID = "r-1"
	decktest.PutTape(t, d, deck.AreaReplays, replay, 1)
	h := New(Config{Deck: d, Address: "./deck", SearchLimit: 100})
	for at, want := range map[string]struct {
		runs int
		area bool
	}{"/": {1, false}, "/?area=all": {2, true}, "/?area=replays": {1, true}, "/?area=&q=" + url.QueryEscape("replay_run_id = 'r-1'"): {1, true}, "/?q=" + url.QueryEscape("area <> 'joined'"): {2, true}} {
		a := get(t, h, at)
		if n := strings.Count(a.body, `<a class="question" href="/run/`); n != want.runs || strings.Contains(a.body, `</code> replays`) != want.area {
			t.Errorf("%s: %d runs\n%s", at, n, a.body)
		}
	}
}

// What stands above the list counts all runs of the choice, on whatever page: chips, histogram and total.
func TestTheListCountsWhatItChooses(t *testing.T) {
	var tapes []*tape.Tape
	for n := 1; n <= 130; n++ {
		status := tape.StatusOK
		if n%50 == 0 {
			status = tape.StatusError
		}
		tapes = append(tapes, made("default", n, status))
	}
	h := New(Config{Deck: newDeck(t, tapes...), Address: "s3://tapes/prod?region=eu", SearchLimit: 1000})
	for at, want := range map[string][]string{
		"/?page=1":               {"<b class=\"label\">130 runs</b>", "101 to 130 of 130 runs", "<span>ok</span> <span class=\"dim\">128</span>", "<span>error</span> <span class=\"dim\">2</span>", "<title>Runs · tapes/prod</title>", "a bar is 5s, the highest 5 runs"},
		"/?status=error":         {"<b class=\"label\">2 runs</b>", `<a class="chip on" href="/" aria-current="true">`, "2026-11-20 00:00:50: 1 failed"},
		"/?status=error&q=c-100": {"<b class=\"label\">1 run</b>", `href="/?q=c-100" aria-current="true"`, `<input type="hidden" name="status" value="error">`},
		"/?status=incomplete":    {"No run is like that.", `href="/" aria-current="true"`},
	} {
		body := get(t, h, at).body
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %s\n%.3000s", at, w, body)
			}
		}
	}
}

// Every bar of the histogram leads to its runs, and no run is in none.
func TestTheBarsLeadToTheirRuns(t *testing.T) {
	var tapes []*tape.Tape
	for n := range 40 {
		one := made("default", n+1, tape.StatusOK)
		one.Run.StartedAt = one.Run.StartedAt.Add(time.Duration(n*n*n) * time.Minute)
		tapes = append(tapes, one)
	}
	h := New(Config{Deck: newDeck(t, tapes...), Address: "./deck", SearchLimit: 1000})
	bars, total := regexp.MustCompile(`<a href="(/\?since=[^"]*)" aria-label="[^"]*: (\d+) ok"`).FindAllStringSubmatch(get(t, h, "/").body, -1), 0
	for _, bar := range bars {
		if n := strings.Count(get(t, h, html.UnescapeString(bar[1])).body, `class="question"`); strconv.Itoa(n) != bar[2] {
			t.Errorf("%s: %d runs, the bar says %s", bar[1], n, bar[2])
		} else {
			total += n
		}
	}
	if len(bars) < 10 || len(bars) > maxBins || total != len(tapes) {
		t.Errorf("%d bars, %d runs", len(bars), total)
	}
}

// A condition is told from words to search for by how it begins.
func TestWhatTheBoxTakesForACondition(t *testing.T) {
	for text, want := range map[string]bool{
		"status = 'error'": true, "status=": true, "(Tools IN ('a'))": true, "NOT agent LIKE 'x%'": true, "output_tokens > 5": true, "error_type IS NULL": true,
		"status": false, "what is the status": false, "a = b": false, "INV-1001": false, "": false, "not found": false,
	} {
		if got := isCondition(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Whoever checks runs in the list without a script is told when they are not two.
func TestTwoRunsAreCompared(t *testing.T) {
	one, two := made("acme", 1, tape.StatusOK), made("acme", 2, tape.StatusError)
	h := New(Config{Deck: newDeck(t, one, two), Address: "./deck", SearchLimit: 100})
	ids := regexp.MustCompile(`name="run" value="([^"]*)"`).FindAllStringSubmatch(get(t, h, "/").body, -1)
	if len(ids) != 2 {
		t.Fatal(ids)
	}
	at := "/diff?run=" + url.QueryEscape(ids[0][1])
	if a := get(t, h, at); a.status != http.StatusBadRequest || !strings.Contains(a.body, "1 were checked") || !strings.Contains(a.body, `<a href="/">`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := get(t, h, at+"&run="+url.QueryEscape(ids[1][1])); a.status != http.StatusOK || !strings.Contains(a.body, "A ends with error, B with ok") {
		t.Errorf("%d %.2000s", a.status, a.body)
	}
}

func TestANameOfADeckIsNoAddress(t *testing.T) {
	for address, want := range map[string]string{"./deck": "deck", "/srv/tapes/prod/": "prod", "s3://bucket/prod?region=eu&endpoint=http://x": "bucket/prod", "file:///srv/tapes": "srv/tapes", "": "", "?x": ""} {
		if got := deckName(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// Whatever a run is called, the list stays small.
func TestNamesOfAnyLengthFitTheList(t *testing.T) {
	var tapes []*tape.Tape
	for n := 1; n <= 5; n++ {
		one := made("acme", n, tape.StatusError)
		long := fmt.Sprint(n) + strings.Repeat("\u202emegabyte ", 90_000)
		one.Run.Agent.Name, one.Run.Service.Name, one.Input.UserMessage, one.Run.Error = long, long, &long, &tape.Error{Type: long, Message: long}
		one.Events[0].Name = long
		tapes = append(tapes, one)
	}
	a := get(t, New(Config{Deck: newDeck(t, tapes...), Address: "./deck", SearchLimit: 100}), "/")
	inert(t, "/", a.body)
	if len(a.body) > 40_000 || strings.Contains(a.body, "\u202e") || strings.Count(a.body, `class="question"`) != 5 {
		t.Errorf("%d bytes", len(a.body))
	}
}
