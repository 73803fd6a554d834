// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestS3StoreConformsOnVersityGW(t *testing.T) {
	storetest.Run(t, decktest.VersityGW(t).URL)
}

func TestS3StoreConformsOnMinIO(t *testing.T) {
	storetest.Run(t, decktest.MinIO(t).URL)
}

func TestRefusedCredentialsAndMissingBucketsArePermanent(t *testing.T) {
	s := decktest.S3(t)
	missing := strings.Replace(s.URL, "tapedeck-test", "tapedeck-none", 1)
	check := func(what, url, want string) {
		t.Helper()
		store, err := deck.OpenStore(t.Context(), url)
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
		for op, err := range map[string]error{"put": putErr, "get": getErr, "list": listErr, "delete": store.Delete(t.Context(), "a/x")} {
			if err == nil || !deck.IsPermanent(err) || errors.Is(err, deck.ErrNotFound) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", what, op, err)
			}
		}
	}
	check("missing bucket", missing, "bucket does not exist")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	check("wrong secret", s.URL, "403")
	check("no credentials", s.URL+"&anonymous=true", "403")
	if _, err := deck.Open(t.Context(), s.URL); !deck.IsPermanent(err) {
		t.Errorf("open: %v", err)
	}
}

func TestUnreachableServiceIsWorthARetry(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	_, err := deck.Open(t.Context(), "s3://bucket?region=x&anonymous=true&use_path_style=true&max_retries=0&endpoint="+closed.URL)
	if err == nil || deck.IsPermanent(err) || strings.Contains(err.Error(), "region=") {
		t.Errorf("got %v", err)
	}
}

// s3Stub answers PUTs as told and everything else as an empty bucket.
func s3Stub(t *testing.T, put http.HandlerFunc, options ...string) deck.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			put(w, r)
			return
		}
		s3Answer(w, http.StatusNotFound, "NoSuchKey")
	}))
	t.Cleanup(server.Close)
	store, err := deck.OpenStore(t.Context(), "s3://bucket?region=x&anonymous=true&use_path_style=true&max_retries=0&endpoint="+server.URL+strings.Join(options, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func s3Answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
}

func TestS3WriteIsRepeatedAfterAConflict(t *testing.T) {
	var n atomic.Int32
	store := s3Stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "*" {
			t.Errorf("If-None-Match is %q", r.Header.Get("If-None-Match"))
		}
		if r.Header.Get("Content-Encoding") != "" || r.URL.Query().Has("uploadId") {
			t.Error("an encoding or a multipart upload")
		}
		if n.Add(1) <= 2 {
			s3Answer(w, http.StatusConflict, "ConditionalRequestConflict")
			return
		}
		w.Header().Set("ETag", `"x"`)
	})
	created, err := store.PutNew(t.Context(), "a", make([]byte, 40<<20), "application/zstd")
	if !created || err != nil || n.Load() != 3 {
		t.Errorf("created %v, %v, %d requests", created, err, n.Load())
	}
}

// What the URL says of encryption in the bucket stands on every write.
func TestEncryptionInTheBucketIsAskedForWithEveryWrite(t *testing.T) {
	const prefix = "X-Amz-Server-Side-Encryption"
	for options, want := range map[string][2]string{
		"":             {"", ""},
		"&sse=AES256":  {"AES256", ""},
		"&sse=aws:kms": {"aws:kms", ""},
		"&sse=aws:kms&kms_key_id=arn:aws:kms:x:1": {"aws:kms", "arn:aws:kms:x:1"},
	} {
		n := 0
		store := s3Stub(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			if got := [2]string{r.Header.Get(prefix), r.Header.Get(prefix + "-Aws-Kms-Key-Id")}; got != want {
				t.Errorf("%q: a write asks for %q", options, got)
			}
			w.Header().Set("ETag", `"x"`)
		}, options)
		if _, err := store.PutNew(t.Context(), "a/x", []byte("x"), "text/plain"); err != nil || n == 0 {
			t.Errorf("%q: %v after %d writes", options, err, n)
		}
	}
}

func TestS3AnswersAreClassified(t *testing.T) {
	for _, c := range []struct {
		status    int
		code      string
		permanent bool
	}{
		{http.StatusConflict, "ConditionalRequestConflict", false},
		{http.StatusForbidden, "AccessDenied", true},
		{http.StatusForbidden, "InvalidAccessKeyId", true},
		{http.StatusNotImplemented, "NotImplemented", true},
		{http.StatusBadRequest, "ExpiredToken", false},
		{http.StatusBadRequest, "InvalidRequest", true},
		{http.StatusServiceUnavailable, "SlowDown", false},
		{http.StatusInternalServerError, "InternalError", false},
		{http.StatusTooManyRequests, "TooManyRequests", false},
		{http.StatusNotFound, "NoSuchBucket", true},
		{http.StatusInsufficientStorage, "XMinioStorageFull", false},
	} {
		store := s3Stub(t, func(w http.ResponseWriter, _ *http.Request) { s3Answer(w, c.status, c.code) })
		_, err := store.PutNew(t.Context(), "a/x", []byte("x"), "text/plain")
		if err == nil || deck.IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), `put s3 object "a/x"`) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
}

func TestS3ConflictEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := s3Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		s3Answer(w, http.StatusConflict, "ConditionalRequestConflict")
	})
	if _, err := store.PutNew(ctx, "a", nil, "text/plain"); !errors.Is(err, context.Canceled) || deck.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestTooLargeBodiesAreRefusedBeforeTheyAreSent(t *testing.T) {
	body := make([]byte, deck.MaxObjectBytes+1) // never touched: costs no memory
	store := s3Stub(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	memory, err := deck.OpenStore(t.Context(), "mem://large")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []deck.Store{store, memory} {
		if _, err := s.PutNew(t.Context(), "a", body, "text/plain"); !errors.Is(err, deck.ErrTooLarge) || !deck.IsPermanent(err) {
			t.Errorf("got %v", err)
		}
	}
}
