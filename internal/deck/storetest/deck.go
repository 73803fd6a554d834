// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// keepsARun writes a part and a generation to a new deck, twice, and finds and reads it again.
func keepsARun(t *testing.T, url string) {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: strings.Repeat("ab", 16)}
	digest, created, err := d.PutPart(t.Context(), location, []byte("evidence"))
	if err != nil || !created {
		t.Fatal(created, err)
	}
	gen := deck.NewGeneration(1, []string{digest}, nil)
	runs := []deck.RunFiles{{Root: strings.Repeat("1", 16), Files: []deck.File{{Name: deck.TapeFile, Body: []byte("{}")}}}}
	for _, want := range []bool{true, false} {
		if created, err := d.PutGeneration(t.Context(), location, gen, runs); err != nil || created != want {
			t.Fatal(created, err)
		}
	}
	refs, err := d.Find(t.Context(), location.TraceID[:8], "")
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	ref, err := deck.ParseRef(refs[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := deck.ReadRef(t.Context(), ref); err != nil || string(body) != "{}" {
		t.Error(string(body), err)
	}
}

// buries takes a trace away and checks that neither readers nor writers see its location any more, and that it can be found where it went.
func buriesIn(layout deck.Layout) func(*testing.T, deck.Store) {
	return func(t *testing.T, store deck.Store) {
		if _, err := store.PutNew(t.Context(), "tapedeck.json", []byte(`{"kind":"tape-deck","layout":"`+string(layout)+`"}`), "application/json"); err != nil {
			t.Fatal(err)
		}
		buries(t, store)
	}
}

func buries(t *testing.T, store deck.Store) {
	d, err := deck.New(t.Context(), store, "mem://conformance")
	if err != nil {
		t.Fatal(err)
	}
	from := deck.Location{Area: deck.AreaRuns, Tenant: "Some Tenant", TraceID: strings.Repeat("ab", 16)}
	to := from
	to.Area, to.ReplayRunID = deck.AreaReplays, "Replay #1"
	other := from
	other.TraceID = strings.Repeat("ac", 16)
	for _, p := range []deck.Location{from, other} {
		digest, _, err := d.PutPart(t.Context(), p, []byte("evidence"))
		if err != nil {
			t.Fatal(err)
		}
		gen := deck.NewGeneration(1, []string{digest}, nil)
		runs := []deck.RunFiles{{Root: strings.Repeat("1", 16), Files: []deck.File{{Name: deck.TapeFile, Body: []byte("{}")}}}}
		if _, err := d.PutGeneration(t.Context(), p, gen, runs); err != nil {
			t.Fatal(err)
		}
	}
	burial := deck.Burial{Reason: deck.ReasonLateTag, MovedTo: &to}
	for _, want := range []int{2, 0} {
		if removed, err := d.Bury(t.Context(), from, burial); err != nil || removed != want {
			t.Fatal(removed, err)
		}
	}
	if _, _, err := d.PutPart(t.Context(), from, []byte("late")); !errors.Is(err, deck.ErrBuried) {
		t.Errorf("a part was written behind the tombstone: %v", err)
	}
	next, why, moved, err := d.MovedTo(t.Context(), from)
	if err != nil || !moved || why != deck.ReasonLateTag || next.Prefix() != to.Prefix() {
		t.Error(next, why, moved, err)
	}
	var left []string
	for p, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, p.Prefix())
	}
	if len(left) != 1 || left[0] != other.Prefix() {
		t.Errorf("listed: %v", left)
	}
}

// reportsMissingBucket checks that a bucket that does not exist is a permanent error and no missing object. The URL is that of the test bucket.
func reportsMissingBucket(t *testing.T, url string) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), strings.Replace(url, "tapedeck-test", "tapedeck-none", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, putErr := store.PutNew(t.Context(), "a/x", []byte("x"), "text/plain")
	_, getErr := store.Get(t.Context(), "a/x")
	var listErr error
	for _, err := range store.List(t.Context(), "a/") {
		listErr = err
	}
	for op, err := range map[string]error{"put": putErr, "get": getErr, "list": listErr} {
		if err == nil || !deck.IsPermanent(err) || errors.Is(err, deck.ErrNotFound) || !strings.Contains(err.Error(), "bucket does not exist") {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// Service checks a driver of a storage service: everything above, each on a new bucket of the test server. urls are refused; they hold the secret.
func Service(t *testing.T, bucket func(testing.TB) string, secret string, urls ...string) {
	t.Run("conforms", func(t *testing.T) { Run(t, bucket(t)) })
	t.Run("keeps a run", func(t *testing.T) { keepsARun(t, bucket(t)) })
	t.Run("missing bucket", func(t *testing.T) { reportsMissingBucket(t, bucket(t)) })
	t.Run("refused URLs", func(t *testing.T) { refusesURLs(t, secret, urls...) })
}

// VerifyNoLeaks runs the tests of a driver and looks for goroutines that are left, but for what SDKs of clouds keep for the process.
func VerifyNoLeaks(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(int) { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the SDK's own client
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// refusesURLs checks that URLs are refused, and that the secret in them is not told.
func refusesURLs(t *testing.T, secret string, urls ...string) {
	t.Helper()
	for _, url := range urls {
		_, err := deck.OpenStore(t.Context(), url)
		if !errors.Is(err, deck.ErrBadURL) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
