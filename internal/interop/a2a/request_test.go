// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const parts = `[{"kind":"text","text":"it's <50 & \"hot\"? 日本 $(rm) \u0000"},{"kind":"data","data":{"n":1.5}},{"kind":"file","file":{"name":"a.txt","bytes":"aGk="}}]`

func recorded(t testing.TB, method, params string) *tape.Tape {
	t.Helper()
	v, err := exactjson.Parse(params)
	if err != nil {
		t.Fatal(err)
	}
	return &tape.Tape{
		Run: tape.Run{RunID: "r1"},
		Input: tape.Input{
			A2A:        &tape.A2A{Method: method, Params: v, Headers: map[string]string{"X-Workflow-ID": "wf 'n' 1"}, Missing: []string{"id", "method"}},
			Provenance: tape.Provenance{"a2a.method": tape.Inferred, "user_message": tape.Recovered},
		},
	}
}

func body(t *testing.T, r *Request) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(string(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTaskRequestIsTheRecordedOne(t *testing.T) {
	params := `{"id":"t1","message":{"role":"user","parts":` + parts + `}}`
	for _, method := range []string{"tasks/send", "tasks/sendSubscribe"} {
		r, err := FromTape(recorded(t, method, params), Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := exactjson.Parse(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
		if got := body(t, r); !got.Equal(want) {
			t.Errorf("%s", got.JSON())
		}
		if diff := cmp.Diff([]string{"id", "method"}, r.Missing); diff != "" || r.Provenance["method"] != tape.Inferred || len(r.Provenance) != 1 {
			t.Errorf("missing %v, provenance %v", r.Missing, r.Provenance)
		}
	}
}

// TestMessageRequestIsReadByTheProtocolsOwnTypes: what is not on the tape but required is the same each time.
func TestMessageRequestIsReadByTheProtocolsOwnTypes(t *testing.T) {
	r, err := FromTape(recorded(t, "tasks/send", `{"id":"t1","message":{"role":"user","parts":`+parts+`}}`), Options{Method: "message/send", TaskID: "replay-1"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Method string
		Params a2a.MessageSendParams
	}
	if err := json.Unmarshal(r.Body, &got); err != nil {
		t.Fatal(err)
	}
	if m := got.Params.Message; got.Method != "message/send" || m.ID != "r1" || m.TaskID != "replay-1" || m.Role != a2a.MessageRoleUser || len(m.Parts) != 3 {
		t.Errorf("%s", r.Body)
	}
	if _, labelled := r.Provenance["method"]; labelled || cmp.Diff([]string{"id"}, r.Missing) != "" {
		t.Errorf("what was chosen is neither missing nor inferred: %v %v", r.Missing, r.Provenance)
	}
}

// parts10 are the parts as A2A 1.0 writes them.
const parts10 = `[{"text":"it's <50 & \"hot\"? 日本 $(rm) \u0000"},{"data":{"n":1.5}},{"raw":"aGk=","filename":"a.txt"}]`

// TestARequestIsWrittenInTheVersionOfItsMethod: a message recorded in any version, sent in any other.
func TestARequestIsWrittenInTheVersionOfItsMethod(t *testing.T) {
	before, v10 := `{"role":"user","parts":`+parts+`}`, `{"role":"ROLE_USER","parts":`+parts10+`}`
	for _, c := range []struct{ recorded, params, method, want, version string }{
		{"tasks/send", `{"id":"t1","message":` + before + `}`, "SendMessage", `{"message":{"messageId":"r1","taskId":"t1","role":"ROLE_USER","parts":` + parts10 + `}}`, "1.0"},
		{"message/stream", `{"message":` + before + `}`, "SendStreamingMessage", `{"message":{"messageId":"r1","role":"ROLE_USER","parts":` + parts10 + `}}`, "1.0"},
		{"SendMessage", `{"message":` + v10 + `}`, "", `{"message":{"messageId":"r1","role":"ROLE_USER","parts":` + parts10 + `}}`, "1.0"},
		{"SendMessage", `{"message":{"taskId":"t1","role":"ROLE_USER","parts":` + parts10 + `}}`, "tasks/send", `{"id":"t1","message":` + before + `}`, ""},
		{"SendStreamingMessage", `{"message":{"role":"ROLE_AGENT","parts":[{"url":"http://h/","mediaType":"text/plain","metadata":{"a":1}}]}}`, "message/send",
			`{"message":{"kind":"message","messageId":"r1","role":"agent","parts":[{"kind":"file","file":{"uri":"http://h/","mimeType":"text/plain"},"metadata":{"a":1}}]}}`, ""},
		// 1.0 has media types for every part, and any value as data.
		{"SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"x","mediaType":"text/markdown"},{"data":9007199254740993}]}}`, "",
			`{"message":{"messageId":"r1","role":"ROLE_USER","parts":[{"text":"x","mediaType":"text/markdown"},{"data":9007199254740993}]}}`, "1.0"},
	} {
		r, err := FromTape(recorded(t, c.recorded, c.params), Options{Method: c.method})
		if err != nil {
			t.Errorf("%s as %s: %v", c.recorded, c.method, err)
			continue
		}
		want, err := exactjson.Parse(c.want)
		if err != nil {
			t.Fatal(err)
		}
		got := body(t, r)
		if !got.Get("params").Equal(want) || got.Get("method").Str() != r.Method {
			t.Errorf("%s as %s: %s", c.recorded, c.method, r.Body)
		}
		version := ""
		for _, h := range r.Headers {
			if h.Name == "A2A-Version" {
				version = h.Value
			}
		}
		if version != c.version {
			t.Errorf("%s as %s: version %q", c.recorded, c.method, version)
		}
	}
	for _, part := range []string{`{"text":"x","filename":"a"}`, `{"data":7}`, `{"text":"x","more":1}`, `{"text":"x","raw":"aGk="}`, `{"raw":"§"}`, `{}`, `"x"`, `{"kind":"text","text":"x"}`, `{"text":"x","metadata":[]}`} {
		r, err := FromTape(recorded(t, "SendMessage", `{"message":{"role":"ROLE_USER","parts":[`+part+`]}}`), Options{Method: "message/send"})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v", part, r)
		}
	}
	if r, err := FromTape(recorded(t, "tasks/send", `{"message":{"role":"system","parts":[{"kind":"text","text":"x"}]}}`), Options{Method: "SendMessage"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("%+v", r)
	}
}

func TestWithoutAMessageThereIsNoBody(t *testing.T) {
	r, err := FromTape(recorded(t, "tasks/send", `{"id":"t1"}`), Options{})
	if err != nil || r.Body != nil || len(r.Headers) == 0 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestHistoryCountsTheSession(t *testing.T) {
	tp := recorded(t, "tasks/send", `{}`)
	tp.Input.Messages = []string{"s", "u1", "a1", "u2"}
	tp.Messages = map[string]tape.Message{"s": {Role: tape.RoleSystem}, "u1": {Role: tape.RoleUser}, "a1": {Role: tape.RoleAssistant}, "u2": {Role: tape.RoleUser}}
	if r, err := FromTape(tp, Options{}); err != nil || r.History != 2 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestWhatCannotBeSentIsRefused(t *testing.T) {
	for name, tp := range map[string]*tape.Tape{
		"method":     recorded(t, "tasks/get", `{"id":"t1"}`),
		"part":       recorded(t, "tasks/send", `{"message":{"role":"user","parts":[{"kind":"sound"}]}}`),
		"no parts":   recorded(t, "tasks/send", `{"message":{"role":"user","parts":[]}}`),
		"no role":    recorded(t, "tasks/send", `{"message":{"parts":`+parts+`}}`),
		"no message": recorded(t, "tasks/send", `{"message":"x"}`),
		"unknown":    recorded(t, "tasks/send", `{"message":{"role":"user","parts":[{"kind":"text","text":"x","more":1}]}}`),
		"big number": recorded(t, "tasks/send", `{"message":{"role":"user","parts":[{"kind":"data","data":{"id":9007199254740993}}]}}`),
		"header":     {Input: tape.Input{A2A: &tape.A2A{Method: "tasks/send", Headers: map[string]string{"X-Workflow-ID": "a\r\nHost: evil"}}}},
		"framing":    {Input: tape.Input{A2A: &tape.A2A{Method: "tasks/send", Headers: map[string]string{"Transfer-Encoding": "chunked"}}}},
	} {
		if r, err := FromTape(tp, Options{}); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "evil") {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
	if _, err := FromTape(&tape.Tape{}, Options{}); !errors.Is(err, ErrNoRequest) {
		t.Error(err)
	}
}

// TestWrittenRequestsArrive: both written forms bring the same bytes to a server.
func TestWrittenRequestsArrive(t *testing.T) {
	r, err := FromTape(recorded(t, "tasks/send", `{"id":"t1","message":{"role":"user","parts":`+parts+`}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, req *http.Request) {
		t.Helper()
		got, err := io.ReadAll(req.Body)
		if err != nil || string(got) != string(r.Body) || req.Method != http.MethodPost || req.URL.Path != "/a" ||
			req.Header.Get("X-Workflow-ID") != "wf 'n' 1" || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %s %s %v %s", err, req.Method, req.URL, req.Header, got)
		}
	}
	t.Run("http", func(t *testing.T) {
		text, err := r.HTTP(&url.URL{Scheme: "http", Host: "h:1", Path: "/a"})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		check(t, req)
	})
	t.Run("curl", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
				t.Fatal("curl is not installed")
			}
			t.Skip("curl is not installed")
		}
		arrived := 0
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			arrived++
			check(t, req)
		}))
		defer server.Close()
		to, err := url.Parse(server.URL + "/a")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", r.Curl(to)).CombinedOutput(); err != nil || arrived != 1 {
			t.Errorf("%v %d %s", err, arrived, out)
		}
	})
}

// FuzzFromTape: whatever stands on a tape gives a request whose body is what the tape says, or an error.
func FuzzFromTape(f *testing.F) {
	f.Add("tasks/send", `{"id":"t1","message":{"role":"user","parts":`+parts+`}}`, "X-A", "b")
	f.Add("message/stream", `{"message":{"role":"user","taskId":"t","parts":[{"kind":"text","text":""}]}}`, "Accept", "x")
	f.Add("tasks/send", `{"message":{"role":"user","parts":[{"kind":"file","file":{"uri":"u","bytes":"b"}}]}}`, "a b", "\n")
	f.Add("SendMessage", `{"message":{"role":"ROLE_USER","parts":`+parts10+`}}`, "A2A-Version", "0.3")
	f.Add("SendStreamingMessage", `{"message":{"role":"user","parts":`+parts+`}}`, "X-A", "b")
	f.Add("message/send", `{"message":{"role":"ROLE_AGENT","parts":[{"data":null}]}}`, "X-A", "b")
	f.Fuzz(func(t *testing.T, method, params, name, value string) {
		v, err := exactjson.Parse(params)
		if err != nil {
			return
		}
		tp := &tape.Tape{Input: tape.Input{A2A: &tape.A2A{Method: method, Params: v, Headers: map[string]string{name: value}}}}
		r, err := FromTape(tp, Options{})
		if err != nil || r.Body == nil {
			return
		}
		got, want := body(t, r).Get("params").Get("message"), v.Get("message")
		is, was := got.Get("parts"), want.Get("parts")
		if of10 := func(m exactjson.Value) bool { return strings.HasPrefix(m.Get("role").Str(), "ROLE_") }; of10(got) != of10(want) { // the other form, and back
			back := to10
			if of10(got) {
				back = to03
			}
			if is, err = convert(is, back); err != nil {
				t.Fatalf("%s became %s: %v", params, r.Body, err)
			}
		}
		if !is.Equal(was) {
			t.Errorf("%s became %s", params, r.Body)
		}
		text, err := r.HTTP(&url.URL{Scheme: "http", Host: "h"})
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text))); err != nil {
			t.Errorf("%v\n%q", err, text)
		}
	})
}
