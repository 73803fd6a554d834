// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"strconv"
)

// RangeReader is a Store that reads a part of an object without the rest.
type RangeReader interface {
	// GetRange returns length bytes from offset. A missing key is ErrNotFound; an object that ends before is an error.
	GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// GetRange reads a part of an object: by a range where the store can, else the whole object.
func GetRange(ctx context.Context, s Store, key string, offset, length int64) ([]byte, error) {
	if r, ok := s.(RangeReader); ok {
		return r.GetRange(ctx, key, offset, length)
	}
	body, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := CheckRange("deck", key, offset, length, int64(len(body))); err != nil {
		return nil, err
	}
	return body[offset:][:length:length], nil
}

// CheckRange checks the arguments of GetRange against the size of the object.
func CheckRange(scheme, key string, offset, length, size int64) error {
	if offset >= 0 && length >= 0 && offset <= size && length <= size-offset {
		return nil
	}
	return &StoreError{Op: "get", Scheme: scheme, Key: key, Permanent: true, Err: ErrCorrupt,
		Reason: "it has " + strconv.FormatInt(size, 10) + " bytes, and not " + strconv.FormatInt(length, 10) + " from " + strconv.FormatInt(offset, 10)}
}
