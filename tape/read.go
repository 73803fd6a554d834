// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"errors"
	"fmt"
	"regexp"
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

// Errors that Read wraps, beside those of exactjson and *bind.FieldError.
var (
	ErrNotTape  = errors.New("not an agent tape")
	ErrTooLarge = errors.New("tape too large")
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

// Read reads a tape. Members that this version does not know are kept and written back. It checks form, not content: see Verify.
func Read(data []byte) (*Tape, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("read tape: %w: %d bytes", ErrTooLarge, len(data))
	}
	v, err := exactjson.ParseWithin(string(data), MaxDepth, MaxValues)
	if err != nil {
		return nil, fmt.Errorf("read tape: %w", err)
	}
	if v.Get("kind").Str() != Kind {
		return nil, fmt.Errorf("read tape: %w: kind is not %q", ErrNotTape, Kind)
	}
	version := v.Get("schema_version").Str()
	if !versionForm.MatchString(version) || major(version) != major(SchemaVersion) {
		return nil, fmt.Errorf("read tape: %w", &VersionError{Got: version})
	}
	t, err := tapeRecord.Decode(v)
	if err != nil {
		return nil, fmt.Errorf("read tape: %w", err)
	}
	return &t, nil
}
