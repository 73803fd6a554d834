// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// TestAWriteIsOneRequest: whatever its size; a service bills requests.
func TestAWriteIsOneRequest(t *testing.T) {
	var requests, bytes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		n, _ := io.Copy(io.Discard, r.Body)
		bytes.Add(n)
		if r.Method != http.MethodPut || r.Header.Get("If-None-Match") != "*" {
			t.Errorf("%s %s, If-None-Match %q", r.Method, r.URL, r.Header.Get("If-None-Match"))
		}
		w.Header().Set("ETag", `"x"`)
	}))
	defer server.Close()
	store, err := deck.OpenStore(t.Context(), "s3://bucket?region=us-east-1&anonymous=true&use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, size := range []int{1, 2 << 20, 70 << 20} {
		requests.Store(0)
		bytes.Store(0)
		if created, err := store.PutNew(t.Context(), "key", make([]byte, size), "text/plain"); err != nil || !created {
			t.Fatal(created, err)
		}
		if requests.Load() != 1 || bytes.Load() < int64(size) {
			t.Errorf("%d requests with %d bytes for an object of %d", requests.Load(), bytes.Load(), size)
		}
	}
}
