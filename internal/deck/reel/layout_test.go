// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel_test

import _ "github.com/tapedeck/tapedeck/internal/deck/reel/view" // the layout
