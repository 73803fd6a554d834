// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestTheURLOfAnOracleIsWhatCallsArePostedTo(t *testing.T) {
	for address, want := range map[string][2]string{
		"http://h":                            {"http://h/v1/tool-calls", ""},
		"http://h/?run=4bf9":                  {"http://h/v1/tool-calls?run=4bf9", "4bf9"},
		"https://h:1/v1/":                     {"https://h:1/v1/tool-calls", ""},
		"http://h/v1/runs/4bf9":               {"http://h/v1/runs/4bf9/tool-calls", "4bf9"},
		"http://h/p/v1/runs/a%2Fb/tool-calls": {"http://h/p/v1/runs/a%2Fb/tool-calls", "a/b"},
		"http://h/oracle?key=k&run=r#x":       {"http://h/oracle?key=k&run=r", "r"},
		"http://h/v1/tool-calls":              {"http://h/v1/tool-calls", ""},
		"http://[::1]:8321/eval/oracle/":      {"http://[::1]:8321/eval/oracle/", ""},
	} {
		e, err := NewEndpoint(address)
		if err != nil || e.target.String() != want[0] || e.Report().Run != want[1] || strings.Contains(e.Report().URL, "?") {
			t.Errorf("%s: %+v, %v", address, e, err)
		}
	}
	for _, address := range []string{"", "h", "ftp://h/", "http:///x", "http://u:hunter2@h/", "http://h/%zz"} {
		if _, err := NewEndpoint(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestACallIsPassedOnAsItCame: arguments keep every digit, a repeated call counts once, and what is no tool
// call is not passed on.
func TestACallIsPassedOnAsItCame(t *testing.T) {
	var got []string
	answers := []string{`{"hit":true,"response":"r","is_error":true}`, `{"hit":true,"response":"r","repeated":true}`, `{"hit":false,"reason":"truncated"}`, `{"hit":false,"reason":"some words of the record"}`}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
		_, _ = io.WriteString(w, answers[len(got)-1])
	}))
	defer s.Close()
	e, err := NewEndpoint(s.URL + "/oracle?run=r1")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var noted []Asked
	e.Token, e.Note = "t", func(a Asked) { noted = append(noted, a) }
	ask := func(method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	const call = `{"replay_run_id":"r17","tool_name":"t","args":{"id":9007199254740993},"turn":1.0}`
	for i, answer := range answers {
		if status, body := ask("POST", "/v1/tool-calls", call); status != 200 || body != answer {
			t.Errorf("%d: %d %s", i, status, body)
		}
		if want := `/oracle?run=r1 Bearer t {"replay_run_id":"r17","tool_name":"t","args":{"id":9007199254740993},"turn":1.0,"run":"r1"}`; got[i] != want {
			t.Errorf("%s", got[i])
		}
	}
	hash := oracle.HashText(`{"id":9007199254740993}`)
	if want := []Asked{{"t", hash, oracle.RecordedError}, {"t", hash, oracle.Unservable}, {"t", hash, oracle.NoEntry}}; !slices.Equal(noted, want) {
		t.Errorf("%+v", noted)
	}
	for body, status := range map[string]int{"{": 400, "[]": 400, `{"tool_name":"t"}`: 400, `{"args":{}}`: 400} {
		if is, answer := ask("POST", "/", body); is != status {
			t.Errorf("%s: %d %s", body, is, answer)
		}
	}
	if status, _ := ask("GET", "/v1/sessions/r17/report", ""); status != 404 || len(got) != len(answers) {
		t.Errorf("%d, %q", status, got)
	}
	r := e.Report()
	if r.Calls != 7 || r.Broken != 4 || r.Outcomes[oracle.RecordedError] != 1 || len(r.NotServed) != 2 || r.NotServed[0].Reason != "truncated" || r.NotServed[1].Reason != "" {
		t.Errorf("%+v", r)
	}
}

func FuzzWhatAnOracleIsAskedAndAnswers(f *testing.F) {
	f.Add(`{"replay_run_id":"r17","tool_name":"t","args_raw":"{ }","run":null}`, `{"hit":false,"reason":"no_entry","nearest":[]}`, "http://h/v1/runs/a%2Fb?run=c")
	f.Add(`{"tool_name":"t","args_hash":"00"}`, `{"hit":true,"response":"r"}`, "http://h/oracle")
	f.Fuzz(func(t *testing.T, request, answer, address string) {
		if v, asked, err := readAsked(request); err == nil {
			again, other, err := readAsked(withRun(v, "run-a"))
			if err != nil || other != asked || again.Get("run").Str() == "" {
				t.Errorf("%q became %q: %v", request, again.JSON(), err)
			}
		}
		if v, err := exactjson.Parse(answer); err == nil {
			if o, _ := outcomeOf(v); !slices.Contains(oracle.Outcomes, o) || o.Served() != v.Get("hit").True() {
				t.Errorf("%q: %s", answer, o)
			}
		}
		if e, err := NewEndpoint(address); err == nil && (e.target.Host == "" || e.target.User != nil) {
			t.Errorf("%q: %s", address, e.target)
		}
	})
}
