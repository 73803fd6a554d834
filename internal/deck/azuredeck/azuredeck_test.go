// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package azuredeck_test

import (
	"testing"

	_ "github.com/tapedeck/tapedeck/internal/deck/azuredeck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestAzureStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.Azurite(t).URL)
}
