// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
)

// startView runs tapedeck view and returns the address that it prints, and what ends it.
func startView(t *testing.T, args ...string) (address string, end func() (int, string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		c := run(ctx, append([]string{"view"}, args...), strings.NewReader(""), w, &stderr)
		_ = w.Close()
		code <- c
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("code %d: %s", <-code, &stderr)
	}
	return strings.TrimSpace(line), func() (int, string) {
		cancel()
		return <-code, stderr.String()
	}
}

func TestViewShowsADeckOfEitherLayout(t *testing.T) {
	files, reels := bothLayouts(t)
	var pages [2]string
	for i, deck := range []string{files, reels} {
		t.Setenv(deckVariable, deck)
		address, end := startView(t, "--listen", "127.0.0.1:0")
		if strings.Contains(address, "token") {
			t.Error(address)
		}
		for _, at := range []string{"?sort=tool_calls", "run/" + forgeRun, "run/" + forgeRun[:10] + "/evidence"} {
			pages[i] += viewed(t, http.DefaultClient, address+at)
		}
		pages[i] = strings.NewReplacer(deck, "DECK", "Runs · "+filepath.Base(deck), "", "</span> "+filepath.Base(deck), "").Replace(pages[i])
		if code, text := end(); code != exitOK || !strings.Contains(text, "is shown at the address below") {
			t.Errorf("%d %s", code, text)
		}
	}
	if evidence := pages[0][strings.LastIndex(pages[0], "<!DOCTYPE"):]; !strings.Contains(evidence, "records 1 to 11 of 11") || !strings.Contains(evidence, "a2a.tasks/send") {
		t.Errorf("the evidence shows no spans: %.2000s", evidence)
	}
	if pages[0] != pages[1] || !strings.Contains(pages[0], "http_request") {
		t.Errorf("the layouts are shown otherwise: %d and %d bytes", len(pages[0]), len(pages[1]))
	}
}

func viewed(t *testing.T, c *http.Client, at string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %v %.200s", at, resp.Status, err, body)
	}
	return string(body)
}

func TestViewDemandsATokenBeyondLoopback(t *testing.T) {
	dir, _ := newDeck(t)
	address, end := startView(t, dir, "--listen", "0.0.0.0:0")
	bare, _, found := strings.Cut(address, "?token=")
	if !found {
		t.Fatal(address)
	}
	bare = strings.Replace(strings.Replace(bare, "0.0.0.0", "127.0.0.1", 1), "[::]", "127.0.0.1", 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", resp.Status)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	_, token, _ := strings.Cut(address, "?token=")
	if list := viewed(t, client, bare+"?token="+token); !strings.Contains(list, "/run/"+forgeRun) {
		t.Errorf("%.500s", list)
	}
	viewed(t, client, bare+"run/"+forgeRun) // the cookie is enough
	if _, text := end(); !strings.Contains(text, "without TLS") || strings.Contains(text, token) {
		t.Error(text)
	}
}

func TestViewSaysWhyItCannot(t *testing.T) {
	dir, _ := newDeck(t)
	t.Setenv(deckVariable, "")
	for want, args := range map[string][]string{
		"view needs a DECK":           {},
		"there is no deck at":         {"nowhere"},
		"want HOST:PORT":              {dir, "--listen", "x"},
		"is empty":                    {dir, "--token-file", write(t, "token", "\n")},
		"shorter than 16":             {dir, "--token-file", write(t, "short", "abc")},
		"--search-limit must be":      {dir, "--search-limit", "0"},
		"TLS needs a certificate":     {dir, "--tls-cert", "x"},
		"accepts at most 1 arg(s), r": {dir, dir},
	} {
		if got := tapedeck(t, append([]string{"view"}, args...)...); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
