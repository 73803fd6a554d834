// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// QuarantineArea holds what the gate before the deck kept out of it: a report, and evidence in which what was found is masked. Nobody
// derives tapes from it and no listing of locations shows it.
const QuarantineArea = "quarantine"

// PutQuarantine writes what was kept out of a location: a report (JSON), and canonical evidence if it is not nil. Both are named by the digest
// of the evidence, or of the report where there is none, so that a repeated delivery changes nothing. It returns the address of the report.
func (d *Deck) PutQuarantine(ctx context.Context, location Location, report, canonical []byte) (url string, err error) {
	if err := location.Validate(); err != nil {
		return "", err
	}
	if err := d.mark(ctx); err != nil {
		return "", err
	}
	named := canonical
	if named == nil {
		named = report
	}
	sum := sha256.Sum256(named)
	base := QuarantineArea + "/" + location.Prefix() + "/" + hex.EncodeToString(sum[:])
	if canonical != nil {
		if len(canonical) > MaxObjectBytes {
			return "", TooLarge("put", d.url.Scheme, base+PartSuffix)
		}
		if _, err := d.store.PutNew(ctx, base+PartSuffix, compress(canonical), partType); err != nil {
			return "", err
		}
	}
	if _, err := d.store.PutNew(ctx, base+".json", report, jsonType); err != nil {
		return "", err
	}
	return d.String() + "/" + base + ".json", nil
}
