// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// IsFailure reports a record that says that the call failed.
func IsFailure(o *genai.Observation) bool { return o.Failed || o.StatusError }
