// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxPlainName is the longest name that stands for itself in a key.
	maxPlainName = 64
	// maxNamePrefix is how much of an escaped name stays readable.
	maxNamePrefix = 40
	// nameDigest is the length of the digest behind an escaped name: 64 bits in
	// hex.
	nameDigest = 16
)

// reservedNames are device names of Windows, which it also sees before a dot,
// and the names that the layout itself uses.
var reservedNames = map[string]bool{
	"aux": true, "con": true, "nul": true, "prn": true,
	"com0": true, "com1": true, "com2": true, "com3": true, "com4": true, "com5": true, "com6": true, "com7": true, "com8": true, "com9": true,
	"lpt0": true, "lpt1": true, "lpt2": true, "lpt3": true, "lpt4": true, "lpt5": true, "lpt6": true, "lpt7": true, "lpt8": true, "lpt9": true,
	"parts": true, "runs": true, "replays": true, "joined": true, "undecided": true, "quarantine": true, "tombstones": true,
}

// SafeName returns the form of a tenant or a replay_run_id that is one segment
// of a key.
//
// A plain name stands for itself. It has 1 to 64 of the characters
// a-z 0-9 . _ - and begins with a letter or digit. It does not end with a dot,
// does not contain "__0x", is not reserved and is not itself of the escaped
// form. Every other name becomes
//
//	<prefix>.<16 hex>
//
// where prefix is the name with each byte that is not a-z, 0-9, _ or - written
// as _ (A-Z become lower case, "__0x" becomes "___x"), cut to 40 bytes. The
// digits are the beginning of the SHA-256 of the name. No plain name has that
// form. So two names share a segment only if their digests agree in 64 bits. No
// two segments differ only in case.
func SafeName(name string) string {
	if plainName(name) {
		return name
	}
	prefix := []byte(name[:min(len(name), maxNamePrefix)])
	for i, c := range prefix {
		switch {
		case c >= 'A' && c <= 'Z':
			prefix[i] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			prefix[i] = '_'
		}
	}
	prefix = bytes.ReplaceAll(prefix, []byte(reservedSequence), []byte("___x"))
	// A key segment begins with a letter or digit: no hidden files, no options.
	if len(prefix) == 0 || prefix[0] == '_' || prefix[0] == '-' {
		prefix = append([]byte{'x'}, prefix[:min(len(prefix), maxNamePrefix-1)]...)
	}
	if reservedNames[string(prefix)] {
		prefix = append(prefix, '_')
	}
	sum := sha256.Sum256([]byte(name))
	return string(prefix) + "." + hex.EncodeToString(sum[:])[:nameDigest]
}

func plainName(name string) bool {
	return wellFormedName(name) && !escapedName(name)
}

// wellFormedName accepts every segment that SafeName can return.
func wellFormedName(name string) bool {
	if name == "" || len(name) > maxPlainName || !alphanumeric(name[0]) || strings.HasSuffix(name, ".") {
		return false
	}
	for _, c := range []byte(name) {
		if !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	stem, _, _ := strings.Cut(name, ".")
	return !reservedNames[stem] && !strings.Contains(name, reservedSequence)
}

// escapedName tells whether a segment has the form of an escaped name.
func escapedName(seg string) bool {
	prefix, digest, ok := strings.Cut(seg, ".")
	return ok && len(prefix) <= maxNamePrefix && len(digest) == nameDigest && isHex(digest)
}

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// isHex accepts lower-case hex digits.
func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
