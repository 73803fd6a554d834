// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package allstores is the tape exporter with the drivers for Google Cloud Storage (gs) and Azure Blob Storage (azblob) linked in. A
// builder manifest that needs these stores imports it instead of tapeexporter. The drivers add about 30 MB to a collector.
package allstores // import "github.com/tapedeck/tapedeck/exporter/tapeexporter/allstores"

import (
	"go.opentelemetry.io/collector/exporter"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure" // azblob
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"   // gs
)

// NewFactory returns the factory of the tape exporter.
func NewFactory() exporter.Factory { return tapeexporter.NewFactory() }
