// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFileStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.FileURL(t)+"?sync=false")
}

func TestMemStoreConforms(t *testing.T) {
	t.Cleanup(func() { deck.DropMemory("conformance") })
	storetest.Run(t, "mem://conformance")
}

func TestS3StoreConformsOnVersityGW(t *testing.T) {
	storetest.Run(t, decktest.VersityGW(t).URL)
}

func TestS3StoreConformsOnMinIO(t *testing.T) {
	storetest.Run(t, decktest.MinIO(t).URL)
}
