// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package cdkstore makes a deck store of a gocloud.dev bucket. The drivers of
// that library differ in ways that matter here. This package holds what they
// share. A [Service] holds what one service needs.
package cdkstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Answer is what a service said, as far as an error holds it. The zero Answer
// means that no answer arrived.
type Answer struct {
	Status        int    // HTTP status
	Code          string // the service's own word, if it has one
	MissingBucket bool   // the bucket, not the object, is missing
}

// Service is one storage service behind a bucket.
type Service struct {
	Scheme string
	// Inspect finds the answer in an error. The error codes of gocloud.dev are
	// not used for this: they call a refused request on GCS and an unresolved
	// host name on Azure "not found".
	Inspect func(error) Answer
	// ReadRaw is given to the reader so that the service does not decompress.
	ReadRaw func(asFunc func(any) bool) error
	// Close releases what belongs to the store beside the bucket; may be nil.
	Close func()
}

// New returns a store of the bucket; the store closes it.
func New(bucket *blob.Bucket, service Service) deck.Store {
	return &store{bucket: bucket, Service: service}
}

type store struct {
	Service
	bucket *blob.Bucket
	seen   atomic.Bool // the bucket is known to exist
}

func (s *store) PutNew(ctx context.Context, key string, body []byte, contentType string) (created bool, err error) {
	if err := deck.CheckPut(ctx, s.Scheme, key, body); err != nil {
		return false, err
	}
	// The Azure driver (v0.47) panics when the service refuses a streamed
	// write. Upload does not stream, but one defect in a client library must not
	// end a collector.
	defer func() {
		if p := recover(); p != nil {
			created, err = false, s.error("put", key, errPanic)
		}
	}()
	if contentType == "" {
		contentType = "application/octet-stream" // Upload insists on one
	}
	err = s.bucket.Upload(ctx, key, bytes.NewReader(body), &blob.WriterOptions{
		ContentType: contentType,
		// No ContentMD5: it makes the Azure driver stream. No ContentEncoding:
		// GCS and Azure would decompress on the way back.
		IfNotExist:                  true,
		DisableContentTypeDetection: true,
		BufferSize:                  bufferSize(len(body)),
	})
	if err == nil {
		s.seen.Store(true)
		return true, nil
	}
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return false, nil
	}
	return false, s.error("put", key, err)
}

var errPanic = errors.New("the client library failed")

// bufferSize lets small bodies go in one request without a 16 MiB buffer each,
// which is what the GCS client allocates by default. Units are 256 KiB, as GCS
// wants.
func bufferSize(body int) int {
	const unit, most = 256 << 10, 16 << 20
	return min((body/unit+1)*unit, most)
}

func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckKey(key); err != nil {
		return nil, err
	}
	r, err := s.bucket.NewReader(ctx, key, &blob.ReaderOptions{BeforeRead: s.ReadRaw})
	if err != nil {
		return nil, s.getError(ctx, key, err)
	}
	body, err := deck.ReadObject(r, r.Size(), s.Scheme, key)
	if closeErr := r.Close(); err == nil && closeErr != nil {
		return nil, s.error("get", key, closeErr)
	}
	return body, err
}

// getError tells a missing object from a missing bucket, which look the same on
// GCS: the first time, the bucket is asked for.
func (s *store) getError(ctx context.Context, key string, err error) error {
	a := s.Inspect(err)
	if a.Status != 404 || a.MissingBucket {
		return s.error("get", key, err)
	}
	if !s.seen.Load() {
		ok, accessErr := s.bucket.IsAccessible(ctx)
		if accessErr != nil {
			return s.error("get", key, accessErr)
		}
		if !ok {
			return s.failure("get", key, "the bucket does not exist or may not be read", true, err)
		}
		s.seen.Store(true)
	}
	return deck.NotFound(s.Scheme, key)
}

func (s *store) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := deck.CheckKey(key); err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, deck.CheckRange(s.Scheme, key, offset, length, 0)
	}
	r, err := s.bucket.NewRangeReader(ctx, key, offset, length, &blob.ReaderOptions{BeforeRead: s.ReadRaw})
	if err != nil {
		return nil, s.getError(ctx, key, err)
	}
	body, err := deck.ReadObject(r, -1, s.Scheme, key)
	if closeErr := r.Close(); err == nil && closeErr != nil {
		return nil, s.error("get", key, closeErr)
	}
	if err == nil && int64(len(body)) != length {
		err = deck.CheckRange(s.Scheme, key, offset, length, offset+int64(len(body)))
	}
	return body, err
}

func (s *store) Delete(ctx context.Context, key string) error {
	if err := deck.CheckGet(ctx, "delete", s.Scheme, key); err != nil {
		return err
	}
	err := s.bucket.Delete(ctx, key)
	if err == nil {
		return nil
	}
	if a := s.Inspect(err); a.Status == 404 && !a.MissingBucket {
		return nil
	}
	return s.error("delete", key, err)
}

func (s *store) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		for o, err := range s.entries(ctx, prefix, "") {
			if err != nil {
				yield(deck.Object{}, err)
				return
			}
			// Some consoles write empty "folder/" objects; they are no keys.
			if strings.HasSuffix(o.Key, "/") {
				continue
			}
			if !yield(deck.Object{Key: o.Key, Size: o.Size, Version: versionOf(o)}, nil) {
				return
			}
		}
	}
}

// versionOf is what a listing says of the content of an object.
func versionOf(o *blob.ListObject) string {
	if len(o.MD5) == 0 {
		return ""
	}
	return hex.EncodeToString(o.MD5) + "@" + strconv.FormatInt(o.ModTime.UnixNano(), 10)
}

func (s *store) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range s.entries(ctx, prefix, "/") {
			if err != nil {
				yield("", err)
				return
			}
			if o.IsDir && o.Key != prefix && !yield(o.Key, nil) {
				return
			}
		}
	}
}

func (s *store) entries(ctx context.Context, prefix, delimiter string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		if err := deck.CheckList(ctx, s.Scheme, prefix); err != nil {
			yield(nil, err)
			return
		}
		it := s.bucket.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter})
		for {
			o, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, s.error("list", prefix, err))
				return
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (s *store) Close() error {
	err := s.bucket.Close()
	if s.Service.Close != nil {
		s.Service.Close()
	}
	if err != nil {
		return s.error("close", "", err)
	}
	return nil
}

func (s *store) error(op, key string, err error) error {
	a := s.Inspect(err)
	switch {
	case a.MissingBucket, a.Status == 404 && op != "get":
		return s.failure(op, key, "the bucket does not exist", true, err)
	case a.Status != 0:
		e := s.failure(op, key, strings.TrimSpace(fmt.Sprintf("the service answered %d %s", a.Status, a.Code)), deck.StatusPermanent(a.Status), err)
		e.Full = a.Status == http.StatusInsufficientStorage
		return e
	}
	code := gcerrors.Code(err)
	permanent := code == gcerrors.PermissionDenied || code == gcerrors.InvalidArgument || code == gcerrors.Unimplemented
	return s.failure(op, key, deck.SafeReason(innermost(err)), permanent, err)
}

func (s *store) failure(op, key, reason string, permanent bool, err error) *deck.StoreError {
	return &deck.StoreError{Op: op, Scheme: s.Scheme, Key: key, Reason: reason, Permanent: permanent, Err: err}
}

// innermost skips the wrapping texts, which repeat keys and addresses.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// OpenError is the error of a bucket that cannot be opened.
func OpenError(scheme, reason string, err error) error {
	return &deck.StoreError{Op: "open", Scheme: scheme, Reason: reason, Permanent: true, Err: err}
}
