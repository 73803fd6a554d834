// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The drivers beyond file, mem and s3, which the deck package brings itself.
import (
	_ "github.com/tapedeck/tapedeck/internal/deck/azuredeck"
	_ "github.com/tapedeck/tapedeck/internal/deck/gcsdeck"
)
