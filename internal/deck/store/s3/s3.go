// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package s3 keeps decks in S3 and in services that speak its protocol.
// Importing it adds the scheme s3.
package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tapedeck/tapedeck/internal/deck"
)

const scheme = "s3"

// open does all of the check: it does not talk to the service.
func init() { deck.Register(scheme, nil, open) }

// store keeps objects in a bucket of S3 or a compatible service.
type store struct {
	core      minio.Core
	transport *http.Transport
	bucket    string
	put       minio.PutObjectOptions
	// signs: the signature of a request covers its body, because the connection does not protect it.
	signs bool
}

// conflictAttempts bounds how often a write is repeated that the service
// refused because of another request for the same key. The other request is a
// write that is under way (409), a write that claims the key and has left no
// object there (412), or a delete (404). It has ended, or failed, within a few
// round trips.
const conflictAttempts = 6

func (s *store) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if err := deck.CheckPut(ctx, scheme, key, body); err != nil {
		return false, err
	}
	opts := s.put
	opts.ContentType = contentType
	opts.SetMatchETagExcept("*")
	// The body is here, so its sum stands in the head of the request. Otherwise minio-go would send it in chunks, each with a signature of its own and
	// all through a buffer of 64 KiB.
	opts.DisableContentSha256 = true
	sum := ""
	if s.signs {
		digest := sha256.Sum256(body)
		sum = hex.EncodeToString(digest[:])
	}
	for attempt := 1; ; attempt++ {
		// One PUT for every size: the condition holds on a single PUT everywhere,
		// but minio-go v7.4.1 drops it when it completes a multipart upload, and
		// some services ignore it there.
		_, err := s.core.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), "", sum, opts)
		if err == nil {
			return true, nil
		}
		switch code, status := answerOf(err); {
		case status == http.StatusPreconditionFailed, code == minio.PreconditionFailed:
			// The object of a write that runs at the same time may not be there
			// yet. A service that died in the middle of a write may keep the name
			// without the object: taking that for success would lose it.
			switch exists, err := s.exists(ctx, key); {
			case err != nil:
				return false, err
			case exists:
				return false, nil
			case attempt >= conflictAttempts:
				return false, storeError("put", key, errHalfWritten)
			}
			if err := pause(ctx, attempt); err != nil {
				return false, storeError("put", key, err)
			}
		case status == http.StatusConflict && attempt < conflictAttempts,
			// A delete that ran at the same time.
			code == minio.NoSuchKey && attempt < conflictAttempts:
			if err := pause(ctx, attempt); err != nil {
				return false, storeError("put", key, err)
			}
		case code == "" && ctx.Err() == nil:
			// The connection broke. A service that refuses a body before it has
			// read it may reset the connection, and its answer is lost.
			if exists, err := s.exists(ctx, key); exists && err == nil {
				return false, nil
			}
			return false, storeError("put", key, err)
		default:
			return false, storeError("put", key, err)
		}
	}
}

var errHalfWritten = errors.New("the service refuses the name as taken and does not have the object")

func (s *store) exists(ctx context.Context, key string) (bool, error) {
	_, err := s.core.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
	if err == nil {
		return true, nil
	}
	if code, _ := answerOf(err); code == minio.NoSuchKey {
		return false, nil
	}
	return false, storeError("put", key, err)
}

// pause waits 10, 20, 40 … ms.
func pause(ctx context.Context, attempt int) error {
	t := time.NewTimer(5 * time.Millisecond << attempt)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", scheme, key); err != nil {
		return nil, err
	}
	r, info, _, err := s.core.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, storeError("get", key, err)
	}
	defer r.Close()
	body, err := deck.ReadObject(r, info.Size, scheme, key)
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (s *store) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", scheme, key); err != nil {
		return nil, err
	}
	if length == 0 {
		return nil, nil
	}
	var opts minio.GetObjectOptions
	if offset < 0 || length < 0 || opts.SetRange(offset, offset+length-1) != nil {
		return nil, deck.CheckRange(scheme, key, offset, length, 0)
	}
	r, _, _, err := s.core.GetObject(ctx, s.bucket, key, opts)
	if err != nil {
		return nil, storeError("get", key, err)
	}
	defer r.Close()
	body, err := deck.ReadObject(io.LimitReader(r, length+1), -1, scheme, key)
	if err == nil && int64(len(body)) != length {
		err = deck.CheckRange(scheme, key, offset, length, offset+int64(len(body)))
	}
	return body, err
}

func (s *store) Delete(ctx context.Context, key string) error {
	if err := deck.CheckGet(ctx, "delete", scheme, key); err != nil {
		return err
	}
	err := s.core.Client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
	if code, _ := answerOf(err); err == nil || code == minio.NoSuchKey {
		return nil
	}
	return storeError("delete", key, err)
}

func (s *store) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		for info, err := range s.entries(ctx, prefix, true) {
			if err != nil {
				yield(deck.Object{}, err)
				return
			}
			// Some consoles write empty "folder/" objects; they are no keys.
			if strings.HasSuffix(info.Key, "/") {
				continue
			}
			if !yield(deck.Object{Key: info.Key, Size: info.Size, Version: versionOf(&info)}, nil) {
				return
			}
		}
	}
}

// versionOf is what a listing says of the content of an object. A tag stands for the content, or for one upload of it.
func versionOf(info *minio.ObjectInfo) string {
	if info.ETag == "" {
		return ""
	}
	return info.ETag + "@" + strconv.FormatInt(info.LastModified.UnixNano(), 10)
}

func (s *store) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for info, err := range s.entries(ctx, prefix, false) {
			if err != nil {
				yield("", err)
				return
			}
			if !strings.HasSuffix(info.Key, "/") || info.Key == prefix {
				continue
			}
			if !yield(info.Key, nil) {
				return
			}
		}
	}
}

func (s *store) entries(ctx context.Context, prefix string, recursive bool) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		if err := deck.CheckList(ctx, scheme, prefix); err != nil {
			yield(minio.ObjectInfo{}, err)
			return
		}
		opts := minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive}
		for info := range s.core.Client.ListObjectsIter(ctx, s.bucket, opts) {
			if info.Err != nil {
				yield(minio.ObjectInfo{}, storeError("list", prefix, info.Err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(minio.ObjectInfo{}, storeError("list", prefix, err))
		}
	}
}

func (s *store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

func answerOf(err error) (code string, status int) {
	var re minio.ErrorResponse
	if errors.As(err, &re) {
		return re.Code, re.StatusCode
	}
	return "", 0
}

// storeError names status and code only: messages of services may repeat what was
// sent.
func storeError(op, key string, err error) error {
	e := &deck.StoreError{Op: op, Scheme: scheme, Key: key, Err: err}
	code, status := answerOf(err)
	switch {
	case code == "":
		var dns *net.DNSError
		if errors.As(err, &dns) {
			e.Reason = "the name of the endpoint does not resolve"
		}
	case code == minio.NoSuchKey && op == "get":
		e.Permanent, e.Reason, e.Err = true, "not found", deck.ErrNotFound
	case code == minio.NoSuchBucket:
		e.Permanent, e.Reason = true, "the bucket does not exist"
	case status == http.StatusNotImplemented:
		e.Permanent, e.Reason = true, "the service lacks a needed function ("+code+"); create-only writes need If-None-Match"
	default:
		e.Permanent = deck.StatusPermanent(status) && !transientCodes[code]
		e.Full = status == http.StatusInsufficientStorage || fullCodes[code]
		e.Reason = "the service answered " + strconv.Itoa(status) + " " + code
	}
	return e
}

// fullCodes holds what services with a quota answer.
var fullCodes = map[string]bool{"QuotaExceeded": true, "XMinioStorageFull": true, "XMinioAdminBucketQuotaExceeded": true}

// transientCodes holds answers of the 4xx classes that a later attempt may not get.
var transientCodes = map[string]bool{
	"ExpiredToken":              true, // short-lived credentials are renewed
	"ExpiredTokenException":     true,
	"RequestTimeout":            true,
	"SlowDown":                  true,
	"NoSuchUpload":              true,
	minio.NoSuchKey:             true, // on a write: a delete at the same time
	"IncompleteBody":            true,
	"BadDigest":                 true, // damaged on the way
	"XAmzContentSHA256Mismatch": true,
	"TokenRefreshRequired":      true,
}
