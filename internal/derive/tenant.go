// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// TenantOf returns the name of the tenant of a place, which tells it only where it is a safe name.
func TenantOf(ctx context.Context, d *deck.Deck, place deck.Place) (string, error) {
	if deck.SafeName(place.Tenant) == place.Tenant {
		return place.Tenant, nil
	}
	var tenant string
	found, err := d.ReadCurrent(ctx, place, func(current deck.GenerationState) error {
		current.Runs = current.Runs[:1]
		tapes, err := ReadTapes(ctx, d, place, current)
		if err == nil {
			tenant = tapes[0].Run.Tenant
		}
		return err
	})
	if err != nil || found {
		return tenant, err
	}
	return "", errors.New("no tape names the tenant")
}
