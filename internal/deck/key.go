// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxKeyBytes is the limit of S3, GCS and Azure.
	maxKeyBytes = 1024
	// maxSegmentBytes is the limit of file names on common file systems.
	maxSegmentBytes = 240
	// TempPrefix starts the names of files that are being written. They are
	// never listed or read as objects; what a crash left over is swept (see Leaver).
	TempPrefix = ".tapedeck-tmp-"
	// reservedSequence is how gocloud.dev begins an escaped character. A key that
	// has it would come back from a listing as another key.
	reservedSequence = "__0x"
)

// CheckKey tells whether every driver can store a key safely and lists it in order. A key is relative, slash-separated, of bounded length
// and valid UTF-8. It has no empty segment, no control character and no segment that ends with a dot (so no "." and ".."). It has none of
// the characters \ " # % ?, because some services or their client libraries escape them.
func CheckKey(key string) error {
	reason := ""
	switch {
	case key == "":
		reason = "empty key"
	case len(key) > maxKeyBytes:
		reason = "key too long"
	case !utf8.ValidString(key):
		reason = "key is not UTF-8"
	case strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r == 0x7f }),
		strings.ContainsAny(key, `\"#%?`):
		reason = "control character or one of \\ \" # % ? in key"
	case strings.Contains(key, reservedSequence):
		reason = "reserved sequence in key"
	default:
		for seg := range strings.SplitSeq(key, "/") {
			switch {
			case seg == "":
				reason = "empty segment in key"
			case strings.HasSuffix(seg, "."):
				reason = "key segment ends with a dot"
			case len(seg) > maxSegmentBytes:
				reason = "key segment too long"
			case strings.HasPrefix(seg, TempPrefix):
				reason = "reserved name in key"
			}
			if reason != "" {
				break
			}
		}
	}
	if reason == "" {
		return nil
	}
	return &StoreError{Op: "check", Scheme: "deck", Key: shorten(key), Reason: reason, Permanent: true, Err: ErrBadKey}
}

// checkPrefix is CheckKey for the argument of a listing, which may be empty and
// may end anywhere in a segment.
func checkPrefix(prefix string) error {
	// One more letter makes a key of any honest prefix, also of "a/" and "a/.".
	return CheckKey(prefix + "x")
}

func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
