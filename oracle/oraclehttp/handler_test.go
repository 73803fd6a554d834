// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	runID   = traceID + "-b7ad6b7169203331"
)

func entry(t testing.TB, tool, args, response string) oracle.Entry {
	t.Helper()
	v, err := exactjson.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return oracle.Entry{ToolName: tool, Args: v, ArgsHash: oracle.Hash(v), Response: response, Occurrence: 1, ResponseFormat: "text"}
}

func newHandler(t testing.TB, c Config, entries ...oracle.Entry) *Handler {
	t.Helper()
	o, err := oracle.New(entries, oracle.Options{Rules: &oracle.Rules{Tools: map[string]oracle.ToolRule{"clock": {Mode: oracle.ModeLive}, "pay": {Mode: oracle.ModeError}}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Library == nil {
		c.Library = Single(runID, o)
	}
	return NewHandler(c)
}

func toolCall(members string) string { return `{"replay_run_id":"replay-1",` + members + `}` }

func expect(t *testing.T, status int, body []byte, wantStatus int, want string) {
	t.Helper()
	if status != wantStatus {
		t.Errorf("status %d, want %d: %s", status, wantStatus, body)
	}
	if got := strings.TrimSpace(string(body)); want != "" && got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestToolCallsAreAnsweredAsForgeAsksThem(t *testing.T) {
	latency := int64(80)
	first := entry(t, "http_request", `{"method":"GET","url":"http://x/"}`, `{"stock":98}`)
	first.Seq, first.Turn, first.LatencyMS, first.ResponseFormat, first.ToolCallID = 2, 1, &latency, "json", "call_1"
	failed := entry(t, "math", `"{not json"`, `parsing input: invalid`)
	failed.IsError, failed.ErrorType, failed.ErrorMessage = true, "SyntaxError", "invalid"
	cut := entry(t, "read", `{}`, "cu")
	cut.ResponseFidelity = oracle.Truncated
	h := newHandler(t, Config{}, first, failed, cut)

	status, body := ask(t, h, "POST", "/v1/tool-calls", toolCall(`"invocation_id":"0123456789abcdef","tool_name":"http_request","args":{"url":"http://x/","method":"GET"},`+
		`"args_raw":"{\"url\":\"http://x/\", \"method\":\"GET\"}","args_hash":"`+first.ArgsHash+`","turn":1,"call_index":0,"tool_call_id":"call_9"`))
	const hit = `{"hit":true,"response":"{\"stock\":98}","is_error":false,"entry":0,"occurrence":1,"match":"exact","outcome":"hit","labels":[],` +
		`"response_format":"json","seq":2,"turn":1,"latency_ms":80,"call":1,"repeated":false,"run_id":"` + runID + `"}`
	expect(t, status, body, 200, hit)

	status, body = ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"math","args_raw":"{not json","caller":"","tool_call_id":null`))
	expect(t, status, body, 200, `{"hit":true,"response":"parsing input: invalid","is_error":true,"error_type":"SyntaxError","error_message":"invalid","entry":1,"occurrence":1,"match":"exact","outcome":"recorded_error","labels":[],`+
		`"response_format":"text","call":2,"repeated":false,"run_id":"`+runID+`"}`)

	status, body = ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"read","args":null,"call_index":5`))
	expect(t, status, body, 200, `{"hit":false,"reason":"truncated","outcome":"unservable","entry":2,"nearest":[{"entry":2,"tool_name":"read","args_hash":"`+cut.ArgsHash+
		`","caller":"","occurrence":1,"used":true,"differences":0,"diff":[]}],"call":3,"repeated":false,"run_id":"`+runID+`"}`)

	_, body = ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"http_request","args":{"url":"http://secret.example/","method":"GET"}`))
	if bytes.Contains(body, []byte("secret")) || !bytes.Contains(body, []byte(`"diff":[{"path":"$.url","recorded":"text of 9 bytes","live":"text of 22 bytes"}]`)) {
		t.Errorf("%s", body)
	}
	for tool, outcome := range map[string]string{"clock": "live", "pay": "refused", "unknown": "no_entry"} {
		_, body = ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"`+tool+`","args":{}`))
		if !bytes.Contains(body, []byte(`"reason":"`+outcome+`","outcome":"`+outcome+`"`)) {
			t.Errorf("%s", body)
		}
	}
	_, body = ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"http_request","args_hash":"`+first.ArgsHash+`"`))
	if !bytes.Contains(body, []byte(`"outcome":"exhausted"`)) {
		t.Errorf("%s", body)
	}

	status, body = ask(t, h, "GET", "/v1/sessions/replay-1/report", "")
	var report Report
	if err := json.Unmarshal(body, &report); err != nil || status != 200 || report.Calls.Total != 8 || report.Calls.Outcomes[oracle.Hit] != 1 || report.Entries.Unused != 0 {
		t.Errorf("%s %v", body, err)
	}
	if got := h.Reports(); len(got) != 1 || got[0].RunID != runID {
		t.Errorf("%+v", got)
	}
}

func TestBigIntegersAreNotRounded(t *testing.T) {
	h := newHandler(t, Config{}, entry(t, "get", `{"id":9007199254740993}`, "right"), entry(t, "get", `{"id":9007199254740992}`, "wrong"))
	_, body := ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"get","args":{"id":9007199254740993}`))
	if !bytes.Contains(body, []byte(`"response":"right"`)) {
		t.Errorf("%s", body)
	}
	// A client that decodes numbers into doubles still has the text.
	_, body = ask(t, h, "POST", "/v1/tool-calls", `{"replay_run_id":"2","tool_name":"get","args":{"id":9007199254740992},"args_raw":"{\"id\":9007199254740993}"}`)
	if !bytes.Contains(body, []byte(`"response":"right"`)) {
		t.Errorf("%s", body)
	}
}

func TestRepeatedRequestsAreIdempotent(t *testing.T) {
	told := 0
	h := newHandler(t, Config{Answered: func(context.Context, string, *oracle.Query, *oracle.Answer) { told++ }},
		entry(t, "poll", `{}`, "1"), func() oracle.Entry { e := entry(t, "poll", `{}`, "2"); e.Occurrence = 2; return e }())
	for _, c := range []struct{ id, want string }{
		{"a", `"response":"1"`}, {"a", `"response":"1"`}, {"b", `"response":"2"`}, {"a", `"response":"1"`}, {"c", "exhausted"}, {"c", "exhausted"},
	} {
		_, body := ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"poll","args":{},"tool_call_id":"`+c.id+`"`))
		if !bytes.Contains(body, []byte(c.want)) {
			t.Errorf("%s: %s", c.id, body)
		}
	}
	if told != 3 {
		t.Errorf("three calls were told as %d", told)
	}
}

func TestEndpointTakesHashesInAnySpelling(t *testing.T) {
	text := entry(t, "t", `"ls -la"`, "text")
	h := newHandler(t, Config{}, entry(t, "t", `{}`, "r"), text)
	hash := entry(t, "t", `{}`, "").ArgsHash
	digits, raw := strings.TrimPrefix(hash, "sha256:"), strings.TrimPrefix(text.ArgsHash, "sha256-raw:")
	for i, call := range []string{
		`"args_hash":"` + hash + `"`, `"args_hash":"` + digits + `"`, `"args_hash":"` + strings.ToUpper(digits) + `"`,
		`"args":{},"args_hash":"` + digits + `"`, `"args_raw":"ls -la","args_hash":"` + raw + `"`,
	} {
		body := `{"replay_run_id":"replay-` + strconv.Itoa(i) + `","tool_name":"t",` + call + `}`
		if status, answer := ask(t, h, "POST", "/v1/tool-calls", body); status != 200 || !bytes.Contains(answer, []byte(`"match":"exact"`)) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

func TestRequestsThatCannotBeUnderstoodAreNoMisses(t *testing.T) {
	h := newHandler(t, Config{MaxBody: 4096}, entry(t, "t", `{}`, "r"))
	for body, status := range map[string]int{
		`{`: 400, `[]`: 400, `{"tool_name":"t","args":{}}`: 400, toolCall(`"args":{}`): 400, toolCall(`"tool_name":"","args":{}`): 400,
		toolCall(`"tool_name":7,"args":{}`): 400, toolCall(`"tool_name":"t"`): 400, toolCall(`"tool_name":"t","args":{},"turn":-1`): 400,
		toolCall(`"tool_name":"t","args":{},"turn":"1"`): 400, toolCall(`"tool_name":"t","args":{},"call_index":0.5`): 400,
		toolCall(`"tool_name":"t","args_hash":"sha1:00"`): 400, toolCall(`"tool_name":"t","args_hash":"` + strings.Repeat("0", 63) + `"`): 400, toolCall(`"tool_name":"t","args_raw":{}`): 400, toolCall(`"tool_name":"t","args":{"a":1,"a":2}`): 400,
		toolCall(`"tool_name":"t","args":{},"args_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`): 400,
		toolCall(`"tool_name":"` + strings.Repeat("t", maxName+1) + `","args":{}`):                                                  400,
		toolCall(`"tool_name":"t","args":"` + strings.Repeat("x", 5000) + `"`):                                                      413,
		toolCall(`"tool_name":"t","args":` + strings.Repeat("[", 600) + strings.Repeat("]", 600)):                                   400,
	} {
		if got, answer := ask(t, h, "POST", "/v1/tool-calls", body); got != status {
			t.Errorf("%.100s: status %d, want %d: %s", body, got, status, answer)
		}
	}
	if status, _ := ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"t","args":{}`), "Content-Type", "text/plain"); status != 415 {
		t.Error(status)
	}
	if status, _ := ask(t, h, "GET", "/v1/sessions/replay-1/report", ""); status != 404 {
		t.Errorf("none of them opened a session: %d", status)
	}
}

func TestBodiesOfUnknownLengthAreBoundedToo(t *testing.T) {
	h := newHandler(t, Config{MaxBody: 4096})
	r := httptest.NewRequest("POST", "http://localhost/v1/tool-calls", io.MultiReader(strings.NewReader(toolCall(`"tool_name":"t","args":"`)), strings.NewReader(strings.Repeat("x", 5000))))
	r.ContentLength = -1
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 413 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	h := newHandler(t, Config{LocalOnly: true}, entry(t, "t", `{}`, "r"))
	call := toolCall(`"tool_name":"t","args":{}`)
	for name, header := range map[string][]string{
		"a page of another site":       {"Origin", "https://evil.example"},
		"a sandboxed page":             {"Origin", "null"},
		"a name that was pointed here": {"Host", "evil.example:1234"},
		"the same, numeric":            {"Host", "10.0.0.1"},
		"a link":                       {"Sec-Fetch-Site", "cross-site"},
		"a prefix of localhost":        {"Host", "localhost.evil.example"},
		"an empty host":                {"Host", ""},
	} {
		if status, body := ask(t, h, "POST", "/v1/tool-calls", call, header...); status != 403 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, host := range []string{"localhost:1", "LOCALHOST", "127.0.0.1:8", "127.1.2.3", "[::1]:8", "[::1]"} {
		if status, body := ask(t, h, "POST", "/v1/tool-calls", call, "Host", host); status != 200 {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	if w := options(h); w.Code != 405 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight request was allowed: %d %v", w.Code, w.Header())
	}
}

func options(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("OPTIONS", "http://localhost/v1/tool-calls", nil))
	return w
}

func TestTokenIsAskedFor(t *testing.T) {
	h := newHandler(t, Config{Token: "0123456789abcdef"}, entry(t, "t", `{}`, "r"))
	call := toolCall(`"tool_name":"t","args":{}`)
	for _, authorization := range []string{"", "0123456789abcdef", "Bearer", "Bearer 0123456789abcde", "Bearer 0123456789abcdefg", "Basic 0123456789abcdef"} {
		if status, _ := ask(t, h, "POST", "/v1/tool-calls", call, "Authorization", authorization); status != 401 {
			t.Errorf("%q: %d", authorization, status)
		}
	}
	if status, _ := ask(t, h, "POST", "/v1/tool-calls", call, "Authorization", "bearer 0123456789abcdef"); status != 200 {
		t.Error(status)
	}
	if status, _ := ask(t, h, "GET", "/healthz", ""); status != 200 {
		t.Error("health needs no token")
	}
	if status, _ := ask(t, h, "GET", "/openapi.json", "", "Authorization", "Bearer 0123456789abcdef"); status != 200 {
		t.Error(status)
	}
}

func TestUnknownPathsAreProblems(t *testing.T) {
	h := newHandler(t, Config{})
	for _, r := range []*http.Request{httptest.NewRequest("GET", "http://localhost/v2", nil), httptest.NewRequest("GET", "http://localhost/v1/tool-calls", nil)} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p struct{ Status int }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v %s", r.URL, err, w.Body)
		}
	}
}

// shelf is a library of two runs and some trouble.
type shelf map[string]*oracle.Oracle

func (s shelf) Open(_ context.Context, run string) (string, *oracle.Oracle, error) {
	switch {
	case run == "", run == "0123":
		return "", nil, fmt.Errorf("%w: name one", ErrSeveralRuns)
	case run == "broken":
		return "", nil, errors.New("the tape is damaged")
	case s[run] == nil:
		return "", nil, fmt.Errorf("%w: %q", ErrNoRun, run)
	}
	return run, s[run], nil
}

func TestRunsOfALibraryHaveTheirOwnSessions(t *testing.T) {
	a, err := oracle.New([]oracle.Entry{entry(t, "t", `{}`, "a")}, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := oracle.New([]oracle.Entry{entry(t, "t", `{}`, "b")}, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, Config{Library: shelf{"run-a": a, "run-b": b}})
	call := toolCall(`"tool_name":"t","args":{}`)
	for path, want := range map[string]string{"/v1/runs/run-a/tool-calls": `"response":"a"`, "/v1/runs/run-b/tool-calls": `"response":"b"`} {
		if _, body := ask(t, h, "POST", path, call); !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body := ask(t, h, "POST", "/v1/tool-calls", toolCall(`"tool_name":"t","args":{},"run":"run-a"`)); !bytes.Contains(body, []byte("exhausted")) {
		t.Errorf("%s", body)
	}
	for path, status := range map[string]int{"/v1/tool-calls": 409, "/v1/runs/0123/tool-calls": 409, "/v1/runs/run-c/tool-calls": 404, "/v1/runs/broken/tool-calls": 502} {
		if got, body := ask(t, h, "POST", path, call); got != status {
			t.Errorf("%s: %d %s", path, got, body)
		}
	}
	if status, _ := ask(t, h, "POST", "/v1/runs/run-a/tool-calls", toolCall(`"tool_name":"t","args":{},"run":"run-b"`)); status != 400 {
		t.Error(status)
	}
	if status, body := ask(t, h, "GET", "/v1/sessions/replay-1/report", ""); status != 409 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(t, h, "GET", "/v1/sessions/replay-1/report?run=run-b", ""); status != 200 || !bytes.Contains(body, []byte(`"run_id":"run-b"`)) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := ask(t, h, "DELETE", "/v1/sessions/replay-1?run=run-b", ""); status != 200 {
		t.Error(status)
	}
	if status, _ := ask(t, h, "POST", "/v1/runs/run-b/tool-calls", call); status != 410 {
		t.Error(status)
	}
	if status, _ := ask(t, h, "POST", "/v1/runs/run-a/tool-calls", call); status != 200 {
		t.Error(status)
	}
}

// TestAClientWithOneURLNamesTheRunInIt: the wire protocol of Forge has no place for a run, and posts to the URL that it is given.
func TestAClientWithOneURLNamesTheRunInIt(t *testing.T) {
	data, err := os.ReadFile("../../tape/testdata/args_hash_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Raw  string `json:"args_raw"`
		Hash string `json:"args_hash"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(len(vectors), err)
	}
	library := shelf{}
	for _, run := range []string{"run-a", "run-b"} {
		var entries []oracle.Entry
		for i, v := range vectors {
			entries = append(entries, oracle.Entry{ToolName: "t" + strconv.Itoa(i), ArgsHash: v.Hash, Response: run, Occurrence: 1})
		}
		if library[run], err = oracle.New(entries, oracle.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	h := newHandler(t, Config{Library: library})
	wire := func(i int) string {
		v := vectors[i]
		raw, err := json.Marshal(v.Raw)
		if err != nil {
			t.Fatal(err)
		}
		members := `"invocation_id":"0123456789abcdef","tool_name":"t` + strconv.Itoa(i) + `","args_raw":` + string(raw) + `,"args_hash":"` + v.Hash + `","turn":1,"call_index":` + strconv.Itoa(i)
		if json.Valid([]byte(v.Raw)) && strings.HasPrefix(v.Hash, "sha256:") {
			members += `,"args":` + v.Raw
		}
		return toolCall(members)
	}
	for i := range vectors {
		for _, path := range []string{"/", "/v1/tool-calls"} {
			for _, run := range []string{"run-a", "run-b"} {
				status, body := ask(t, h, "POST", path+"?run="+run, wire(i))
				if status != 200 || !bytes.Contains(body, []byte(`{"hit":true,"response":"`+run+`","is_error":false,"entry":`+strconv.Itoa(i)+`,"occurrence":1,"match":"exact"`)) {
					t.Errorf("%s of %s, %s: %d %s", path, run, vectors[i].Raw, status, body)
				}
			}
		}
	}
	for path, status := range map[string]int{
		"/": 409, "/?run=run-c": 404, "/?run=": 400, "/?run=%zz": 400, "/?run=" + strings.Repeat("x", maxName+1): 400, "/?run=run-a&run=run-b": 400,
		"/?run=run-a&run=run-a&other=1": 200, "/v1/runs/run-a/tool-calls?run=run-a": 200, "/v1/runs/run-a/tool-calls?run=run-b": 400,
	} {
		if got, body := ask(t, h, "POST", path, wire(0)); got != status {
			t.Errorf("%.60s: %d %s", path, got, body)
		}
	}
}

func TestClosedSessionsDoNotBeginAnew(t *testing.T) {
	clock := clockwork.NewFakeClock()
	h := newHandler(t, Config{Clock: clock, MaxSessions: 2, MaxCalls: 2, SessionAge: time.Hour}, entry(t, "t", `{}`, "r"))
	call := func(id string) int {
		status, _ := ask(t, h, "POST", "/v1/tool-calls", `{"replay_run_id":"`+id+`","tool_name":"t","args":{}}`)
		return status
	}
	for i, want := range []int{200, 200, 429} {
		if got := call("one"); got != want {
			t.Errorf("call %d: %d", i, got)
		}
	}
	clock.Advance(40 * time.Minute)
	if call("two") != 200 || call("three") != 503 {
		t.Error("the maximum of sessions is not kept")
	}
	clock.Advance(40 * time.Minute) // the first is now too old, and makes room
	if got := call("three"); got != 200 {
		t.Error(got)
	}
	if got := call("one"); got != 410 {
		t.Errorf("a session that was closed began anew: %d", got)
	}
	if got, _ := ask(t, h, "GET", "/v1/sessions/one/report", ""); got != 410 {
		t.Error(got)
	}
	if got, _ := ask(t, h, "DELETE", "/v1/sessions/two", ""); got != 200 {
		t.Error(got)
	}
	if got, _ := ask(t, h, "DELETE", "/v1/sessions/never", ""); got != 404 {
		t.Error(got)
	}
	if got := call("two"); got != 410 {
		t.Error(got)
	}
}

func TestClosedSetForgetsTheOldestOnly(t *testing.T) {
	c := newClosedSet(3)
	for i := range 5 {
		c.add(sessionKey{id: fmt.Sprint(i)})
		c.add(sessionKey{id: fmt.Sprint(i)})
	}
	for i := range 5 {
		if got := c.has(sessionKey{id: fmt.Sprint(i)}); got != (i >= 2) {
			t.Errorf("%d: %v", i, got)
		}
	}
}

func TestLatenciesAreReplayed(t *testing.T) {
	clock := clockwork.NewFakeClock()
	slow := entry(t, "t", `{}`, "r")
	latency := int64(5000)
	slow.LatencyMS = &latency
	h := newHandler(t, Config{Clock: clock, Speed: 10}, slow)
	request := func(ctx context.Context) <-chan *httptest.ResponseRecorder {
		done := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			r := httptest.NewRequest("POST", "http://localhost/v1/tool-calls", strings.NewReader(toolCall(`"tool_name":"t","args":{},"call_index":1`)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.WithContext(ctx))
			done <- w
		}()
		return done
	}
	until := func(n int) {
		t.Helper()
		if err := clock.BlockUntilContext(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	answer := request(t.Context())
	until(1)
	clock.Advance(499 * time.Millisecond)
	select {
	case <-answer:
		t.Fatal("answered too early")
	default:
	}
	clock.Advance(time.Millisecond)
	if w := <-answer; w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}

	// A client that goes away gets nothing, and the same answer when it asks again.
	ctx, cancel := context.WithCancel(t.Context())
	answer = request(ctx)
	until(1)
	cancel()
	if w := <-answer; w.Body.Len() != 0 {
		t.Errorf("%s", w.Body)
	}
	answer = request(t.Context())
	until(1)
	h.Close() // a server that ends does not make anybody wait
	if w := <-answer; !strings.Contains(w.Body.String(), `"response":"r"`) {
		t.Errorf("%s", w.Body)
	}
}

func FuzzToolCallsNeverBreakTheHandler(f *testing.F) {
	for _, seed := range []string{
		toolCall(`"tool_name":"t","args":{}`), toolCall(`"tool_name":"t","args_raw":"{}","turn":1,"call_index":0,"tool_call_id":"x","caller":"a"`),
		toolCall(`"tool_name":"t","args":{"p":"x"}`), toolCall(`"tool_name":"t","args_hash":"sha256:` + strings.Repeat("0", 64) + `"`), `{`, `[]`, `{"args":1e999}`,
		toolCall(`"tool_name":"t","args":{"n":1e999},"args_hash":"","args_raw":null,"run":"","turn":-0`), toolCall(`"tool_name":"t","args":"\ud83d\ude00","call_index":1e2`),
	} {
		f.Add(seed)
	}
	redacted := oracle.Entry{ToolName: "t", ArgsFidelity: oracle.Redacted, Response: "r"}
	redacted.Args, _ = exactjson.Parse(`{"p":"[REDACTED:x:0]"}`)
	redacted.ArgsHash = oracle.Hash(redacted.Args)
	f.Fuzz(func(t *testing.T, body string) {
		h := newHandler(t, Config{}, entry(t, "t", `{}`, "r"), redacted)
		ask(t, h, "POST", "/v1/tool-calls", body)
	})
}
