// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"hash/maphash"
	"math/bits"
)

// The gate meets the texts that redaction has searched a moment ago. Its rules are some of those of the redaction, so where these found nothing
// it finds nothing either. So one detector can ask the memory of another.

// cleanSeeds are the secrets of all tables of this process: a key of one table is a key of the others.
var cleanSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// Trust makes the detector ask another one, too, whether it has found nothing in a text. other is called with every Scan and may return nil. The
// rules of the other have to include those of this one, and their names and allowances have to be the same. Trust must not be called while
// the detector is in use.
func (r *Detector) Trust(other func() *Detector) { r.trusted = other }

// trustedTable is the memory of the other detector, nil if there is none.
func (r *Detector) trustedTable() *cleanTable {
	if r.trusted == nil || r.clean == nil {
		return nil
	}
	if other := r.trusted(); other != nil {
		return other.clean
	}
	return nil
}

// nestedFor is how deep a text lies in JSON, as far as its verdict depends on that: it does only where reading could reach maxNested. Each level of JSON in
// strings of JSON has at least twice as many bytes as the one in it, because its quotes are escaped.
func nestedFor(nested, size int) int {
	if nested+bits.Len(uint(size))+2 < maxNested {
		return 0
	}
	return nested
}
