// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package cdkstore

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// faultyBucket fails, or panics, as the drivers of the real services can.
type faultyBucket struct {
	driver.Bucket // not set: anything else panics too
	err           error
	options       *driver.WriterOptions
}

func (f *faultyBucket) NewTypedWriter(_ context.Context, _, _ string, o *driver.WriterOptions) (driver.Writer, error) {
	f.options = o
	return f, nil
}

func (f *faultyBucket) Write(p []byte) (int, error) { return len(p), nil }

// Close of the writer and of the bucket. The nil pointer is the defect of the
// Azure driver v0.47 when the service refuses a streamed write.
func (f *faultyBucket) Close() error {
	if f.err != nil {
		return f.err
	}
	var nothing *strings.Builder
	return errors.New(nothing.String() + string(rune(nothing.Len())))
}

func (f *faultyBucket) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.NotFound }
func (f *faultyBucket) ErrorAs(err error, target any) bool { return errors.As(err, target) }

func silent(error) Answer { return Answer{} }

func TestPanicOfAClientLibraryIsAnError(t *testing.T) {
	faulty := &faultyBucket{}
	s := New(blob.NewBucket(faulty), Service{Scheme: "x", Inspect: silent})
	created, err := s.PutNew(t.Context(), "a", []byte("b"), "")
	if created || err == nil || deck.IsPermanent(err) || err.Error() != `put x object "a": the client library failed` {
		t.Errorf("created %v, %v", created, err)
	}
}

func TestWritesCarryTheConditionAndNoEncoding(t *testing.T) {
	faulty := &faultyBucket{}
	s := New(blob.NewBucket(faulty), Service{Scheme: "x", Inspect: silent})
	if _, err := s.PutNew(t.Context(), "a", make([]byte, 300<<10), ""); err == nil {
		t.Fatal("no error")
	}
	o := faulty.options
	if !o.IfNotExist || o.ContentEncoding != "" || o.ContentMD5 != nil || o.BufferSize != 512<<10 {
		t.Errorf("options are %+v", o)
	}
}

// The codes of gocloud.dev say "not found" for a refused request on GCS and an
// unresolved host on Azure.
func TestNoAnswerIsNotAMissingObject(t *testing.T) {
	missing := memblob.OpenBucket(nil)
	s := New(missing, Service{Scheme: "x", Inspect: silent})
	defer s.Close()
	if _, err := s.Get(t.Context(), "a"); err == nil || errors.Is(err, deck.ErrNotFound) || deck.IsPermanent(err) {
		t.Errorf("get without an answer: %v", err)
	}
	s = New(missing, Service{Scheme: "x", Inspect: func(error) Answer { return Answer{Status: 403, Code: "denied"} }})
	if _, err := s.Get(t.Context(), "a"); !deck.IsPermanent(err) || errors.Is(err, deck.ErrNotFound) || !strings.Contains(err.Error(), "403 denied") {
		t.Errorf("get that was refused: %v", err)
	}
}

func TestErrorsDoNotRepeatURLs(t *testing.T) {
	inner := errors.New("connection refused")
	faulty := &faultyBucket{err: &url.Error{Op: "Put", URL: "http://h/?sig=hunter2", Err: inner}}
	s := New(blob.NewBucket(faulty), Service{Scheme: "x", Inspect: silent})
	_, err := s.PutNew(t.Context(), "a", nil, "")
	if d := cmp.Diff(`put x object "a": connection refused`, err.Error()); d != "" || !errors.Is(err, inner) {
		t.Error(d)
	}
}
