// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package allstores

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
)

func TestCloudStoresAreLinkedIntoTheSameExporter(t *testing.T) {
	for _, scheme := range []string{"file", "s3", "gs", "azblob"} {
		if !slices.Contains(deck.Schemes(), scheme) {
			t.Errorf("no driver for %s", scheme)
		}
	}
	if NewFactory().Type() != tapeexporter.NewFactory().Type() {
		t.Error("the factory has another type")
	}
}
