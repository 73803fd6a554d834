// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

// The storage services of every collector, and the layout of reels; the package allstores of the tape exporter has all.
import (
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)
