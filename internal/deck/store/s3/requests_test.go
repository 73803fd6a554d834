// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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

// A body goes over a connection without TLS in one piece, and the signature covers it.
func TestS3StoreSignsBodiesThatNothingElseProtects(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "whatever-they-say")
	bodies := [][]byte{nil, []byte("x"), bytes.Repeat([]byte("a tape "), 30_000)}
	for _, secure := range []bool{false, true} {
		var sums, signed []string
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.ContentLength != int64(len(body)) || strings.Contains(r.Header.Get("Content-Encoding"), "chunked") {
				t.Errorf("%d bytes of %d, %q: %v", len(body), r.ContentLength, r.Header.Get("Content-Encoding"), err)
			}
			if r.Header.Get("If-None-Match") != "*" {
				t.Error("the write would replace what is there")
			}
			sum := sha256.Sum256(body)
			sums, signed = append(sums, hex.EncodeToString(sum[:])), append(signed, r.Header.Get("X-Amz-Content-Sha256"))
			if !strings.Contains(r.Header.Get("Authorization"), "x-amz-content-sha256") {
				t.Error("the sum is not signed")
			}
			w.Header().Set("ETag", `"x"`)
		})
		server := httptest.NewServer(handler)
		if secure {
			server.Close()
			server = httptest.NewTLSServer(handler)
			certificate := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("SSL_CERT_FILE", certificate)
		}
		defer server.Close()
		store, err := deck.OpenStore(t.Context(), "s3://bucket?region=us-east-1&use_path_style=true&endpoint="+server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for _, body := range bodies {
			if created, err := store.PutNew(t.Context(), "key", body, "text/plain"); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		for i := range bodies {
			if want := map[bool]string{false: sums[i], true: "UNSIGNED-PAYLOAD"}[secure]; signed[i] != want {
				t.Errorf("over TLS: %t, body %d is signed as %s, want %s", secure, i, signed[i], want)
			}
		}
	}
}
