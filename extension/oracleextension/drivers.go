// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleextension // import "github.com/tapedeck/tapedeck/extension/oracleextension"

// The storage services of every collector; the package allstores of the tape exporter has all.
import (
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)
