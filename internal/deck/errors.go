// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Causes that callers can ask for with errors.Is.
var (
	ErrNotFound  = errors.New("not found")
	ErrDropped   = fmt.Errorf("its content was not kept: %w", ErrNotFound) // the run is known
	ErrTooLarge  = errors.New("object above the size limit")
	ErrBadKey    = errors.New("bad key")
	ErrBadURL    = errors.New("bad deck URL")
	ErrLayout    = errors.New("unsupported deck layout")
	ErrCorrupt   = errors.New("object is damaged")
	ErrAmbiguous = errors.New("more than one trace begins with this id")
	ErrBuried    = errors.New("buried by a tombstone")
)

// StoreError is what a driver returns. Its text names operation, scheme, key
// and a reason that the driver wrote itself. The errors of client libraries are
// not repeated, because they hold URLs and with them signatures and tokens.
type StoreError struct {
	Op        string // put, get, list, delete, open
	Scheme    string
	Key       string
	Reason    string
	Permanent bool // trying again cannot help
	Full      bool // the store has no room
	Err       error
}

func (e *StoreError) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteByte(' ')
	b.WriteString(e.Scheme)
	if e.Key != "" {
		b.WriteString(" object ")
		b.WriteString(strconv.Quote(e.Key))
	}
	b.WriteString(": ")
	if e.Reason != "" {
		b.WriteString(e.Reason)
	} else {
		b.WriteString(SafeReason(e.Err))
	}
	return b.String()
}

func (e *StoreError) Unwrap() error { return e.Err }

// IsPermanent reports whether trying again cannot help. These errors are
// permanent: refused credentials, a missing bucket, a bad URL or key, a damaged
// object, an unsupported layout and a missing object. An error that is not
// known to be permanent is worth a retry. A cancelled context is never
// permanent.
func IsPermanent(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, cause := range []error{ErrNotFound, ErrTooLarge, ErrBadKey, ErrBadURL, ErrLayout, ErrCorrupt, ErrAmbiguous, ErrBuried} {
		if errors.Is(err, cause) {
			return true
		}
	}
	var se *StoreError
	return errors.As(err, &se) && se.Permanent
}

// IsFull reports whether the store has no room: a full disk, a quota.
func IsFull(err error) bool {
	var se *StoreError
	return errors.As(err, &se) && se.Full
}

// SafeReason turns an error of a client library into text without URLs and
// paths: the innermost cause of network and file errors. Drivers use it for
// errors whose text they do not know.
func SafeReason(err error) string {
	if err == nil {
		return "unknown error"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err.Error()
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return SafeReason(ue.Err)
	}
	return err.Error()
}

// StatusPermanent reports whether an HTTP answer of a storage service is final.
// Timeouts, conflicts, throttling and server errors are worth a retry; every
// other client error is not.
func StatusPermanent(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, 499:
		return false
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return true
	}
	return status >= 300 && status < 500
}
