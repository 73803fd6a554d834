// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The checks that all drivers share, and the reading of URL options.

func checkPut(ctx context.Context, scheme, key string, body []byte) error {
	if err := checkGet(ctx, "put", scheme, key); err != nil {
		return err
	}
	if len(body) > MaxObjectBytes {
		return TooLarge("put", scheme, key)
	}
	return nil
}

func checkGet(ctx context.Context, op, scheme, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &StoreError{Op: op, Scheme: scheme, Key: key, Err: err}
	}
	return nil
}

func checkList(ctx context.Context, scheme, prefix string) error {
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

func notFound(scheme, key string) error {
	return &StoreError{Op: "get", Scheme: scheme, Key: key, Permanent: true, Reason: "not found", Err: ErrNotFound}
}

// CheckOptions refuses URL options that a driver does not know, and repeated
// ones. It names options, never their values.
func CheckOptions(u *url.URL, known []string) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return badURL(u.Scheme, "malformed options")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return badURL(u.Scheme, "unknown option "+strconv.Quote(shorten(name))+" (this scheme has none)")
		case !slices.Contains(known, name):
			return badURL(u.Scheme, "unknown option "+strconv.Quote(shorten(name))+" (known: "+strings.Join(known, ", ")+")")
		case len(values) > 1:
			return badURL(u.Scheme, "option "+name+" is given twice")
		}
	}
	return nil
}

// boolOption reads a true/false option.
func boolOption(u *url.URL, name string, otherwise bool) (bool, error) {
	text := u.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, badURL(u.Scheme, "option "+name+" is true or false")
	}
	return v, nil
}
