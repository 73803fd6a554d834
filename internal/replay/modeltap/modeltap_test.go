// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// passed is a call of a fixture.
type passed struct {
	Path, Response string
	ContentType    string `json:"content_type"`
	Request        json.RawMessage
	status         int
}

func fixtures(t *testing.T) map[string][]passed {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]passed{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		var calls []passed
		if err == nil {
			err = json.Unmarshal(text, &calls)
		}
		if err != nil || len(calls) == 0 {
			t.Fatal(file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = calls
	}
	return all
}

// ticking is a tap whose clock goes on by a millisecond each time it is looked at.
func ticking() *Tap {
	tap, at := New(), time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	tap.now = func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
	return tap
}

// pass lets a call pass a tap, with a handler that answers it.
func pass(t *testing.T, tap *Tap, c passed) {
	t.Helper()
	h := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, c.Request) {
			t.Errorf("the endpoint got %d bytes of %d: %v", len(got), len(c.Request), err)
		}
		w.Header().Set("Content-Type", c.ContentType)
		if c.status > 0 {
			w.WriteHeader(c.status)
		}
		_, _ = io.WriteString(w, c.Response)
	}), "127.0.0.1:8080")
	out := httptest.NewRecorder()
	h.ServeHTTP(out, httptest.NewRequest(http.MethodPost, c.Path, bytes.NewReader(c.Request)))
	if out.Body.String() != c.Response {
		t.Errorf("the client got %q", out.Body.String())
	}
}

// tapes are made of spans as derive makes them.
func tapes(t *testing.T, td ptrace.Traces) []*tape.Tape {
	t.Helper()
	set := evidence.NewSet()
	set.AddTraces(td)
	all := reconstruct.All(set.Split(), reconstruct.Options{Tenant: "default"})
	slices.SortFunc(all, func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	return all
}

// told is what a tape says of a run, as text.
func told(one *tape.Tape) string {
	var b strings.Builder
	text := func(p *string) string {
		if p == nil {
			return "(nothing)"
		}
		return *p
	}
	fmt.Fprintf(&b, "dialects %v, scopes %v\nrun %s, %s, %s\nasked %q\nanswered %q\n", one.Sources.Dialects, one.Sources.Scopes, one.Run.RunID, one.Run.Status, one.Fidelity.Grade, text(one.Input.UserMessage), text(one.Output.Text))
	for i := range one.Events {
		e := &one.Events[i]
		fmt.Fprintf(&b, "%d %s %s", e.Seq, e.Type, e.Status)
		switch e.Type {
		case tape.EventModelCall:
			fmt.Fprintf(&b, " %s %s params %s stream %v", e.Model, e.Provider, e.Params.JSON(), e.Streaming)
			if e.Request != nil {
				fmt.Fprintf(&b, " %d messages %d tools", len(e.Request.Messages), len(e.Request.Tools))
			}
			if e.Usage != nil && e.Usage.InputTokens != nil && e.Usage.OutputTokens != nil {
				fmt.Fprintf(&b, " tokens %d %d", *e.Usage.InputTokens, *e.Usage.OutputTokens)
			}
			if r := e.Response; r != nil {
				fmt.Fprintf(&b, " answered by %s as %v", r.Model, r.FinishReasons)
				for _, p := range one.Messages[r.Message].Parts {
					fmt.Fprintf(&b, "\n  %s %s%s %s", p.Type, p.Text, p.Name, p.Args.JSON())
				}
			}
		default:
			fmt.Fprintf(&b, " %s %s -> %s %v, times known: %v", e.Name, e.Args.JSON(), e.Result.JSON(), e.Provenance["result"], !e.StartedAt.IsZero())
		}
		if e.Error != nil {
			fmt.Fprintf(&b, " error %s: %s", e.Error.Type, e.Error.Message)
		}
		b.WriteByte('\n')
	}
	for _, f := range one.Fidelity.Findings {
		fmt.Fprintf(&b, "%s %s #%d %s\n", f.Severity, f.Code, f.Seq, f.Field)
	}
	return b.String()
}

func TestCallsOfPublishedAgentsAreTapes(t *testing.T) {
	for name, calls := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			tap := ticking()
			for _, c := range calls {
				pass(t, tap, c)
			}
			td, sum := tap.Traces(Options{Seed: "seed", Service: "agent"})
			if sum.Calls != len(calls) || sum.Conversations != 1 || sum.Lost != 0 || len(sum.Other) != 0 {
				t.Fatalf("%+v", sum)
			}
			var b strings.Builder
			for _, one := range tapes(t, td) {
				b.WriteString(told(one))
			}
			genaitest.Golden(t, filepath.Join("testdata", name+".said.txt"), b.String())
		})
	}
}

// What the model was sent is written in the form of the conventions, and read back from there as it was.
func TestMessagesComeBackFromTheConventions(t *testing.T) {
	bodies := map[string]string{
		"media": `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"image","source":{"type":"url","url":"https://example.test/a.png"}}]}]}`,
		"results": `{"model":"m","messages":[{"role":"user","content":"  spaced\n"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"f","input":{"n":1.50,"big":12345678901234567890}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"{\"a\": 1}"}],"is_error":true},{"type":"text","text":"go on"}]},{"role":"user","content":"[1, 2]"}]}`,
		"spelling": `{"model":"m","messages":[{"role":"user","name":"ann","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{ \"b\": 1,  \"a\": 2 }"}},{"id":"d","type":"function","function":{"name":"g","arguments":"not json"}}]},{"role":"tool","tool_call_id":"c","content":"7"},{"role":"tool","tool_call_id":"d","content":""}]}`,
		"server":   `{"model":"m","messages":[{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.test"}]}]}]}`,
		"gemini":   `{"contents":[{"role":"user","parts":[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},{"role":"model","parts":[{"text":"t","thought":true},{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"y"}}}]}]}`,
	}
	for name, calls := range fixtures(t) {
		bodies[name] = string(calls[len(calls)-1].Request)
	}
	for name, body := range bodies {
		c := &call{}
		if err := c.readRequest([]byte(body)); err != nil || len(c.messages) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		back, ok := decode.Messages(exactjson.StringValue(list(messages(c.messages))), tape.RoleUser)
		if !ok {
			t.Errorf("%s: not read", name)
		}
		if diff := cmp.Diff(plainly(c.messages), plainly(back)); diff != "" {
			t.Errorf("%s (-sent +read back):\n%s", name, diff)
		}
		if diff := cmp.Diff(plainly([]decode.Message{{Parts: c.system}}), plainly([]decode.Message{{Parts: decode.System(exactjson.StringValue(list(parts(c.system))))}})); diff != "" {
			t.Errorf("%s, instructions:\n%s", name, diff)
		}
		if tools := decode.ToolDefinitions(exactjson.StringValue(list(definitions(c.tools)))); len(tools) != len(c.tools) || len(tools) > 0 && (tools[0].Name != c.tools[0].Name || !tools[0].Parameters.Equal(c.tools[0].Parameters)) {
			t.Errorf("%s: %d tools of %d", name, len(tools), len(c.tools))
		}
	}
}

// Claude Code sends its instructions apart, and others as a message between those of the conversation.
func TestInstructionsComeFirstWhereAMessageHoldsOthers(t *testing.T) {
	body := `{"model":"m","max_tokens":1,"system":"Be brief.","messages":[{"role":"user","content":"q"},{"role":"system","content":"Agents: none."}]}`
	tap := New()
	front := httptest.NewServer(tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`)
	}), "example.test"))
	defer front.Close()
	resp, err := http.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	td, _ := tap.Traces(Options{})
	if all := tapes(t, td); len(all) != 1 || all[0].Input.SystemPrompt == nil || *all[0].Input.SystemPrompt != "Be brief." {
		t.Errorf("%+v", all)
	}
}

func plainly(all []decode.Message) (out []string) {
	for _, m := range all {
		line := string(m.Role) + " " + m.Name
		for _, p := range m.Parts {
			line += fmt.Sprintf("|%s %q %s %s %s %q %s %v %v %s %s %s %d %s", p.Type, p.Text, p.ID, p.Name, p.Args.JSON(), p.ArgsText, p.Result.JSON(), p.IsError, p.Envelope, p.MIMEType, p.URI, p.SHA256, p.Size, p.Value.JSON())
		}
		out = append(out, line)
	}
	return out
}

// chat is a call of chat completions.
func chat(system, tools, answer string, messages ...string) passed {
	body := `{"model":"m","messages":[{"role":"system","content":"` + system + `"},` + strings.Join(messages, ",") + `]`
	if tools != "" {
		body += `,"tools":[{"type":"function","function":{"name":"` + tools + `","parameters":{"type":"object"}}}]`
	}
	return passed{Path: "/v1/chat/completions", ContentType: "application/json", Request: json.RawMessage(body + "}"), Response: `{"id":"r","model":"m-1","choices":[{"message":` + answer + `,"finish_reason":"stop"}]}`}
}

func user(text string) string { return `{"role":"user","content":"` + text + `"}` }
func says(text string) string { return `{"role":"assistant","content":"` + text + `"}` }
func asks(id, args string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{\"n\":` + args + `}"}}]}`
}
func result(id, text string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"` + text + `"}`
}

func TestConversations(t *testing.T) {
	failed := chat("s", "f", says("x"), user("q"))
	failed.status, failed.Response = 429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`
	first := chat("s", "f", asks("c1", "1"), user("q"))
	previous := func(id, previous, input, output string) passed {
		return passed{Path: "/v1/responses", ContentType: "application/json", Request: json.RawMessage(`{"model":"m","instructions":"s","previous_response_id":"` + previous + `","input":[` + input + `]}`), Response: `{"id":"` + id + `","status":"completed","output":[` + output + `]}`}
	}
	for name, c := range map[string]struct {
		calls []passed
		want  string // the conversation of each call
	}{
		"a loop":                        {[]passed{first, chat("s", "f", asks("c2", "2"), user("q"), asks("c1", "1"), result("c1", "r")), chat("s", "f", says("done"), user("q"), asks("c1", "1"), result("c1", "r"), asks("c2", "2"), result("c2", "r"))}, "aaa"},
		"a title":                       {[]passed{chat("Write a title.", "", says("T"), user("q")), first, chat("s", "f", says("done"), user("q"), asks("c1", "1"), result("c1", "r"))}, "abb"},
		"two turns":                     {[]passed{chat("s", "", says("one"), user("q")), chat("s", "", says("two"), user("q"), says("one"), user("and?"))}, "aa"},
		"a system prompt with the time": {[]passed{chat("12:00", "f", says("one"), user("q")), chat("12:01", "f", says("two"), user("q"), says("one"), user("and?"))}, "aa"},
		"parallel agents with the same ids": {[]passed{chat("s", "f", asks("c1", "1"), user("ann")), chat("s", "f", asks("c1", "1"), user("bob")),
			chat("s", "f", says("done"), user("ann"), asks("c1", "1"), result("c1", "r")), chat("s", "f", says("done"), user("bob"), asks("c1", "1"), result("c1", "r"))}, "abab"},
		"a sub-agent":                     {[]passed{first, chat("sub", "g", says("found"), user("look")), chat("s", "f", says("done"), user("q"), asks("c1", "1"), result("c1", "found"))}, "aba"},
		"tried again":                     {[]passed{failed, first}, "aa"},
		"asked twice":                     {[]passed{first, first}, "ab"},
		"ids replaced":                    {[]passed{first, chat("s", "f", says("done"), user("q"), asks("own", "1"), result("own", "r"))}, "aa"},
		"the history rewritten, ids kept": {[]passed{first, chat("s2", "g", says("done"), user("summary"), asks("c1", "1"), result("c1", "r"))}, "aa"},
		"kept at the provider":            {[]passed{previous("r1", "", user("q"), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}`), previous("r2", "r1", user("and?"), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}`)}, "aa"},
		"another of the same answer":      {[]passed{chat("s", "f", says("ok"), user("ann")), chat("t", "g", says("x"), user("bob"), says("ok"), user("more"))}, "ab"},
	} {
		var calls []*call
		tap := ticking()
		for _, p := range c.calls {
			pass(t, tap, p)
		}
		for _, x := range tap.calls {
			one, err := readCall(x)
			if err != nil {
				t.Fatal(name, err)
			}
			calls = append(calls, one)
		}
		got := make([]byte, len(calls))
		for i, of := range group(calls) {
			for _, p := range of.calls {
				got[slices.Index(calls, p.call)] = byte('a' + i)
			}
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if td, sum := tap.Traces(Options{OneRun: true}); sum.Conversations != 1 || td.SpanCount() != len(calls)+1 {
			t.Errorf("%s: as one run: %+v, %d spans", name, sum, td.SpanCount())
		}
	}
}

// Instructions beside the messages and among them are all on the tape, in their order.
func TestInstructionsInTwoPlacesAreKept(t *testing.T) {
	tap := ticking()
	pass(t, tap, passed{Path: "/v1/messages", ContentType: "application/json", Response: `{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
		Request: json.RawMessage(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"first"}],"messages":[{"role":"user","content":"q"},{"role":"system","content":"then"}]}`)})
	td, _ := tap.Traces(Options{})
	var texts []string
	one := tapes(t, td)[0]
	for _, id := range one.Events[0].Request.Messages {
		for _, p := range one.Messages[id].Parts {
			texts = append(texts, string(one.Messages[id].Role)+" "+p.Text)
		}
	}
	if !slices.Equal(texts, []string{"system first", "user q", "system then"}) {
		t.Errorf("%q", texts)
	}
}

// A conversation that the provider keeps is whole on the tape.
func TestWhatTheProviderKeepsIsPutBefore(t *testing.T) {
	tap := ticking()
	for _, c := range []passed{
		{Path: "/v1/responses", Request: json.RawMessage(`{"model":"m","instructions":"s","input":"q"}`), Response: `{"id":"r1","status":"completed","output":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]}`},
		{Path: "/v1/responses", Request: json.RawMessage(`{"model":"m","instructions":"s","previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c1","output":"seven"}]}`), Response: `{"id":"r2","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"7"}]}]}`},
	} {
		c.ContentType = "application/json"
		pass(t, tap, c)
	}
	td, _ := tap.Traces(Options{})
	all := tapes(t, td)
	if len(all) != 1 || all[0].Fidelity.Grade != tape.GradeOffline || len(all[0].Events) != 3 || all[0].Events[1].Result.Str() != "seven" || len(all[0].Events[2].Request.Messages) != 4 {
		t.Errorf("%s", told(all[0]))
	}
}

func TestFailures(t *testing.T) {
	const stream = "text/event-stream"
	for name, c := range map[string]struct {
		status        int
		kind, body    string
		path, request string
		want          string
	}{
		"openai":             {429, "application/json", `{"error":{"message":"slow down","type":"rate_limit_error","code":"x"}}`, "", "", "rate_limit_error: 429 slow down"},
		"anthropic":          {529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, "/v1/messages", "", "overloaded_error: 529 busy"},
		"gemini":             {503, "application/json", `{"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}`, "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"q"}]}]}`, "UNAVAILABLE: 503 later"},
		"a gateway":          {403, "application/json", `{"message":"no"}`, "", "", "403: 403 no"},
		"no JSON":            {502, "text/html", "<html>bad</html>", "", "", "502: 502 <html>bad</html>"},
		"nothing":            {500, "", "", "", "", "500: 500"},
		"within a stream":    {200, stream, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\"}}\n\n", "", "", "server_error: gone"},
		"of messages":        {200, stream, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", "/v1/messages", "", "overloaded_error: busy"},
		"of responses":       {200, stream, "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"gone\"}}}\n\n", "/v1/responses", `{"model":"m","input":"q"}`, "server_error: gone"},
		"broken off":         {200, stream, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "", "", "broken_off: the answer broke off before its end"},
		"broken off, later":  {200, stream, "data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n\ndata: {\"type\":\"content_bl", "/v1/messages", "", "broken_off: the answer broke off before its end"},
		"unreadable":         {200, "application/json", "{", "", "", "unreadable: the answer cannot be read: it is not JSON"},
		"of no protocol":     {200, stream, "data: {\"a\":1}\n\n", "", "", "unreadable: the answer cannot be read: its events are of no protocol that is known"},
		"an error that is 0": {200, "application/json", `{"id":"r","error":null,"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}`, "", "", ""},
	} {
		tap := ticking()
		p := passed{Path: c.path, ContentType: c.kind, Request: json.RawMessage(c.request), Response: c.body, status: c.status}
		if p.Path == "" {
			p.Path = "/v1/chat/completions"
		}
		if c.request == "" {
			p.Request = json.RawMessage(`{"model":"m","messages":[` + user("q") + `]}`)
		}
		pass(t, tap, p)
		td, sum := tap.Traces(Options{})
		all := tapes(t, td)
		if sum.Calls != 1 || len(all) != 1 || len(all[0].Events) != 1 {
			t.Fatalf("%s: %+v", name, sum)
		}
		got := ""
		if e := all[0].Events[0]; e.Error != nil {
			got = e.Error.Type + ": " + e.Error.Message
			if e.Status != tape.EventError || all[0].Run.Status != tape.StatusError || e.Response != nil {
				t.Errorf("%s: %s", name, told(all[0]))
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWhatIsNoModelCallPassesAndIsNoted(t *testing.T) {
	tap := New()
	h := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), "")
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/v1/models", nil), httptest.NewRequest(http.MethodGet, "/v1/models", nil),
		httptest.NewRequest(http.MethodPost, "/v1/files", strings.NewReader("x")), httptest.NewRequest(http.MethodGet, "/v1/chat/completions", nil),
	} {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	socket := httptest.NewRequest(http.MethodGet, "/v1/responses", nil)
	socket.Header.Set("Upgrade", "websocket")
	refused := httptest.NewRecorder()
	if h.ServeHTTP(refused, socket); refused.Code != http.StatusUpgradeRequired {
		t.Errorf("a WebSocket: %d", refused.Code)
	}
	for i := range 2 * maxPaths {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, fmt.Sprint("/x/", i), nil))
	}
	pass(t, tap, passed{Path: "/v1/chat/completions", Request: json.RawMessage("not json"), Response: "{}"})
	td, sum := tap.Traces(Options{})
	if td.SpanCount() != 0 || sum.Calls != 0 || sum.Lost != 1 || len(sum.Other) != maxPaths+1 {
		t.Fatalf("%d paths, %+v", len(sum.Other), sum)
	}
	if !slices.Contains(sum.Other, Path{"GET /v1/models", 2}) || !slices.Contains(sum.Other, Path{"POST /v1/files", 1}) || !slices.Contains(sum.Other, Path{"WebSocket /v1/responses, refused", 1}) || sum.Other[0].Name != "more" {
		t.Errorf("%+v", sum.Other)
	}
}

// The ids follow from the seed, from what was asked and from the order within a conversation, not from which
// of two conversations was first.
func TestIDsDoNotDependOnTheOrderOfConversations(t *testing.T) {
	ids := func(seed string, calls ...passed) (all []string) {
		tap := ticking()
		for _, c := range calls {
			pass(t, tap, c)
		}
		td, _ := tap.Traces(Options{Seed: seed})
		for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			all = append(all, span.TraceID().String()+span.SpanID().String())
		}
		slices.Sort(all)
		return all
	}
	a, b := chat("s", "f", says("x"), user("ann")), chat("s", "f", says("x"), user("bob"))
	one := ids("1", a, b)
	if !slices.Equal(one, ids("1", b, a)) || slices.Equal(one, ids("2", a, b)) || len(slices.Compact(slices.Clone(one))) != 4 {
		t.Error(one)
	}
	if twice := ids("1", a, a); len(slices.Compact(twice)) != 4 {
		t.Error("the same question, asked twice, is one run")
	}
}
