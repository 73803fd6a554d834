// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// passing is a server that passes on to an endpoint, and its tap.
func passing(t *testing.T, endpoint http.HandlerFunc) (*Tap, *httptest.Server) {
	t.Helper()
	real := httptest.NewServer(endpoint)
	t.Cleanup(real.Close)
	target, err := url.Parse(real.URL)
	if err != nil {
		t.Fatal(err)
	}
	tap, transport := New(), http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	front := httptest.NewServer(tap.Handler(Pass(target, transport), target.Host))
	t.Cleanup(front.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return tap, front
}

const question = `{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}]}`

// Each piece of a stream reaches the client before the next one is made.
func TestStreamsPassWithoutDelay(t *testing.T) {
	arrived := make(chan struct{})
	tap, front := passing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{`{"delta":{"content":"a"}}`, `{"delta":{"content":"b"}}`, `{"delta":{},"finish_reason":"stop"}`} {
			_, _ = io.WriteString(w, `data: {"choices":[`+piece+"]}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-arrived
		}
	})
	resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			arrived <- struct{}{}
		}
	}
	td, sum := tap.Traces(Options{})
	all := tapes(t, td)
	if sum.Calls != 1 || len(all) != 1 || *all[0].Output.Text != "ab" || !all[0].Events[0].Streaming {
		t.Errorf("%+v", sum)
	}
}

func TestHeadersPassAsTheyAre(t *testing.T) {
	var got *http.Request
	var sent []byte
	tap, front := passing(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(r.Context())
		sent, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "r1")
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, `{"choices":[{"message":{"role":"assistant","content":"packed"},"finish_reason":"stop"}]}`)
			_ = z.Close()
		}
	})
	req, err := http.NewRequest(http.MethodPost, front.URL+"/base/v1/chat/completions?api-version=1%2F2", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer sk-1", "X-Api-Key": "k", "User-Agent": "agent/1", "X-Forwarded-For": "10.0.0.1", "Accept-Encoding": "gzip, br"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	if got.RequestURI != "/base/v1/chat/completions?api-version=1%2F2" || string(sent) != question || strings.Contains(front.URL, got.Host) {
		t.Errorf("%s at %s: %s", got.RequestURI, got.Host, sent)
	}
	for name, want := range map[string]string{"Authorization": "Bearer sk-1", "X-Api-Key": "k", "User-Agent": "agent/1", "X-Forwarded-For": "10.0.0.1", "Accept-Encoding": "gzip"} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q", name, got.Header.Get(name))
		}
	}
	if resp.Header.Get("X-Request-Id") != "r1" || resp.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		t.Errorf("%v %q", resp.Header, raw)
	}
	td, _ := tap.Traces(Options{})
	if all := tapes(t, td); len(all) != 1 || *all[0].Output.Text != "packed" {
		t.Errorf("%d tapes", len(all))
	}
}

// A client that hangs up, and an endpoint that does, leave a call that failed.
func TestCallsThatBreakOff(t *testing.T) {
	half := `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
	tap, front := passing(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Who") == "whole" {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, half)
		_ = http.NewResponseController(w).Flush()
		if r.Header.Get("X-Who") == "endpoint" {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	})
	for _, who := range []string{"endpoint", "client", "whole"} {
		req, err := http.NewRequest(http.MethodPost, front.URL+"/v1/chat/completions", strings.NewReader(strings.Replace(question, `"q"`, `"`+who+`"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Who", who)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if who == "client" {
			if _, err := io.ReadFull(resp.Body, make([]byte, len(half))); err != nil {
				t.Error(err)
			}
		} else if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: the client does not hear of it", who)
		}
		_ = resp.Body.Close()
	}
	td, sum := tap.Traces(Options{})
	all := tapes(t, td)
	if sum.Calls != 3 || len(all) != 3 {
		t.Fatalf("%+v", sum)
	}
	for _, one := range all {
		if e := one.Events[0].Error; e == nil || e.Type != "broken_off" {
			t.Errorf("%s", told(one))
		}
	}
}

func TestOneAddressForAllProviders(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{}
	endpoints := Endpoints{}
	for name, path := range map[string]string{"openai": "/openai/v1", "anthropic": "/a", "gemini": ""} {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked[r.Header.Get("X-N")] = name + " " + r.URL.Path
		}))
		defer s.Close()
		endpoint, err := url.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		endpoints[name] = endpoint
	}
	tap := New()
	front := httptest.NewServer(endpoints.Handler(tap, http.DefaultTransport))
	defer front.Close()
	for path, want := range map[string]string{
		"/v1/chat/completions": "openai /openai/v1/chat/completions", "/v1/responses": "openai /openai/v1/responses", "/v1/models": "openai /openai/v1/models",
		"/v1/messages": "anthropic /a/v1/messages", "/v1/messages/count_tokens": "anthropic /a/v1/messages/count_tokens",
		"/v1beta/models/m:generateContent": "gemini /v1beta/models/m:generateContent", "/v1beta/models": "gemini /v1beta/models",
	} {
		req, err := http.NewRequest(http.MethodPost, front.URL+path, strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-N", path)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if mu.Lock(); asked[path] != want {
			t.Errorf("%s: %s, want %s", path, asked[path], want)
		}
		mu.Unlock()
	}
	delete(endpoints, "gemini")
	out := httptest.NewRecorder()
	endpoints.Handler(tap, http.DefaultTransport).ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/v1beta/models/m:generateContent", nil))
	if out.Code != http.StatusNotFound || !strings.Contains(out.Body.String(), "no endpoint of gemini is known") {
		t.Errorf("%d %s", out.Code, out.Body)
	}
}

// A transport reads on behind the end of a request, and breaks the call off if that fails. The server has
// closed the body by then, if the answer has begun.
func TestARequestEndsAlsoWhenItsAnswerHasBegun(t *testing.T) {
	ends := make(chan error, 1)
	front := httptest.NewServer(New().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, len(question)))
		w.(interface{ Unwrap() http.ResponseWriter }).Unwrap().(http.Flusher).Flush()
		_, err := r.Body.Read(make([]byte, 1))
		ends <- err
	}), "host"))
	defer front.Close()
	resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := <-ends; err != io.EOF {
		t.Error(err)
	}
}
