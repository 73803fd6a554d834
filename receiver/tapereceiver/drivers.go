// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"

// The storage services of every collector; the package allstores of the tape exporter has all.
import (
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)
