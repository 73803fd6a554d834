// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
)

// TenantOf returns the name of the tenant of a location, which tells it only where it is a safe name.
func TenantOf(ctx context.Context, d *deck.Deck, location deck.Location) (string, error) {
	if deck.SafeName(location.Tenant) == location.Tenant {
		return location.Tenant, nil
	}
	var tenant string
	found, err := d.ReadCurrent(ctx, location, func(current deck.GenerationState) error {
		current.Runs = current.Runs[:1]
		tapes, err := runs.Tapes(ctx, d, location, current)
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
