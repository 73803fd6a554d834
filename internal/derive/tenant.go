// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/tape"
)

// TenantOf returns the name of the tenant of a place, which tells it only where it is a safe name.
func TenantOf(ctx context.Context, d *deck.Deck, place deck.Place) (string, error) {
	if deck.SafeName(place.Tenant) == place.Tenant {
		return place.Tenant, nil
	}
	current, ok, err := d.Current(ctx, place)
	if err != nil {
		return "", err
	}
	if ok && len(current.Runs) > 0 {
		body, err := d.ReadFile(ctx, place, current.Generation, current.Runs[0].Root, deck.TapeFile)
		if err != nil {
			return "", err
		}
		t, err := tape.ReadSealed(body)
		if err != nil {
			return "", err
		}
		return t.Run.Tenant, nil
	}
	return "", errors.New("no tape names the tenant")
}
