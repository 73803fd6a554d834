// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fetched is what a Remote with a policy gives for a reference: the content, or the error in brackets.
func fetched(t *testing.T, p *Policy, uri string, limit int64) string {
	t.Helper()
	target, err := p.Match(uri)
	if err != nil {
		return "[" + err.Error() + "]"
	}
	r := NewRemote(p)
	defer r.Close()
	body, err := r.Fetch(t.Context(), target, limit)
	if err != nil {
		return "[" + err.Error() + "]"
	}
	return string(body)
}

func TestFilesAreReadBelowThePrefixOnly(t *testing.T) {
	dir := t.TempDir()
	allowed := filepath.Join(dir, "up")
	for name, body := range map[string]string{"up/deep/1.json": "[1]", "secret.json": "[2]", "up/exact.json": "[3]"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.json": "../secret.json", "absolute.json": filepath.Join(dir, "secret.json"), "within.json": "deep/1.json"} {
		if err := os.Symlink(to, filepath.Join(allowed, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := policy(t, allowed)
	for name, want := range map[string]string{
		"deep/1.json":   "[1]",
		"within.json":   "[1]",
		"out.json":      "[path escapes from parent]",
		"absolute.json": "[path escapes from parent]",
		"deep":          "[not a regular file]",
		"none.json":     "[no such file or directory]",
	} {
		if got := fetched(t, p, "file://"+allowed+"/"+name, 3); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := fetched(t, p, allowed+"/deep/1.json", 2); got != "[larger than allowed]" {
		t.Error(got)
	}
	exact := filepath.Join(allowed, "exact.json")
	if got := fetched(t, policy(t, exact), exact, 3); got != "[3]" {
		t.Error(got)
	}
}

func TestWebServersAreAskedWithinLimits(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[\"other\"]") }))
	defer other.Close()
	t.Setenv("HTTP_PROXY", other.URL)
	mux := http.NewServeMux()
	mux.HandleFunc("/up/ok", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "[%q]", r.URL.Query().Get("sig")) })
	mux.HandleFunc("/secret", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[2]") })
	mux.Handle("/up/within", http.RedirectHandler("/up/ok", http.StatusFound))
	mux.Handle("/up/outside", http.RedirectHandler("/secret", http.StatusFound))
	mux.Handle("/up/elsewhere", http.RedirectHandler(other.URL+"/up/ok", http.StatusFound))
	mux.Handle("/up/loop", http.RedirectHandler("/up/loop", http.StatusFound))
	mux.Handle("/up/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.HandleFunc("/up/huge", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000000000000") })
	mux.HandleFunc("/up/endless", func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("[", 1<<12))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/up/broken", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/up/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	server := httptest.NewServer(mux)
	defer server.Close()
	p := policy(t, server.URL+"/up", other.URL) // the other one too: a redirect still does not lead there
	const refused = "[redirected to where nothing is allowed, or too often]"
	for path, want := range map[string]string{
		"/up/ok?sig=abc": `["abc"]`,
		"/up/within":     `[""]`,
		"/secret":        "[not allowed]",
		"/up/outside":    refused,
		"/up/elsewhere":  refused,
		"/up/loop":       refused,
		"/up/file":       refused,
		"/up/huge":       "[larger than allowed]",
		"/up/endless":    "[larger than allowed]",
		"/up/none":       "[the server answers 404]",
		"/up/busy":       "[not reachable: the server answers 503]",
		"/up/broken":     "[not reachable: the exchange failed]",
	} {
		if got := fetched(t, p, server.URL+path, 1<<16); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	p := policy(t, server.URL)
	r := NewRemote(p)
	defer r.Close()
	target, err := p.Match(server.URL + "/x?sig=secret")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = r.Fetch(ctx, target, 1)
	if !errors.Is(err, ErrUnreachable) || err.Error() != "not reachable: no answer in time" {
		t.Error(err)
	}
}

func TestObjectStoresAreReadThroughTheirDrivers(t *testing.T) {
	p := policy(t, "s3://bucket/a?nosuchoption=1")
	if got := fetched(t, p, "s3://bucket/a/1.json", 10); !strings.HasPrefix(got, "[open s3: ") {
		t.Error(got)
	}
}
