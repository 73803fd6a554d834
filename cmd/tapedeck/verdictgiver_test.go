// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeTakesVerdicts(t *testing.T) {
	dir, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if got := tapedeck(t, "derive", "../../testdata/conventions/t0.jsonl", "--to", dir, "--redact", "off"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	const secret = "a-token-of-some-length"
	if err := os.WriteFile(token, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--verdicts", dir, "--token-file", token)
	post := func(body, sent string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Listening+"/v1/verdicts", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+sent)
		response, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	const run = `"run_id":"a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"`
	const good = `{` + run + `,"name":"thumbs","label":"down","id":"user-7","explanation":"mail bob@example.com","at":"2026-11-20T12:00:00Z"}`
	for _, c := range []struct {
		body, token string
		want        int
	}{
		{good, "another-token-of-it", http.StatusUnauthorized},
		{good, secret, http.StatusCreated},
		{good, secret, http.StatusCreated}, // again
		{`{` + run + `,"name":"thumbs"}`, secret, http.StatusBadRequest},
		{`{` + run + `,"name":"thumbs","label":"x","other":1}`, secret, http.StatusBadRequest},
		{`{` + run + `,"name":"thumbs","label":"x","event":99}`, secret, http.StatusUnprocessableEntity},
		{`{"run_id":"/etc/passwd","name":"thumbs","label":"x"}`, secret, http.StatusBadRequest},
		{`{"run_id":"b0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0","name":"thumbs","label":"x"}`, secret, http.StatusNotFound},
		{`{"name":"` + strings.Repeat("x", maxVerdict) + `"}`, secret, http.StatusRequestEntityTooLarge},
	} {
		if got := post(c.body, c.token); got != c.want {
			t.Errorf("%.80s: %d, want %d", c.body, got, c.want)
		}
	}
	if code, _ := s.end(t); code != exitOK {
		t.Errorf("code %d: %s", code, s.stderr)
	}
	shown := tapedeck(t, "show", "a0a0a0a0", "--deck", dir).stdout
	if !strings.Contains(shown, "1 verdict\n") || !strings.Contains(shown, "thumbs: down (of the run, 2026-11-20 12:00:00)") || strings.Contains(shown, "bob@") {
		t.Errorf("%s", shown)
	}
}
