// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The storage services that decks lie in, and the layout of reels.
import (
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/azure"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/gcs"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)
