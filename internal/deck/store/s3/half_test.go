// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

// A gateway that was killed in the middle of a write can answer 412 to its repetition and 404 to everyone who reads.
func TestS3StoreDoesNotTakeARefusedNameForAnObject(t *testing.T) {
	there := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusPreconditionFailed)
		case r.Method == http.MethodHead && there:
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("ETag", `"x"`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	store, err := deck.OpenStore(t.Context(), "s3://bucket?region=us-east-1&anonymous=true&use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if created, err := store.PutNew(t.Context(), "key", []byte("x"), "text/plain"); err == nil || created || deck.IsPermanent(err) {
		t.Errorf("PutNew = %t, %v; want an error that can be tried again", created, err)
	}
	there = true
	if created, err := store.PutNew(t.Context(), "key", []byte("x"), "text/plain"); err != nil || created {
		t.Errorf("PutNew of an object that is there = %t, %v; want false, nil", created, err)
	}
}

// Another writer of the same name may have won without its object being there yet.
func TestS3StoreWaitsForTheObjectOfTheWriterThatWon(t *testing.T) {
	puts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			puts++
			w.WriteHeader(http.StatusPreconditionFailed)
		case r.Method == http.MethodHead && puts > 2:
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("ETag", `"x"`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	store, err := deck.OpenStore(t.Context(), "s3://bucket?region=us-east-1&anonymous=true&use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if created, err := store.PutNew(t.Context(), "key", []byte("x"), "text/plain"); err != nil || created {
		t.Errorf("PutNew = %t, %v; want false, nil: the other writer's object came", created, err)
	}
}

func TestS3StoreReusesItsConnections(t *testing.T) {
	storetest.ReusesConnections(t, func(server string) string {
		return "s3://bucket?region=us-east-1&anonymous=true&use_path_style=true&endpoint=" + server
	}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"x"`)
	})
}
