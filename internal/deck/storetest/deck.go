// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// KeepsARun writes a part and a generation to a new deck, twice, and finds and reads it again.
func KeepsARun(t *testing.T, url string) {
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

// ReportsMissingBucket checks that a bucket that does not exist is a permanent error and no missing object. The URL is that of the test bucket.
func ReportsMissingBucket(t *testing.T, url string) {
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

// RefusesURLs checks that URLs are refused, and that the secret in them is not told.
func RefusesURLs(t *testing.T, secret string, urls ...string) {
	t.Helper()
	for _, url := range urls {
		_, err := deck.OpenStore(t.Context(), url)
		if !errors.Is(err, deck.ErrBadURL) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
