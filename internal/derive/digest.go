// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"crypto/sha256"
	"encoding/hex"
)

func sha256Of(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
