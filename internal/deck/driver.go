// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The parts that drivers share: checks of arguments, errors, reading of URL
// options and of objects.

// CheckPut checks the arguments of PutNew: the key, the context, the size.
func CheckPut(ctx context.Context, scheme, key string, body []byte) error {
	if err := CheckGet(ctx, "put", scheme, key); err != nil {
		return err
	}
	if len(body) > MaxObjectBytes {
		return TooLarge("put", scheme, key)
	}
	return nil
}

// CheckGet checks the key and the context of an operation on one object.
func CheckGet(ctx context.Context, op, scheme, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &StoreError{Op: op, Scheme: scheme, Key: key, Err: err}
	}
	return nil
}

// CheckList checks the arguments of a listing.
func CheckList(ctx context.Context, scheme, prefix string) error {
	if err := checkPrefix(prefix); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &StoreError{Op: "list", Scheme: scheme, Key: prefix, Err: err}
	}
	return nil
}

// TooLarge is the error for an object above MaxObjectBytes.
func TooLarge(op, scheme, key string) error {
	return &StoreError{Op: op, Scheme: scheme, Key: key, Permanent: true, Err: ErrTooLarge,
		Reason: "more than " + strconv.Itoa(MaxObjectBytes>>20) + " MiB"}
}

// NotFound is the error for a missing key.
func NotFound(scheme, key string) error {
	return &StoreError{Op: "get", Scheme: scheme, Key: key, Permanent: true, Reason: "not found", Err: ErrNotFound}
}

// CheckOptions refuses URL options that a driver does not know, and repeated
// ones. It names options, never their values.
func CheckOptions(u *url.URL, known []string) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return BadURL(u.Scheme, "malformed options")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return BadURL(u.Scheme, "unknown option "+strconv.Quote(shorten(name))+" (this scheme has none)")
		case !slices.Contains(known, name):
			return BadURL(u.Scheme, "unknown option "+strconv.Quote(shorten(name))+" (known: "+strings.Join(known, ", ")+")")
		case len(values) > 1:
			return BadURL(u.Scheme, "option "+name+" is given twice")
		}
	}
	return nil
}

// BoolOption reads a true/false option.
func BoolOption(u *url.URL, name string, otherwise bool) (bool, error) {
	text := u.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, BadURL(u.Scheme, "option "+name+" is true or false")
	}
	return v, nil
}

// ReadObject reads an object of the stated size (negative: not known) and
// refuses one that is too large, cut or longer than stated.
func ReadObject(r io.Reader, size int64, scheme, key string) ([]byte, error) {
	if size > MaxObjectBytes {
		return nil, TooLarge("get", scheme, key)
	}
	var buf bytes.Buffer
	if size > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(r, MaxObjectBytes+1))
	switch {
	case err != nil:
		return nil, &StoreError{Op: "get", Scheme: scheme, Key: key, Err: err}
	case n > MaxObjectBytes:
		return nil, TooLarge("get", scheme, key)
	case size >= 0 && n != size:
		return nil, &StoreError{Op: "get", Scheme: scheme, Key: key, Err: io.ErrUnexpectedEOF,
			Reason: "received " + strconv.FormatInt(n, 10) + " of " + strconv.FormatInt(size, 10) + " bytes"}
	}
	return buf.Bytes(), nil
}
