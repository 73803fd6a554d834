// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package gcsdeck_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/gcsdeck"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(int) { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), // idle connections of the SDK's own client
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestGCSStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.GCS(t).URL)
}

func TestGCSDeckKeepsARun(t *testing.T) {
	d, err := deck.Open(t.Context(), decktest.GCS(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	place := deck.Place{Area: deck.AreaRuns, Tenant: "default", TraceID: strings.Repeat("ab", 16)}
	digest, created, err := d.PutPart(t.Context(), place, []byte("evidence"))
	if err != nil || !created {
		t.Fatal(created, err)
	}
	gen := deck.NewGeneration(1, []string{digest}, nil)
	runs := []deck.RunFiles{{Root: strings.Repeat("1", 16), Files: []deck.File{{Name: deck.TapeFile, Body: []byte("{}")}}}}
	for _, want := range []bool{true, false} {
		if created, err := d.PutGeneration(t.Context(), place, gen, runs); err != nil || created != want {
			t.Fatal(created, err)
		}
	}
	refs, err := d.Find(t.Context(), place.TraceID[:8])
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

func TestGCSMissingBucketIsPermanentAndNotAMissingObject(t *testing.T) {
	s := decktest.GCS(t)
	store, err := deck.OpenStore(t.Context(), strings.Replace(s.URL, "tapedeck-test", "tapedeck-none", 1))
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

func TestGCSRefusesUnknownOptions(t *testing.T) {
	const secret = "hunter2"
	for _, url := range []string{"gs://bucket?key=" + secret, "gs://", "gs://bucket?anonymous=" + secret, "gs://a:" + secret + "@bucket"} {
		_, err := deck.OpenStore(t.Context(), url)
		if !errors.Is(err, deck.ErrBadURL) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
