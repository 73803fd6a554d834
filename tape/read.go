// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Bounds of what Read accepts: bytes, JSON values and levels. Seal refuses a tape that would exceed them.
const (
	MaxBytes  = 512 << 20
	MaxValues = 1 << 25
	// MaxDepth leaves room for the objects of the tape around a recorded value.
	MaxDepth = exactjson.MaxDepth + 16
)

// Errors that Read and ReadSealed wrap, beside those of exactjson and *bind.FieldError.
var (
	ErrNotTape  = errors.New("not an agent tape")
	ErrTooLarge = errors.New("tape too large")
	// ErrAltered is ReadSealed's.
	ErrAltered = errors.New("the digest does not hold")
)

// VersionError says that the tape has a MAJOR version that this package cannot read.
type VersionError struct {
	Got string
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("schema_version %.20q cannot be read, this version reads %s.x", e.Got, major(SchemaVersion))
}

var versionForm = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}$`)

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}

// Read reads a tape. Members that this version does not know are kept and written back. It checks form, not content: see ReadSealed and
// Verify.
func Read(data []byte) (*Tape, error) {
	t, _, err := read(data)
	return t, err
}

// ReadSealed is Read for callers that use what they read. It fails with ErrAltered when the bytes do not have the digest that tape_id
// names. It returns the tape then too, for callers that were told to use it all the same.
func ReadSealed(data []byte) (*Tape, error) {
	t, v, err := read(data)
	if err != nil {
		return nil, err
	}
	if got := contentDigest(v); got != t.TapeID {
		return t, fmt.Errorf("read tape: %w: tape_id is %.80q, the content has %s", ErrAltered, t.TapeID, got)
	}
	return t, nil
}

// contentDigest is what tape_id must be for the document of a file.
func contentDigest(doc exactjson.Value) string {
	members := slices.DeleteFunc(slices.Clone(doc.Members()), func(m exactjson.Member) bool { return m.Name == "tape_id" })
	return exactjson.ObjectValue(members...).Digest()
}

func read(data []byte) (*Tape, exactjson.Value, error) {
	if len(data) > MaxBytes {
		return nil, exactjson.Value{}, fmt.Errorf("read tape: %w: %d bytes", ErrTooLarge, len(data))
	}
	v, err := exactjson.ParseWithin(string(data), MaxDepth, MaxValues)
	if err != nil {
		return nil, v, fmt.Errorf("read tape: %w", err)
	}
	if v.Get("kind").Str() != Kind {
		return nil, v, fmt.Errorf("read tape: %w: kind is not %q", ErrNotTape, Kind)
	}
	version := v.Get("schema_version").Str()
	if !versionForm.MatchString(version) || major(version) != major(SchemaVersion) {
		return nil, v, fmt.Errorf("read tape: %w", &VersionError{Got: version})
	}
	t, err := tapeRecord.Decode(v)
	if err != nil {
		return nil, v, fmt.Errorf("read tape: %w", err)
	}
	return &t, v, nil
}
