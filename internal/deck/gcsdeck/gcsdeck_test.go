// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package gcsdeck_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/gcsdeck"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestGCSStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.GCS(t).URL)
}
